"""A memory has slots of its own, some of which were extras before."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from remloom import Memory, Message
from remloom.errors import ConflictError, InvalidInputError, NotFoundError, UnknownNameError
from remloom.kv import Entry
from remloom.profile.beliefs.recorder import Recorder
from remloom.profile.evidence.claim import Claim
from remloom.profile.evidence.evidence import from_claim
from remloom.runs.run import begin_run
from remloom.runs.writer import Writer

OCTOBER = datetime(2026, 10, 1, 9, tzinfo=UTC)
# as commit fcfca5a1 stored it
FORMER = (
    b'{"id":"work.desk","hub":"soft_identity","label":"Desk","kind":"text","values":[],'
    b'"open":false,"verbatim":false,"synonyms":{},"aliases":[],"alternatives":0,'
    b'"half_life":365.0,"stability":"medium","sensitive":false,"user_only":false,'
    b'"standing":false,"usage":"context","topics":[],"question":"","default":null}'
)


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(tmp_path, embedder="none") as memory:
        yield memory


def say(memory: Memory, extra: str, value: str, day: int) -> str:
    """Record that a chat of a day said so, as a normaliser does; returns the turn's id."""
    at = OCTOBER + timedelta(day)
    text = f"My {extra} is {value}."
    report = memory.read_chat([Message(speaker="user", text=text, at=at)], uri=f"{extra}{day}.json")
    (turn,) = [record for record in memory.admin.records("resources") if record.id in report.ids]
    store = memory.admin.store
    beliefs = memory.profile._editing.beliefs()
    writer = Writer(store, memory.admin.tenant, begin_run(store, "normalise", {}))
    evidence = from_claim(
        Claim(key=extra, value=value, quote=text, span=(0, len(text))),
        turn,
        tenant=memory.admin.tenant,
        subject="me",
        slot=memory.profile.slot(f"extras.{extra}").id,
        authority="statement",
        extractor="rules",
        now=datetime.now(UTC),
    )
    Recorder(store, beliefs, writer).record((), [evidence])
    writer.finish()
    return turn.id


@pytest.fixture
def blood(memory: Memory) -> list[str]:
    """Four turns that say a blood type, the last one another; returns their ids."""
    said = ["B+", "B+", "b+", "A+"]
    return [say(memory, "blood_type", value, day) for day, value in enumerate(said)]


def test_a_slot_of_ones_own_is_known_by_its_names_and_keeps_values_in_its_form(
    memory: Memory,
) -> None:
    memory.profile.define_slot({
        "id": "work.desk",
        "hub": "operating_context",
        "label": "Desk",
        "kind": "choice",
        "values": ["sitting", "standing"],
        "aliases": ["desk at work"],
    })  # fmt: skip
    assert memory.profile.set("desk at work", "Standing").value == "standing"
    assert memory.profile.slot("desk").id == "work.desk"
    with pytest.raises(InvalidInputError, match="is one of sitting, standing"):
        memory.profile.set("desk", "floating")


def test_a_slot_is_defined_anew_but_does_not_become_a_list_under_its_evidence(
    memory: Memory,
) -> None:
    fields = {"id": "work.desk", "hub": "operating_context", "label": "Desk"}
    memory.profile.define_slot(fields)
    memory.profile.set("desk", "by the window")
    memory.profile.define_slot({**fields, "label": "Desk at work", "half_life": 30})
    assert memory.profile.why("work.desk").slot.label == "Desk at work"
    with pytest.raises(ConflictError, match="has evidence"):
        memory.profile.define_slot({**fields, "kind": "list"})


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"id": "work.desk"}, InvalidInputError),
        ({"id": "extras.desk", "hub": "soft_identity", "label": "Desk"}, InvalidInputError),
        ({"id": "Work Desk", "hub": "soft_identity", "label": "Desk"}, InvalidInputError),
        ({"id": "work.desk", "hub": "soft_identity", "label": "Allergies"}, ConflictError),
        (
            {"id": "output_contract.verbosity", "hub": "preferences", "label": "Mine"},
            ConflictError,
        ),
    ],
)
def test_what_is_no_slot_is_refused(
    memory: Memory, fields: dict[str, str], error: type[Exception]
) -> None:
    count = len(memory.profile.slots())
    with pytest.raises(error):
        memory.profile.define_slot(fields)
    assert len(memory.profile.slots()) == count


def test_a_slot_goes_only_when_nothing_is_believed_there(memory: Memory) -> None:
    memory.profile.define_slot({"id": "work.desk", "hub": "soft_identity", "label": "Desk"})
    memory.profile.set("desk", "oak")
    with pytest.raises(ConflictError, match="there is evidence"):
        memory.profile.remove_slot("work.desk")
    memory.profile.forget("desk")
    memory.profile.remove_slot("work.desk")
    with pytest.raises(UnknownNameError):
        memory.profile.slot("work.desk")
    with pytest.raises(NotFoundError):
        memory.profile.remove_slot("output_contract.verbosity")


def test_an_extra_that_enough_was_said_of_is_offered(memory: Memory, blood: list[str]) -> None:
    say(memory, "lucky_number", "7", 1)
    (offered,) = memory.profile.candidates()
    assert (offered.extra, offered.label, offered.kind) == (
        "extras.blood_type",
        "Blood type",
        "text",
    )
    assert (offered.values, offered.pieces) == (("b+", "A+"), 4)


def test_a_promoted_extra_is_believed_as_before_under_its_new_name(
    memory: Memory, blood: list[str]
) -> None:
    memory.profile.pin("extras.blood_type")
    before = memory.profile.why("extras.blood_type")
    slot = memory.profile.promote("extras.blood_type", kind="choice", values=["A+", "B+", "0-"])
    assert (slot.id, slot.sensitive) == ("own.blood_type", True)
    after = memory.profile.why("blood type")
    assert [b.slot for b in memory.profile.show().beliefs] == ["own.blood_type"]
    assert (after.belief.value, after.belief.since, after.belief.pinned) == (
        "A+",
        before.belief.since,
        True,
    )
    assert [one.quote for one in after.evidence] == [one.quote for one in before.evidence]
    # values are in the form that the slot gives them
    assert [held.value for held in after.belief.history] == ["B+"]
    then = memory.profile.show(as_of=OCTOBER + timedelta(2.5))
    assert then.values("own.blood_type") == ["B+"]
    assert memory.profile.candidates() == []


def test_after_a_promotion_the_extra_means_the_slot(memory: Memory, blood: list[str]) -> None:
    memory.profile.promote("extras.blood_type", label="Blood group")
    assert memory.profile.set("extras.blood_type", "0-").slot == "own.blood_type"
    assert memory.profile.slot("blood type").label == "Blood group"


def test_an_extra_becomes_a_list_of_what_each_piece_said(memory: Memory) -> None:
    for day, what in enumerate(["chess", "running, cooking and chess", "tennis"]):
        say(memory, "weekend", what, day)
    memory.profile.promote("extras.weekend", kind="list", label="Weekends", id="life.weekends")
    assert sorted(map(str, memory.profile.show().values("life.weekends"))) == [
        "chess",
        "cooking",
        "running",
        "tennis",
    ]


def test_a_promotion_is_taken_back(memory: Memory, blood: list[str]) -> None:
    before = memory.profile.show().beliefs
    memory.profile.promote("extras.blood_type")
    memory.runs.rollback(memory.runs.list("profile", limit=1)[0].id)
    after = memory.profile.show().beliefs
    assert [(b.slot, b.value, b.since) for b in after] == [
        (b.slot, b.value, b.since) for b in before
    ]
    with pytest.raises(UnknownNameError):
        memory.profile.slot("own.blood_type")


def test_forgetting_what_was_said_forgets_the_promoted_belief(
    memory: Memory, blood: list[str]
) -> None:
    memory.profile.promote("extras.blood_type")
    assert memory.forget(blood[3]).verified
    assert memory.profile.show().values("own.blood_type") == ["B+"]
    assert memory.profile.forget("own.blood_type").verified
    assert memory.profile.show().beliefs == ()
    kinds = {getattr(record, "kind", "") for record in memory.admin.records("resources")}
    assert "evidence" not in kinds, "nor what the evidence was made of"


def test_an_extra_does_not_become_a_slot_that_its_values_do_not_fit(
    memory: Memory, blood: list[str]
) -> None:
    with pytest.raises(InvalidInputError, match="Blood type"):
        memory.profile.promote("extras.blood_type", kind="number")
    assert memory.profile.get("extras.blood_type") is not None
    with pytest.raises(NotFoundError):
        memory.profile.promote("extras.unheard_of")


def test_slots_of_ones_own_and_what_was_promoted_go_into_another_memory(
    memory: Memory, blood: list[str], tmp_path: Path
) -> None:
    memory.profile.promote("extras.blood_type")
    memory.profile.export(tmp_path / "me.json")
    with Memory.open(tmp_path, tenant="other", embedder="none") as other:
        done = other.profile.import_(tmp_path / "me.json")
        assert (done.slots, done.evidence) == (1, 4)
        assert other.profile.show().values("own.blood_type") == ["A+"]
        assert [b.slot for b in other.profile.show().beliefs] == ["own.blood_type"]


def test_beliefs_follow_their_slot_when_its_definition_is_taken_back(memory: Memory) -> None:
    desk = {"id": "own.desk", "hub": "soft_identity", "label": "Desk of mine", "half_life": 30}
    memory.profile.define_slot(desk)
    memory.profile.set("own.desk", "oak")
    later = datetime.now(UTC) + timedelta(1)

    def kept() -> list[float]:
        beliefs = memory.profile._editing.beliefs()
        folds = beliefs._folds("me", beliefs._read("me")).values()
        return [one.posterior.after(later).probability("oak") for one in folds]

    before = kept()
    memory.profile.define_slot({**desk, "half_life": 1})
    assert kept() != before
    memory.runs.rollback(memory.runs.list("profile", limit=1)[0].id)
    assert kept() == before


def test_what_is_believed_is_read_once_though_a_memory_has_slots_of_its_own(memory: Memory) -> None:
    memory.profile.define_slot({"id": "work.desk", "hub": "soft_identity", "label": "Desk"})
    memory.profile.set("work.desk", "by the window")
    first = memory.profile.show().beliefs
    assert all(
        one is other for one, other in zip(first, memory.profile.show().beliefs, strict=True)
    )
    memory.profile.define_slot({"id": "work.desk", "hub": "preferences", "label": "My desk"})
    assert [one.label for one in memory.profile.show().beliefs] == ["My desk"]


def test_an_extra_is_called_by_its_label_wherever_a_slot_is_named(tmp_path):
    with Memory.open(tmp_path, embedder="none") as memory:
        belief = memory.profile.set("extras.fav_team", "Ajax", subject="Ann")
        assert memory.profile.why(belief.label, subject="Ann").belief.value == "Ajax"
        assert memory.profile.get("fav team", subject="Ann") == belief
        assert memory.profile.slot(belief.label).id == "extras.fav_team"
        with pytest.raises(UnknownNameError):
            memory.profile.why("Fav player", subject="Ann")
        memory.profile.forget(belief.label, subject="Ann")
        with pytest.raises(UnknownNameError):
            memory.profile.slot(belief.label)


def test_a_slot_that_was_stored_with_its_stability_is_the_one_that_is_stored_without(
    memory: Memory, tmp_path: Path
) -> None:
    memory.profile.define_slot({"id": "work.desk", "hub": "soft_identity", "label": "Desk"})
    memory.profile.set("desk", "oak")
    now = memory.profile.slot("desk")
    memory.admin.store.kv.put([Entry("profile.slot", "work.desk", FORMER)])
    assert memory.profile.slot("desk") == now
    memory.profile.observe()
    assert memory.profile.show().values("work.desk") == ["oak"]
    assert "oak" in memory.profile.context("where is my desk?").text
    memory.profile.define_slot({"id": "work.lamp", "hub": "soft_identity", "label": "Lamp"})
    memory.admin.export(tmp_path / "all.jsonl")
    assert '"stability"' in (tmp_path / "all.jsonl").read_text()
    with Memory.open(tmp_path, tenant="other", embedder="none") as other:
        other.admin.import_(tmp_path / "all.jsonl")
        assert other.profile.show().values("work.desk") == ["oak"]
    assert '"stability"' not in memory.profile.export()
    memory.profile.forget("desk")
    memory.profile.remove_slot("work.desk")


@pytest.mark.parametrize("days", [float("inf"), float("nan"), 0, -1])
def test_a_half_life_that_is_none_leaves_the_profile_as_it_is(memory: Memory, days: float) -> None:
    desk = {"id": "work.desk", "hub": "soft_identity", "label": "Desk", "half_life": days}
    with pytest.raises(InvalidInputError, match="half_life"):
        memory.profile.define_slot(desk)
    assert memory.profile.show().beliefs == ()
