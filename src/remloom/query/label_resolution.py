"""Labels that no record has, but that can mean only one thing: "Sarah", if there is one Sarah, or
what replaced the text of that name; and edge types by any spelling and synonym: `reports_to` means
the stored `reports-to`.

Source: seed design 5, "Who is Sarah?". The meaning is found by the indexes of names, never by a
scan, and an answer says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from msgspec import Struct

from .. import labels
from ..errors import UnknownNameError, nearest_names
from ..model import Entity, Record, ResolvedLabel
from ..store.as_of import is_shown
from ..store.contract import Store
from ..store.definitions import read_taxonomy
from ..store.premises import newest
from ..store.rules.merge import keys_of
from ..store.specs import NameSpec
from ..text.analysis import STOP_WORDS

PERSON = "person"
MAX_RESOLVED = 20  # labels of one LOOKUP; further ones are missing
_MAX_CANDIDATES = 8  # names like the label


class Resolution(Struct, frozen=True):
    """The only record that a label can mean."""

    label: str
    record: Record
    key: str  # of the record; the label is a part of it
    how: str

    @property
    def score(self) -> float:
        """The share of the name that the label is."""
        share = len(labels.key(self.label)) / len(self.key)
        return round(min(0.99, share), 3)

    @property
    def summary(self) -> ResolvedLabel:
        return ResolvedLabel(self.label, self.record.name, self.how)


def resolve_labels(store: Store, missing: Sequence[str]) -> dict[str, Resolution]:
    """Find what labels mean that no record has, where only one thing can be meant.

    That is what replaced the text of this name, else the only person with this first or last name,
    or, where it is nobody's, the only record whose name begins with these words.
    """
    resolved: dict[str, Resolution] = {}
    replaced = _find_newer(store, missing[:MAX_RESOLVED])
    for label in missing[:MAX_RESOLVED]:
        if label in replaced:
            if len(replaced[label]) == 1:
                (resolved[label],) = replaced[label]
            continue
        words = labels.key(label).split("-")
        # "the" and "a" are part of many names, and mean none of them
        if len(label) == 1 or STOP_WORDS.issuperset(words):
            continue
        candidates = _find_people(store, label) or _find_by_beginning(store, label)
        if len(candidates) == 1:
            resolved[label] = candidates[0]
    return resolved


def only_shown(
    by_key: Mapping[str, Sequence[Record]], at: datetime | None = None
) -> dict[str, list[Record]]:
    """What was looked up, without what something else had taken the place of at a time, or now."""
    return {key: [one for one in some if is_shown(one, at)] for key, some in by_key.items()}


def _find_newer(store: Store, missing: Sequence[str]) -> dict[str, list[Resolution]]:
    """What holds now of the texts with these labels, all of which were replaced."""
    found: dict[str, list[Resolution]] = {}
    label_of = {labels.key(label): label for label in missing}
    for key, records in store.records.lookup(list(label_of), edges=0).items():
        if not records:
            continue
        chains = [newest(store.records, record.id) for record in records]
        ids = dict.fromkeys(id for id, _ in filter(None, chains))
        newer = [record for id in ids if (record := store.records.get(None, id)) is not None]
        how = "it replaced the text of this name"
        found[label_of[key]] = [
            Resolution(label_of[key], record, keys_of(record)[0], how) for record in newer
        ]
    return found


def _find_people(store: Store, label: str) -> list[Resolution]:
    words = labels.key(label).split("-")
    people: dict[str, Resolution] = {}
    spec = NameSpec(type=PERSON, threshold=0.5, limit=_MAX_CANDIDATES)
    for match in store.search.names(label, spec):
        person = match.record
        if not isinstance(person, Entity):
            continue
        for name in (person.name, *person.aliases):
            key = labels.key(name)
            if _has_run(key.split("-"), words):
                how = "the only person of this name"
                people[person.id] = Resolution(label, person, key, how)
                break
    return list(people.values())


def _has_run(words: list[str], part: list[str]) -> bool:
    """Whether words stand among others, next to each other."""
    length = len(part)
    starts = range(len(words) - length + 1)
    return any(words[start : start + length] == part for start in starts)


def _find_by_beginning(store: Store, label: str) -> list[Resolution]:
    beginning = labels.key(label) + "-"
    keys = [labels.key(name) for name in store.records.complete(beginning, _MAX_CANDIDATES)]
    resolutions: dict[str, Resolution] = {}
    for key, records in only_shown(store.records.lookup(keys, edges=0)).items():
        if not key.startswith(beginning):
            continue
        for record in records:
            how = "the only name that begins so"
            resolutions[record.id] = Resolution(label, record, key, how)
    return list(resolutions.values())


class StoredTypes(Struct, frozen=True):
    """The edge types that a statement means."""

    names: list[str] | None  # as they are stored, with those that mean the same; None: all
    unknown: dict[str, list[str]] = {}  # types that no edge has, with the nearest that some have


def stored_edge_types(store: Store, names: Sequence[str]) -> StoredTypes:
    """Find the stored spellings of edge types. If none are named, all are meant.

    Raises:
        UnknownNameError: the memory has none of these edge types.
    """
    if not names:
        return StoredTypes(None)
    stored = store.graph.edge_types()
    # a memory without edges has no type that could be meant instead
    if not stored:
        return StoredTypes(list(names))
    spellings: dict[str, list[str]] = {}
    for name in stored:
        spellings.setdefault(labels.key(name), []).append(name)
    taxonomy = read_taxonomy(store.kv)
    types: list[str] = []
    unknown: dict[str, list[str]] = {}
    for name in names:
        found = [
            type
            for one in taxonomy.edge_types_like(name)
            for type in spellings.get(labels.key(one), ())
        ]
        if not found:
            unknown[name] = nearest_names(name, stored)
        types += found
    if not types:
        raise UnknownNameError("edge type", next(iter(unknown)), stored)
    return StoredTypes(list(dict.fromkeys(types)), unknown)
