"""The exchange of profiles: JSON that any memory takes in, and Markdown that people read.

The JSON of a person has all evidence on them with its quotes, the slots of the memory's own, what
was pinned, hidden or forgotten, and what answers taught. Beliefs are not in it: they follow.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from graphlib import CycleError, TopologicalSorter
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ...errors import ConflictError, InvalidInputError, RemloomError
from ...kv import Entry, KeyRange
from ...store.contract import Store
from ..evidence.claim import Value, check_scope
from ..evidence.evidence import (
    BY_HAND,
    EVIDENCE,
    KIND,
    LONGEST_QUOTE,
    STAGED,
    Evidence,
    key_of_subject,
    stored_evidence,
    stored_resources,
    value_key,
)
from ..evidence.passages import SEEN, UNHEARD, check_name
from ..slots.registry import OWN_SLOT, SlotRegistry, own_slots, slot_entry
from ..slots.slot import EXTRAS, Hub, Slot
from .belief import Belief
from .belief_store import MARK, BeliefMark, BeliefStore
from .learning import CONSTANTS, OUTCOME
from .profile import Explanation, Profile
from .reliability import Outcome
from .stale import DOUBT

FORMAT = 1
# of the entries that go along with the records when a whole memory is exported; the folds that are
# kept do not: they are made again
NAMESPACES = (OWN_SLOT, EVIDENCE, STAGED, SEEN, UNHEARD, MARK, OUTCOME, CONSTANTS, DOUBT)

_TITLES: dict[Hub, str] = {
    "preferences": "Preferences",
    "operating_context": "Operating context",
    "soft_identity": "Soft identity",
}
_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#|~])")
_BELIEF_KEY = re.compile(r"[0-9a-f]{20}/[0-9a-f]{28}")
_AHEAD = timedelta(days=366)  # by which a clock may have been set back


class Bundle(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything that is known of one person, as it is exported.

    Args:
        remloom_profile: the version of this form.
        subject: "me", or a name.
        evidence: on all beliefs, what waits to be normalised, and what others were made of.
        slots: of the memory's own.
        marks: what was pinned, hidden or forgotten, by the key of the belief.
        answers: whether what was believed was right, by the key of the answer.
    """

    remloom_profile: int
    subject: str
    exported_at: datetime
    evidence: tuple[Evidence, ...] = ()
    slots: tuple[Slot, ...] = ()
    marks: dict[str, BeliefMark] = {}
    answers: dict[str, Outcome] = {}


class Imported(Struct, frozen=True, kw_only=True):
    """What an import did: how much of each was new."""

    subject: str
    evidence: int
    slots: int
    answers: int
    known: int  # pieces of evidence that were there already, or were forgotten since


def bundle_of(store: Store, beliefs: BeliefStore, subject: str) -> Bundle:
    answers = {
        entry.key: msgspec.json.decode(entry.value, type=Outcome)
        for entry in store.kv.list(OUTCOME)
    }
    evidence = _all_evidence(store, subject)
    return Bundle(
        remloom_profile=FORMAT,
        subject=subject,
        exported_at=datetime.now(UTC),
        evidence=tuple(sorted(evidence, key=lambda one: (one.at, one.id))),
        slots=tuple(own_slots(store)),
        marks=beliefs.marks(subject),
        answers=answers,
    )


def to_json(bundle: Bundle) -> str:
    encoded = msgspec.json.encode(bundle)
    return msgspec.json.format(encoded, indent=2).decode() + "\n"


def parse(text: str | bytes) -> Bundle:
    """Read the JSON of a bundle; InvalidInputError if it is none, or of a later version."""
    try:
        bundle = msgspec.json.decode(text, type=Bundle)
    except msgspec.MsgspecError as error:
        raise InvalidInputError(
            f"this is not the JSON of a profile: {error}",
            remedy="give what `remloom profile export FILE.json` wrote; Markdown is to be read",
        ) from error
    if bundle.remloom_profile != FORMAT:
        raise InvalidInputError(
            f"this profile is of version {bundle.remloom_profile}, {FORMAT} is known",
            remedy="upgrade remloom",
        )
    return bundle


class Import:
    """A bundle that is to be taken in by a memory, checked as a whole before anything is written.

    Attributes:
        slots: what can be known afterwards.
        new_slots: those that the memory does not have yet.
        evidence: what belongs under beliefs, or waits to be normalised.
        origins: what other evidence was made of: kept, but counted nowhere.

    Raises:
        InvalidInputError: a piece is not evidence that this memory could have; says which.
        ConflictError: the memory has another slot of the same name.
    """

    def __init__(self, bundle: Bundle, store: Store, slots: SlotRegistry) -> None:
        self._bundle = bundle
        self._store = store
        self._now = datetime.now(UTC)
        self.new_slots = tuple(_new_slots(bundle.slots, store))
        self.slots = slots.with_slots(self.new_slots) if self.new_slots else slots
        self._check_subject()
        self._check_marks()
        self._given = {one.id: one.claim for one in bundle.evidence}
        self._check_claims()
        checked = [self._checked(number, one) for number, one in enumerate(bundle.evidence, 1)]
        claims = {one.claim for one in checked if one.claim}
        self.evidence = tuple(one for one in checked if one.id not in claims)
        self.origins = tuple(one for one in checked if one.id in claims)

    @property
    def new_answers(self) -> dict[str, Outcome]:
        answers = self._bundle.answers
        return {key: one for key, one in answers.items() if not self._store.kv.get(OUTCOME, key)}

    def entries(self, marks: Mapping[str, BeliefMark]) -> Iterator[Entry]:
        """What is written besides evidence; what is pinned, hidden or forgotten in either is so."""
        for slot in self.new_slots:
            yield slot_entry(slot)
        for key, outcome in self.new_answers.items():
            yield Entry(OUTCOME, key, msgspec.json.encode(outcome))
        for key, mark in self._bundle.marks.items():
            merged = _merged(mark, marks.get(key, BeliefMark()))
            yield Entry(MARK, key, msgspec.json.encode(merged))

    def not_forgotten(
        self, beliefs: BeliefStore, marks: Mapping[str, BeliefMark]
    ) -> list[Evidence]:
        """The evidence but for edits of before the user forgot the belief in this memory."""
        return [one for one in self.evidence if not self._is_forgotten(one, beliefs, marks)]

    def _is_forgotten(
        self, one: Evidence, beliefs: BeliefStore, marks: Mapping[str, BeliefMark]
    ) -> bool:
        # only edits are certain to have a slot
        if one.authority != "edit":
            return False
        keys = (beliefs.key_of(one), beliefs.key_of_value(one))
        forgotten = [marks[key].deleted_at for key in keys if key in marks]
        return any(at is not None and one.at <= at for at in forgotten)

    def _check_subject(self) -> None:
        subject = self._bundle.subject
        if not subject or check_name(subject) != subject:
            raise InvalidInputError(f"{subject[:80]!r} is not the name of a person")

    def _check_marks(self) -> None:
        person = key_of_subject(self._bundle.subject)
        for key, mark in self._bundle.marks.items():
            aware = mark.deleted_at is None or mark.deleted_at.tzinfo is not None
            if not _BELIEF_KEY.fullmatch(key) or not key.startswith(f"{person}/") or not aware:
                raise InvalidInputError(f"the mark {key[:60]!r} is of no belief of this person")

    def _check_claims(self) -> None:
        """Refuse evidence that was made of itself: who follows claims would never arrive."""
        try:
            TopologicalSorter({id: (claim,) for id, claim in self._given.items()}).prepare()
        except CycleError as error:
            raise InvalidInputError(
                f"the evidence {error.args[1][0]!r} was made of itself"
            ) from error

    def _checked(self, number: int, evidence: Evidence) -> Evidence:
        try:
            return self._resting(self._valid(evidence))
        except RemloomError as error:
            error.message = f"evidence {number}: {error.message}"
            raise

    def _valid(self, evidence: Evidence) -> Evidence:
        if value_key(evidence.subject) != value_key(self._bundle.subject):
            raise InvalidInputError(f"it is of {evidence.subject!r}, another person")
        evidence = self._dated(evidence)
        if len(evidence.quote) > LONGEST_QUOTE:
            raise InvalidInputError(f"a quote has {LONGEST_QUOTE} characters at most")
        if self._is_stored(evidence.id) and not self._is_evidence(evidence.id):
            raise InvalidInputError(f"the id {evidence.id!r} is that of another record")
        evidence = replace(evidence, scope=check_scope(evidence.scope))
        if not evidence.slot:
            return evidence
        slot = self.slots.get(evidence.slot)
        # an extra may have become a slot meanwhile
        if slot.id != evidence.slot and not evidence.slot.startswith(EXTRAS):
            raise InvalidInputError(f"{evidence.slot!r} is not the id of a slot")
        if slot.user_only and evidence.authority not in BY_HAND:
            raise InvalidInputError(f"only the user sets {slot.id}, and this was read")
        if evidence.value == "" and evidence.polarity != "for":
            return replace(evidence, slot=slot.id)
        value = self.slots.canonical(slot, evidence.value)
        return replace(evidence, slot=slot.id, value=value)

    def _dated(self, evidence: Evidence) -> Evidence:
        """The evidence at its time; what was read, and is to come, at now, as reading has it.

        An edit keeps its time: each is made behind all that is there (see `BeliefStore.now_in`), so
        it may be ahead of a clock that was set back, and its order among the others counts.
        """
        times = [time for time in (evidence.at, evidence.made_at) if time is not None]
        for time in times:
            if time.tzinfo is None or time > self._now + _AHEAD:
                raise InvalidInputError(f"{time.isoformat()} has no time zone, or is to come")
        if evidence.authority in BY_HAND:
            return evidence
        return replace(evidence, at=min(evidence.at, self._now))

    def _resting(self, evidence: Evidence) -> Evidence:
        """The evidence on what this memory has: a passage that is elsewhere is only cited."""
        passage = evidence.passage if self._is_stored(evidence.passage) else ""
        is_there = evidence.claim in self._given or self._is_evidence(evidence.claim)
        return replace(evidence, passage=passage, claim=evidence.claim if is_there else "")

    def _is_stored(self, id: str) -> bool:
        return bool(id) and self._store.records.get("resources", id) is not None

    def _is_evidence(self, id: str) -> bool:
        return any(one.kind == KIND for one in stored_resources(self._store, (id,)))


def to_markdown(profile: Profile, explained: Sequence[Explanation]) -> str:
    """Write a profile as people read it: by hub, each belief with since when and why."""
    whose = "you" if profile.subject == "me" else _plain(profile.subject)
    count = sum(len(one.evidence) for one in explained)
    lines = [
        f"# What is known of {whose}",
        "",
        f"As of {_day(profile.as_of)}, from {count} pieces of evidence.",
    ]
    for hub, title in _TITLES.items():
        some = [one for one in explained if one.belief.hub == hub and one.belief.holds]
        if some:
            lines += ["", f"## {title}", ""]
            lines += [line for one in some for line in _belief_lines(one)]
    ended = [one for one in explained if not one.belief.holds]
    if ended:
        lines += ["", "## No longer so", ""]
        lines += [line for one in ended for line in _belief_lines(one)]
    return "\n".join(lines) + "\n"


def _all_evidence(store: Store, subject: str) -> Iterator[Evidence]:
    placed = store.kv.list(EVIDENCE, KeyRange(prefix=f"{key_of_subject(subject)}/"))
    waiting = store.kv.list(STAGED)
    ids = dict.fromkeys(entry.refs[0] for entry in (*placed, *waiting))
    seen: set[str] = set()
    while ids:
        id, _ = ids.popitem()
        if id in seen:
            continue
        seen.add(id)
        for evidence in stored_evidence(store, (id,)):
            if value_key(evidence.subject) == value_key(subject):
                yield evidence
                if evidence.claim:
                    ids[evidence.claim] = None


def _new_slots(slots: Iterable[Slot], store: Store) -> Iterator[Slot]:
    known = {slot.id: slot for slot in own_slots(store)}
    for slot in slots:
        if slot.id not in known:
            yield slot
        elif known[slot.id] != slot:
            raise ConflictError(
                f"this memory has another slot {slot.id!r}",
                remedy="remove it, or rename it in what is imported",
            )


def _merged(first: BeliefMark, second: BeliefMark) -> BeliefMark:
    deleted = [mark.deleted_at for mark in (first, second) if mark.deleted_at is not None]
    return BeliefMark(
        pinned=first.pinned or second.pinned,
        hidden=first.hidden or second.hidden,
        deleted_at=max(deleted, default=None),
    )


def _belief_lines(explanation: Explanation) -> Iterator[str]:
    belief = explanation.belief
    yield f"- **{_plain(belief.label)}: {_shown(belief.value)}** ({', '.join(_facts(belief))})"
    for held in belief.history:
        until = _day(held.until) if held.until is not None else "now"
        yield f"  - before: {_shown(held.value)}, {_day(held.since)} to {until}"
    # several claims may rest on the same words, and rules and a model find the same
    yield from dict.fromkeys(map(_evidence_line, explanation.evidence))


def _evidence_line(evidence: Evidence) -> str:
    words = evidence.quote or evidence.note
    quoted = f"“{_plain(words)}” " if words else ""
    since = f", since {evidence.since}" if evidence.since else ""
    return f"  - {quoted}({_plain(evidence.citation)}, {_day(evidence.at)}{since})"


def _facts(belief: Belief) -> Iterator[str]:
    if belief.scope:
        yield _plain(belief.scope)
    if belief.until is not None:
        yield f"{_day(belief.since)} to {_day(belief.until)}"
        if belief.stale is not None:
            yield "may hold still"
        return
    yield f"{belief.confidence:.0%}"
    yield belief.level
    if belief.state != "current":
        yield belief.state
    if belief.stale is not None:
        yield f"may not hold any more: {_plain(belief.stale)}"
    yield f"since {_day(belief.since)}"
    yield from (name for name in ("pinned", "hidden") if getattr(belief, name))


def _shown(value: Value) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return _plain(str(value))


def _plain(text: Any) -> str:
    """A text on one line, with nothing in it that Markdown would act on."""
    return _MARKDOWN.sub(r"\\\1", " ".join(str(text).split()))


def _day(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%d}"
