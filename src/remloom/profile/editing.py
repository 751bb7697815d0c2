"""Editing a profile: what the user sets, confirms and corrects by hand, each as one run."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from ..engine.arguments import check_aware, check_text
from ..engine.engine import Engine
from ..errors import ConflictError, InvalidInputError, UnknownNameError
from ..kv import Entry
from ..runs.lifecycle import run_to_end
from ..runs.run import begin_run
from ..runs.writer import Writer
from ..store.rules.record_ids import new_id
from ..text.secrets import mask
from .beliefs.belief import Belief
from .beliefs.belief_store import MARK, BeliefMark, BeliefStore
from .beliefs.learning import constants_of, outcome_entries, relearn
from .beliefs.profile import find, named
from .beliefs.recorder import Recorder
from .evidence.claim import REASONS, Polarity, Reason, Signal, Value, check_scope
from .evidence.evidence import Authority, Evidence, belief_key, is_only_secret, key_of_subject
from .evidence.passages import resolve
from .slots.registry import SlotRegistry, registry_of
from .slots.slot import Slot

_KIND = "profile"  # of the runs
_WAIT = 5.0  # seconds that an edit waits for another one
_PAUSE = 0.02  # seconds between two tries


class _Edit(NamedTuple):
    polarity: Polarity
    signal: Signal
    authority: Authority
    citation: str


_EDITS = {
    "set": _Edit("for", "explicit_preference", "edit", "set by hand"),
    "confirm": _Edit("for", "acceptance", "confirmed", "confirmed by hand"),
    "correct": _Edit("for", "correction", "edit", "corrected by hand"),
    "reject": _Edit("against", "rejection", "edit", "rejected by hand"),
    "retire": _Edit("retire", "correction", "edit", "retired by hand"),
}


class Editing:
    """Finds what is believed, and writes what the user says of it; see `Profiles`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._store = engine.store

    def slots(self) -> SlotRegistry:
        return registry_of(self._store)

    def slot(self, name: str) -> Slot:
        """The slot of a name; of an extra that something is believed in, by its label as well."""
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

    def beliefs(self, slots: SlotRegistry | None = None) -> BeliefStore:
        """What is believed, with these slots; default those that there are."""
        return BeliefStore(self._store, slots or self.slots(), constants_of(self._store))

    def subject(self, name: str) -> str:
        """The person that is meant: anyone who goes by one of the user's names is the user."""
        return resolve(check_text(name, "a subject"), self._engine.settings)

    def find(
        self,
        slot: Slot,
        value: Value | None,
        subject: str,
        scope: str,
        as_of: datetime | None = None,
    ) -> Belief:
        if as_of is not None:
            check_aware(as_of)
        beliefs = self.beliefs().all(self.subject(subject), as_of=as_of)
        return find(beliefs, slot, value, check_scope(scope))

    def held(self, slot: Slot, subject: str, scope: str) -> Belief | None:
        """What holds in a slot that has one value at a time, in this scope."""
        place = check_scope(scope)
        beliefs = self.beliefs().all(self.subject(subject)) if slot.kind != "list" else []
        found = (one for one in beliefs if (one.slot, one.scope) == (slot.id, place) and one.holds)
        return next(found, None)

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
        """Make the evidence of an edit of a kind of `_EDITS`; `at` is when it was so, default when
        it is recorded.

        Raises:
            InvalidInputError: the value is a secret, such as a password; or `at` is to come.
        """
        now = datetime.now(UTC)
        so_at = now if at is None else _past(at, now)
        check_text(note, "a note")
        shown = mask(value)[0] if isinstance(value, str) else value
        if is_only_secret(shown):
            raise InvalidInputError(
                f"the value for {slot.label} is a secret: {shown}",
                remedy="a profile is shown to agents; keep secrets in a password manager",
            )
        return Evidence(
            id=new_id(),
            subject=self.subject(subject),
            slot=slot.id,
            key=slot.id,
            value=shown,
            **_EDITS[kind]._asdict(),
            source="edit",
            extractor="user",
            scope=check_scope(scope),
            at=so_at,
            made_at=now if at is not None else None,
            # confirming it three times on a day makes it no surer than once
            group=f"edit {so_at:%Y-%m-%d}",
            hard=hard,
            note=mask(note)[0],
        )

    def record(
        self,
        edits: Sequence[Evidence],
        *,
        was: Belief | None = None,
        right: bool | None = None,
    ) -> Belief:
        """Record edits as one run, and whether what they quote was right; returns what the last
        one is about. GoneError if what they quote was forgotten meanwhile."""
        last = edits[-1]
        known = self.beliefs().pieces_on(was.id) if was is not None else []

        def work(writer: Writer) -> None:
            # timed within the run: another edit may just have been made
            made = [self._timed(one) for one in edits]
            outcomes = []
            if was is not None and right is not None:
                at = made[-1].made_at or made[-1].at
                outcomes = outcome_entries(was, known, right=right, at=at)
            recorder = Recorder(self._store, self.beliefs(), writer)
            recorder.record([one.id for one in known], made, entries=outcomes)

        self.run(work)
        if right is not None:
            self.relearn()
        found = self.slots().get_or_extra(last.slot)
        # what is set need not hold: an edit that was made hard outweighs it
        item = last.value if found.kind == "list" else None
        return self.find(found, item, last.subject, last.scope)

    def _timed(self, edit: Evidence) -> Evidence:
        """The edit as it is made now, after all that is there."""
        slot = self.slots().get_or_extra(edit.slot)
        now = self.beliefs().now_in(edit.subject, slot, edit.scope, edit.value)
        return replace(edit, at=now) if edit.made_at is None else replace(edit, made_at=now)

    def relearn(self) -> None:
        relearn(self._store, self.beliefs())

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

        def work(writer: Writer) -> None:
            # read within the run: another edit may just have changed it
            marks = self.beliefs().marks(belief.subject)
            mark = msgspec.json.encode(replace(marks.get(belief.id, BeliefMark()), **changes))
            writer.write((), entries=[Entry(MARK, belief.id, mark)])

        self.run(work)
        return self.find(found, belief.value, subject, scope)

    def forget_mark(self, belief: Belief, value: Value | None) -> None:
        """Note that a belief is forgotten now, or this value of it alone."""
        key = belief.id
        if value is not None:
            key = belief_key(key_of_subject(belief.subject), belief.slot, belief.scope, value)
        # what was decided of it is forgotten, too: what is said again is not hidden
        mark = msgspec.json.encode(BeliefMark(deleted_at=datetime.now(UTC)))
        self.run(lambda writer: writer.write((), entries=[Entry(MARK, key, mark)]))

    def run(self, work: Callable[[Writer], object]) -> None:
        """Do an edit as a run, after one that is under way."""
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


def is_changed(reason: Reason, since: datetime | None) -> bool:
    """Whether a value is said to have changed, not to have been wrong.

    Raises:
        InvalidInputError: there is no such reason, or `since` is given of what was wrong.
    """
    if reason not in REASONS:
        raise InvalidInputError(
            f"{str(reason)[:40]!r} is not why a value holds no longer",
            remedy='give "changed" if it was so until then, "wrong" if it never was so',
        )
    if reason == "wrong" and since is not None:
        raise InvalidInputError(
            "what was wrong never was so: there is no time since when it is not",
            remedy='leave `since` out, or give "changed" as the reason',
        )
    return reason == "changed"


def check_began(belief: Belief, at: datetime | None) -> None:
    """Check when a belief is said to have ended.

    Raises:
        InvalidInputError: the time has no time zone, or is before it began.
    """
    if at is None:
        return
    check_aware(at)
    if at < belief.since:
        raise InvalidInputError(
            f"{belief.label} has been believed only since {belief.since.isoformat()}",
            remedy="give a later time, or `reject` or `correct` what never was so",
        )


def _past(at: datetime, now: datetime) -> datetime:
    check_aware(at)
    if at > now:
        raise InvalidInputError(
            f"{at.isoformat()} is in the future", remedy="give when it ended, or nothing for now"
        )
    return at
