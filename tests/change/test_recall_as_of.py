"""Recall as of a time gives what was remembered then, says what was retracted since, and shows
nothing that was written later."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner
from msgspec.structs import replace

from remloom import AsyncMemory, Edge, Entity, Memory, Message, Moment, Resource
from remloom.errors import InvalidInputError
from remloom.operations import OPERATIONS, TOOLS
from remloom.retrieve.past import former
from remloom.serve.cli.app import program
from remloom.testing.embedder import WordEmbedder

OSLO = Resource(id="oslo", name="home", content="Ann lives in Oslo.")
ROME = Resource(id="rome", name="new home", content="Ann lives in Rome.", replaces="oslo")
BANK = Resource(id="bank", name="bank", content="Ann needs a bank in Norway.", parents=("oslo",))
OFFICE = Resource(id="office", name="office", content="The office of Ann is on Elm Street.")
PHONE = Resource(id="phone", name="phone", content="Ann has the phone number 555.")
WHERE, PHONED = "Where does Ann live?", "Which phone number has Ann?"
QUESTIONS = (WHERE, "Where is the office of Ann?", PHONED, "Which bank does Ann need?", "Ann?")
PAST_HEAD = "It is as it stood at "


def now() -> datetime:
    return datetime.now(UTC)


def written(memory: Memory, *records: Any) -> datetime:
    memory.write(list(records))
    return now()


def texts(memory: Memory, question: str, as_of: datetime | None = None, **more: Any) -> list[str]:
    found = memory.recall(question, as_of=as_of, abstain=False, **more)
    return [hit.content for hit in found.hits]


def test_each_state_is_recalled_as_it_was_when_it_was_the_present(memory: Memory) -> None:
    steps: list[list[Any]] = [
        [
            OSLO,
            OFFICE,
            PHONE,
            Entity(id="ann", name="Ann", type="person", summary="Ann is a cook."),
        ],
        [BANK, Edge(src="Ann", rel_type="has", dst="phone")],
        [ROME],
        [replace(OFFICE, content="The office of Ann is on Oak Street.")],
        [Resource(id="number", content="Ann has the phone number 777.", replaces="phone")],
        [Resource(id="more", content="Ann's office has two floors.", amends="office")],
        [Entity(id="ann", name="Ann", type="person", summary="Ann is a pilot.")],
        [
            Moment(
                id="visit",
                name="Visit",
                summary="Ann showed her office.",
                resource_refs=("office",),
            )
        ],
    ]
    states = []
    for step in steps:
        memory.write(step)
        said = {one: sorted(texts(memory, one, limit=20)) for one in QUESTIONS}
        stale = {hit.id for hit in memory.recall("Ann?", abstain=False).hits if hit.stale}
        states.append((now(), said, stale))
    for at, said, stale in states:
        for question, found in said.items():
            assert sorted(texts(memory, question, at, limit=20)) == found
        hits = memory.recall("Ann?", as_of=at, abstain=False).hits
        assert {hit.id for hit in hits if hit.stale} == stale
        assert [hit.written_later for hit in hits] == [False] * len(hits)


def test_what_was_said_to_be_wrong_later_is_given_and_says_so(memory: Memory) -> None:
    at = written(memory, PHONE)
    right = Resource(id="right", content="Ann has the phone number 777.", replaces="phone", reason="wrong")  # fmt: skip
    memory.write([right])
    (hit,) = memory.recall(PHONED, as_of=at).hits
    assert (hit.content, hit.id) == (PHONE.content, "phone")
    assert hit.retracted_at is not None
    assert hit.retracted_at > at
    assert hit.as_dict()["retracted_at"] == hit.retracted_at.isoformat()
    text = memory.context(PHONED, as_of=at)
    assert PAST_HEAD in text
    assert f"retracted as wrong on {hit.retracted_at:%Y-%m-%d}" in text
    assert PAST_HEAD not in memory.context(PHONED)
    assert texts(memory, PHONED, now()) == ["Ann has the phone number 777."]


def test_what_took_the_place_since_a_day_holds_from_that_day(memory: Memory) -> None:
    past = now() - timedelta(days=30)
    memory.write([replace(OSLO, created_at=past)])
    moved = now() - timedelta(days=10)
    memory.write([replace(ROME, since=moved)])
    assert texts(memory, WHERE, moved - timedelta(hours=1)) == [OSLO.content]
    assert texts(memory, WHERE, moved + timedelta(hours=1)) == [ROME.content]


def test_the_recall_says_as_of_when_and_what_was_before_is_nothing(memory: Memory) -> None:
    early = now()
    at = written(memory, OSLO)
    assert memory.recall(WHERE, as_of=at).as_of == at
    assert memory.recall(WHERE).as_of is None
    found = memory.recall(WHERE, as_of=early)
    assert found.abstained
    assert "Nothing remembered" in memory.context(WHERE, as_of=early)


def test_the_budget_has_room_for_what_it_is_as_of(memory: Memory) -> None:
    at = written(memory, OSLO, OFFICE, PHONE)
    for budget in range(40, 240, 10):
        found = memory.recall("Ann?", as_of=at, abstain=False, budget_tokens=budget)
        assert found.tokens <= budget


def test_turns_that_were_said_later_stand_beside_none(memory: Memory) -> None:
    def turn(number: int, text: str) -> Message:
        said_at = datetime(2026, 3, 1, 10, number, tzinfo=UTC)
        return Message(id=str(number), speaker="ann", text=text, at=said_at)

    memory.read_chat([turn(1, "The violin is sold."), turn(2, "To Bob.")], uri="a.json")
    at = now()
    memory.read_chat([turn(3, "Bob gave it back.")], uri="a.json", append=True)
    for found in (memory.recall("Who has the violin?", as_of=at, abstain=False, neighbours=2),):
        shown = [one.content for hit in found.hits for one in (*hit.before, hit.record, *hit.after)]  # type: ignore[union-attr]
        assert "The violin is sold." in shown
        assert "Bob gave it back." not in shown
    assert "gave it back" not in memory.context("Who has the violin?", as_of=at)
    assert "gave it back" in memory.context("Who has the violin?", abstain=False)


def test_what_was_forgotten_or_expired_is_not_there_as_of_any_time(memory: Memory) -> None:
    at = written(memory, OSLO, PHONE)
    memory.write([ROME])
    memory.forget("oslo", by="id")
    memory.admin.set_expiry(["phone"], now())
    assert texts(memory, WHERE, at) == []
    assert texts(memory, PHONED, at) == []


def test_an_import_tells_what_was_replaced_by_its_mark(memory: Memory, tmp_path: Path) -> None:
    at = written(memory, OSLO, PHONE)
    wrong = Resource(id="right", content="Ann has the phone number 777.", replaces="phone", reason="wrong")  # fmt: skip
    memory.write([ROME, wrong])
    memory.admin.export(tmp_path / "all.jsonl")
    with Memory.open(tmp_path / "other", embedder="none") as other:
        other.admin.import_(tmp_path / "all.jsonl")
        # the changes are not kept, but what replaces a text leads to it
        assert "Ann lives in Oslo." in texts(other, WHERE, at)
        assert "Ann lives in Rome." not in texts(other, WHERE, at)
        hits = other.recall(PHONED, as_of=at, abstain=False).hits
        assert all(hit.retracted_at or hit.written_later for hit in hits if hit.id == "phone")


def test_it_says_when_not_all_that_changed_was_looked_at(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(former, "MOST_CHANGED", 2)
    notes = [replace(OSLO, id=f"n{n}", name=f"n{n}", content=f"Ann met {n}.") for n in range(4)]
    at = written(memory, *notes)
    memory.write([replace(note, content="Ann met nobody.") for note in notes])
    found = memory.recall("Whom did Ann meet?", as_of=at, abstain=False)
    assert "not all were looked at" in found.note
    assert "nobody" not in str([hit.content for hit in found.hits if not hit.written_later])


def test_by_meaning_former_texts_are_found_as_well(tmp_path: Path) -> None:
    with Memory.open(tmp_path, embedder=WordEmbedder()) as memory:
        memory.write([OSLO, OFFICE], wait=True)
        at = now()
        memory.write([ROME, replace(OFFICE, content="It burned down.")], wait=True)
        hits = memory.recall("The office of Ann is on Elm Street.", as_of=at, abstain=False).hits
        assert hits[0].content == OFFICE.content
        assert "vector" in {reason.part for reason in hits[0].reasons}
        assert not {"It burned down.", ROME.content} & {hit.content for hit in hits}


def test_what_is_known_of_the_user_is_that_of_then(memory: Memory) -> None:
    memory.profile.set("location", "Oslo")
    at = now()
    memory.profile.set("location", "Rome")
    memory.write([OSLO])
    text = memory.context("Where do I live?", profile=True, as_of=at)
    assert 'Location: "Oslo"' in text
    assert "Rome" not in text


@pytest.mark.parametrize(
    "options",
    [{"where": "category = 'note'"}, {"mode": "temporal"}, {"stale": "only"}],
    ids=["where", "temporal", "only"],
)
def test_what_would_go_by_the_present_is_refused(memory: Memory, options: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError, match="not by what they were"):
        memory.recall("Where was Ann last week?", as_of=now(), **options)


def test_a_time_without_a_zone_is_refused(memory: Memory) -> None:
    with pytest.raises(InvalidInputError, match=r"as_of .* has no time zone"):
        memory.recall(WHERE, as_of=datetime(2026, 5, 1))


# -- doors -----------------------------------------------------------------------------------------


def test_each_operation_takes_a_time(memory: Memory) -> None:
    at = written(memory, OSLO)
    memory.write([ROME])
    for name, takes in (("recall", {}), ("context", {})):
        for operation in (one for one in (*OPERATIONS, *TOOLS) if one.name == name):
            values = {"question": WHERE, "as_of": at.isoformat(), **takes}
            given = operation.does(memory, msgspec.convert(values, operation.takes), None)
            text = msgspec.json.encode(given, enc_hook=str).decode()
            assert "Oslo" in text
            assert "Rome" not in text
            if operation.text:
                assert "stood at" in operation.text(given)


def test_the_tools_say_that_a_fact_was_retracted_later(memory: Memory) -> None:
    at = written(memory, PHONE)
    memory.write([Resource(id="right", content="It is 777.", replaces="phone", reason="wrong")])
    calls: dict[str, dict[str, Any]] = {
        "query": {"statement": f"LOOKUP phone AS OF '{at.isoformat()}'"},
        "recall": {"question": PHONED, "as_of": at.isoformat()},
    }
    for name, values in calls.items():
        for operation in (one for one in TOOLS if one.name == name):
            given = operation.does(memory, msgspec.convert(values, operation.takes), None)
            assert operation.text is not None
            assert "retracted_at" in operation.text(given)


def test_the_command_line_takes_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REMLOOM_EMBEDDER", "none")
    with Memory.open(tmp_path, embedder="none") as memory:
        at = written(memory, OSLO, PHONE)
        memory.write(
            [ROME, replace(PHONE, id="n", content="It is 7.", replaces="phone", reason="wrong")]
        )

    def run(*line: str) -> str:
        asked = ["recall", *line, "--as-of", at.isoformat(), "--home", str(tmp_path)]
        result = CliRunner().invoke(program, asked)
        assert result.exit_code == 0, result.output
        return result.output

    assert "Oslo" in run(WHERE)
    assert "Rome" not in run(WHERE)
    assert "wrong, said" in run(PHONED)
    assert PAST_HEAD in run(WHERE, "--context")


def test_it_can_be_awaited(tmp_path: Path) -> None:
    async def asked() -> list[str]:
        async with await AsyncMemory.open(tmp_path, embedder="none") as memory:
            await memory.write([OSLO])
            at = now()
            await memory.write([ROME])
            found = await memory.recall(WHERE, as_of=at)
            return [hit.content for hit in found.hits]

    assert asyncio.run(asked()) == [OSLO.content]
