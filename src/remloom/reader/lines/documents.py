"""The documents that a reader has open: their lines, as the memory has them now."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from itertools import count
from pathlib import Path
from threading import RLock
from typing import Any

from msgspec import Struct

from ... import labels
from ...engine.engine import Engine
from ...engine.ingesting import Ingesting
from ...errors import InvalidInputError, LabelError, NotFoundError, SourceError, UnknownNameError
from ...model import ReadReport
from ...sql.values import Aggregate, Column, Compare, Output, Select, Value
from ...store.contract import Store
from ...store.specs import ChunkRange, NameSpec
from .chunk_lines import read_lines
from .lines import Lines

_TIMEOUT = 30.0  # seconds for counting the chunks of a document
_COUNTS = (
    Output(Aggregate("count", None, False, None, "", "integer"), "count"),
    Output(Aggregate("max", Column("updated_at", "time"), False, None, "", "time"), "last"),
)
_LIKE = 0.4  # least likeness of a name that is named as the nearest
_MOST_NEAREST = 3
_TYPES = ("document", "chat")


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
            total_words=lines.total_words,
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
            name: default its title, with a number if another document has it.

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
        if not self._opened and self._forgotten:
            raise _forgotten(self._forgotten[-1])
        if not self._opened:
            raise InvalidInputError(
                "no document is open", remedy="open one: reader.open(path), or memory.reader(path)"
            )
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
        """Return the document of a name as a list; without one, all that are open. Raises what
        `get` does."""
        if name is not None or not self._opened:
            return [self.get(name)]
        return list(self)

    def refresh(self) -> list[Notice]:
        """Read again what was changed in the memory, and close what was forgotten.

        It costs an index range of each document.
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
        with self._lock:
            self._opened.clear()

    def _read(self, uri: str, name: str) -> _Opened | None:
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
        numbered = (f"{name} ({number})" for number in count(2))
        return next(free for free in numbered if free not in self._opened)


def _forgotten(name: str) -> NotFoundError:
    return NotFoundError(
        f"{name!r} was forgotten while it was open", remedy="read it in again, and open it"
    )


class DocumentLoader:
    """Finds the documents of one tenant, reading in those that are not there.

    Args:
        files: whether a path is read in; without, only what the memory has can be opened.
    """

    def __init__(self, engine: Engine, ingesting: Ingesting, *, files: bool) -> None:
        self._files = files
        self._store = engine.store
        self._ingesting = ingesting

    def load(self, document: str | os.PathLike[str]) -> list[str]:
        """Return the uris of what a path, a uri or a label means; a file is read if it changed.

        Raises:
            NotFoundError: there is neither a file nor a document of this name; names the nearest.
            SourceError: a file that cannot be read.
        """
        name = os.fspath(document) if isinstance(document, os.PathLike) else document
        if not isinstance(name, str) or not name.strip():
            raise InvalidInputError(
                f"{document!r:.200} is not a document", remedy="give a path, a uri or a title"
            )
        path = Path(name).expanduser()
        is_known = self._has_text(name)
        # a uri that is not a path of a file is what the memory has of it
        if self._files and _exists(path) and (path.is_absolute() or not is_known):
            return self._read(path)
        return [name] if is_known else self._labelled(name)

    def load_text(self, text: str, name: str) -> str:
        """Read a text in, in place of an earlier one of this name; returns its uri."""
        uri = _uri("text", name)
        report = self._ingesting.read_text(text, uri, name, "document", None, wait=False)
        _check_read(report, name)
        return uri

    def load_rows(self, rows: Iterable[Mapping[str, Any]], name: str) -> str:
        """Read rows in, a line each, in place of earlier ones of this name; returns their uri."""
        uri = _uri("rows", name)
        _check_read(self._ingesting.read_rows(rows, uri, name), name)
        return uri

    def _read(self, path: Path) -> list[str]:
        """Read a file or folder in, as far as it is not there; what cannot be read is an error."""
        report = self._ingesting.read(path, wait=False)
        found = [item.uri for item in report.items if item.status in ("read", "unchanged")]
        failed = [item for item in report.items if item.status == "failed"]
        if failed or not found:
            odd = failed or report.items
            reason = odd[0].reason if odd else "there is no document in it"
            raise SourceError(
                f"{path} cannot be opened: {reason}",
                remedy="see docs/reading.md for what can be read",
                uri=str(path),
            )
        return found

    def _has_text(self, uri: str) -> bool:
        return bool(labels.storable(uri) and self._store.records.chunks(uri, ChunkRange(limit=1)))

    def _labelled(self, name: str) -> list[str]:
        """The document that has a label, or that a record of this label was read from."""
        try:
            key = labels.key(name)
        except LabelError:
            key = ""
        records = self._store.records.lookup([key])[key] if key else []
        # what a document names is not that document
        uris = dict.fromkeys(record.uri for record in records if record.uri)
        uris = {uri: None for uri in uris if self._has_text(uri)}
        if len(uris) > 1:
            raise InvalidInputError(
                f"{len(uris)} documents are called {name!r}",
                remedy=f"give the uri of one: {', '.join(list(uris)[:_MOST_NEAREST])}",
            )
        return list(uris) if uris else self._refuse(name)

    def _refuse(self, name: str) -> list[str]:
        nearest = self._nearest(name)
        unknown = "check the path" if self._files else "read it in first"
        hint = f"did you mean {' or '.join(map(repr, nearest))}?" if nearest else unknown
        if "\n" in name:
            hint = "a text is opened with `open_text`"
        raise NotFoundError(
            f"there is {'neither a file nor a' if self._files else 'no'} document {name!r:.200}",
            remedy=hint,
            document=name,
            nearest=nearest,
        )

    def _nearest(self, name: str) -> list[str]:
        words = Path(name).stem.replace("_", " ").replace("-", " ").strip() or name
        found = [
            match
            for type in _TYPES
            for match in self._store.search.names(words, NameSpec(_MOST_NEAREST, _LIKE, type))
        ]
        found.sort(key=lambda match: -match.score)
        return list(dict.fromkeys(match.record.name for match in found))[:_MOST_NEAREST]


def _check_read(report: ReadReport, name: str) -> None:
    for item in report.items:
        if item.status == "failed":
            raise InvalidInputError(
                f"{name!r:.200} cannot be read: {item.reason}",
                remedy="give text that can be written as UTF-8",
                uri=item.uri,
            )


def _uri(kind: str, name: str) -> str:
    if not isinstance(name, str) or not name.strip():
        raise InvalidInputError(
            "what is opened needs a name", remedy='say what it is: name="report"'
        )
    return f"{kind}:{name.strip()}"


def _exists(path: Path) -> bool:
    """Whether there is a file or folder; a text that can be no path is none."""
    try:
        return path.exists()
    except (OSError, ValueError):
        return False
