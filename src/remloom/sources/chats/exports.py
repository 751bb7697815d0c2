"""Exports of ChatGPT and Claude: their zips, and `conversations.json` of any size by itself.

One conversation after another is read, so that memory stays flat. Of a zip nothing but its
conversations is opened: not the account, what was uploaded, or what the model remembers.
"""

from __future__ import annotations

import io
import re
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import IO

from ...errors import SourceError
from ..decode import open_regular, read_head
from ..document import Document, Skipped
from ..entries import Entries, conversation, decode
from . import conversations

LARGEST = 64 * 1024 * 1024  # bytes of one conversation
LARGEST_UNPACKED = 10_000_000_000  # bytes of all conversations of a zip
_DEEPEST = 100  # arrays and objects in each other
# A text shrinks to a fifth or a tenth; this is not text.
_MOST_RATIO = 200
_RATIO_FROM = 1_000_000  # bytes unpacked, below which the ratio does not matter
_LARGEST_INDEX = 8_000_000  # bytes of the names and places of all files in a zip: some 80,000 files
_TAIL = 66_000  # bytes at the end of a zip that have its last record
# where the last record says how large the index is: in a zip, and in one of more than 4 GB
_INDEX_SIZES = ((b"PK\x05\x06", 12, 16), (b"PK\x06\x06", 40, 48))
_NAMES = re.compile(r"conversations(?:-(\d+))?\.json")
# what the first conversation has first, and then: of ChatGPT, of Claude
_KEYS = ((b"title", b"mapping"), (b"uuid", b"chat_messages"))
# a string with the colon behind it if it is a key, or a bracket
_MARKS_OF_HEAD = re.compile(rb'"(?P<text>[^"\\]*(?:\\.[^"\\]*)*)"(?P<colon>\s*:)?|[\[\]{}]', re.S)
# what ends a string or part of it; what parts a list, and what an entry of it
_IN_STRING = re.compile(rb'[^"\\]*(?:\\.[^"\\]*)*', re.S)
_BETWEEN = re.compile(rb'["\[\]{},]')
_INSIDE = re.compile(rb'["\[\]{}]')
_TOO_DEEP = "JSON nested too deeply"
# what an export has besides its conversations: the account, uploads, what the model remembers
_OTHER_FILES = re.compile(
    r"(?:users?|user_settings|projects|memories|message_feedback|model_comparisons|group_chats|"
    r"shared_conversations|export_manifest)\.json|chat\.html|file[-_].+",
    re.I,
)
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
    depth = 0
    keys: set[bytes] = set()
    # the head ends somewhere in the middle
    for match in _MARKS_OF_HEAD.finditer(head):
        mark = match[0][:1]
        depth += (mark in b"[{") - (mark in b"]}")
        if depth == 2 and match["colon"]:
            keys.add(match["text"])
            if any(keys.issuperset(both) for both in _KEYS):
                return True
        # the first conversation is over, or is none
        if depth > _DEEPEST or depth < 1 or (depth == 1 and mark != b"["):
            break
    return False


def belongs_to_export(path: Path) -> bool:
    """Whether a file is next to the conversations of an unpacked export, and not one of them."""
    if not _OTHER_FILES.fullmatch(path.name):
        return False
    siblings = path.parent.glob("conversations*.json")
    return any(is_export(read_head(sibling)) for sibling in siblings)


def read_json(path: Path, uri: str) -> Iterator[Document | Skipped]:
    """Read each conversation of a `conversations.json`, as `<uri>#<its id>`, up to where it is
    damaged."""
    with open_regular(path, uri) as stream:
        yield from _Reading(uri).read(stream)


def read_zip(path: Path, uri: str) -> Iterator[Document | Skipped]:
    """Read each conversation of an export that is a zip, as `<uri>#<its id>`."""
    with open_regular(path, uri) as file, _describe_damage(uri):
        _check_index(file, uri)
        with zipfile.ZipFile(file) as archive:
            reading = _Reading(uri)
            for member in _members(archive, uri):
                with archive.open(member) as stream:
                    yield from reading.read(stream, last=False)
            yield from reading.left_out()


# -- JSON ----------------------------------------------------------------------------------------


class _Reading:
    def __init__(self, uri: str) -> None:
        self._uri = uri
        self._seen: set[str] = set()
        self._number = 0
        self._odd = Entries("entry")

    def read(self, stream: IO[bytes], *, last: bool = True) -> Iterator[Document | Skipped]:
        """Read the conversations of one file; after the `last`, say what was left out."""
        for entry in _entries(stream, self._uri):
            self._number += 1
            document = self._document(entry)
            if document is not None:
                yield document
        if last:
            yield from self.left_out()

    def left_out(self) -> Iterator[Skipped]:
        """Say what was left out, or that there was nothing."""
        for reason in self._odd.left_out:
            yield Skipped(uri=self._uri, reason=f"left out: {reason}")
        if not self._number:
            yield Skipped(uri=self._uri, reason="there are no conversations in it")

    def _document(self, entry: bytes | None) -> Document | None:
        """A conversation as a document; None, with the reason noted, if there is none."""
        try:
            found: Document | Skipped | str = self._conversation(entry)
        except RecursionError:
            found = _TOO_DEEP
        except Exception as error:
            # whatever is wrong with a conversation, it is of this one and not of the others
            found = f"cannot be read ({type(error).__name__})"
        if isinstance(found, Document):
            return found
        self._odd.leave_out(self._number, found.reason if isinstance(found, Skipped) else found)
        return None

    def _conversation(self, entry: bytes | None) -> Document | Skipped | str:
        if entry is None:
            return _TOO_DEEP
        text = entry.decode("utf-8", "replace")
        try:
            value = decode(text)
        except ValueError:
            return "its JSON is damaged"
        program = conversations.program(value)
        if not program:
            return "not a conversation"
        if text.encode() != entry:
            self._odd.leave_out(self._number, "bytes that are no UTF-8")
        entries = conversations.entries(value)
        ids = (value.get("conversation_id"), value.get("id"), value.get("uuid"))
        own_id = next((str(id) for id in ids if id), "")
        id = own_id or str(self._number)
        if entries.turns:
            # parts of an export may overlap
            if id in self._seen:
                return "another has the same id"
            self._seen.add(id)
        title = str(value.get("title") or value.get("name") or f"Conversation {self._number}")
        own_id = f"{program}/{own_id}" if own_id else ""
        facts = {"program": program}
        return conversation(f"{self._uri}#{id}", title, entries, facts, id=own_id)


def _entries(stream: IO[bytes], uri: str) -> Iterator[bytes | None]:
    """Yield the entries of a list as JSON; None for one nested too deeply to be read. They are
    parted by brackets and commas outside of strings alone, so that one which is not JSON costs no
    other."""
    data = bytearray(stream.read(_CHUNK)).removeprefix(_BOM)
    position = depth = deepest = 0
    is_string = False
    while True:
        mark, position, is_string = _next_mark(data, position, depth, is_string)
        if not mark:
            if len(data) > LARGEST:
                problem = f"one conversation is larger than {LARGEST // 1024 // 1024} MB"
                raise SourceError(problem, uri=uri)
            chunk = stream.read(_CHUNK)
            if not chunk:
                if depth == 1 and not is_string and data.strip():
                    yield bytes(data)
                cut = "its JSON is damaged or cut: the list does not end"
                raise SourceError(_TOO_DEEP if deepest > _DEEPEST else cut, uri=uri)
            data += chunk
            continue
        if depth == 0 and (mark != b"[" or data[: position - 1].strip()):
            raise SourceError("its conversations are no list", uri=uri)
        # an object that ends where none began is a damage of this entry
        if mark != b"," and not (mark == b"}" and depth == 1):
            depth += 1 if mark in b"[{" else -1
            deepest = max(deepest, depth)
        if depth == 0 or (depth == 1 and mark in b"[,"):
            entry = bytes(data[: position - 1]).strip()
            if entry:
                yield entry if deepest <= _DEEPEST else None
            del data[:position]
            position, deepest = 0, depth
            if depth == 0:
                if (data + stream.read(_CHUNK)).strip():
                    raise SourceError("its JSON is damaged: more is behind the list", uri=uri)
                return


def _next_mark(
    data: bytearray, position: int, depth: int, is_string: bool
) -> tuple[bytes, int, bool]:
    """The next bracket outside of strings, or comma of the list, the position behind it, and
    whether that is in a string. Empty: there is none in this data."""
    while True:
        if is_string:
            match = _IN_STRING.match(data, position)
            position = match.end() if match else position
            if data[position : position + 1] != b'"':
                return b"", position, True
            position += 1
        found = (_BETWEEN if depth == 1 else _INSIDE).search(data, position)
        if found is None:
            return b"", len(data), False
        position = found.end()
        is_string = found[0] == b'"'
        if not is_string:
            return bytes(found[0]), position, False


# -- zip -----------------------------------------------------------------------------------------


@contextmanager
def _describe_damage(uri: str) -> Iterator[None]:
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
        # all bits are set where the size is in the other record
        if record >= 0 and _LARGEST_INDEX < size != 0xFFFFFFFF:
            raise SourceError(f"a zip with an index of {size / 1e6:,.0f} MB", uri=uri)
    file.seek(0)


def _members(archive: zipfile.ZipFile, uri: str) -> list[zipfile.ZipInfo]:
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
    """Refuse what is encrypted, or is declared to unpack to far more than a text would; the library
    unpacks no more than is declared."""
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
