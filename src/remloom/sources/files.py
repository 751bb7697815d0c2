"""Files and folders as documents, one at a time, whatever is in them."""

from __future__ import annotations

import json
import os
import re
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from fnmatch import fnmatch
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeAlias

from msgspec.structs import replace

from ..errors import InvalidInputError, RemloomError, SourceError
from ..text import dates
from . import decode, entries, programs, streams, vaults
from .chats import chats, transcript
from .document import Document, Skipped, chat_document
from .documents import convert, formats, frontmatter, images
from .documents.convert import Limits
from .exclusions import Exclusions
from .web import feeds, saved

MAX_BYTES = 100 * 1024 * 1024  # of one file; what is larger is passed over unread
_MARKDOWN = (".md", ".markdown", ".mdown", ".mdx", ".qmd")
_TEXT = (".txt", ".text", ".rst", ".adoc", ".asciidoc", ".org", ".tex", ".srt", ".vtt", ".log")
_TABLES = (".csv", ".tsv")
_JSON = (".json", ".jsonl", ".ndjson")
_BARE_NAMES = (
    "readme",
    "license",
    "licence",
    "copying",
    "notice",
    "authors",
    "changelog",
    "changes",
    "news",
    "todo",
)
_PRUNED = frozenset(("node_modules", "__pycache__", "venv", "site-packages", "CVS"))
# files that tell a virtual environment, or a tenant of ours
_MARKS = ("pyvenv.cfg", "memory.db")
_DATE_KEYS = ("date", "created", "published", "year", "period")
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_SHOWN = 200  # characters of an error that are shown
_USUAL = Limits()
_TITLE_LINES = 40  # of a text in which its title is looked for


# reads one file
_Read: TypeAlias = Callable[[], Iterator["Document | Skipped"]]


class Source:
    """The documents under a path: iterate to read them one by one. `len` counts the files."""

    def __init__(self, readers: list[_Read]) -> None:
        self._readers = readers

    def __len__(self) -> int:
        return len(self._readers)

    def __iter__(self) -> Iterator[Document | Skipped]:
        for read in self._readers:
            yield from read()

    def renamed(self, path: str | os.PathLike[str], uri: str) -> Source:
        """Call what stands under a path as if it stood under a uri."""
        root = str(Path(path).expanduser().absolute())

        def rename(
            read: Callable[[], Iterator[Document | Skipped]],
        ) -> Iterator[Document | Skipped]:
            for item in read():
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

    A folder's files come in the order of their names. Hidden files and folders, version control,
    installed packages and Remloom's own tenants are left out without a word; every other file is
    read or comes as `Skipped` with its reason. So do links that lead out of the folder, and links
    to folders. Nothing is opened before its turn, and no file above `max_bytes` is read unless it
    can be read piece by piece (see `programs`). Databases and zips are read when they are named or
    match `glob`, not when they are met in a folder.

    Args:
        path: what to read.
        recursive: whether folders inside a folder are read too.
        glob: read only the files whose name, or path below the folder, matches; with it, text of
            any suffix is read.
        exclude: names, or paths below the folder, of folders and files that are not read; in any
            case, with `*` and `?`. They come as `Skipped`, as do the templates of vaults of notes.
        max_bytes: size of a file above which it is passed over.
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
    root = Path(path).expanduser().absolute()
    if root.is_dir():
        real = root.resolve()
        readers: list[Callable[[], Iterator[Document | Skipped]]] = []
        for item in _walk(root, recursive, Exclusions(root, exclude)):
            if isinstance(item, Skipped):
                readers.append(partial(_yield_skipped, item))
            elif not glob or _matches(item, root, glob):
                readers.append(partial(_read_inside, real, item, bool(glob), max_bytes, limits))
        return Source(readers)
    if not os.path.lexists(root):
        raise _nothing_at(path)
    return Source([partial(_read_file, root, True, max_bytes, limits)])


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
    root = Path(path).expanduser().absolute()
    if not os.path.lexists(root):
        raise _nothing_at(path)
    if not root.is_dir():
        yield root.name, root
        return
    real = root.resolve()
    for item in _walk(root, recursive, Exclusions(root, exclude)):
        inside = isinstance(item, Path) and item.is_file() and item.resolve().is_relative_to(real)
        if isinstance(item, Path) and inside and (not glob or _matches(item, root, glob)):
            yield item.relative_to(root).as_posix(), item


def read_bytes(
    uri: str,
    data: bytes,
    suffix: str,
    *,
    title: str = "",
    limits: Limits = _USUAL,
) -> list[Document | Skipped]:
    """Read the bytes of one file as documents.

    That is one, except for exports that hold several chats, which come with what was left out.

    Args:
        uri: what to cite.
        data: the file.
        suffix: of its name, lower case, with the dot.
        title: what to call the document when it does not say; from the uri when empty.
        limits: what the conversion of a PDF, DOCX or HTML may take.

    Raises:
        SourceError: it is not what its suffix says, or not text.
        MissingExtraError: reading it needs an extra.
    """
    title = title or _pretty(uri)
    if suffix == ".xml":
        suffix = feeds.sniff_suffix(data) or suffix
    if suffix in formats.MEDIA_TYPES:
        return [convert.convert(uri, data, suffix, title, limits)]
    try:
        text, encoding = decode.to_text(_without_nul(data) if suffix in _JSON else data)
    except decode.NotTextError as error:
        claim = f"named {suffix} but it is" if suffix else "it is"
        raise SourceError(f"{claim} {error}", uri=uri) from error
    if not text.strip():
        raise SourceError("it is empty", uri=uri)
    metadata: dict[str, Any] = {}
    if encoding != "utf-8":
        metadata["encoding"] = encoding + (" (guessed)" if encoding == "latin-1" else "")
    whole = Document(uri=uri, title=title, text=text, metadata=metadata)
    if suffix in _JSON:
        some = _json_chats(uri, text, suffix)
        if some:
            return list(_chats(uri, some, title, metadata))
        return [replace(whole, media_type="application/json")]
    if suffix in _TABLES:
        if saved.is_saved_list(text):
            return list(saved.read(uri, text, title))
        media_type = "text/csv" if suffix == ".csv" else "text/tab-separated-values"
        return [replace(whole, category="table", media_type=media_type)]
    if suffix not in _MARKDOWN:
        turns = transcript.turns(text)
        if turns:
            return [chat_document(uri, title, turns, metadata)]
    return [_text(uri, text, title, suffix, metadata)]


def _without_nul(data: bytes) -> bytes:
    """JSON in which a NUL, which no program writes, damages its string or its line alone."""
    return data.replace(b"\0", b"\\u0000") if data[:1] in (b"{", b"[") else data


def title_of(text: str, uri: str) -> str:
    """Title a text by its first heading, else by the last part of its uri."""
    return _heading(text) or _pretty(uri)


def markdown(uri: str, text: str) -> Document:
    """Make a document of a text in Markdown and its front matter."""
    return _text(uri, text, _pretty(uri), ".md", {})


def _nothing_at(path: str | os.PathLike[str]) -> SourceError:
    return SourceError(
        f"there is no file or folder {path}",
        uri=str(path),
        remedy="check the path; to read a text, use read_text",
    )


def _walk(root: Path, recursive: bool, exclusions: Exclusions) -> Iterator[Path | Skipped]:
    """Yield the files of a folder, and at last the folders that cannot be read."""
    errors: list[OSError] = []
    for folder, folders, files in os.walk(root, onerror=errors.append):
        exclusions.enter(Path(folder))
        inside = sorted(name for name in folders if recursive and _is_read(folder, name))
        excluded = {name for name in inside if exclusions.reason(Path(folder, name))}
        # what is taken out of this very list, os.walk does not enter
        folders[:] = [name for name in inside if name not in excluded]
        links = [name for name in folders if Path(folder, name).is_symlink()]
        for name in sorted((*files, *links, *excluded)):
            if not name.startswith("."):
                path = Path(folder, name)
                reason = exclusions.reason(path)
                yield Skipped(uri=_uri(path), reason=reason) if reason else path
    for error in errors:
        yield Skipped(
            uri=_uri(error.filename),
            reason=f"cannot be read: {error.strerror}",
            failed=True,
        )


def _is_read(folder: str, name: str) -> bool:
    """Whether a folder inside a folder is read: not hidden ones, installed packages and tenants."""
    if name.startswith(".") or name in _PRUNED:
        return False
    return not any(Path(folder, name, mark).exists() for mark in _MARKS)


def _matches(path: Path, root: Path, glob: str) -> bool:
    return fnmatch(path.name, glob) or fnmatch(path.relative_to(root).as_posix(), glob)


def _yield_skipped(item: Skipped) -> Iterator[Skipped]:
    yield item


def _uri(path: str | os.PathLike[str]) -> str:
    """Write a path as text that can be stored: bytes that are not UTF-8 become `\\xff`."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def _read_inside(
    root: Path,
    path: Path,
    named: bool,
    max_bytes: int,
    limits: Limits,
) -> Iterator[Document | Skipped]:
    """Read a file of a folder; a link only if it stays inside.

    Who may put a link there may not be allowed to read what it leads to.
    """
    try:
        target = path.resolve()
    except (OSError, RuntimeError):  # as Python 3.13 and those before it say
        yield Skipped(uri=_uri(path), reason="a link that leads back to itself", failed=True)
        return
    if not target.is_relative_to(root):
        yield Skipped(
            uri=_uri(path),
            reason=f"a link out of the folder: read {_uri(target)} itself if it is wanted",
        )
    elif path.is_symlink() and target.is_dir():
        yield Skipped(uri=_uri(path), reason="a link to a folder, which is read in its own place")
    else:
        yield from _read_file(path, named, max_bytes, limits)


def _read_stdin(max_bytes: int, limits: Limits) -> Iterator[Document | Skipped]:
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


def _read_file(
    path: Path,
    named: bool,
    max_bytes: int,
    limits: Limits,
) -> Iterator[Document | Skipped]:
    """Read one file, or say why not.

    Args:
        named: it was asked for by name, so that a strange suffix is not a reason to skip it.
    """
    uri = _uri(path)
    suffix = path.suffix.lower()
    try:
        state = path.stat()
    except OSError as error:
        yield Skipped(uri=uri, reason=f"cannot be read: {error.strerror}", failed=True)
        return
    if not stat.S_ISREG(state.st_mode):
        yield Skipped(uri=uri, reason="not a regular file")
        return
    if programs.belongs_to_export(path):
        reason = "of an export of conversations nothing else is read"
        yield Skipped(uri=uri, reason=reason)
        return
    read = programs.find_reader(path, suffix, named)
    if read is not None:
        yield from _guarded(uri, lambda: read(path, uri))
        return
    if state.st_size > max_bytes:
        yield Skipped(uri=uri, reason=f"{_size(state.st_size)}: larger than {_size(max_bytes)}")
        return
    known = suffix in (*_MARKDOWN, *_TEXT, *_TABLES, *_JSON, *formats.MEDIA_TYPES)
    known |= not suffix and path.stem.lower() in _BARE_NAMES
    if suffix in images.MEDIA_TYPES and not images.is_installed():
        # met in a folder they stop nobody
        known = False
    if not named and not known:
        kind = suffix or "no suffix"
        yield Skipped(uri=uri, reason=f"{kind}: not a kind of document; name the file to read it")
        return
    if not state.st_size:
        yield Skipped(uri=uri, reason="it is empty")
        return
    documents = _guarded(
        uri, lambda: read_bytes(uri, _content(path, max_bytes), suffix, limits=limits)
    )
    is_note = suffix in _MARKDOWN and vaults.is_inside(path)
    for document in documents:
        if is_note and isinstance(document, Document):
            yield replace(document, category="note")
        else:
            yield document


def _content(path: Path, max_bytes: int) -> bytes:
    """Read a file, of which there may be more by now."""
    with streams.open_regular(path, _uri(path)) as stream:
        data = stream.read(max_bytes + 1)
    if len(data) > max_bytes:
        raise SourceError(f"larger than {_size(max_bytes)}", uri=_uri(path))
    return data


def _guarded(
    uri: str, read: Callable[[], Iterable[Document | Skipped]]
) -> Iterator[Document | Skipped]:
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
        yield Skipped(
            uri=uri,
            reason=f"cannot be read: {type(error).__name__}: {message}",
            failed=True,
        )


def _json_chats(uri: str, text: str, suffix: str) -> list[chats.Chat]:
    """Find the chats in JSON, or JSON lines; a broken line among them costs only itself."""
    if suffix == ".json":
        value, problem = _decoded(text, suffix, "it")
        if problem:
            raise SourceError(problem, uri=uri)
        return chats.from_json(value, text)
    lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    values: list[tuple[int, Any]] = []
    broken: dict[int, str] = {}
    for number, line in lines:
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


def _chats(
    uri: str, some: list[chats.Chat], title: str, metadata: dict[str, Any]
) -> Iterator[Document | Skipped]:
    """Yield the chats of an export."""
    seen: set[str] = set()
    for number, chat in enumerate(some, 1):
        name = title
        of_chat = uri
        if len(some) > 1:
            id = chat.id or str(number)
            of_chat = f"{uri}#{id}" if id not in seen else f"{uri}#{id}#{number}"
            name = f"{title} {number}"
            seen.add(id)
        yield entries.conversation(of_chat, chat.title or name, chat.entries, metadata)


def _text(uri: str, text: str, title: str, suffix: str, metadata: dict[str, Any]) -> Document:
    is_markdown = suffix in _MARKDOWN
    facts, body = frontmatter.split(text) if is_markdown else ({}, 0)
    authors = facts.get("authors", facts.get("author", ()))
    if isinstance(authors, str):
        authors = [name.strip() for name in authors.split(",")]
    times = [dates.parse(_first_year(facts.get(name))) for name in _DATE_KEYS]
    if is_markdown:
        # a daily note is of its day, whenever it was created
        times.insert(1, vaults.day_of(uri))
    if facts:
        metadata = {**metadata, "front_matter": facts}
    return Document(
        uri=uri,
        title=str(facts.get("title") or _heading(text[body:]) or title),
        text=text,
        body=body,
        media_type="text/markdown" if is_markdown else "text/plain",
        at=next((time for time in times if time), None),
        authors=tuple(str(name) for name in authors if str(name).strip()),
        metadata=metadata,
    )


def _first_year(value: Any) -> Any:
    """The start of a period such as "1750-1775"; any other value as it is."""
    if isinstance(value, str) and len(value) == 9 and value[:4].isdigit() and value[5:].isdigit():
        return value[:4]
    return value


def _heading(text: str) -> str:
    """Find the first heading: `# Title`, or a line underlined with `===`, `---` and the like."""
    lines = text.split("\n", _TITLE_LINES)[:_TITLE_LINES]
    for line, below in zip(lines, [*lines[1:], ""], strict=True):
        if line.startswith("# "):
            return line[2:].strip().strip("#").strip()
        title, underline = line.strip(), below.strip()
        long_enough = len(underline) >= max(3, len(title))
        if title and long_enough and len(set(underline)) == 1 and underline[0] in "=-*~#":
            return title
    return ""


def _pretty(uri: str) -> str:
    """Make a title of a file name: `q1-retrospective.md` is "q1 retrospective"; a day stays one."""
    name = uri.replace("\\", "/").rstrip("/").rpartition("/")[2]
    stem = name.rpartition(".")[0] or name
    if _DAY.fullmatch(stem):
        return stem
    return " ".join(stem.replace("_", " ").replace("-", " ").split()) or uri


def _size(count: int) -> str:
    if count >= 1024 * 1024:
        return f"{count / 1024 / 1024:,.0f} MB"
    return f"{count / 1024:,.0f} kB"
