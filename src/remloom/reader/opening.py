"""Opening documents for a reader: by path, uri or label; what is not there is read in."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import labels
from ..engine.engine import Engine
from ..engine.ingesting import Ingesting
from ..errors import InvalidInputError, LabelError, NotFoundError, SourceError
from ..model import ReadReport
from ..store.specs import ChunkRange, NameSpec
from .reader import Reader

if TYPE_CHECKING:
    from ..model import ReadReport
    from .loop.events import EventCallback
    from .loop.kept_answer import AnswerKeeper
    from .loop.strategy import Strategy


_LIKE = 0.4  # least likeness of a name that is named as the nearest
_NEAREST = 3
_TYPES = ("document", "chat")


def open_reader(
    engine: Engine,
    ingesting: Ingesting,
    documents: tuple[str | os.PathLike[str], ...],
    told: EventCallback | None,
    strategy: Strategy | None,
    table: str,
    *,
    files: bool = True,
) -> Reader:
    """Open documents in a reader; see `Memory.reader`."""
    opening = Opening(engine, ingesting, files=files)
    reader = Reader(
        engine.store,
        opening,
        embed=engine.try_embed_query,
        llm=lambda: engine.required_llm,
        keeper=lambda: _make_keeper(engine),
        told=told,
        strategy=strategy,
        table=table,
    )
    for document in documents:
        reader.open(document)
    return reader


def _make_keeper(engine: Engine) -> AnswerKeeper:
    from .loop.kept_answer import AnswerKeeper

    return AnswerKeeper(
        engine.store,
        engine.tenant,
        embedder=lambda: engine.embedder_name,
        written=engine.embed_in_background,
    )


class Opening:
    """Finds the documents of one tenant, reading in those that are not there: a `DocumentLoader`.

    Args:
        files: whether a path is read in; without, only what the memory has can be opened.
    """

    def __init__(self, engine: Engine, ingesting: Ingesting, *, files: bool = True) -> None:
        self._files = files
        self._engine = engine
        self._store = engine.store
        self._ingesting = ingesting

    def load(self, document: str | os.PathLike[str]) -> list[str]:
        """Return the uris of what a path, a uri or a label means."""
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
                remedy=f"give the uri of one: {', '.join(list(uris)[:_NEAREST])}",
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
        """The names of the documents that are most like a name."""
        words = Path(name).stem.replace("_", " ").replace("-", " ").strip() or name
        found = [
            match
            for type in _TYPES
            for match in self._store.search.names(words, NameSpec(_NEAREST, _LIKE, type))
        ]
        found.sort(key=lambda match: -match.score)
        return list(dict.fromkeys(match.record.name for match in found))[:_NEAREST]


def _check_read(report: ReadReport, name: str) -> None:
    """Refuse what could not be read, or else what was read so before would be opened instead."""
    for item in report.items:
        if item.status == "failed":
            raise InvalidInputError(
                f"{name!r:.200} cannot be read: {item.reason}",
                remedy="give text that can be written as UTF-8",
                uri=item.uri,
            )


def _uri(kind: str, name: str) -> str:
    """The uri of what a program gives under a name."""
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
