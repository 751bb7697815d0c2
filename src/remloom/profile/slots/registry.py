"""Slots: what can be known of a person, as a registry of what a data file says."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

import msgspec

from ...errors import ConflictError, InvalidInputError, UnknownNameError
from ...kv import Entry
from ...store.contract import Reads
from ..evidence.claim import Value
from .slot import EXTRAS, Slot
from .slot_names import SlotNames, identifier
from .values import canonical, split_items

OWN_SLOT = "profile.slot"  # namespace of the entries


class SlotRegistry:
    """The slots that a memory knows: those of the data file, and the tenant's own.

    Raises:
        ConflictError: two slots share an id, a label or an alias.
        InvalidInputError: an id is not a path, or a slot's own values do not fit it.
    """

    def __init__(self, slots: Iterable[Slot], *, sensitive_words: Iterable[str] = ()) -> None:
        self.slots: dict[str, Slot] = {}
        for slot in slots:
            if slot.id in self.slots:
                raise ConflictError(f"there is a slot {slot.id!r} already", remedy="rename it")
            _check(slot)
            self.slots[slot.id] = slot
        self._sensitive_words = frozenset(sensitive_words)
        self._names = SlotNames(self.slots.values())
        self._safety_names = SlotNames(slot for slot in self if slot.is_safety)

    def __iter__(self) -> Iterator[Slot]:
        return iter(self.slots.values())

    def __contains__(self, id: object) -> bool:
        return id in self.slots

    def get(self, name: str) -> Slot:
        """Return the slot of this id, alias, label or end of a path; of extras, by id.

        Raises:
            UnknownNameError: there is none, or several; the remedy names what is most like it.

        >>> registry().get("dietary_style").id, registry().get("food allergies").label
        ('food_and_dining.dietary_style', 'Allergies')
        """
        id = self._names.exact(name)
        if id is None and name.startswith(EXTRAS):
            return self.extra(name)  # noqa: S610 - no query of Django
        if id is None:
            raise self._unknown(name)
        return self.slots[id]

    def find(self, key: str) -> Slot | None:
        """Return the slot that a key in anyone's words is about; None: it would be an extra.

        Case, separators, plurals, spelling of here and there, and small slips of the pen do not
        matter. A wrong slot is worse than none: what is only similar is not taken.

        >>> registry().find("Programming languages").id, registry().find("fav_team")
        ('developer_posture.primary_languages', None)
        """
        id = self._names.find(key)
        if id is not None:
            return self.slots[id]
        if key.startswith(EXTRAS):
            with suppress(InvalidInputError):
                return self.extra(key)  # noqa: S610 - no query of Django
        return None

    def extra(self, key: str) -> Slot:
        """Make the slot `extras.<key>` for a key that no slot is for: any text, in soft identity.
        One whose key has a name of a slot of what could hurt in it ("drug allergy", "allergy") is
        given as that slot is, and never ended by words either.

        Raises:
            InvalidInputError: the key has no letter or digit, or is too long.

        >>> registry().extra("Fav team").id, registry().extra("blood_type").sensitive
        ('extras.fav_team', True)
        >>> registry().extra("drug_allergy").is_safety
        True
        """
        name = identifier(key.removeprefix(EXTRAS))
        words = name.split("_")
        is_safety = self._safety_names.has_one_within(name)
        return Slot(
            id=EXTRAS + name,
            hub="soft_identity",
            label=" ".join(words).capitalize(),
            sensitive=is_safety or not self._sensitive_words.isdisjoint(words),
            standing=is_safety,
            usage="soft",
            question=f"What should agents know of your {' '.join(words)}?",
        )

    def get_or_extra(self, name: str) -> Slot:
        """Return the slot of a name, or the extra of that key where there is none."""
        if name in self.slots:
            return self.slots[name]
        id = self._names.exact(name)
        return self.slots[id] if id is not None else self.extra(name)  # noqa: S610

    def canonical(self, slot: Slot | str, value: Value) -> Value:
        """Return a value as its slot keeps it; of a list, one item.

        Raises:
            InvalidInputError: it is none that the slot can have.
            UnknownNameError: there is no such slot.

        >>> registry().canonical("dietary_style", "Veggie")
        'vegetarian'
        """
        return canonical(self.get(slot) if isinstance(slot, str) else slot, value)

    def items(self, slot: Slot | str, value: Value | Iterable[Value]) -> tuple[Value, ...]:
        """Return the values in what was said, each as its slot keeps it, and none twice: of a
        list, "Python, Rust and Go" has three; of any other slot there is one."""
        known = self.get(slot) if isinstance(slot, str) else slot
        items = (canonical(known, item) for item in split_items(known, value))
        return tuple(dict.fromkeys(items))

    def with_slots(self, rows: Iterable[Slot | Mapping[str, Any]]) -> SlotRegistry:
        """Return a registry with a tenant's own slots besides these.

        Args:
            rows: slots, or their fields by name.

        Raises:
            ConflictError: one has the id, the label or an alias of another.
            InvalidInputError: a row is not a slot.
        """
        added = [row if isinstance(row, Slot) else _slot_of(row) for row in rows]
        for slot in added:
            if slot.is_extra:
                raise InvalidInputError(
                    f"{slot.id!r} is where what no slot is for is kept",
                    remedy="give the slot a path of its own",
                )
        return SlotRegistry([*self, *added], sensitive_words=self._sensitive_words)

    @property
    def standing(self) -> tuple[Slot, ...]:
        """The slots that are given to every agent without a question, in their order."""
        return tuple(slot for slot in self if slot.standing)

    def _unknown(self, name: str) -> UnknownNameError:
        shared = self._names.sharing(name)
        if shared:
            return UnknownNameError(
                "slot", name, shared, remedy=f"several end so, say which: {', '.join(shared)}"
            )
        nearest = self._names.within(name) or self._names.nearest(name)
        remedy = "what no slot is for is called extras.<key>"
        # without a hint all of it is listed, which is too much to read
        if nearest:
            remedy = f"did you mean {' or '.join(map(repr, nearest))}?; {remedy}"
        return UnknownNameError("slot", name, nearest, remedy=remedy)


@cache
def registry() -> SlotRegistry:
    text = files(__package__).joinpath("slots.toml").read_text("utf-8")
    file = msgspec.toml.decode(text)
    rows = [{**group, **row} for group in file["group"] for row in group.pop("slot")]
    for row in rows:
        # they stand by the value that they are for
        synonyms = row.get("synonyms", {}).items()
        row["synonyms"] = {synonym: value for value, all in synonyms for synonym in all}
    return SlotRegistry(map(_slot_of, rows), sensitive_words=file["sensitive"])


def _slot_of(row: Mapping[str, Any]) -> Slot:
    try:
        return msgspec.convert(dict(row), Slot)
    except msgspec.ValidationError as error:
        raise InvalidInputError(
            f"slot {row.get('id', '')!r}: {error}",
            remedy="the fields of a slot are those of remloom.profile.slots.registry.Slot",
        ) from error


def _check(slot: Slot) -> None:
    """Refuse a slot whose id is not a path, or whose own values do not fit it."""
    if [identifier(part) for part in slot.id.split(".")] != slot.id.split("."):
        raise InvalidInputError(
            f"{slot.id!r} is no id of a slot",
            remedy='words in lower case, joined by "_", in a path joined by ".": "work.desk"',
        )
    if not 0 < slot.half_life < math.inf or slot.alternatives < 0 or slot.alternatives == 1:
        raise InvalidInputError(
            f"{slot.id}: half_life {slot.half_life}, alternatives {slot.alternatives}",
            remedy="half_life is in days, above 0, and ends; alternatives are 2 or more, or 0",
        )
    for synonym, value in slot.synonyms.items():
        if slot.values and not slot.open and value not in slot.values:
            raise InvalidInputError(
                f"{slot.id}: {synonym!r} stands for {value!r}, which is none of its values",
                remedy=f"values: {', '.join(slot.values)}",
            )


def own_slots(reads: Reads) -> list[Slot]:
    return [_decoded(entry.value) for entry in reads.kv.list(OWN_SLOT)]


def registry_of(reads: Reads) -> SlotRegistry:
    """The slots of a memory: one object as long as they are the same."""
    own = tuple(entry.value for entry in reads.kv.list(OWN_SLOT))
    return _with_own(own) if own else registry()


def with_slot(own: Iterable[Slot], slot: Slot | Mapping[str, Any]) -> tuple[SlotRegistry, Slot]:
    """The slots of a memory with one more, or with one defined again; and that slot, checked."""
    id = slot.id if isinstance(slot, Slot) else str(slot.get("id", ""))
    slots = registry().with_slots([*(one for one in own if one.id != id), slot])
    return slots, slots.slots[id]


def slot_entry(slot: Slot) -> Entry:
    return Entry(OWN_SLOT, slot.id, msgspec.json.encode(slot))


@lru_cache(maxsize=64)
def _with_own(own: tuple[bytes, ...]) -> SlotRegistry:
    return registry().with_slots(map(_decoded, own))


def _decoded(value: bytes) -> Slot:
    return msgspec.json.decode(value, type=Slot)
