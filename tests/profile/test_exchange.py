"""What is known of a user goes from one memory into another, and is written down to be read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from remloom import Memory, Message
from remloom.errors import ConflictError, InvalidInputError

OCTOBER = datetime(2026, 10, 1, 9, tzinfo=UTC)
SAID = [
    "I'm vegetarian and I'm allergic to peanuts.",
    "I live in Berlin.",
    "I moved to Lisbon last week.",
    "My favourite team is CSK.",
]


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(tmp_path / "one", embedder="none") as memory:
        turns = [
            Message(speaker="user", text=text, at=OCTOBER + timedelta(day))
            for day, text in enumerate(SAID)
        ]
        memory.read_chat(turns, uri="october.json")
        memory.profile.observe()
        memory.profile.set("extras.blood_type", "B+", note="my card")
        memory.profile.set("verbosity", "detailed", scope="domain:coding")
        memory.profile.confirm("allergies", "peanuts")
        memory.profile.pin("allergies")
        yield memory


@pytest.fixture
def other(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(tmp_path / "two", embedder="none") as memory:
        yield memory


def shown(memory: Memory) -> list[tuple[Any, ...]]:
    return [
        (b.slot, b.value, b.scope, round(b.confidence, 4), b.level, b.state, b.since, b.pinned)
        for b in memory.profile.show().beliefs
    ]


def test_a_profile_is_the_same_in_another_memory(
    memory: Memory, other: Memory, tmp_path: Path
) -> None:
    memory.profile.export(tmp_path / "me.json")
    done = other.profile.import_(tmp_path / "me.json")
    assert (done.subject, done.known) == ("me", 0)
    assert shown(other) == shown(memory)
    assert other.profile.show().waiting == memory.profile.show().waiting
    quotes = [one.quote for one in other.profile.why("location_region").evidence]
    assert quotes == ["I live in Berlin.", "I moved to Lisbon last week."]
    assert other.profile.show(as_of=OCTOBER + timedelta(1.5)).values(
        "environment.location_region"
    ) == ["Berlin"]
    assert other.profile.learned() == memory.profile.learned()


def test_importing_again_changes_nothing(memory: Memory, other: Memory, tmp_path: Path) -> None:
    memory.profile.export(tmp_path / "me.json")
    first = other.profile.import_(tmp_path / "me.json")
    second = other.profile.import_(tmp_path / "me.json")
    assert (second.evidence, second.slots, second.answers) == (0, 0, 0)
    assert second.known == first.evidence
    memory.profile.import_(tmp_path / "me.json")
    assert shown(other) == shown(memory)


def test_an_import_is_taken_back(memory: Memory, other: Memory, tmp_path: Path) -> None:
    memory.profile.export(tmp_path / "me.json")
    other.profile.import_(tmp_path / "me.json")
    other.runs.rollback(other.runs.list("profile", limit=1)[0].id)
    assert shown(other) == []


def test_what_was_forgotten_does_not_come_back_by_an_import(memory: Memory, tmp_path: Path) -> None:
    memory.profile.export(tmp_path / "me.json")
    memory.profile.forget("location_region")
    memory.profile.import_(tmp_path / "me.json")
    assert memory.profile.get("location_region") is None


def test_markdown_says_what_is_known_since_when_and_why(memory: Memory, tmp_path: Path) -> None:
    text = memory.profile.export(tmp_path / "me.md")
    assert (tmp_path / "me.md").read_text() == text
    assert text.startswith("# What is known of you\n")
    assert "\n## Operating context\n\n- **Location: Lisbon** (" in text
    assert "  - before: Berlin, 2026-10-02 to 2026-10-03\n" in text
    assert "  - “I moved to Lisbon last week.” (october.json" in text
    assert "domain:coding" in text
    before = memory.profile.export(format="markdown", as_of=OCTOBER + timedelta(1.5))
    assert "Lisbon" not in before


def test_a_value_cannot_act_as_markdown(memory: Memory) -> None:
    memory.profile.set("extras.motto", "**bold** [x](http://a.b) <img src=x> # Soft identity")
    text = memory.profile.export(format="markdown")
    assert r"\*\*bold\*\* \[x\](http://a.b) \<img src=x\> \# Soft" in text


def test_a_file_is_not_overwritten(memory: Memory, tmp_path: Path) -> None:
    (tmp_path / "me.json").write_text("mine")
    with pytest.raises(ConflictError):
        memory.profile.export(tmp_path / "me.json")
    assert (tmp_path / "me.json").read_text() == "mine"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"slot": "food_and_dining.nonsense"}, "unknown slot"),
        ({"slot": "dietary_style"}, "is not the id of a slot"),
        ({"scope": "coding"}, "is not a scope"),
        ({"subject": "Ana"}, "another person"),
        ({"at": "2090-01-01T00:00:00Z"}, "is to come"),
        ({"at": "2026-01-01T00:00:00"}, "has no time zone"),
        ({"quote": "x" * 301}, "300 characters at most"),
        ({"polarity": "maybe"}, "not the JSON of a profile"),
        (
            {"slot": "autonomy_and_risk.autonomy.delete_files", "value": "allowed"},
            "only the user sets",
        ),
    ],
)
def test_what_is_wrong_in_an_import_is_named_and_nothing_is_written(
    memory: Memory, other: Memory, tmp_path: Path, change: dict[str, str], said: str
) -> None:
    bundle = json.loads(memory.profile.export())
    (number,) = [
        number for number, one in enumerate(bundle["evidence"]) if one.get("value") == "Lisbon"
    ]
    bundle["evidence"][number] |= change
    (tmp_path / "me.json").write_text(json.dumps(bundle))
    with pytest.raises(InvalidInputError, match=said):
        other.profile.import_(tmp_path / "me.json")
    assert shown(other) == []


@pytest.mark.parametrize("text", ["", "# What is known of you", '{"remloom_profile": 99}', "[]"])
def test_what_is_no_profile_is_refused(other: Memory, tmp_path: Path, text: str) -> None:
    (tmp_path / "me.json").write_text(text)
    with pytest.raises(InvalidInputError):
        other.profile.import_(tmp_path / "me.json")


def test_the_export_of_a_whole_memory_has_what_is_believed_too(
    memory: Memory, other: Memory, tmp_path: Path
) -> None:
    memory.profile.define_slot({"id": "work.desk", "hub": "soft_identity", "label": "Desk"})
    memory.admin.export(tmp_path / "all.jsonl")
    other.admin.import_(tmp_path / "all.jsonl")
    assert shown(other) == shown(memory)
    assert other.profile.slot("work.desk").label == "Desk"
    assert other.profile.learned() == memory.profile.learned()
    assert other.profile.observe().run.counts == {}, "what was looked at is not looked at again"
    evidence = other.profile.why("location_region").evidence[-1]
    assert other.forget(evidence.passage).verified
    assert other.profile.show().values("environment.location_region") == ["Berlin"]


def test_a_file_brings_in_no_entries_but_those_of_profiles(
    memory: Memory, other: Memory, tmp_path: Path
) -> None:
    memory.admin.export(tmp_path / "all.jsonl")
    lines = (tmp_path / "all.jsonl").read_text().splitlines()
    lines.insert(-1, json.dumps({"line": "entry", "namespace": "job", "key": "x", "value": {}}))
    (tmp_path / "changed.jsonl").write_text("\n".join(lines) + "\n")
    with pytest.raises(InvalidInputError, match="an entry of 'job'"):
        other.admin.import_(tmp_path / "changed.jsonl")
    assert shown(other) == []


def test_a_person_is_exported_by_any_spelling_of_their_name(memory: Memory) -> None:
    memory.profile.set("dietary_style", "vegan", subject="Ana Costa")
    bundle = json.loads(memory.profile.export(subject="ana costa"))
    assert [one["value"] for one in bundle["evidence"]] == ["vegan"]


def piece(id: str, **fields: Any) -> dict[str, Any]:
    """A piece of evidence as a file has it."""
    return {"id": id, "key": "diet", "at": OCTOBER.isoformat(), **fields}


def import_pieces(memory: Memory, path: Path, *pieces: dict[str, Any]) -> None:
    bundle = {
        "remloom_profile": 1,
        "subject": "me",
        "exported_at": OCTOBER.isoformat(),
        "evidence": pieces,
    }
    path.write_text(json.dumps(bundle))
    memory.profile.import_(path)


ONE, TWO = "7f1cbd5e-0000-4000-8000-000000000001", "7f1cbd5e-0000-4000-8000-000000000002"


def test_an_import_overwrites_no_other_record(memory: Memory, tmp_path: Path) -> None:
    turn = next(one for one in memory.admin.records("resources") if "Berlin" in one.content)
    made_of = piece(ONE, slot="dietary_style", value="vegan", claim=turn.id)
    with pytest.raises(InvalidInputError, match="of another record"):
        import_pieces(memory, tmp_path / "x.json", piece(turn.id), made_of)
    assert turn in memory.admin.records("resources")


def test_forgetting_what_was_imported_forgets_no_message(other: Memory, tmp_path: Path) -> None:
    other.read_chat([Message(speaker="user", text="I live in Berlin.", at=OCTOBER)], uri="a.json")
    turn = next(one for one in other.admin.records("resources") if "Berlin" in one.content)
    slot = "food_and_dining.dietary_style"
    import_pieces(other, tmp_path / "x.json", piece(ONE, slot=slot, value="vegan", claim=turn.id))
    other.profile.forget("dietary_style")
    assert turn in other.admin.records("resources")


def test_nothing_is_imported_that_was_made_of_itself(other: Memory, tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="made of itself"):
        import_pieces(other, tmp_path / "x.json", piece(ONE, claim=TWO), piece(TWO, claim=ONE))


def test_what_imported_evidence_was_made_of_keeps_no_secret_and_no_forgotten_words(
    other: Memory, tmp_path: Path
) -> None:
    token = "ghp_" + "a1B2" * 9
    made_of = piece(ONE, value="vegan", quote=f"vegan, my token is {token}")
    slot = "food_and_dining.dietary_style"
    pieces = made_of, piece(TWO, slot=slot, value="vegan", claim=ONE)
    import_pieces(other, tmp_path / "x.json", *pieces)
    assert token not in str(list(other.admin.records("resources")))
    other.profile.forget("dietary_style")
    import_pieces(other, tmp_path / "x.json", *pieces)
    assert list(other.admin.records("resources")) == []


def test_edits_that_a_clock_which_was_set_back_has_ahead_come_in_and_stay_in_their_order(
    memory: Memory, other: Memory, tmp_path: Path
) -> None:
    memory.profile.set("verbosity", "concise")
    memory.profile.set("verbosity", "detailed")
    memory.profile.export(tmp_path / "me.json")
    bundle = json.loads((tmp_path / "me.json").read_text())
    for one in bundle["evidence"]:
        one["at"] = (datetime.fromisoformat(one["at"]) + timedelta(hours=5)).isoformat()
    (tmp_path / "ahead.json").write_text(json.dumps(bundle))
    other.profile.import_(tmp_path / "ahead.json")
    assert other.profile.show().values("output_contract.verbosity") == ["detailed"]
    assert other.profile.set("verbosity", "concise").value == "concise"


def test_markdown_has_the_same_words_once(memory: Memory) -> None:
    memory.profile.set("extras.desk", "oak", note="by the window")
    memory.profile.set("extras.desk", "oak", note="by the window")
    assert memory.profile.export(format="markdown").count("by the window") == 1


def test_a_profile_that_was_exported_when_slots_had_a_stability_of_their_own_comes_in(
    memory: Memory, other: Memory, tmp_path: Path
) -> None:
    memory.profile.define_slot({"id": "work.desk", "hub": "soft_identity", "label": "Desk"})
    memory.profile.set("desk", "oak")
    bundle = json.loads(memory.profile.export())
    bundle["slots"][0]["stability"] = "medium"
    (tmp_path / "me.json").write_text(json.dumps(bundle))
    assert other.profile.import_(tmp_path / "me.json").slots == 1
    assert other.profile.show().values("work.desk") == ["oak"]
    assert memory.profile.import_(tmp_path / "me.json").slots == 0, "it is the same slot"


def test_evidence_of_what_a_system_observed_comes_in(other: Memory, tmp_path: Path) -> None:
    observed = piece(
        ONE, slot="environment.os", value="macOS", key="os", signal="system_observation"
    )
    import_pieces(other, tmp_path / "x.json", observed)
    assert other.profile.show().values("environment.os") == ["macOS"]
