"""Files and folders as documents, one at a time, whatever is in them.

To add a format: what reads it, and its line in `READERS`; in `documents/formats.py`, if a library
parses it, which then runs in a process of its own.
"""

from __future__ import annotations

import json
import os
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeAlias

from msgspec.structs import replace

from ..errors import InvalidInputError, RemloomError, SourceError
from . import databases, decode, entries, folders, texts
from .chats import chats, coding_transcripts, exports, transcript
from .document import Document, File, Skipped, chat_document
from .documents import convert, formats, images
from .documents.convert import Limits
from .folders import uri_of
from .web import feeds, reading_lists

MAX_BYTES = 100 * 1024 * 1024  # of one file; what is larger is passed over unread
_JSON = (".json", ".jsonl", ".ndjson")
# of files without a suffix
_BARE_NAMES = "readme license licence copying notice authors changelog changes news todo"
_SHOWN = 200  # characters of an error that are shown
_USUAL = Limits()

_Items: TypeAlias = Iterable[Document | Skipped]


class Source:
    """The documents under a path: iterate to read them one by one. `len` counts the files."""

    def __init__(self, readers: list[Callable[[], _Items]]) -> None:
        self._readers = readers

    def __len__(self) -> int:
        return len(self._readers)

    def __iter__(self) -> Iterator[Document | Skipped]:
        for read in self._readers:
            yield from read()

    def renamed(self, path: str | os.PathLike[str], uri: str) -> Source:
        """Call what is under a path as if it were under a uri."""
        root = str(Path(path).expanduser().absolute())

        def rename(read: Callable[[], _Items]) -> _Items:
            for item in read():
                if isinstance(item, Document) and item.origin:
                    item = replace(item, origin=uri + item.origin.removeprefix(root))
                yield replace(item, uri=uri + item.uri.removeprefix(root))

        return Source([partial(rename, read) for read in self._readers])


def open_source(
    path: str | os.PathLike[str],
    *,
    recursive: bool = True,
    glob: str | None = None,
    exclude: Sequence[str] = (),
    max_bytes: int = MAX_BYTES,
    limits: Limits = _USUAL,
) -> Source:
    """Open a file, a folder, or standard input (`-`) as its documents.

    Of a folder every file is read or comes as `Skipped` with its reason. So do links that lead out
    of the folder, and links to folders. Nothing is opened before its turn. Databases and zips are
    read when they are named or match `glob`, not when they are met in a folder.

    Args:
        path: what to read; of a database of sessions also `<path>#<session id>`.
        recursive, glob, exclude: see `folders.walk`; with `glob`, text of any suffix is read.
        max_bytes: size of a file above which it is passed over, unless it is read piece by piece.
        limits: what the conversion of one PDF, DOCX or HTML may take.

    Raises:
        InvalidInputError: it is not a path, but a list of them, say.
        SourceError: nothing is at the path.
    """
    if not isinstance(path, str | os.PathLike):
        raise InvalidInputError(
            f"a {type(path).__name__} is no path of a file or folder",
            remedy="give one path, and read several one after the other",
        )
    if os.fspath(path) == "-":
        return Source([partial(_read_stdin, max_bytes, limits)])
    database, part = _part(path)
    if part:
        return Source([partial(_read_part, database, part)])
    root = _existing(path)
    if not root.is_dir():
        return Source([partial(_read_file, root, True, max_bytes, limits)])
    real = root.resolve()
    readers: list[Callable[[], _Items]] = []
    for item in folders.walk(root, recursive=recursive, glob=glob, exclude=exclude):
        if isinstance(item, Skipped):
            readers.append(partial(iter, (item,)))
        else:
            readers.append(partial(_read_inside, real, item, bool(glob), max_bytes, limits))
    return Source(readers)


def find_files(
    path: str | os.PathLike[str],
    *,
    recursive: bool = True,
    glob: str | None = None,
    exclude: Sequence[str] = (),
) -> Iterator[tuple[str, Path]]:
    """Find the files that `open_source` would read, each with its name: its path below the folder.

    Raises:
        SourceError: nothing is at the path.
    """
    root = _existing(path)
    if not root.is_dir():
        yield root.name, root
        return
    real = root.resolve()
    for item in folders.walk(root, recursive=recursive, glob=glob, exclude=exclude):
        is_file = isinstance(item, Path) and item.is_file()
        if isinstance(item, Path) and is_file and item.resolve().is_relative_to(real):
            yield item.relative_to(root).as_posix(), item


def _part(path: str | os.PathLike[str]) -> tuple[Path, str]:
    """The database and the part of it that a path names; no part if it names a file or folder."""
    whole, _, part = os.fspath(path).rpartition("#")
    root = Path(whole).expanduser().absolute()
    # a link may lead out of the folder for which the path was allowed
    is_file = part and not os.path.lexists(path) and root.is_file() and not root.is_symlink()
    if not is_file or decode.sniff(decode.read_head(root)) != decode.SQLITE:
        return root, ""
    return root, part


def _read_part(path: Path, part: str) -> _Items:
    uri = uri_of(path)
    yield from _guarded(f"{uri}#{part}", lambda: databases.read(path, uri, part))


def _existing(path: str | os.PathLike[str]) -> Path:
    root = Path(path).expanduser().absolute()
    if not os.path.lexists(root):
        raise SourceError(
            f"there is no file or folder {path}",
            uri=str(path),
            remedy="check the path; to read a text, use read_text",
        )
    return root


# -- one file ------------------------------------------------------------------------------------


def _read_inside(root: Path, path: Path, named: bool, max_bytes: int, limits: Limits) -> _Items:
    # who may put a link there may not be allowed to read what it leads to
    try:
        target = path.resolve()
    except (OSError, RuntimeError):  # as Python 3.13 and those before it say
        yield Skipped(uri=uri_of(path), reason="a link that leads back to itself", failed=True)
        return
    if not target.is_relative_to(root):
        yield Skipped(
            uri=uri_of(path),
            reason=f"a link out of the folder: read {uri_of(target)} itself if it is wanted",
        )
    elif path.is_symlink() and target.is_dir():
        reason = "a link to a folder, which is read in its own place"
        yield Skipped(uri=uri_of(path), reason=reason)
    else:
        yield from _read_file(path, named, max_bytes, limits)


def _read_stdin(max_bytes: int, limits: Limits) -> _Items:
    data = sys.stdin.buffer.read(max_bytes + 1)
    if len(data) > max_bytes:
        yield Skipped(uri="-", reason=f"more than {_size(max_bytes)}")
        return
    suffix = {"a PDF": ".pdf", "HTML": ".html"}.get(decode.sniff(data), "")
    if not suffix and data.lstrip()[:1] in (b"{", b"["):
        suffix = ".json"
    # of its content, so that what is piped next does not replace it
    uri = f"stdin:{sha256(data).hexdigest()[:12]}"
    yield from _guarded(
        uri, lambda: read_bytes(uri, data, suffix, title="standard input", limits=limits)
    )


def _read_file(path: Path, named: bool, max_bytes: int, limits: Limits) -> _Items:
    """Read one file, or say why not. `named`: it was asked for by name, so that a strange suffix is
    not a reason to skip it."""
    uri, suffix = uri_of(path), path.suffix.lower()
    try:
        state = path.stat()
    except OSError as error:
        yield Skipped(uri=uri, reason=f"cannot be read: {error.strerror}", failed=True)
        return
    if not stat.S_ISREG(state.st_mode):
        yield Skipped(uri=uri, reason="not a regular file")
        return
    if exports.belongs_to_export(path):
        reason = "of an export of conversations nothing else is read"
        yield Skipped(uri=uri, reason=reason)
        return
    read_whole = _reader_by_content(path, suffix, named)
    if read_whole is not None:
        yield from _guarded(uri, lambda: read_whole(path, uri))
        return
    reason = _reason_to_skip(path, suffix, named, state.st_size, max_bytes)
    if reason:
        yield Skipped(uri=uri, reason=reason)
        return
    is_note = READERS.get(suffix) is _read_markdown and folders.is_in_vault(path)
    for document in _guarded(
        uri, lambda: read_bytes(uri, _content(path, max_bytes), suffix, limits=limits)
    ):
        if is_note and isinstance(document, Document):
            yield replace(document, category="note")
        else:
            yield document


def _reader_by_content(
    path: Path, suffix: str, named: bool
) -> Callable[[Path, str], _Items] | None:
    """What reads a file of another program, piece by piece, however large it is; None if it is a
    document like others. Only one that is `named` is opened as a database or a zip."""
    if not named and suffix not in _JSON:
        return None
    head = decode.read_head(path)
    kind = decode.sniff(head)
    if named and kind == decode.SQLITE:
        return databases.read
    # a DOCX is a zip too
    if named and kind == decode.ZIP and suffix not in formats.FORMATS:
        return exports.read_zip
    if suffix == ".json" and exports.is_export(head):
        return exports.read_json
    return coding_transcripts.reader_of(path, suffix, head)


def _reason_to_skip(path: Path, suffix: str, named: bool, size: int, max_bytes: int) -> str:
    """Why a file is not read; empty: it is."""
    if size > max_bytes:
        return f"{_size(size)}: larger than {_size(max_bytes)}"
    known = suffix in READERS or suffix in formats.FORMATS
    known |= not suffix and path.stem.lower() in _BARE_NAMES.split()
    if suffix in images.MEDIA_TYPES and not images.is_installed():
        # met in a folder they stop nobody
        known = False
    if not named and not known:
        kind = suffix or "no suffix"
        return f"{kind}: not a kind of document; name the file to read it"
    return "" if size else "it is empty"


def _content(path: Path, max_bytes: int) -> bytes:
    """Read a file, of which there may be more by now."""
    with decode.open_regular(path, uri_of(path)) as stream:
        data = stream.read(max_bytes + 1)
    if len(data) > max_bytes:
        raise SourceError(f"larger than {_size(max_bytes)}", uri=uri_of(path))
    return data


def _guarded(uri: str, read: Callable[[], _Items]) -> _Items:
    """Yield what is read, and why there is no more of it if that fails."""
    try:
        yield from read()
    except RemloomError as error:
        reason = f"{error.message}: {error.remedy}" if error.remedy else error.message
        yield Skipped(uri=uri, reason=reason, failed=error.message != "it is empty")
    except OSError as error:
        yield Skipped(uri=uri, reason=f"cannot be read: {error.strerror or error}", failed=True)
    except Exception as error:
        # whatever a parser raises, it is of this document and not of the others
        message = str(error).partition("\n")[0][:_SHOWN]
        reason = f"cannot be read: {type(error).__name__}: {message}"
        yield Skipped(uri=uri, reason=reason, failed=True)


def _size(count: int) -> str:
    if count >= 1024 * 1024:
        return f"{count / 1024 / 1024:,.0f} MB"
    return f"{count / 1024:,.0f} kB"


# -- formats -------------------------------------------------------------------------------------


def read_bytes(
    uri: str,
    data: bytes,
    suffix: str,
    *,
    title: str = "",
    limits: Limits = _USUAL,
) -> list[Document | Skipped]:
    """Read the bytes of one file as documents: one, except for exports that have several chats.

    Args:
        suffix: of its name, lower case, with the dot.
        title: what to call the document when it does not say; from the uri when empty.

    Raises:
        SourceError: it is not what its suffix says, or not text.
        MissingExtraError: reading it needs an extra.
    """
    title = title or texts.title_of(uri)
    if suffix == ".xml":
        suffix = feeds.sniff_suffix(data) or suffix
    if suffix in formats.FORMATS:
        return [convert.convert(File(uri, data, suffix, title), limits)]
    if suffix in _JSON and data[:1] in (b"{", b"["):
        # a NUL, which no program writes, is to damage its string or its line alone
        data = data.replace(b"\0", b"\\u0000")
    try:
        text, encoding = decode.to_text(data)
    except decode.NotTextError as error:
        claim = f"named {suffix} but it is" if suffix else "it is"
        raise SourceError(f"{claim} {error}", uri=uri) from error
    if not text.strip():
        raise SourceError("it is empty", uri=uri)
    metadata: dict[str, Any] = {}
    if encoding != "utf-8":
        metadata["encoding"] = encoding + (" (guessed)" if encoding == "latin-1" else "")
    read = READERS.get(suffix, _read_plain)
    return list(read(Document(uri=uri, title=title, text=text, metadata=metadata), suffix))


def _read_markdown(whole: Document, suffix: str) -> _Items:
    return [texts.markdown(whole)]


def _read_plain(whole: Document, suffix: str) -> _Items:
    turns = transcript.turns(whole.text)
    if turns:
        return [chat_document(whole.uri, whole.title, turns, whole.metadata)]
    return [replace(whole, title=texts.heading(whole.text) or whole.title)]


def _read_table(whole: Document, suffix: str) -> _Items:
    if reading_lists.is_saved_list(whole.text):
        return reading_lists.read(whole.uri, whole.text, whole.title)
    media_type = "text/csv" if suffix == ".csv" else "text/tab-separated-values"
    return [replace(whole, category="table", media_type=media_type)]


def _read_json(whole: Document, suffix: str) -> _Items:
    """The chats in JSON, or JSON lines; what has none is a text."""
    found = _json_chats(whole.uri, whole.text, suffix)
    if not found:
        yield replace(whole, media_type="application/json")
    seen: set[str] = set()
    for number, chat in enumerate(found, 1):
        title, uri = whole.title, whole.uri
        if len(found) > 1:
            id = chat.id or str(number)
            uri = f"{uri}#{id}" if id not in seen else f"{uri}#{id}#{number}"
            title = f"{title} {number}"
            seen.add(id)
        yield entries.conversation(uri, chat.title or title, chat.entries, whole.metadata)


def _json_chats(uri: str, text: str, suffix: str) -> list[chats.Chat]:
    if suffix == ".json":
        value, problem = _decoded(text, suffix, "it")
        if problem:
            raise SourceError(problem, uri=uri)
        return chats.from_json(value, text)
    values: list[tuple[int, Any]] = []
    broken: dict[int, str] = {}
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        value, problem = _decoded(line, suffix, f"line {number} of it")
        if problem:
            broken[number] = problem
        else:
            values.append((number, value))
    found = chats.from_json_lines(values, list(broken))
    if broken and not found:
        raise SourceError(next(iter(broken.values())), uri=uri)
    return found


def _decoded(text: str, suffix: str, it: str) -> tuple[Any, str]:
    """A value in JSON, and why there is none; empty: there is."""
    try:
        return entries.decode(text), ""
    except json.JSONDecodeError as error:
        line = f", line {error.lineno}" if suffix == ".json" else ","
        problem = f"{error.msg}{line} column {error.colno}"
        return None, f"named {suffix} but {it} is not JSON: {problem}"
    except RecursionError:
        return None, f"named {suffix} but {it} is JSON nested too deeply"


# What makes documents of a text, by the suffix of its file; a text of another suffix is read, as
# plain, only if it is asked for by name. The text comes as a document that says no more of it.
READERS: dict[str, Callable[[Document, str], _Items]] = {
    **dict.fromkeys((".md", ".markdown", ".mdown", ".mdx", ".qmd"), _read_markdown),
    **dict.fromkeys((".txt", ".text", ".rst", ".adoc", ".asciidoc", ".org", ".tex"), _read_plain),
    **dict.fromkeys((".srt", ".vtt", ".log"), _read_plain),
    **dict.fromkeys((".csv", ".tsv"), _read_table),
    **dict.fromkeys(_JSON, _read_json),
}
