"""What is believed of a user: from a chat, by rule, without a model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from remloom import Memory, Message
from remloom.errors import InvalidInputError, NotFoundError
from remloom.profile.beliefs.belief import Belief

OCTOBER = datetime(2026, 10, 1, 9, tzinfo=UTC)
CHAT = [
    ("user", "I'm vegetarian and I'm allergic to peanuts.", 0),
    ("assistant", "Noted! I like peanuts.", 0),
    ("user", "I live in Berlin. Please keep answers short.", 2),
    ("user", "I moved to Lisbon last week.", 11),
    ("user", "I'm no longer vegetarian, I eat fish again.", 19),
    ("user", "I use uv instead of pip.", 21),
]


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(tmp_path, embedder="none") as memory:
        turns = [
            Message(speaker=speaker, text=text, at=OCTOBER + timedelta(days=day, minutes=number))
            for number, (speaker, text, day) in enumerate(CHAT)
        ]
        memory.read_chat(turns, uri="october.json")
        yield memory


def test_a_chat_becomes_beliefs_with_their_lines_and_what_was_before(memory: Memory) -> None:
    counts = memory.profile.observe().run.counts
    assert counts["passages"] == 5  # the turns of the user
    profile = memory.profile.show()
    home = profile.get("environment.location_region")
    assert home is not None
    assert (home.value, home.state, [old.value for old in home.history]) == (
        "Lisbon",
        "current",
        ["Berlin"],
    )
    assert home.confidence > 0.8
    assert profile.values("food_and_dining.restrictions.allergies") == ["peanuts"]
    assert profile.values("tooling_defaults.package_manager.python") == ["uv"]
    # it has ended, and nothing took its place
    assert profile.values("food_and_dining.dietary_style") == []
    why = memory.profile.why("location_region")
    assert [one.quote for one in why.evidence] == [
        "I live in Berlin.",
        "I moved to Lisbon last week.",
    ]
    assert memory.profile.observe().run.counts == {}, "nothing is looked at twice"


def test_as_of_a_time_it_is_what_was_believed_then(memory: Memory) -> None:
    memory.profile.observe()
    before = memory.profile.show(as_of=OCTOBER + timedelta(days=9))
    assert before.values("environment.location_region") == ["Berlin"]
    assert before.values("food_and_dining.dietary_style") == ["vegetarian"]
    assert memory.profile.show(as_of=OCTOBER - timedelta(days=1)).beliefs == ()


def test_forgetting_a_message_forgets_what_was_believed_because_of_it(memory: Memory) -> None:
    memory.profile.observe()
    moved = memory.profile.why("location_region").evidence[-1]
    receipt = memory.forget(moved.passage)
    assert receipt.verified
    assert memory.profile.show().values("environment.location_region") == ["Berlin"]


def test_a_scan_is_taken_back(memory: Memory) -> None:
    scan = memory.profile.observe()
    memory.runs.rollback(scan.run.id)
    assert list(memory.profile.show()) == []
    assert memory.profile.observe().run.counts["passages"] == 5


def test_what_the_user_sets_is_not_ended_by_what_is_read(memory: Memory) -> None:
    memory.profile.set("location_region", "Porto", note="my address")
    memory.profile.observe()
    home = memory.profile.show().get("environment.location_region")
    assert home is not None
    assert (home.value, home.authority) == ("Porto", "edit")


def test_a_belief_that_was_forgotten_comes_back_only_when_it_is_said_again(memory: Memory) -> None:
    memory.profile.observe()
    memory.profile.forget("allergies", "peanuts")
    # looked at anew
    for run in memory.runs.list("observe"):
        memory.runs.rollback(run.id)
    memory.profile.observe()
    assert memory.profile.show().values("food_and_dining.restrictions.allergies") == []
    again = Message(speaker="user", text="I'm allergic to peanuts.", at=datetime.now(UTC))
    memory.read_chat([again], uri="later.json")
    memory.profile.observe()
    assert memory.profile.show().values("food_and_dining.restrictions.allergies") == ["peanuts"]


def test_a_correction_that_cannot_be_leaves_what_is_believed(memory: Memory) -> None:
    slot = memory.profile.set("allergies", "nuts").slot
    with pytest.raises(InvalidInputError, match="secret"):
        memory.profile.correct("allergies", "ghp_" + "a1B2" * 9, was="nuts")
    assert memory.profile.show().values(slot) == ["nuts"]
    memory.profile.correct("allergies", "almonds", was="nuts")
    assert memory.profile.show().values(slot) == ["almonds"]
    memory.profile.correct("allergies", "almonds", was="almonds")
    assert memory.profile.show().values(slot) == ["almonds"]


def test_a_scope_is_the_same_with_spaces_around_it(memory: Memory) -> None:
    assert memory.profile.set("verbosity", "detailed", scope=" domain:coding ").value == "detailed"
    assert memory.profile.why("verbosity", scope="domain:coding ").belief.value == "detailed"
    assert len(memory.profile.history("verbosity", scope=" domain:coding")) == 1


def test_what_a_slot_can_no_longer_be_can_be_ended(memory: Memory) -> None:
    desk = {"id": "own.desk", "hub": "soft_identity", "label": "Desk of mine", "kind": "choice"}
    memory.profile.define_slot({**desk, "values": ["oak", "pine"]})
    memory.profile.set("own.desk", "oak")
    memory.profile.define_slot({**desk, "values": ["steel", "glass"]})
    assert memory.profile.reject("own.desk").state == "retired"


def test_what_is_hard_stays_so_when_it_is_set_again(memory: Memory) -> None:
    memory.profile.set("dietary_style", "vegan", hard=True)
    assert memory.profile.set("dietary_style", "vegan").hard


def test_every_change_cites_what_said_so(memory: Memory) -> None:
    memory.profile.observe()
    changes = memory.profile.changes()
    (ended,) = [change for change in changes if change.after is None]
    assert (ended.before, ended.citation) == ("vegetarian", "october.json#5")
    berlin = next(change for change in changes if change.after == "Lisbon")
    assert (berlin.before, berlin.citation) == ("Berlin", "october.json#4")
    assert "no longer so (on 2026-10-20) [october.json#5]" in (
        memory.profile.context("what can I eat?", as_of=OCTOBER + timedelta(days=25)).text
    )


def test_a_value_is_found_in_any_form_and_one_that_never_was_is_an_error(memory: Memory) -> None:
    memory.profile.observe()
    assert memory.profile.why("dietary_style", "Veggie").belief.value == "vegetarian"
    assert memory.profile.why("location_region", "berlin").belief.value == "Lisbon"
    assert memory.profile.why("allergies", "peanut").belief.value == "peanuts"
    with pytest.raises(NotFoundError, match="'Atlantis' never was"):
        memory.profile.why("location_region", "Atlantis")


def _over_the_years(tmp_path: Path, text: str, slot: str, days: Iterable[int]) -> list[Belief]:
    """What is believed so many days after something was said."""
    with Memory.open(tmp_path, embedder="none") as memory:
        memory.read_chat([Message(speaker="user", text=text, at=OCTOBER)], uri="said.json")
        memory.profile.observe()
        later = [memory.profile.get(slot, as_of=OCTOBER + timedelta(days=day)) for day in days]
        return [belief for belief in later if belief is not None]


def test_a_belief_is_stale_once_it_is_likelier_wrong_than_right(tmp_path: Path) -> None:
    beliefs = _over_the_years(tmp_path, "I live in Berlin.", "location_region", range(0, 2_000, 20))
    assert len(beliefs) == 100
    for belief in beliefs:
        assert belief.state == ("current" if belief.confidence >= 0.5 else "stale")
    assert min(one.confidence for one in beliefs if one.state == "current") < 0.51
    assert max(one.confidence for one in beliefs if one.state == "stale") > 0.49


@pytest.mark.parametrize(
    ("text", "slot", "half_life"),
    [("I live in Berlin.", "location_region", 1_095), ("I use uv instead of pip.", "package_manager.python", 365)],
)  # fmt: skip
def test_half_of_what_is_known_is_gone_after_the_half_life_of_its_slot(
    tmp_path: Path, text: str, slot: str, half_life: int
) -> None:
    beliefs = _over_the_years(tmp_path, text, slot, (0, half_life, 50 * half_life))
    known, later, nothing = (belief.confidence for belief in beliefs)
    assert (later - nothing) / (known - nothing) == pytest.approx(0.5, abs=0.03)
