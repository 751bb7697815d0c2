"""Editing a profile: what the user sets, confirms and corrects by hand, each as one run."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from ..engine.arguments import check_aware, check_text
from ..engine.engine import Engine
from ..errors import ConflictError, InvalidInputError, UnknownNameError
from ..store.rules.record_ids import new_id
from .evidence.claim import check_scope

if TYPE_CHECKING:
    from ..runs.writer import Writer
    from .beliefs.belief import Belief
    from .beliefs.belief_store import BeliefStore
    from .evidence.claim import Value
    from .evidence.evidence import Evidence
    from .slots.registry import Registry
    from .slots.slot import Slot


_KIND = "profile"  # of the runs
_WAIT = 5.0  # seconds that an edit waits for another one
_PAUSE = 0.02  # seconds between two tries


class Editing:
    """Finds what is believed, and writes what the user says of it; see `Profiles`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._store = engine.store

    def slots(self) -> Registry:
        """What can be known here."""
        from .slots.registry import registry_of

        return registry_of(self._store)

    def slot(self, name: str) -> Slot:
        """The slot of a name; of an extra that something is believed in, by its label as well.

        Raises:
            UnknownNameError: there is none, or several.
        """
        slots = self.slots()
        try:
            return slots.get(name)
        except UnknownNameError:
            with suppress(InvalidInputError):
                extra = slots.extra(name)  # noqa: S610 - no query of Django
                beliefs = self.beliefs()
                people = {self.subject(""), *map(self.subject, beliefs.subjects())}
                if any(one.slot == extra.id for person in people for one in beliefs.all(person)):
                    return extra
            raise

    def beliefs(self, slots: Registry | None = None) -> BeliefStore:
        """What is believed, with these slots; default those that there are."""
        from .beliefs.belief_store import BeliefStore
        from .beliefs.constants import constants_of

        return BeliefStore(self._store, slots or self.slots(), constants_of(self._store))

    def subject(self, name: str) -> str:
        """The person that is meant: anyone who goes by one of the user's names is the user."""
        from .evidence.subjects import resolve

        return resolve(check_text(name, "a subject"), self._engine.settings)

    def find(
        self,
        slot: Slot,
        value: Value | None,
        subject: str,
        scope: str,
        as_of: datetime | None = None,
    ) -> Belief:
        """Find the belief in a slot and scope; see `profile.find`."""
        from .beliefs.profile import find

        if as_of is not None:
            check_aware(as_of)
        beliefs = self.beliefs().all(self.subject(subject), as_of=as_of)
        return find(beliefs, slot, value, check_scope(scope))

    def edit(
        self,
        kind: str,
        slot: Slot,
        value: Value,
        subject: str,
        scope: str,
        *,
        hard: bool = False,
        note: str = "",
        at: datetime | None = None,
    ) -> Evidence:
        """Make the evidence that an edit is, made now; `at` is when it was so, default now."""
        from .beliefs.edits import edit

        person, place = self.subject(subject), check_scope(scope)
        now = self.beliefs().now_in(person, slot, place, value)
        return edit(
            kind,
            slot,
            value,
            subject=person,
            scope=place,
            at=_past(at, now),
            made_at=now,
            hard=hard,
            note=check_text(note, "a note"),
        )

    def record(
        self,
        edits: Sequence[Evidence],
        *,
        was: Belief | None = None,
        right: bool | None = None,
    ) -> Belief:
        """Record edits as one run; returns what the last one is about.

        Args:
            was: what they quote.
            right: also record whether that was right.

        Raises:
            GoneError: what they quote was forgotten meanwhile.
        """
        from .beliefs.edits import outcome_entries
        from .beliefs.recorder import Recorder

        last = edits[-1]
        known = self.beliefs().pieces_on(was.id) if was is not None else []
        outcomes = []
        if was is not None and right is not None:
            outcomes = outcome_entries(was, known, right=right, at=last.made_at or last.at)

        def work(writer: Writer) -> None:
            recorder = Recorder(self._store, self.beliefs(), writer)
            recorder.record([one.id for one in known], edits, entries=outcomes)

        self.run(work)
        if outcomes:
            self.relearn()
        found = self.slots().get_or_extra(last.slot)
        # what is set need not hold: an edit that was made hard outweighs it
        item = last.value if found.kind == "list" else None
        return self.find(found, item, last.subject, last.scope)

    def relearn(self) -> None:
        """Learn from the user's answers, if there are some more than last time."""
        from .beliefs.constants import exposures, relearn

        relearn(self._store, lambda: exposures(self.beliefs(), self.slots()))

    def answer(
        self,
        kind: str,
        slot: str,
        value: Value | None,
        subject: str,
        scope: str,
        *,
        right: bool,
        note: str = "",
    ) -> Belief:
        """Record whether what is believed is right."""
        from .beliefs.profile import named

        found = self.slots().get(slot)
        belief = self.find(found, value, subject, scope)
        one = self.edit(kind, found, named(belief, found, value), subject, scope, note=note)
        return self.record([one], was=belief, right=right)

    def mark(
        self, slot: str, value: Value | None, subject: str, scope: str, **changes: Any
    ) -> Belief:
        """Write what the user decides about a belief, besides what holds; returns the belief."""
        found = self.slots().get(slot)
        belief = self.find(found, value, subject, scope)
        self.write_mark(belief, **changes)
        return self.find(found, belief.value, subject, scope)

    def write_mark(self, belief: Belief, **changes: Any) -> None:
        """Change the mark of a belief."""
        from msgspec.structs import replace

        from .beliefs.belief_store import Mark
        from .beliefs.edits import mark_entry

        def work(writer: Writer) -> None:
            # read within the run: another edit may just have changed it
            marks = self.beliefs().marks(belief.subject)
            mark = replace(marks.get(belief.id, Mark()), **changes)
            writer.write((), entries=[mark_entry(belief.id, mark)])

        self.run(work)

    def forget_mark(self, belief: Belief, value: Value | None) -> None:
        """Note that a belief is forgotten now, or this value of it alone."""
        from .beliefs.belief_store import Mark
        from .beliefs.edits import mark_entry
        from .evidence.evidence import belief_key, key_of_subject

        key = belief.id
        if value is not None:
            key = belief_key(key_of_subject(belief.subject), belief.slot, belief.scope, value)
        # what was decided of it is forgotten, too: what is said again is not hidden
        mark = mark_entry(key, Mark(deleted_at=datetime.now(UTC)))
        self.run(lambda writer: writer.write((), entries=[mark]))

    def run(self, work: Callable[[Writer], object]) -> None:
        """Do an edit as a run, after one that is under way."""
        from ..runs.lifecycle import run_to_end
        from ..runs.run import begin_run
        from ..runs.writer import Writer

        # of its own: an edit that was killed is not gone on with by the next one
        edit = new_id()
        until = time.monotonic() + _WAIT
        while True:
            try:
                run = begin_run(self._store, _KIND, {"edit": edit})
                break
            except ConflictError:
                if time.monotonic() > until:
                    raise
                time.sleep(_PAUSE)
        writer = Writer(self._store, self._engine.tenant, run, model=self._engine.embedder_name)
        with run_to_end(writer):
            work(writer)


def _past(at: datetime | None, now: datetime) -> datetime:
    if at is None:
        return now
    check_aware(at)
    if at > now:
        raise InvalidInputError(
            f"{at.isoformat()} is in the future", remedy="give when it ended, or nothing for now"
        )
    return at
