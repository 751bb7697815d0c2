"""A profile in PostgreSQL, and what is left of it when its home is copied there."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import uuid4

from msgspec.structs import replace

from remloom import Home, Memory, Message

OCTOBER = datetime(2026, 10, 1, 9, tzinfo=UTC)
CHAT = (
    ("user", "I live in Berlin and I'm allergic to peanuts.", 0),
    ("assistant", "I like peanuts.", 0),
    ("user", "I moved to Lisbon last week.", 11),
)


def told(memory: Memory) -> None:
    """Read a chat of the user, and look at it."""
    turns = [
        Message(speaker=speaker, text=text, at=OCTOBER + timedelta(days=day, minutes=number))
        for number, (speaker, text, day) in enumerate(CHAT)
    ]
    memory.read_chat(turns, uri="october.json")
    memory.profile.observe()


def known(memory: Memory, as_of: datetime | None = None) -> set[tuple[str, str]]:
    """What is believed of the user: the ends of slots, with their values."""
    beliefs = memory.profile.show(as_of=as_of)
    return {(belief.slot.rpartition(".")[2], str(belief.value)) for belief in beliefs}


def test_a_profile_is_learned_edited_taken_back_and_forgotten(postgres: str) -> None:
    with Memory.open(postgres, tenant=f"t{uuid4().hex}", embedder="none") as memory:
        told(memory)
        assert known(memory) == {("location_region", "Lisbon"), ("allergies", "peanuts")}
        before = known(memory, OCTOBER + timedelta(days=5))
        assert before == {("location_region", "Berlin"), ("allergies", "peanuts")}
        memory.profile.correct("location_region", "Porto")
        assert ("location_region", "Porto") in known(memory)
        memory.runs.rollback(memory.runs.list("profile", limit=1)[0].id)
        assert ("location_region", "Lisbon") in known(memory)
        moved = memory.profile.why("location_region").evidence[-1]
        assert memory.forget(moved.passage).verified
        assert ("location_region", "Berlin") in known(memory)
        assert memory.profile.forget("allergies", "peanuts").verified
        memory.profile.bootstrap()
        assert known(memory) == {("location_region", "Berlin")}


def test_what_a_turn_said_goes_when_it_is_somebody_elses(postgres: str) -> None:
    turn = Message(id="1", speaker="user", text="I live in Oslo.", at=OCTOBER)
    with Memory.open(postgres, tenant=f"t{uuid4().hex}", embedder="none") as memory:
        memory.read_chat([turn], uri="a.json")
        memory.profile.observe()
        assert known(memory) == {("location_region", "Oslo")}
        memory.read_chat([replace(turn, speaker="Ana")], uri="a.json")
        assert known(memory) == set()
        memory.profile.observe()
        assert memory.profile.subjects() == ["Ana"]


def test_a_profile_goes_with_its_home(postgres: str, tmp_path: Path) -> None:
    tenant = f"t{uuid4().hex}"
    with Memory.open(tmp_path, tenant=tenant, embedder="none") as memory:
        told(memory)
        memory.profile.set("dietary_style", "vegan", hard=True)
        memory.profile.pin("dietary_style")
        here = known(memory)
    Home(tmp_path).copy(postgres, tenant=tenant)
    with Memory.open(postgres, tenant=tenant, embedder="none") as memory:
        assert known(memory) == here
        diet = memory.profile.get("dietary_style")
        assert diet is not None
        assert (diet.hard, diet.pinned) == (True, True)
        assert memory.profile.observe().run.counts.get("evidence", 0) == 0


def test_what_changed_and_what_was_wrong_are_told_apart_and_forgotten(postgres: str) -> None:
    with Memory.open(postgres, tenant=f"t{uuid4().hex}", embedder="none") as memory:
        told(memory)
        then, since = OCTOBER + timedelta(days=15), OCTOBER + timedelta(days=20)
        memory.profile.correct(
            "location_region", "Porto", reason="changed", since=since, note="job"
        )
        memory.profile.correct("allergies", "almonds", was="peanuts")
        change = memory.profile.history("location_region")[0]
        assert (change.before, change.after, change.reason) == ("Lisbon", "Porto", "changed")
        assert (change.at, change.note) == (since, "job")
        was = memory.profile.get("allergies", as_of=then)
        assert was is not None
        assert was.retracted_at is not None
        assert memory.forget("october.json").verified
        assert known(memory) == {("location_region", "Porto"), ("allergies", "almonds")}
        assert "peanuts" not in memory.profile.export()


def test_a_newer_favourite_ends_the_older_and_is_forgotten_with_it(postgres: str) -> None:
    with Memory.open(postgres, tenant=f"t{uuid4().hex}", embedder="none") as memory:
        for day, dish in enumerate(("ramen", "pho")):
            turn = Message(
                speaker="user",
                text=f"My favourite dish is {dish}.",
                at=OCTOBER + timedelta(days=day),
            )
            memory.read_chat([turn], uri=f"{dish}.json")
        memory.profile.observe()
        assert known(memory) == {("likes", "My favourite dish is pho.")}
        assert memory.forget("ramen.json").verified
        assert "ramen" not in memory.profile.export()
