"""Promotion: what was kept as an extra gets a slot of its own, once enough speaks for it.

Evidence never moves, so an extra is normalised once more: each piece becomes the claim of new
evidence in the new slot, in the form that the slot gives to values. So a promoted extra may have
another kind and be in another hub, and one taken back is exactly what it was. What lay under the
extra's beliefs goes from there in the same write; only its records stay, to be cited and forgotten.
That is also why a slot of a memory's own cannot be below "extras.": a belief's key has the id of
its slot and the item of a list in it, and both may be others after a promotion.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from ...errors import ConflictError, InvalidInputError
from ...kv import Entry
from ...runs.write_plan import EntryKey
from ...store.contract import Store
from ..evidence.claim import Value
from ..evidence.evidence import EVIDENCE, derived, value_key
from ..slots.registry import SlotRegistry, own_slots, slot_entry
from ..slots.slot import EXTRAS, Slot
from .belief import Piece
from .belief_store import BELIEF, MARK, BeliefStore

ENOUGH = 3  # independent pieces of evidence, as many as make a belief established
_MANY = 3  # values, from which on an extra looks like a list


class Candidate(Struct, frozen=True, kw_only=True):
    """An extra that enough speaks for to be a slot.

    Args:
        extra: its id: "extras.blood_type".
        kind: of slot that its values look like: text, flag, number or list.
        values: what it was said to be, the latest last.
        pieces: how many pieces of evidence there are that do not depend on each other.
    """

    extra: str
    label: str
    kind: str
    values: tuple[Value, ...]
    pieces: int


def candidates(beliefs: BeliefStore, slots: SlotRegistry) -> list[Candidate]:
    """The extras of anybody that could be slots, those with most evidence first."""
    by_extra: defaultdict[str, list[Piece]] = defaultdict(list)
    for pieces in beliefs.pieces().values():
        for piece in pieces:
            if piece.slot.startswith(EXTRAS) and piece.polarity == "for":
                by_extra[piece.slot].append(piece)
    found = []
    for extra, pieces in by_extra.items():
        independent = len({piece.group for piece in pieces})
        if independent < ENOUGH:
            continue
        in_order = sorted(pieces, key=lambda piece: (piece.at, piece.id))
        values = {value_key(piece.value): piece.value for piece in in_order}
        found.append(
            Candidate(
                extra=extra,
                label=slots.extra(extra).label,  # noqa: S610 - no query of Django
                kind=_kind(tuple(values.values())),
                values=tuple(values.values()),
                pieces=independent,
            )
        )
    return sorted(found, key=lambda one: (-one.pieces, one.extra))


def slot_for(extra: Slot, fields: Mapping[str, Any]) -> Slot:
    """The slot that an extra becomes: `own.<key>`, called by the name of the extra as well."""
    inherited = msgspec.to_builtins(extra)
    name = extra.id.removeprefix(EXTRAS)
    options = {field: value for field, value in fields.items() if value not in ("", None)}
    merged = {**inherited, "id": f"own.{name}", **options}
    merged["aliases"] = (*merged["aliases"], extra.id)
    # health does not become harmless because it has a slot now
    merged["sensitive"] = extra.sensitive or merged["sensitive"]
    merged["standing"] = extra.standing or merged["standing"]
    try:
        return msgspec.convert(merged, Slot)
    except msgspec.ValidationError as error:
        raise InvalidInputError(
            f"{extra.id} cannot become this slot: {error}",
            remedy="the fields of a slot are those of remloom.profile.slots.registry.Slot",
        ) from error


def check_change(slot: Slot, beliefs: BeliefStore, before: SlotRegistry) -> None:
    """Refuse to make a list of a slot that has evidence, or something else of a list: the
    evidence would belong to other beliefs than it is placed under."""
    known = before.slots.get(slot.id)
    if known is None or (known.kind == "list") == (slot.kind == "list"):
        return
    if beliefs.keys_in(slot.id):
        raise ConflictError(
            f"{slot.id} has evidence, which each item of a list has by itself",
            remedy="forget what is believed there first, or define a slot of another id",
        )


class Promotion:
    """What an extra's promotion writes, where `slots` can be known afterwards."""

    def __init__(
        self, store: Store, extra: Slot, slot: Slot, *, slots: SlotRegistry, beliefs: BeliefStore
    ) -> None:
        self._store = store
        self._slot = slot
        self._keys = beliefs.keys_in(extra.id)
        self._before = [(key, old) for key in self._keys for old in beliefs.evidence(key)]
        self.rests_on = [old.id for _, old in self._before]
        self.evidence = tuple(
            derived(old, slot.id, value)
            for _, old in self._before
            for value in (("",) if old.value == "" else slots.items(slot, old.value))
        )

    def entries(self, after: BeliefStore) -> Iterator[Entry]:
        """The slot, and what the user decided about the extra's beliefs, for the new ones."""
        if self._slot not in own_slots(self._store):
            yield slot_entry(self._slot)
        made_of = {old.id: key for key, old in self._before}
        marks = {key: self._store.kv.get(MARK, key) for key in set(made_of.values())}
        for one in self.evidence:
            if (mark := marks[made_of[one.claim]]) is not None:
                yield Entry(MARK, after.key_of(one), mark.value)

    @property
    def deleted(self) -> list[EntryKey]:
        """Where the evidence was placed before, with the folds that were kept of it."""
        placed = [(EVIDENCE, f"{key}/{old.id}") for key, old in self._before]
        return [*placed, *((kind, key) for key in self._keys for kind in (BELIEF, MARK))]


def _kind(values: tuple[Value, ...]) -> str:
    if all(isinstance(value, bool) for value in values):
        return "flag"
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        return "number"
    return "list" if len(values) >= _MANY else "text"
