"""The documents that a reader has open: their lines, as the memory has them now."""

from __future__ import annotations

from collections.abc import Iterator
from threading import RLock

from msgspec import Struct

from ...errors import InvalidInputError, NotFoundError, UnknownNameError
from ...sql.values import Aggregate, Column, Compare, Output, Select, Value
from ...store.contract import Store
from .lines import Lines, read_lines

_TIMEOUT = 30.0  # seconds for counting the chunks of a document
_COUNTS = (
    Output(Aggregate("count", None, False, None, "", "integer"), "count"),
    Output(Aggregate("max", Column("updated_at", "time"), False, None, "", "time"), "last"),
)


class DocumentStats(Struct, frozen=True, kw_only=True):
    """A document in numbers. The first six are those of seed 3."""

    doc_name: str
    total_lines: int  # blank ones too
    total_words: int
    strategic_lines: int  # that are headings, or begin a section
    min_line: int  # 1; 0 of a document without lines
    max_line: int
    sections: int = 0
    pages: int = 0  # 0 where there are none
    uri: str = ""

    @classmethod
    def of(cls, lines: Lines) -> DocumentStats:
        """Count the lines of a document."""
        return cls(
            doc_name=lines.name,
            total_lines=len(lines),
            total_words=lines.words(1, len(lines)),
            strategic_lines=lines.strategic_lines,
            min_line=min(1, len(lines)),
            max_line=len(lines),
            sections=len(lines.sections),
            pages=lines.page_count,
            uri=lines.uri,
        )


class Notice(Struct, frozen=True):
    """What became of a document while it was open."""

    document: str  # its name
    uri: str
    forgotten: bool  # else it was changed, and is read again

    def __str__(self) -> str:
        if self.forgotten:
            return f"{self.document!r} was forgotten while it was open, and is closed"
        return f"{self.document!r} was changed while it was open, and is read anew"


class _Opened(Struct, frozen=True):
    lines: Lines
    state: tuple[object, ...]  # of its chunks: another one when any of them is


class Documents:
    """The documents that are open, by name, in the order in which they were opened."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._opened: dict[str, _Opened] = {}
        self._forgotten: list[str] = []
        self._lock = RLock()

    def __iter__(self) -> Iterator[Lines]:
        return iter([opened.lines for opened in self._opened.values()])

    def __len__(self) -> int:
        return len(self._opened)

    @property
    def names(self) -> list[str]:
        return list(self._opened)

    def open(self, uri: str, name: str = "") -> Lines:
        """Open what was read from a uri; what is open already under that name is read again.

        Args:
            name: what to call it; default its title, with a number if another one is called so.

        Raises:
            NotFoundError: nothing was read from there, or it has no text.
            InvalidInputError: another document that is open has this name.
        """
        with self._lock:
            opened = self._read(uri, name)
            if opened is None:
                raise NotFoundError(
                    f"there is no text that was read from {uri!r}",
                    remedy="read it in first, or give its path",
                    uri=uri,
                )
            known = self._opened.get(opened.lines.name)
            if known is not None and known.lines.uri != uri:
                if name:
                    raise InvalidInputError(
                        f"another document that is open is called {name!r}",
                        remedy="give this one another name",
                    )
                opened.lines.name = self._free_name(opened.lines.name)
            self._opened[opened.lines.name] = opened
            return opened.lines

    def get(self, name: str | None = None) -> Lines:
        """Return the document of a name or uri; without one, the only one that is open.

        Raises:
            UnknownNameError: no document that is open is called so.
            NotFoundError: it was forgotten.
            InvalidInputError: no document is open; or several are, and none is named.
        """
        if not self._opened:
            raise self._none_open()
        if name is None:
            if len(self._opened) > 1:
                raise InvalidInputError(
                    f"{len(self._opened)} documents are open",
                    remedy=f"say which, as in document={self.names[0]!r}: {', '.join(self.names)}",
                )
            return next(iter(self))
        for lines in self:
            if name in (lines.name, lines.uri):
                return lines
        if name in self._forgotten:
            raise _forgotten(name)
        raise UnknownNameError("document", name, self.names)

    def all(self, name: str | None = None) -> list[Lines]:
        """Return the document of a name as a list; without one, all that are open.

        Raises:
            what `get` raises, but that several are open.
        """
        if name is not None:
            return [self.get(name)]
        if not self._opened:
            raise self._none_open()
        return list(self)

    def refresh(self) -> list[Notice]:
        """Read again what was changed in the memory, and close what was forgotten.

        It costs an index range of each document, and nothing is given out that is no longer there.
        """
        with self._lock:
            notices = []
            for name, opened in list(self._opened.items()):
                if self._state(opened.lines.uri) == opened.state:
                    continue
                reread = self._read(opened.lines.uri, name)
                notices.append(Notice(name, opened.lines.uri, forgotten=reread is None))
                if reread is None:
                    del self._opened[name]
                    self._forgotten.append(name)
                else:
                    self._opened[name] = reread
            return notices

    def close(self) -> None:
        """Let go of all lines."""
        with self._lock:
            self._opened.clear()

    def _read(self, uri: str, name: str) -> _Opened | None:
        """The lines of a document with the state that they are of; None if there are none."""
        with self._store.snapshot():
            state = self._state(uri)
            lines = read_lines(self._store, uri, name)
        return _Opened(lines, state) if len(lines) else None

    def _state(self, uri: str) -> tuple[object, ...]:
        """How many chunks a document has, and when the last of them was written."""
        where = Compare("=", Column("uri", "text"), Value(uri, "text"))
        select = Select("resources", _COUNTS, where=where)
        return tuple(self._store.sql.select(select, limit=1, timeout=_TIMEOUT).rows[0])

    def _free_name(self, name: str) -> str:
        number = 2
        while f"{name} ({number})" in self._opened:
            number += 1
        return f"{name} ({number})"

    def _none_open(self) -> InvalidInputError | NotFoundError:
        if self._forgotten:
            return _forgotten(self._forgotten[-1])
        return InvalidInputError(
            "no document is open", remedy="open one: reader.open(path), or memory.reader(path)"
        )


def _forgotten(name: str) -> NotFoundError:
    return NotFoundError(
        f"{name!r} was forgotten while it was open", remedy="read it in again, and open it"
    )
