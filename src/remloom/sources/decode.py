"""Bytes of files: opened, recognised, and decoded to text if they are text at all."""

from __future__ import annotations

import codecs
import os
import stat
from pathlib import Path
from typing import BinaryIO

from ..errors import SourceError

# as `sniff` names them
SQLITE = "a SQLite database"
ZIP = "a ZIP archive"

_SIGNATURES = (
    (b"%PDF-", "a PDF"),
    (b"\x89PNG\r\n", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"PK\x03\x04", ZIP),
    (b"PK\x05\x06", "an empty ZIP archive"),
    (b"\x1f\x8b", "gzip data"),
    (b"BZh", "bzip2 data"),
    (b"\xfd7zXZ", "xz data"),
    (b"7z\xbc\xaf", "a 7z archive"),
    (b"\x28\xb5\x2f\xfd", "zstd data"),
    (b"\x7fELF", "a program"),
    (b"MZ\x90", "a program"),
    (b"SQLite format 3\0", SQLITE),
    (b"\xd0\xcf\x11\xe0", "an old Office document"),
    (b"{\\rtf", "a rich text file"),
)
_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16: its mark begins with that of UTF-16
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_CONTROLS = bytes(set(range(32)) - set(b"\t\n\r\f\v\x1b"))
_MOST_CONTROLS = 0.01  # share of control characters that a text in an old encoding may have


class NotTextError(ValueError):
    """These bytes are not a text; the message says what they are, as far as can be told."""


def sniff(data: bytes) -> str:
    """Name what bytes are by their signature ("a PDF", "HTML"); empty if they have none."""
    for signature, name in _SIGNATURES:
        if data.startswith(signature):
            return name
    head = data[:1024].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    return "HTML" if head.startswith((b"<!doctype html", b"<html")) else ""


def to_text(data: bytes) -> tuple[str, str]:
    """Decode bytes; returns the text and its encoding. Line ends become LF, a byte order mark goes.

    Tried in order: the byte order mark, UTF-8, Latin-1. The last takes any bytes, so it is only a
    guess, and only made when they look like text.

    Raises:
        NotTextError: binary data, or text that its byte order mark lies about.
    """
    kind = sniff(data)
    if kind and kind != "HTML":
        raise NotTextError(kind)
    encoding = next((name for bom, name in _BOMS if data.startswith(bom)), "")
    try:
        text = data.decode(encoding or "utf-8")
        encoding = encoding or "utf-8"
    except UnicodeDecodeError as error:
        if encoding:
            raise NotTextError(f"not the {encoding} text its byte order mark says") from error
        sample = data[:65_536]
        controls = len(sample) - len(sample.translate(None, _CONTROLS))
        if controls > _MOST_CONTROLS * len(sample):
            raise NotTextError("binary data") from error
        text = data.decode("latin-1")
        encoding = "latin-1"
    # a NUL is valid UTF-8, but nobody writes one
    if "\0" in text:
        raise NotTextError("binary data")
    return text.replace("\r\n", "\n").replace("\r", "\n"), encoding


_HEAD = 64 * 1024  # bytes by which a file is recognised


def open_regular(path: Path, uri: str) -> BinaryIO:
    """Open a file without waiting; refuse what is not regular, as a pipe would never end."""
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    stream = os.fdopen(os.open(path, flags), "rb")
    if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
        stream.close()
        raise SourceError("not a regular file", uri=uri)
    return stream


def read_head(path: Path) -> bytes:
    """Read the first bytes of a file; none when it cannot be read."""
    try:
        with open_regular(path, str(path)) as stream:
            return stream.read(_HEAD)
    except (OSError, SourceError):
        return b""
