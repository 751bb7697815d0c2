"""What could hurt has room before all else: it is written shorter before any of it is left out, it
is left out before anything else is given, and then the text says so, whatever doubt there is."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from remloom import Memory, Message
from remloom.profile.beliefs.belief import Belief
from remloom.profile.beliefs.profile import Profile
from remloom.profile.context.build import ContextSpec, ProfileContext, build_context
from remloom.profile.slots.registry import registry

SLOTS = ("allergies", "medical restrictions", "health", "extras.medications")
OTHERS = {"name": "Jo", "reply_language": "Portuguese", "hobbies": "chess"}
SINCE = datetime(2026, 3, 2, 9, tzinfo=UTC)
NOTE = "{} of them on what could hurt"
FOODS = (
    "soy", "egg", "milk", "wheat", "fish", "sesame", "celery", "lupin", "mustard", "kiwi", "mango",
    "peach", "apple", "carrot", "tomato",
)  # fmt: skip


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(tmp_path, embedder="none") as memory:
        yield memory


facts = st.fixed_dictionaries(
    {
        "slot": st.integers(0, len(SLOTS) - 1),
        "state": st.sampled_from(["current", "current", "disputed", "stale"]),
        "authority": st.sampled_from(["statement", "statement", "edit"]),
        "confidence": st.floats(0, 1),
        "pinned": st.sampled_from([False, False, False, True]),
        "scope": st.sampled_from(["", "", "", "project:picnic"]),
        "length": st.integers(0, 40) | st.just(300),
    }
)


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Profile, list[Belief]]]:
    """What is known of the user besides, and a fact of each slot that could hurt."""
    with Memory.open(tmp_path_factory.mktemp("home"), embedder="none") as memory:
        for slot, value in OTHERS.items():
            memory.profile.set(slot, value)
        others = memory.profile.show()
        for slot in SLOTS:
            memory.profile.set(slot, "one")
        safety = [belief for belief in memory.profile.beliefs() if belief.value == "one"]
        assert len(safety) == len(SLOTS)
        yield others, safety


def _context(
    known: tuple[Profile, list[Belief]], some: list[dict[str, Any]], **spec: Any
) -> ProfileContext:
    others, kinds = known
    beliefs = []
    for number, one in enumerate(some):
        fields = dict(one)
        length = fields.pop("length")
        beliefs.append(
            replace(
                kinds[fields.pop("slot")],
                id=f"fact-{number}",
                value=f"fact{number:03}{'x' * length}",
                since=SINCE + timedelta(days=number),
                **fields,
            )
        )
    profile = replace(others, beliefs=(*others.beliefs, *beliefs))
    return build_context(profile, registry(), ContextSpec(query="chess", **spec))


def _given(context: ProfileContext) -> set[int]:
    """The numbers of the facts that the reader of a context sees."""
    return {number for number in range(200) if f'"fact{number:03}' in context.text}


@settings(max_examples=300, deadline=None)
@given(
    some=st.lists(facts, max_size=60),
    budget=st.integers(1, 900),
    safety=st.integers(0, 900),
    counter=st.sampled_from([None, len]),
)
def test_nothing_that_could_hurt_is_left_out_while_anything_else_is_given(
    known: tuple[Profile, list[Belief]],
    some: list[dict[str, Any]],
    budget: int,
    safety: int,
    counter: Any,
) -> None:
    context = _context(
        known, some, budget_tokens=budget, safety_tokens=safety, count_tokens=counter
    )
    assert context.tokens <= max(budget, safety)
    missing = len(some) - len(_given(context))
    assert context.safety_left_out == missing
    if missing:
        assert not any(value in context.text for value in OTHERS.values())
        assert len(context.lines) == len(_given(context))
    if missing and context.text:
        assert NOTE.format(missing) in context.text
    shown = [context.text.index(f'"{str(line.value)[:8]}') for line in context.lines
             if line.part == "standing"]  # fmt: skip
    assert shown == sorted(shown), "the lines are in the order of the text"


@settings(max_examples=100, deadline=None)
@given(
    some=st.lists(facts, min_size=1, max_size=40).map(
        lambda some: [{**one, "length": 0, "scope": ""} for one in some]
    )
)
def test_forty_facts_in_whatever_state_have_room_in_the_usual_budget(
    known: tuple[Profile, list[Belief]], some: list[dict[str, Any]]
) -> None:
    some = [one if number < 10 else {**one, "state": "current"} for number, one in enumerate(some)]
    assert _context(known, some).safety_left_out == 0


def test_what_was_only_hinted_at_takes_no_room_from_what_was_said(
    known: tuple[Profile, list[Belief]],
) -> None:
    one = {"slot": 0, "state": "current", "confidence": 0.7, "length": 90}
    hints = [{**one, "authority": "inferred"} for _ in range(40)]
    facts = [{**one, "authority": "statement"}, *hints]
    context = _context(known, facts, budget_tokens=300, purpose="chat")
    given = _given(context)
    assert all(value in context.text for value in OTHERS.values())
    assert 0 in given
    assert 1 < len(given) < 41
    assert context.text.count("(perhaps)") == len(given) - 1
    # what could hurt is counted where it has no room, a hint too
    assert context.safety_left_out == context.left_out == 41 - len(given)


@settings(max_examples=100, deadline=None)
@given(
    number=st.integers(1, 120),
    budget=st.integers(30, 500),
    doubted=st.sets(st.integers(0, 119)),
)
def test_neither_doubt_nor_what_is_said_later_displaces_a_fact(
    known: tuple[Profile, list[Belief]], number: int, budget: int, doubted: set[int]
) -> None:
    plain = {"slot": 0, "authority": "statement", "confidence": 0.9, "length": 0}
    some = [
        {**plain, **({"state": "disputed", "confidence": 0.1} if one in doubted else {})}
        for one in range(number)
    ]
    given = _given(_context(known, some, budget_tokens=budget))
    left_out = set(range(number)) - given
    if left_out:
        # in the room that is too small for a fact with its doubt, one without may have room
        assert len([one for one in given if one > min(left_out)]) <= 2


@pytest.mark.parametrize("budget", [60, 90, 130, 400, 1500])
def test_an_allergy_that_is_denied_stays_beside_many_that_came_later(
    empty: Memory, budget: int
) -> None:
    said = ["I'm deathly allergic to cashews.", *(f"I have a {food} allergy." for food in FOODS)]
    said.append("I'm not allergic to cashews any more.")
    for number, text in enumerate(said):
        at = SINCE + timedelta(days=number)
        empty.read_chat([Message(speaker="user", text=text, at=at)], uri=f"{number}.json")
    empty.read_text("The cook of the harbour cooks mussels.", uri="cook.md")
    empty.profile.observe()
    stated = {belief.value for belief in empty.profile.beliefs() if "allergies" in belief.slot}
    assert len(stated) == 16
    for text in (
        str(empty.profile.context("What should I cook?", budget_tokens=budget)),
        empty.context("What should I cook?", profile=True, budget_tokens=budget),
    ):
        missing = [value for value in stated if f'"{value}"' not in text]
        assert '"cashews" (may be over' in text or '"cashews" (since' in text
        assert len(missing) == 0 or NOTE.format(len(missing)) in text
        assert not missing or "mussels" not in text
        assert not missing or budget < 130
