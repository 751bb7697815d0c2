"""What a label means that nothing has, where only one thing can be meant: "Sarah", when there is
one Sarah.

Source: seed design 5, "Who is Sarah?". It is found by the indexes of names, never by a scan, and an
answer says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from .. import labels
from ..model import Entity, Record
from ..store.contract import Store
from ..store.specs import NameSpec
from ..text.analysis import STOP_WORDS

__all__ = ["Resolved", "resolve", "told"]

PERSON = "person"
LABELS = 20  # of one LOOKUP that are resolved; further ones are missing
_LOOKED_AT = 8  # names like the label


class Resolved(Struct, frozen=True):
    """The only record that a label can mean."""

    label: str
    record: Record
    key: str  # of it, which the label is part of
    how: str

    @property
    def score(self) -> float:
        """The share of the name that the label is."""
        return round(min(0.99, len(labels.key(self.label)) / len(self.key)), 3)


def resolve(store: Store, missing: Sequence[str]) -> dict[str, Resolved]:
    """For the labels that nothing has: what they mean, where that is one thing alone.

    That is the only person with this first or last name, or, where it is nobody's, the only record
    whose name begins with these words.
    """
    found = {}
    for label in missing[:LABELS]:
        words = labels.key(label).split("-")
        if len(label) == 1 or STOP_WORDS.issuperset(words):
            continue
        meant = _people(store, label) or _begun(store, label)
        if len(meant) == 1:
            found[label] = meant[0]
    return found


def told(resolved: dict[str, Resolved]) -> dict[str, Any]:
    """What `metadata` says of it."""
    if not resolved:
        return {}
    return {
        "resolved": [
            {"label": one.label, "name": one.record.name, "how": one.how}
            for one in resolved.values()
        ]
    }


def _people(store: Store, label: str) -> list[Resolved]:
    words = labels.key(label).split("-")
    people: dict[str, Resolved] = {}
    for match in store.search.names(label, NameSpec(type=PERSON, threshold=0.5, limit=_LOOKED_AT)):
        if isinstance(match.record, Entity):
            keys = (labels.key(name) for name in (match.record.name, *match.record.aliases))
            if key := next((key for key in keys if _has(key.split("-"), words)), ""):
                people[match.record.id] = Resolved(
                    label, match.record, key, "the only person of this name"
                )
    return list(people.values())


def _has(words: Sequence[str], part: Sequence[str]) -> bool:
    """Whether words stand among others, next to each other."""
    return any(
        list(words[at : at + len(part)]) == list(part) for at in range(len(words) - len(part) + 1)
    )


def _begun(store: Store, label: str) -> list[Resolved]:
    start = labels.key(label) + "-"
    keys = [labels.key(name) for name in store.records.complete(start, _LOOKED_AT)]
    found: dict[str, Resolved] = {}
    for key, records in store.records.lookup(keys, edges=0).items():
        if key.startswith(start):
            found |= {
                one.id: Resolved(label, one, key, "the only name that begins so") for one in records
            }
    return list(found.values())
