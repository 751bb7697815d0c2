"""An index of the names of tables: which of them the name of a column can speak of at all."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from .facts import TableFacts
from .name_matches import stands_for
from .words import likeness


class NameIndex:
    """Finds the tables whose names are anything like that of a column."""

    def __init__(self, tables: Mapping[str, TableFacts]) -> None:
        self.tables = tables
        self._joined: dict[str, set[str]] = defaultdict(set)
        self._by_words: dict[tuple[str, ...], set[str]] = defaultdict(set)
        self._alike: dict[str, frozenset[str]] = {}
        for name, table in tables.items():
            self._joined["".join(table.words)].add(name)
            self._by_words[table.words].add(name)

    def near(self, content: tuple[str, ...]) -> frozenset[str]:
        """Names of the tables that `align` finds at all like these words of a column."""
        if not content:
            return frozenset()
        same = self._joined.get("".join(content), ())
        return self._alike_last(content[-1]).union(same)

    def _alike_last(self, word: str) -> frozenset[str]:
        if word not in self._alike:
            self._alike[word] = frozenset(
                name
                for words, names in self._by_words.items()
                if likeness(word, words[-1]) > 0 or stands_for(word, words) > 0
                for name in names
            )
        return self._alike[word]
