"""Names in texts: found by rules, by a model of spaCy, or because the memory knows them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from ... import labels


class Name(Struct, frozen=True, kw_only=True):
    """Somebody or something that a text names, with where."""

    name: str
    type: str = ""  # person | organization | place | concept | project | technology; empty: unknown
    aliases: tuple[str, ...] = ()
    spans: tuple[tuple[int, int], ...] = ()  # character offsets of each mention, in order
    known: bool = False  # it is one only because the memory knows it

    @property
    def keys(self) -> set[str]:
        return {labels.key(name) for name in (self.name, *self.aliases)}


def with_labels(names: Iterable[Name]) -> list[Name]:
    """Leave out what cannot be a label: it is not a name."""
    return [
        replace(name, aliases=tuple(filter(labels.is_label, name.aliases)))
        for name in names
        if labels.is_label(name.name)
    ]


class Extractor(Protocol):
    """Finds names in a text."""

    def extract(self, text: str, known: Mapping[str, str] = {}) -> list[Name]:
        """The names in a text, in the order of their first mention.

        Args:
            text: the whole document: offsets in `Name.spans` refer to it.
            known: names that are known to be such, with their types: speakers, authors.
        """
        ...
