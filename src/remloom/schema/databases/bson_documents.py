"""Documents out of BSON, element by element where one of them is broken."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from .contract import Unreadable

if TYPE_CHECKING:
    from bson.codec_options import CodecOptions


# bytes of the values of a type, by its number
_FIXED = {
    0x01: 8, 0x06: 0, 0x07: 12, 0x08: 1, 0x09: 8, 0x0A: 0, 0x10: 4, 0x11: 8, 0x12: 8, 0x13: 16,
    0x7F: 0, 0xFF: 0,
}  # fmt: skip
# what a value has besides as many bytes as it says in its first four
_COUNTED = {0x02: 4, 0x03: 0, 0x04: 0, 0x05: 5, 0x0C: 16, 0x0D: 4, 0x0E: 4, 0x0F: 0}
_REGULAR_EXPRESSION = 0x0B


def decode_document(data: bytes, options: CodecOptions[Any]) -> dict[str, Any]:
    """Decode a document; what of it cannot be decoded is Unreadable, and costs no other field."""
    import bson

    errors = (bson.errors.BSONError, ValueError, OverflowError)
    try:
        return dict(bson.decode(data, options))
    except errors as error:
        reason = str(error)
    found: dict[str, Any] = {}
    for name, element in _elements(data):
        try:
            found |= bson.decode(_document(element), options)
        except errors as error:
            found[name] = Unreadable(str(error))
    # it was broken as a whole
    return found or {"_id": Unreadable(reason)}


def _document(element: bytes) -> bytes:
    return (len(element) + 5).to_bytes(4, "little") + element + b"\0"


def _elements(data: bytes) -> Iterator[tuple[str, bytes]]:
    """The name of each element, and its bytes; up to one of a type that is not known."""
    place, end = 4, len(data) - 1
    while place < end:
        type_, start = data[place], place
        named = data.index(b"\0", place + 1)
        name = data[place + 1 : named].decode("utf-8", "replace")
        place = named + 1
        if type_ in _FIXED:
            place += _FIXED[type_]
        elif type_ in _COUNTED:
            place += _COUNTED[type_] + int.from_bytes(data[place : place + 4], "little")
        elif type_ == _REGULAR_EXPRESSION:
            place = data.index(b"\0", data.index(b"\0", place) + 1) + 1
        else:
            # how long it is nobody knows
            place = end
        yield name, data[start:place]
