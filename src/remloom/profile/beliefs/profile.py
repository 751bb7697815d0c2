"""A profile: the beliefs about one person at one time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from functools import partial
from typing import Any

from msgspec import Struct

from ...errors import NotFoundError
from ...model.premises import Stale
from ..evidence.claim import Reason, Value, check_scope
from ..evidence.evidence import Evidence, value_key
from ..slots.slot import Slot
from ..slots.values import canonical
from .belief import Belief, Held

_SPECIFIC = ("session:", "project:", "domain:")  # kinds of scopes, the narrowest first


class Profile(Struct, frozen=True, kw_only=True):
    """What is believed of one person.

    Args:
        subject: "me", or a name.
        as_of: when.
        beliefs: by slot, scope and value; those that have ended too.
        waiting: claims that wait to be normalised.
        unheard: passages of theirs of which nothing is known since their language is not heard, by
            language.
    """

    subject: str
    as_of: datetime
    beliefs: tuple[Belief, ...] = ()
    waiting: int = 0
    unheard: dict[str, int] = {}

    def __iter__(self) -> Iterator[Belief]:
        """Iterate over what holds, but for what is hidden."""
        return (belief for belief in self.beliefs if belief.holds and not belief.hidden)

    def get(self, slot: str, *, scope: str | Sequence[str] = ()) -> Belief | None:
        """Return what holds in a slot: in the narrowest of these scopes that has something.

        Of a list the surest item; `values` has all. None if nothing is known.
        """
        return max(self._within(slot, scope), key=lambda belief: belief.confidence, default=None)

    def values(self, slot: str, *, scope: str | Sequence[str] = ()) -> list[Value]:
        """Return the values that hold in a slot, the surest first."""
        matches = self._within(slot, scope)
        matches.sort(key=lambda belief: -belief.confidence)
        return [belief.value for belief in matches]

    def as_dict(self) -> dict[str, Any]:
        """Show it as seed 4's hubs: nested by path, each value with confidence and evidence count.

        Lists are a list of such objects. What holds in a scope only stands under "by_scope".
        """
        hubs: dict[str, Any] = {"preferences": {}, "operating_context": {}, "soft_identity": {}}
        for belief in self:
            *folders, name = belief.slot.split(".")
            place = hubs[belief.hub]
            for folder in folders:
                place = place.setdefault(folder, {})
            shown: dict[str, Any] = {
                "value": belief.value,
                "confidence": round(belief.confidence, 3),
                "evidence_count": belief.pieces,
                "strength": round(belief.strength, 4),
                "level": belief.level,
                "state": belief.state,
                "since": belief.since.isoformat(),
            }
            if belief.stale is not None:
                shown["stale"] = belief.stale.as_dict()
            if belief.rivals:
                shown["rivals"] = [rival.value for rival in belief.rivals]
            if belief.scope:
                place = place.setdefault("by_scope", {}).setdefault(belief.scope, {})
            # two values in one slot and scope are items of a list
            if name in place:
                others = place[name]
                place[name] = [*(others if isinstance(others, list) else [others]), shown]
            else:
                place[name] = shown
        confidences = [belief.confidence for belief in self]
        meta = {
            "subject": self.subject,
            "as_of": self.as_of.isoformat(),
            "beliefs": len(confidences),
            "total_evidence": sum(belief.pieces for belief in self.beliefs),
            "waiting": self.waiting,
            "unheard": self.unheard,
        }
        return {**hubs, "meta": meta}

    def _within(self, slot: str, scope: str | Sequence[str]) -> list[Belief]:
        scopes = [scope] if isinstance(scope, str) else scope
        return [one for one in within(self, list(map(check_scope, scopes))) if one.slot == slot]


class Explanation(Struct, frozen=True, kw_only=True):
    """Why something is believed.

    Args:
        belief: what is believed.
        slot: what its slot is.
        evidence: all of it, for and against, by time.
    """

    belief: Belief
    slot: Slot
    evidence: tuple[Evidence, ...]


class Change(Struct, frozen=True, kw_only=True):
    """A change of what is believed.

    Args:
        before, after: the values; None: there was none.
        at: when it was said.
        because: the id of the evidence that ended the value before, if there was one.
        reason: why the value before holds no longer: it has changed, or was wrong; None: there was
            none.
        was_wrong: the user set right by hand that the value before, or the one after, never was so.
        note: what the user wrote of it by hand.
        citation: of what spoke last for the value after, or ended the one before.
        stale: why the last value may not hold any more, or its end may not; see `Belief`.
    """

    slot: str
    label: str
    scope: str = ""
    before: Value | None = None
    after: Value | None = None
    at: datetime
    because: str = ""
    reason: Reason | None = None
    was_wrong: bool = False
    note: str = ""
    citation: str = ""
    stale: Stale | None = None


def within(beliefs: Iterable[Belief], scope: str | Sequence[str]) -> list[Belief]:
    """The beliefs that hold in these scopes: of each slot, those of the narrowest that has any."""
    scopes = {scope} if isinstance(scope, str) else set(scope)
    scopes.add("")
    by_slot: dict[str, list[Belief]] = {}
    for belief in beliefs:
        if belief.scope in scopes:
            by_slot.setdefault(belief.slot, []).append(belief)
    chosen = []
    for some in by_slot.values():
        narrowest = min(_width(belief.scope) for belief in some)
        chosen += [belief for belief in some if _width(belief.scope) == narrowest]
    return chosen


def _width(scope: str) -> int:
    """How wide a scope is: 0 for a session, then project, domain, and everywhere."""
    ranks = (rank for rank, kind in enumerate(_SPECIFIC) if scope.startswith(kind))
    return next(ranks, len(_SPECIFIC))


def changes(beliefs: Iterable[Belief], since: datetime | None = None) -> list[Change]:
    """The changes of beliefs since a time, newest first."""
    found = [
        change
        for belief in beliefs
        for change in _changes_of(belief, since)
        if since is None or change.at >= since
    ]
    return sorted(found, key=lambda change: change.at, reverse=True)


def find(beliefs: Sequence[Belief], slot: Slot, value: Value | None, scope: str) -> Belief:
    """The belief in a slot and scope; of a list the one of this value.

    Args:
        value: in any form that its slot takes; else what is believed, or was.

    Raises:
        NotFoundError: nothing is believed there, or never this; the remedy names what is.
        InvalidInputError: the slot cannot have this value.
    """
    matches = [belief for belief in beliefs if belief.slot == slot.id and belief.scope == scope]
    if value is not None:
        matches = [each for each in matches if _held(each, slot, value)] or [
            each for each in matches if _held(each, slot, canonical(slot, value))
        ]
    if len(matches) == 1:
        return matches[0]
    known = ", ".join(
        repr(belief.value)
        + ("" if belief.scope == scope else f" in {belief.scope or 'everywhere'}")
        for belief in beliefs
        if belief.slot == slot.id
    )
    where = f" in {scope}" if scope else ""
    if matches:
        raise NotFoundError(
            f"{slot.label} has several values{where}", remedy=f"say which: {known}", id=slot.id
        )
    raise NotFoundError(
        f"nothing is believed of {slot.label} ({slot.id}){where}"
        + (f": {value!r} never was" if value is not None and known else ""),
        remedy=f"there is {known}" if known else "`remloom profile show` lists what is",
        id=slot.id,
    )


def named(belief: Belief, slot: Slot, value: Value | None) -> Value:
    """The value of a belief that an answer names: the last one, or one of its rivals.

    Args:
        value: as for `find`; None is the last one.

    Raises:
        NotFoundError: it names a value that another one has followed.
    """
    if value is None:
        return belief.value
    answerable = (belief.value, *(one.value for one in belief.rivals))
    by_key = {value_key(one): one for one in answerable}
    found = by_key.get(value_key(value))
    if found is None:
        found = by_key.get(value_key(canonical(slot, value)))
    if found is None:
        raise NotFoundError(
            f"{value!r} is what was believed of {slot.label} before",
            remedy=f"what is believed now is {', '.join(map(repr, answerable))}",
            id=slot.id,
        )
    return found


def _held(belief: Belief, slot: Slot, value: Value) -> bool:
    others = () if slot.kind == "list" else (*belief.history, *belief.rivals)
    return value_key(value) in {value_key(belief.value), *(value_key(one.value) for one in others)}


def _changes_of(belief: Belief, since: datetime | None) -> Iterator[Change]:
    # most have not changed for long
    if since is not None and (belief.until or belief.since) < since:
        return
    change = partial(Change, slot=belief.slot, label=belief.label, scope=belief.scope)
    last = Held(
        value=belief.value,
        since=belief.since,
        until=belief.until,
        because=belief.because,
        ended_by=belief.ended_by,
        was_wrong=belief.was_wrong,
    )
    held = [*belief.history, last]
    for before, one, after in zip([None, *held], held, [*held[1:], None], strict=False):
        replaced = before if before is not None and before.until == one.since else None
        # what ended the value before said the one after
        said_by = replaced.ended_by if replaced else ""
        yield change(
            before=replaced.value if replaced else None,
            after=one.value,
            at=one.since,
            because=replaced.because if replaced else "",
            reason=_reason(replaced) if replaced else None,
            was_wrong=one.was_wrong or (replaced is not None and replaced.was_wrong),
            citation=belief.citation if one is last else said_by,
            stale=belief.stale if one is last and belief.holds else None,
        )
        if one.until is not None and (after is None or after.since != one.until):
            yield change(
                before=one.value,
                at=one.until,
                because=one.because,
                reason=_reason(one),
                was_wrong=one.was_wrong,
                citation=one.ended_by,
                stale=belief.stale if one is last else None,
            )


def _reason(ended: Held) -> Reason:
    return "wrong" if ended.was_wrong else "changed"
