"""What is put into a program's settings: entries of JSON, a table of TOML, or a file of our own."""

from __future__ import annotations

import re
import tomllib
from typing import Any

from msgspec import Struct

from ...errors import InvalidInputError
from . import json_text
from .json_text import Insertion


class JsonEntry(Struct, frozen=True):
    """A value at a path of keys, or an item of the array there."""

    path: tuple[str, ...]
    value: Any
    item: bool = False


class JsonEntries(Struct, frozen=True, tag="json"):
    """Entries of a file of JSON."""

    path: str
    entries: tuple[JsonEntry, ...]
    mark: str = ""  # by which a hook of ours is known, however it was edited

    def needed(self, text: str | None) -> JsonEntries:
        """The change without values that the user has: those stay, and are not taken out."""
        value = json_text.parse(text or "")
        wanted = (one for one in self.entries if one.item or _at(value, one.path) is None)
        return JsonEntries(self.path, tuple(wanted), self.mark)

    def apply(self, text: str | None) -> tuple[str, list[Insertion]]:
        """The text with the entries, and what was inserted."""
        text = text or ""
        insertions: list[Insertion] = []
        for entry in self.entries:
            text, more = json_text.put(text, entry.path, entry.value, item=entry.item)
            insertions += more
        return text, insertions

    def made(self, text: str | None) -> list[tuple[str, ...]]:
        """Paths of the containers that the entries need and that are not there."""
        value = json_text.parse(text or "")
        paths = {
            entry.path[:depth]
            for entry in self.entries
            for depth in range(1, len(entry.path) + entry.item)
        }
        return sorted(path for path in paths if _at(value, path) is None)

    def hooks(self) -> JsonEntries:
        """The hooks of it: they are known as ours wherever they stand."""
        return JsonEntries(self.path, tuple(one for one in self.entries if one.item), self.mark)

    def take(self, text: str, made: list[tuple[str, ...]]) -> str:
        """The text without what is ours."""
        for entry in self.entries:
            items = _at(json_text.parse(text), entry.path) if entry.item else None
            for number, item in enumerate(items if isinstance(items, list) else ()):
                if self._is_shared(item):
                    within = (*entry.path, str(number), "hooks")
                    text = json_text.take(text, within, self._has_mark, item=True, made=())
            is_ours = self._has_mark if entry.item else entry.value.__eq__
            text = json_text.take(text, entry.path, is_ours, item=entry.item, made=made)
        return text

    def _has_mark(self, value: Any) -> bool:
        commands = [value, *value.get("hooks", ())] if isinstance(value, dict) else ()
        texts = (one.get(key) for one in commands for key in ("command", "bash"))
        return any(isinstance(text, str) and self.mark in text for text in texts)

    def _is_shared(self, group: Any) -> bool:
        """Whether another's hook was put beside ours, into one group."""
        hooks = group.get("hooks", ()) if isinstance(group, dict) else ()
        return len({self._has_mark(hook) for hook in hooks}) == 2

    def missing(self, text: str | None) -> list[str]:
        """What of it is not in a text."""
        value = json_text.parse(text or "")
        names = []
        for entry in self.entries:
            found = _at(value, entry.path)
            there = entry.value in (found or []) if entry.item else found == entry.value
            names += [] if there else [".".join(entry.path)]
        return names


class TomlTable(Struct, frozen=True, tag="toml"):
    """A table at the end of a file of TOML."""

    path: str
    table: tuple[str, ...]
    text: str  # with its header

    def needed(self, text: str | None) -> TomlTable:
        """The change without a table that the user has."""
        there = _at(_toml(text or ""), self.table) is not None
        return TomlTable(self.path, self.table, "") if there else self

    def apply(self, text: str | None) -> tuple[str, list[Insertion]]:
        """The text with the table at its end."""
        text = text or ""
        if not self.text:
            return text, []
        before = "" if not text else "\n" if text.endswith("\n") else "\n\n"
        added = f"{text}{before}{self.text}"
        _toml(added)
        return added, [Insertion(len(text), before + self.text)]

    def made(self, text: str | None) -> list[tuple[str, ...]]:
        """Nothing: a table needs no other."""
        return []

    def take(self, text: str, made: list[tuple[str, ...]]) -> str:
        """The text without the table as it was written; one that was changed is the user's."""
        for before in ("\n", "") if self.text else ():
            if before + self.text in text:
                return text.replace(before + self.text, "", 1)
        return text

    def missing(self, text: str | None) -> list[str]:
        """The name of the table, if it is not there."""
        there = _at(_toml(text or ""), self.table) is not None
        return [] if there else [".".join(self.table)]


class OwnFile(Struct, frozen=True, tag="file"):
    """A file that is ours as a whole."""

    path: str
    text: str

    def needed(self, text: str | None) -> OwnFile:
        """All of it."""
        return self

    def apply(self, text: str | None) -> tuple[str, list[Insertion]]:
        """The text of the file.

        Raises:
            InvalidInputError: another is there.
        """
        if text is not None and text != self.text:
            raise InvalidInputError("not ours", remedy="move it away, and try again")
        return self.text, [Insertion(0, self.text)]

    def made(self, text: str | None) -> list[tuple[str, ...]]:
        """Nothing."""
        return []

    def take(self, text: str, made: list[tuple[str, ...]]) -> str:
        """Nothing: all of it is ours."""
        return ""

    def missing(self, text: str | None) -> list[str]:
        """Its name, if it is not as it was written."""
        return [] if text == self.text else [self.path]


Change = JsonEntries | TomlTable | OwnFile


def _at(value: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        if not isinstance(value, dict) or key not in value:
            return None
        value = value[key]
    return value


def _toml(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        where = re.search(r"\(at .*\)", str(error))
        place = f" {where[0]}" if where else ""
        raise InvalidInputError(f"not TOML{place}", remedy="mend the file") from error
