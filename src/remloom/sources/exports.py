"""Exports of ChatGPT and Claude: their zips, and `conversations.json` of any size by itself.

One conversation after another is read, so that memory stays flat. Of a zip nothing but its
conversations is opened: not the account (`user.json`, `users.json`: name, e-mail, telephone), not
what was uploaded, not what the model remembers. Nothing is unpacked to disk.
"""

from __future__ import annotations

import io
import re
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import IO, Any

from ..errors import SourceError
from . import conversations
from .document import Document, Skipped, chat_document
from .streams import open_regular

__all__ = ["is_export", "read_json", "read_zip"]

LARGEST = 64 * 1024 * 1024  # bytes of one conversation
LARGEST_UNPACKED = 10_000_000_000  # bytes of all conversations of a zip
_DEEPEST = 100  # arrays and objects in each other
# A text shrinks to a fifth or a tenth; this is no text.
_MOST_RATIO = 200
_RATIO_FROM = 1_000_000  # bytes unpacked, below which the ratio does not matter
_LARGEST_INDEX = 8_000_000  # bytes of the names and places of all files in a zip: some 80,000 files
_TAIL = 66_000  # bytes at the end of a zip in which its last record stands
# where the last record says how large the index is: in a zip, and in one of more than 4 GB
_INDEX_SIZES = ((b"PK\x05\x06", 12, 16), (b"PK\x06\x06", 40, 48))
_NAMES = re.compile(r"conversations(?:-(\d+))?\.json")
# what the first conversation has first, and then: of ChatGPT, of Claude
_KEYS = (("title", "mapping"), ("uuid", "chat_messages"))
_BOM = b"\xef\xbb\xbf"
_CHUNK = 64 * 1024  # bytes parsed at once
_ENCRYPTED = 1  # flag of a file in a zip


def is_export(head: bytes) -> bool:
    """Whether a JSON file begins as `conversations.json` does: a list of conversations."""
    head = head.removeprefix(_BOM)
    if head[:1].isspace():
        head = head.lstrip()
    if not head.startswith(b"["):
        return False
    import ijson

    depth = 0
    keys: set[str] = set()
    # the head ends somewhere in the middle
    with suppress(ijson.JSONError):
        for event, value in ijson.basic_parse(io.BytesIO(head), use_float=True):
            depth += event.startswith("start_") - event.startswith("end_")
            if depth == 2 and event == "map_key":
                keys.add(value)
                if any(keys.issuperset(both) for both in _KEYS):
                    return True
            # the first conversation is over, or is none
            if depth > _DEEPEST or (depth == 1 and event != "start_array"):
                break
    return False


def read_json(path: Path, uri: str) -> Iterator[Document | Skipped]:
    """Read each conversation of a `conversations.json`, with the uri `<uri>#<its id>`.

    Raises:
        SourceError: it is damaged; what came before the damage has been read.
    """
    with open_regular(path, uri) as stream:
        yield from _Reading(uri).read(stream)


def read_zip(path: Path, uri: str) -> Iterator[Document | Skipped]:
    """Read each conversation of an export that is a zip, with the uri `<uri>#<its id>`.

    Raises:
        SourceError: it is no export, damaged, encrypted, or made to do harm.
    """
    with open_regular(path, uri) as file, _damage_told(uri):
        _check_index(file, uri)
        with zipfile.ZipFile(file) as archive:
            reading = _Reading(uri)
            for member in _members(archive, uri):
                with archive.open(member) as stream:
                    yield from reading.read(stream, last=False)
            yield from reading.left_out()


# -- JSON ----------------------------------------------------------------------------------------


class _Reading:
    """The conversations of one export, in one file or several."""

    def __init__(self, uri: str) -> None:
        self._uri = uri
        self._seen: set[str] = set()
        self._number = 0
        # of entries that were left out: how many for which reason
        self._left_out: dict[str, int] = {}

    def read(self, stream: IO[bytes], *, last: bool = True) -> Iterator[Document | Skipped]:
        """Read the conversations of one file; after the `last`, tell what was left out."""
        for value in _entries(stream, self._uri):
            self._number += 1
            document = self._document(value)
            if isinstance(document, Document):
                yield document
            else:
                self._left_out[document] = self._left_out.get(document, 0) + 1
        if last:
            yield from self.left_out()

    def left_out(self) -> Iterator[Skipped]:
        """Tell what was left out; that nothing was there is told too."""
        for reason, count in self._left_out.items():
            entries = "entry" if count == 1 else "entries"
            yield Skipped(uri=self._uri, reason=f"{count} {entries} left out: {reason}")
        if not self._number:
            yield Skipped(uri=self._uri, reason="there are no conversations in it")

    def _document(self, value: Any) -> Document | str:
        """A conversation as a document, or why there is none."""
        program = conversations.program(value)
        if not program:
            return "not a conversation"
        turns = conversations.turns(value)
        if not turns:
            return "nothing is said in it"
        ids = (value.get("conversation_id"), value.get("id"), value.get("uuid"))
        own_id = next((str(id) for id in ids if id), "")
        id = own_id or str(self._number)
        # parts of an export may overlap
        if id in self._seen:
            return "another has the same id"
        self._seen.add(id)
        title = str(value.get("title") or value.get("name") or f"Conversation {self._number}")
        return chat_document(
            f"{self._uri}#{id}",
            title,
            turns,
            {"program": program},
            conversation=f"{program}/{own_id}" if own_id else "",
        )


def _entries(stream: IO[bytes], uri: str) -> Iterator[Any]:
    """Yield the entries of a list, one by one.

    Raises:
        SourceError: it is no list in JSON, or an entry is too large or too deep.
    """
    import ijson
    from ijson.common import ObjectBuilder

    counted = _Counted(stream, uri)
    builder: Any = None
    depth = 0
    try:
        for event, value in ijson.basic_parse(counted, use_float=True, buf_size=_CHUNK):
            if event.startswith("start_"):
                depth += 1
                if depth == 1 and event != "start_array":
                    raise SourceError("its conversations are no list", uri=uri)
                # To build what is nested without end would take all memory there is.
                if depth > _DEEPEST:
                    raise SourceError("JSON nested too deeply", uri=uri)
                if depth == 2:
                    builder = ObjectBuilder()
            if builder is not None:
                builder.event(event, value)
            elif depth == 1 and event not in ("start_array", "end_array"):
                # a number or a text where a conversation should be
                yield value
            if event.startswith("end_"):
                depth -= 1
                if depth == 1:
                    yield builder.value
                    builder = None
                    counted.begin()
    except ijson.JSONError as error:
        problem = str(error).partition("\n")[0].strip("b'\\n ").partition("\\n")[0]
        raise SourceError(f"its JSON is damaged or cut: {problem}", uri=uri) from error


class _Counted:
    """A stream that ends an entry which does not end."""

    def __init__(self, stream: IO[bytes], uri: str) -> None:
        self._stream = stream
        self._uri = uri
        self._begun = True
        self._size = 0  # of what was read since the last entry

    def begin(self) -> None:
        """Count from here: an entry is complete."""
        self._size = 0

    def read(self, size: int = -1) -> bytes:
        data = self._stream.read(size)
        # ijson first reads nothing, to see what a stream gives
        if data and self._begun:
            self._begun = False
            data = data.removeprefix(_BOM)
        self._size += len(data)
        if self._size > LARGEST:
            problem = f"one conversation is larger than {LARGEST // 1024 // 1024} MB"
            raise SourceError(problem, uri=self._uri)
        return data


# -- zip -----------------------------------------------------------------------------------------


@contextmanager
def _damage_told(uri: str) -> Iterator[None]:
    """Make our error of what the library raises when a zip is damaged."""
    try:
        yield
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise SourceError(f"a zip that is damaged or cut: {error}", uri=uri) from error


def _check_index(file: IO[bytes], uri: str) -> None:
    """Refuse a zip whose index would take gigabytes when it is loaded."""
    end = file.seek(0, io.SEEK_END)
    file.seek(max(0, end - _TAIL))
    tail = file.read()
    for mark, first, last in _INDEX_SIZES:
        record = tail.rfind(mark)
        size = int.from_bytes(tail[record + first : record + last], "little")
        # all bits are set where the size stands in the other record
        if record >= 0 and _LARGEST_INDEX < size != 0xFFFFFFFF:
            raise SourceError(f"a zip with an index of {size / 1e6:,.0f} MB", uri=uri)
    file.seek(0)


def _members(archive: zipfile.ZipFile, uri: str) -> list[zipfile.ZipInfo]:
    """The files of conversations in a zip, in order.

    Raises:
        SourceError: there are none, or the zip is encrypted or made to do harm.
    """
    found: list[tuple[int, zipfile.ZipInfo]] = []
    for member in archive.infolist():
        if _leads_out(member.filename):
            raise SourceError(
                f"a zip with a file that would lead out of it: {member.filename[:80]!a}",
                uri=uri,
            )
        match = _NAMES.fullmatch(PurePosixPath(member.filename).name)
        if match:
            found.append((int(match[1] or 0), member))
    if not found:
        raise SourceError(
            "a zip without conversations.json: it is no export of ChatGPT or Claude",
            uri=uri,
            remedy="unpack it and read what is in it",
        )
    members = [member for _, member in sorted(found, key=lambda pair: pair[0])]
    _check_sizes(members, uri)
    return members


def _leads_out(name: str) -> bool:
    windows = PureWindowsPath(name)
    return ".." in windows.parts or bool(windows.drive) or name[:1] in ("/", "\\")


def _check_sizes(members: list[zipfile.ZipInfo], uri: str) -> None:
    """Refuse what is encrypted, or unpacks to far more than a text would.

    The library unpacks no more than is declared, and finds by its checksum what is less.
    """
    for member in members:
        if member.flag_bits & _ENCRYPTED:
            raise SourceError("a zip that is encrypted", uri=uri, remedy="unpack it, and read that")
        most = max(_RATIO_FROM, _MOST_RATIO * member.compress_size)
        if member.file_size > most:
            size = f"{member.file_size / 1_000_000:,.0f} MB"
            packed = f"{member.compress_size / 1000:,.0f} kB"
            raise SourceError(f"a zip that unpacks {packed} to {size}: that is no text", uri=uri)
    total = sum(member.file_size for member in members)
    if total > LARGEST_UNPACKED:
        raise SourceError(f"a zip that unpacks to {total / 1e9:,.0f} GB", uri=uri)
