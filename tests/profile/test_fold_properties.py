"""What is believed follows from the evidence alone: not from its order, nor from what was kept."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remloom import Memory, Message
from remloom.profile.beliefs.belief import Belief, Piece, fold
from remloom.profile.beliefs.belief_store import BELIEF, BeliefStore
from remloom.profile.beliefs.profile import Profile
from remloom.profile.beliefs.reliability import Constants
from remloom.profile.evidence.evidence import Evidence, to_record
from remloom.profile.slots.registry import registry
from remloom.runs.run import begin_run
from remloom.runs.writer import Writer

START = datetime(2026, 1, 1, tzinfo=UTC)
SLOTS = [registry().get("location_region"), registry().get("allergies")]
SAYINGS = (
    "I live in Berlin.",
    "I moved to Lisbon.",
    "I'm allergic to peanuts.",
    "I'm vegetarian.",
    "I'm no longer vegetarian.",
    "I use uv instead of pip.",
)


@st.composite
def pieces(draw: st.DrawFn) -> list[Piece]:
    """Evidence on one belief, of few values, times and sittings, so that much of it meets."""
    slot = draw(st.sampled_from(SLOTS))
    values = ["peanuts"] if slot.kind == "list" else ["Berlin", "Lisbon", "Porto"]
    count = draw(st.integers(1, 8))
    return [
        Piece(
            id=f"{number}",
            slot=slot.id,
            scope="",
            value=draw(st.sampled_from(values)),
            polarity=draw(st.sampled_from(["for", "for", "against", "retire"])),
            signal=draw(st.sampled_from(["explicit_preference", "implicit_behavior"])),
            authority=draw(st.sampled_from(["edit", "statement", "confirmed", "observed"])),
            source="chat",
            extractor="rules",
            at=START + timedelta(days=draw(st.integers(0, 4))),
            group=draw(st.sampled_from(["a", "b", "c"])),
            confident=draw(st.booleans()),
            hard=draw(st.sampled_from([False, False, True])),
            order=(draw(st.integers(0, 2)), 0),
        )
        for number in range(count)
    ]


@given(pieces(), st.randoms())
def test_the_order_in_which_evidence_is_found_does_not_matter(some: list[Piece], rng: Any) -> None:
    shuffled = list(some)
    rng.shuffle(shuffled)
    slot = registry().get(some[0].slot)
    assert fold(slot, shuffled, Constants()) == fold(slot, some, Constants())


@given(pieces(), st.integers(-1, 5))
def test_as_of_a_time_it_is_the_fold_of_what_was_said_by_then(some: list[Piece], day: int) -> None:
    at = START + timedelta(days=day)
    slot = registry().get(some[0].slot)
    known = [piece for piece in some if piece.at <= at]
    assert fold(slot, some, Constants(), as_of=at) == fold(slot, known, Constants())


@given(pieces())
def test_values_follow_each_other_and_only_the_last_may_hold(some: list[Piece]) -> None:
    folded = fold(registry().get(some[0].slot), some, Constants())
    assert folded is not None
    for before, after in zip(folded.held, folded.held[1:], strict=False):
        assert before.until is not None
        assert before.since <= before.until <= after.since


@given(pieces())
def test_what_the_user_set_last_holds_whatever_is_read(some: list[Piece]) -> None:
    slot = registry().get(some[0].slot)
    value = "peanuts" if slot.kind == "list" else "Faro"
    # an edit is a sitting of its own
    last = {"value": value, "polarity": "for", "authority": "edit", "confident": True, "group": "e"}
    fields = {name: getattr(some[0], name) for name in Piece.__struct_fields__}
    edit = Piece(**{**fields, **last, "id": "edit", "at": START + timedelta(days=9)})
    read = [piece for piece in some if piece.authority != "edit"]
    later = [Piece(**{**_fields(piece), "at": START + timedelta(days=12)}) for piece in read]
    folded = fold(slot, [*some, edit, *later], Constants())
    assert folded is not None
    assert folded.current is not None
    assert folded.current.value == value


def _fields(piece: Piece) -> dict[str, Any]:
    fields = {name: getattr(piece, name) for name in Piece.__struct_fields__}
    return {**fields, "id": f"later {piece.id}"}


# through a memory


@contextmanager
def memory_of(sayings: Sequence[str]) -> Iterator[Memory]:
    home = tempfile.mkdtemp()
    try:
        with Memory.open(home, embedder="none") as memory:
            _say(memory, sayings, 0)
            memory.profile.observe()
            yield memory
    finally:
        shutil.rmtree(home)


def _say(memory: Memory, sayings: Sequence[str], number: int) -> None:
    """Say these, a day apart, each in a chat of its own."""
    for place, text in enumerate(sayings, number):
        turn = Message(speaker="user", text=text, at=START + timedelta(days=place))
        memory.read_chat([turn], uri=f"{place}-{text}.json")


def _core(profile: Profile) -> list[tuple[Any, ...]]:
    """What of beliefs does not depend on when they are looked at."""
    return [_core_of(belief) for belief in profile.beliefs]


def _core_of(one: Belief) -> tuple[Any, ...]:
    history = tuple((held.value, held.since, held.until) for held in one.history)
    return (one.id, one.value, one.since, one.until, one.strength, one.pieces, one.level, history)


def _from_scratch(memory: Memory) -> list[tuple[Any, ...]]:
    """The beliefs when no fold is kept."""
    kv = memory._engine.store.kv
    kv.put([], deleted=[(BELIEF, entry.key) for entry in kv.list(BELIEF)])
    return _core(memory.profile.show())


def _drop_some(memory: Memory) -> None:
    kv = memory._engine.store.kv
    kv.put([], deleted=[(BELIEF, entry.key) for entry in kv.list(BELIEF)[::2]])


def _write_unfolded(memory: Memory, number: int) -> None:
    """Write evidence as a process does that is killed before it folds it."""
    evidence = Evidence(
        id=f"00000000-0000-7000-8000-{number:012}",
        slot="environment.location_region",
        value=f"Place {number}",
        at=START + timedelta(days=200 + number),
        group=str(number),
    )
    store = memory._engine.store
    place = BeliefStore(store, registry(), Constants()).place(evidence)
    writer = Writer(store, memory._engine.tenant, begin_run(store, "killed", {}), model=None)
    writer.write((), [to_record(evidence)], entries=[place])
    writer.finish()


@settings(max_examples=5)
@given(st.lists(st.sampled_from(range(7)), min_size=2, max_size=7))
def test_what_is_kept_is_what_would_be_computed_anew(steps: list[int]) -> None:
    with memory_of(SAYINGS[:2]) as memory:
        for number, step in enumerate(steps):
            if step == 0:
                _say(memory, [SAYINGS[number % len(SAYINGS)]], 10 + number)
                memory.profile.observe()
            elif step == 1:
                memory.profile.set("location_region", f"Town {number}")
            elif step == 2:
                evidence = memory.profile.why("location_region").evidence
                memory.forget(evidence[0].passage or evidence[0].id)
                memory.profile.set("location_region", "Oslo")
            elif step == 3:
                edit = memory.profile.set("location_region", "Rome")
                memory.runs.rollback(memory.profile.why(edit.slot).evidence[-1].run)
            elif step == 4:
                _drop_some(memory)
            elif step == 5:
                _write_unfolded(memory, number)
            else:
                memory.profile.observe()
            kept = _core(memory.profile.show())
            as_of = _core(memory.profile.show(as_of=datetime.now(UTC) + timedelta(days=1)))
            assert kept == _from_scratch(memory) == as_of


@settings(max_examples=3)
@given(st.lists(st.sampled_from(SAYINGS), min_size=2, max_size=5), st.integers(0, 4))
def test_what_is_forgotten_is_as_if_it_was_never_said(sayings: list[str], at: int) -> None:
    at %= len(sayings)
    with memory_of(sayings) as memory, memory_of(()) as other:
        memory.forget(f"{at}-{sayings[at]}.json")
        for place, text in enumerate(sayings):
            if place != at:
                _say(other, [text], place)
        other.profile.observe()
        assert _core(memory.profile.show()) == _core(other.profile.show())


def test_two_at_once_on_one_home_believe_the_same(tmp_path: Path) -> None:
    with Memory.open(tmp_path, embedder="none") as one, Memory.open(tmp_path) as two:
        _say(one, SAYINGS, 0)
        one.profile.observe()

        def work(number: int) -> None:
            memory = (one, two)[number % 2]
            memory.profile.set("extras.lucky_number", f"{number}")
            memory.profile.show()

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(work, range(8)))
        found = _core(one.profile.show())
        assert found == _core(two.profile.show()) == _from_scratch(one)
        lucky = one.profile.get("extras.lucky_number")
        assert lucky is not None
        assert lucky.pieces == 8


# what was reported of single cases


@pytest.fixture
def memory() -> Iterator[Memory]:
    with memory_of(()) as memory:
        yield memory


def test_the_last_edit_counts_when_the_clock_was_set_back(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.profile.set("location_region", "Oslo")

    class Back(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> datetime:  # type: ignore[override]
            return datetime(2020, 1, 1, tzinfo=UTC)

    monkeypatch.setattr("remloom.profile.beliefs.belief_store.datetime", Back)
    assert memory.profile.set("location_region", "Bergen").value == "Bergen"


def test_what_was_rejected_and_is_said_again_is_unsure(memory: Memory) -> None:
    memory.profile.set("location_region", "Oslo")
    memory.profile.reject("location_region")
    _say(memory, ["I live in Oslo."], 0)
    memory.profile.observe()
    assert memory.profile.get("location_region") is None, "it was said before the rejection"
    later = Message(speaker="user", text="I live in Oslo.", at=datetime.now(UTC))
    memory.read_chat([later], uri="later.json")
    memory.profile.observe()
    again = memory.profile.get("location_region")
    assert again is not None
    assert (again.value, again.state) == ("Oslo", "disputed")


def test_a_confirmation_settles_what_was_disputed(memory: Memory) -> None:
    memory.profile.set("location_region", "Porto")
    later = Message(speaker="user", text="I live in Oslo.", at=datetime.now(UTC))
    memory.read_chat([later], uri="later.json")
    memory.profile.observe()
    unsure = memory.profile.get("location_region")
    assert unsure is not None
    assert unsure.state == "disputed"
    assert memory.profile.confirm("location_region").state == "current"


def test_a_belief_cannot_end_before_it_began(memory: Memory) -> None:
    memory.profile.set("location_region", "Oslo")
    with pytest.raises(ValueError, match="only since"):
        memory.profile.retire("location_region", at=START)
