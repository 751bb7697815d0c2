"""A belief whose passage was replaced, amended or has expired says so wherever it is given."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import msgspec
import pytest
from click.testing import CliRunner

from remloom import Home, Memory, Message, Resource
from remloom.llm import Request
from remloom.model.premises import Stale
from remloom.operations import OPERATIONS
from remloom.profile.beliefs.belief import Belief
from remloom.serve.cli.app import program
from remloom.testing.models import ScriptedModel

MARCH = datetime(2026, 3, 1, tzinfo=UTC)
MAY = datetime(2026, 5, 1, tzinfo=UTC)
HOME, ALLERGIES = "environment.location_region", "food_and_dining.restrictions.allergies"
MARK = "may not hold any more, what said so was replaced, since 2026-05-01"


def said(memory: Memory, text: str, at: datetime = MARCH, uri: str = "a.json") -> str:
    """Have the user say something and look at it; the id of the turn."""
    memory.read_chat([Message(speaker="user", text=text, at=at)], uri=uri, append=True)
    memory.profile.observe()
    return turn(memory, text)


def turn(memory: Memory, text: str) -> str:
    return next(one.id for one in memory.admin.records("resources") if one.content == text)  # type: ignore[union-attr]


def moved(memory: Memory, old: str, text: str = "I live in Rome.", **more: Any) -> str:
    (new,) = memory.write([Resource(content=text, category="memory", replaces=old, **more)])
    return new


def believed(memory: Memory, slot: str = HOME, **more: Any) -> Belief:
    found = memory.profile.get(slot, **more)
    assert found is not None
    return found


def why(memory: Memory, slot: str = HOME, **more: Any) -> Stale | None:
    return believed(memory, slot, **more).stale


def test_a_belief_says_that_its_passage_was_replaced_until_that_is_undone(memory: Memory) -> None:
    old = said(memory, "I live in Oslo.")
    assert why(memory) is None
    new = moved(memory, old, since=MAY)
    stale = why(memory)
    assert stale is not None
    assert (stale.reason, stale.path, stale.by, stale.at) == ("replaced", (old,), new, MAY)
    assert "with effect from 2026-05-01" in str(stale)
    # nothing of it is stored: it is there at once, and gone at once
    memory.unreplace(old)
    assert why(memory) is None
    assert memory.admin.check() == []


def test_as_of_a_time_it_is_stale_from_when_it_no_longer_held(memory: Memory) -> None:
    moved(memory, said(memory, "I live in Oslo."), since=MAY)
    assert why(memory, as_of=MAY - timedelta(days=1)) is None
    assert why(memory, as_of=MAY) is not None


def test_what_was_amended_is_marked_until_the_amendment_goes(memory: Memory) -> None:
    old = said(memory, "I'm allergic to peanuts.")
    (new,) = memory.write([Resource(content="The allergy is mild.", amends=old)])
    stale = why(memory, ALLERGIES)
    assert stale is not None
    assert (stale.reason, stale.by) == ("amended", new)
    # what could hurt is given all the same, with the doubt
    text = memory.profile.context("What shall I cook?").text
    assert 'Allergies: "peanuts"' in text
    assert "what said so was amended" in text
    memory.forget(new)
    assert why(memory, ALLERGIES) is None


def test_what_was_wrong_made_nothing_believed_until_it_is_brought_back(memory: Memory) -> None:
    old = said(memory, "I live in Oslo.")
    moved(memory, old, "It was a joke.", reason="wrong")
    assert memory.profile.get(HOME) is None
    assert memory.profile.get(HOME, as_of=MAY) is None
    memory.unreplace(old)
    memory.profile.observe()
    assert (believed(memory).value, why(memory)) == ("Oslo", None)


def test_a_passage_that_has_expired_bears_nothing_out(memory: Memory) -> None:
    old = said(memory, "I live in Oslo.")
    memory.admin.set_expiry([old], datetime.now(UTC))
    stale = why(memory)
    assert stale is not None
    assert stale.reason == "expired"
    memory.admin.sweep()
    assert memory.profile.get(HOME) is None


def test_a_passage_that_rests_on_something_that_changed_is_marked_too(memory: Memory) -> None:
    memory.write([Resource(id="acme", name="Acme", content="Acme sits in Oslo.")])
    near = Resource(id="near", content="I live in Oslo.", category="note", rests_on=("Acme",))
    memory.write([near])
    memory.profile.observe()
    assert why(memory) is None
    memory.write([Resource(id="acme", name="Acme", content="Acme sits in Rome.")])
    stale = why(memory)
    assert stale is not None
    assert (stale.reason, stale.path) == ("below", ("near", "Acme"))


def test_what_is_said_to_rest_on_something_only_later_is_marked_too(memory: Memory) -> None:
    memory.write([Resource(id="near", content="I live in Oslo.", category="note")])
    memory.profile.observe()
    memory.write([Resource(id="acme", name="Acme", content="Acme sits in Oslo.")])
    memory.write(
        [Resource(id="near", content="I live in Oslo.", category="note", rests_on=("Acme",))]
    )
    memory.write([Resource(id="acme", name="Acme", content="Acme sits in Rome.")])
    assert why(memory) is not None


class TestItHeals:
    def test_by_a_confirmation_made_later(self, memory: Memory) -> None:
        old = said(memory, "I live in Oslo.")
        memory.profile.confirm(HOME)
        # what the user confirmed before it was said to have changed settles nothing
        moved(memory, old)
        assert why(memory) is not None
        assert memory.profile.confirm(HOME).stale is None
        assert why(memory) is None

    def test_by_saying_it_again(self, memory: Memory) -> None:
        old = said(memory, "I live in Oslo.")
        said(memory, "I live in Oslo now.", MARCH + timedelta(days=3), "b.json")
        moved(memory, old, "I might move to Rome.")
        # what was said before that was known
        assert why(memory) is not None
        said(memory, "I live in Oslo still.", datetime.now(UTC), "c.json")
        assert (believed(memory).value, why(memory)) == ("Oslo", None)

    def test_by_the_text_that_took_its_place_where_it_says_the_same(self, memory: Memory) -> None:
        old = said(memory, "I live in Oslo. My name is Ann.")
        moved(memory, old, "I live in Oslo. My name is Anna.")
        assert why(memory) is not None
        memory.profile.observe()
        assert (believed(memory).value, why(memory)) == ("Oslo", None)
        assert believed(memory, "identity.name").value == "Anna"

    def test_what_is_set_by_hand_rests_on_no_passage(self, memory: Memory) -> None:
        old = said(memory, "I live in Oslo.")
        memory.profile.set(HOME, "Oslo")
        moved(memory, old)
        assert why(memory) is None


def test_what_ended_because_of_a_passage_that_was_replaced_may_hold_still(memory: Memory) -> None:
    said(memory, "I'm vegetarian.")
    gone = said(memory, "I'm not vegetarian any more.", MARCH + timedelta(days=1))
    (ended,) = memory.profile.show().beliefs
    assert (ended.holds, ended.stale) == (False, None)
    moved(memory, gone, "That was about my cat.")
    (ended,) = memory.profile.show().beliefs
    assert ended.stale is not None
    assert "may hold still" in memory.profile.context("Which diet do I follow?").text


def test_what_a_model_placed_in_a_slot_is_marked_as_well(tmp_path: Path) -> None:
    def reply(request: Request) -> Any:
        if request.task == "profile_extract":
            claim = {"key": "neighbourhood", "value": "Grünerløkka", "quote": "walk in Grünerløkka"}
            return {"items": [{"message": 1, **claim}]}
        return {"items": [{"item": 1, "field": "extras.neighbourhood", "value": "Grünerløkka"}]}

    with Memory.open(tmp_path, embedder="none", llm=ScriptedModel(reply)) as memory:
        said(memory, "After work I walk in Grünerløkka.")
        memory.profile.normalise()
        old = turn(memory, "After work I walk in Grünerløkka.")
        found = [one for one in memory.profile.beliefs() if one.value == "Grünerløkka"]
        assert [one.stale for one in found] == [None]
        moved(memory, old)
        found = [one for one in memory.profile.beliefs() if one.value == "Grünerløkka"]
        assert [one.stale is not None for one in found] == [True]
        # what is made a slot of its own rests on the same words
        memory.profile.promote("extras.neighbourhood")
        assert why(memory, "own.neighbourhood") is not None


def test_agents_are_given_it_as_unsure_with_the_question(memory: Memory) -> None:
    moved(memory, said(memory, "I live in Oslo."), since=MAY)
    context = memory.profile.context("Which café near my home is open tonight?")
    (line,) = [one for one in context.lines if one.slot == HOME]
    assert line.part == "unsure"
    assert MARK in line.text
    assert 'ask: "' in line.text
    assert MARK in memory.context("Where do I live?", profile=True)
    assert "Oslo" not in memory.profile.get_remme_context("Where do I live?") or (
        "may not hold" in memory.profile.get_remme_context("Where do I live?")
    )


def test_each_way_to_ask_for_beliefs_says_so(memory: Memory, tmp_path: Path) -> None:
    old = said(memory, "I live in Oslo.")
    moved(memory, old, since=MAY)
    profile = memory.profile
    assert [one.stale is not None for one in profile.beliefs()] == [True]
    assert (
        profile.show().as_dict()["operating_context"]["environment"]["location_region"]["stale"][
            "reason"
        ]
        == "replaced"
    )
    assert profile.why(HOME).belief.stale is not None
    assert profile.history(HOME)[0].stale is not None
    assert profile.changes()[0].stale is not None
    assert "may not hold any more" in profile.export(format="markdown")
    evidence = profile.why(HOME).evidence[0].id
    rows = memory.query("SELECT id, stale FROM resources WHERE kind = 'evidence'").rows
    assert [tuple(row) for row in rows] == [(evidence, True)]
    (hit,) = memory.lookup(evidence).records
    assert hit.stale is not None


ASKED: dict[str, dict[str, Any]] = {
    "profile_show": {},
    "profile_beliefs": {},
    "profile_get": {"slot": HOME},
    "profile_why": {"slot": HOME},
    "profile_history": {"slot": HOME},
    "profile_changes": {},
    "profile_context": {"query": "Where do I live?"},
    "profile_export": {"format": "markdown"},
    "profile_pin": {"slot": HOME},
}


@pytest.mark.parametrize("name", ASKED)
def test_each_operation_that_tells_of_it_says_so(memory: Memory, name: str) -> None:
    moved(memory, said(memory, "I live in Oslo."), since=MAY)
    (operation,) = [one for one in OPERATIONS if one.name == name]
    given = operation.does(memory, msgspec.convert(ASKED[name], operation.takes), None)
    text = json.dumps(msgspec.to_builtins(given, enc_hook=str))
    assert "with effect from 2026-05-01" in text or MARK in text


def test_the_command_line_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REMLOOM_EMBEDDER", "none")
    with Memory.open(tmp_path, embedder="none") as memory:
        moved(memory, said(memory, "I live in Oslo."), since=MAY)

    def run(*line: str) -> str:
        result = CliRunner().invoke(program, ["profile", *line, "--home", str(tmp_path)])
        assert result.exit_code == 0, result.output
        return " ".join(result.output.split())

    assert "may not" in run("show")
    assert "with effect from 2026-05-01" in run("why", HOME)
    assert "may not hold" in run("context", "Where do I live?")
    assert "may not hold" in run("history", HOME)


def test_exports_and_copies_mark_it_as_the_memory_does(memory: Memory, tmp_path: Path) -> None:
    moved(memory, said(memory, "I live in Oslo."), since=MAY)
    memory.admin.export(tmp_path / "all.jsonl")
    with Memory.open(tmp_path / "other", embedder="none") as other:
        other.admin.import_(tmp_path / "all.jsonl")
        assert why(other) == why(memory)


def test_another_store_marks_it_too(tmp_path: Path, postgres: str) -> None:
    tenant = uuid4().hex
    with Memory.open(tmp_path / "a", tenant=tenant, embedder="none") as memory:
        moved(memory, said(memory, "I live in Oslo."), since=MAY)
    Home(f"sqlite:{tmp_path / 'a'}").copy(postgres, tenant=tenant)
    with Memory.open(postgres, tenant=tenant, embedder="none") as memory:
        assert why(memory) is not None


def test_a_profile_in_which_nothing_was_replaced_costs_one_look(memory: Memory) -> None:
    said(memory, "I live in Oslo.")
    records = type(memory.admin.store.records)
    calls: list[Any] = []
    original = records.premises
    records.premises = lambda self, ids: calls.append(ids) or original(self, ids)  # type: ignore[assignment, func-returns-value, method-assign]
    try:
        memory.profile.beliefs()
    finally:
        records.premises = original  # type: ignore[method-assign]
    assert calls == []
