"""Documents: the columns that a sample of them has, and their values as rows.

A document within a document becomes columns, "address.city", where the sample agrees on its fields;
else it is JSON.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from ...model import Kind
from .columns import Converter, converters, plain
from .contract import Column, Unreadable

if TYPE_CHECKING:
    from bson.codec_options import CodecOptions

Document: TypeAlias = Mapping[str, Any]

_SCALARS: Mapping[str, Kind] = {
    "string": "string", "objectId": "string", "uuid": "string", "int": "integer",
    "double": "float", "decimal": "decimal", "bool": "boolean", "date": "datetime",
}  # fmt: skip
# from narrow to wide: of numbers of several types
_NUMBERS: tuple[Kind, ...] = ("integer", "float", "decimal")
_DEPTH = 3  # names of a path
_MOST_PARTS = 32  # fields of a document within one; of more, its names are values
_SHARED = 1 / 3  # of the documents that have a field of theirs, on average; of fewer, likewise
_UNREADABLE = "a name with a dot or a dollar"

# bytes of the values of a type, by its number
_FIXED = {
    0x01: 8, 0x06: 0, 0x07: 12, 0x08: 1, 0x09: 8, 0x0A: 0, 0x10: 4, 0x11: 8, 0x12: 8, 0x13: 16,
    0x7F: 0, 0xFF: 0,
}  # fmt: skip
# what a value has besides as many bytes as it says in its first four
_COUNTED = {0x02: 4, 0x03: 0, 0x04: 0, 0x05: 5, 0x0C: 16, 0x0D: 4, 0x0E: 4, 0x0F: 0}
_REGULAR_EXPRESSION = 0x0B


def columns_of(documents: Sequence[Document], schema: Document) -> Iterable[Column]:
    """The fields of documents, in order of appearance; `schema` is a validator's `$jsonSchema`."""
    return _columns(documents, schema, (), len(documents))


def _columns(
    documents: Sequence[Document], schema: Document, path: tuple[str, ...], total: int
) -> Iterator[Column]:
    properties = schema.get("properties", {})
    names = dict.fromkeys([*(name for document in documents for name in document), *properties])
    required = set(schema.get("required", ()))
    for name in names:
        found = [
            value
            for document in documents
            if (value := document.get(name)) is not None and not isinstance(value, Unreadable)
        ]
        of_schema = properties.get(name, {})
        inner = (*path, name)
        # a name with a dot may be that of a column within
        is_free = not any(other.startswith(f"{name}.") for other in names)
        if len(inner) < _DEPTH and name != "_id" and is_free and _agree(found):
            yield from _columns(found, of_schema, inner, total)
            continue
        yield _column(inner, found, of_schema, total, is_required=name in required and not path)


def _agree(values: Sequence[Any]) -> bool:
    """Whether all are documents with mostly the same fields."""
    if not values or not all(isinstance(value, Mapping) for value in values):
        return False
    names = Counter(name for value in values for name in value)
    if not 0 < len(names) <= _MOST_PARTS or any(map(_is_unreadable, names)):
        return False
    return names.total() >= _SHARED * len(names) * len(values)


def _column(
    path: tuple[str, ...], values: Sequence[Any], schema: Document, total: int, *, is_required: bool
) -> Column:
    types = Counter(map(_type, values))
    kind, is_list = _kind(types)
    declared = ", ".join(sorted(types))
    if any(map(_is_unreadable, path)):
        kind, is_list, declared = None, False, _UNREADABLE
    allowed = tuple(each for each in schema.get("enum", ()) if isinstance(each, str))
    return Column(
        name=".".join(path),
        kind="enum" if allowed and kind == "string" else kind,
        list=is_list,
        declared=declared,
        nullable=not (path == ("_id",) or is_required),
        values=allowed if kind == "string" else (),
        comment=str(schema.get("description", "")),
        sampled=_sampled(types, total),
    )


def _is_unreadable(name: str) -> bool:
    return not name or "." in name or name.startswith("$")


def _sampled(types: Counter[str], total: int) -> str:
    """Say what a sample has: "in 98% of 1,200 documents seen; string 95%, int 5%"."""
    filled = types.total()
    if not filled:
        return f"in none of {total:,} documents seen"
    share = f"in {_share(filled, total)} of {total:,} documents seen"
    if len(types) == 1:
        return share
    shares = (f"{name} {_share(many, filled)}" for name, many in types.most_common())
    return f"{share}; {', '.join(shares)}"


def _share(part: int, whole: int) -> str:
    """Write a share that is all or none only if it is.

    >>> [_share(part, 1000) for part in (1000, 999, 500, 1)]
    ['100%', '99.9%', '50%', '0.1%']
    """
    return f"{float(f'{100 * part / whole:.3g}'):g}%"


def _type(value: Any) -> str:
    """The type of a value in the words of MongoDB; of a list, that of its items in brackets."""
    from uuid import UUID

    from bson import DBRef, Decimal128, ObjectId
    from bson.datetime_ms import DatetimeMS

    if isinstance(value, DBRef):
        # what it leads to
        return _type(value.id)
    types: tuple[tuple[type | tuple[type, ...], str], ...] = (
        (str, "string"), (bool, "bool"), (int, "int"), (float, "double"), (ObjectId, "objectId"),
        (Decimal128, "decimal"), (UUID, "uuid"), (Mapping, "object"), (bytes, "binData"),
        (DatetimeMS, "date"),
    )  # fmt: skip
    for type_, name in types:
        if isinstance(value, type_):
            return name
    if isinstance(value, list):
        items = {_type(item) for item in value if item is not None}
        return f"[{items.pop()}]" if len(items) == 1 else "[]" if not items else "array"
    return "date" if hasattr(value, "tzinfo") else type(value).__name__.lower()


def _kind(types: Counter[str]) -> tuple[Kind | None, bool]:
    """The kind of a field whose values have these types, and whether it is a list."""
    lists = {name for name in types if name.startswith("[")}
    if lists and len(lists) == len(types):
        kind, _ = _kind(Counter(name[1:-1] for name in lists if name != "[]"))
        return (kind, True) if kind not in (None, "json") else ("json", False)
    if lists or "object" in types or "array" in types:
        return "json", False
    if set(types) == {"binData"}:
        return None, False
    kinds = {_SCALARS.get(name, "string") for name in types}
    if len(kinds) == 1:
        return kinds.pop(), False
    if kinds and kinds <= set(_NUMBERS):
        return next(kind for kind in reversed(_NUMBERS) if kind in kinds), False
    return "string", False


def plain_rows(documents: Sequence[Document], columns: Sequence[Column]) -> list[tuple[Any, ...]]:
    """Read columns out of documents, as plain values.

    Where a path leads through something other than documents, the value is an object with that in
    it, which no scalar field takes: the row is refused, and nothing is lost.
    """
    readers = [
        (tuple(column.name.split(".")), to_plain)
        for column, to_plain in zip(columns, converters(columns), strict=True)
    ]
    return [
        tuple([_read(document, path, to_plain) for path, to_plain in readers])
        for document in documents
    ]


def _read(document: Document, path: tuple[str, ...], to_plain: Converter) -> Any:
    value: Any = document
    for depth, name in enumerate(path):
        if isinstance(value, Unreadable):
            return value
        if not isinstance(value, Mapping):
            return {".".join(path[:depth]): plain(_without_types(value))}
        value = value.get(name)
        if value is None:
            return None
    return to_plain(_without_types(value))


def _without_types(value: Any) -> Any:
    from bson import Code, DBRef, Decimal128, Int64
    from bson.datetime_ms import DatetimeMS

    if isinstance(value, Decimal128):
        return value.to_decimal()
    if isinstance(value, Int64):
        return int(value)
    if isinstance(value, Code):
        return str(value)
    if isinstance(value, DatetimeMS):
        # one that Python does not have
        import numpy as np

        return f"{np.datetime64(int(value), 'ms')}Z"
    if isinstance(value, DBRef):
        return _without_types(value.id)
    if isinstance(value, Mapping):
        return {name: _without_types(of) for name, of in value.items()}
    if isinstance(value, list):
        return [_without_types(item) for item in value]
    return value


def bound(value: Any, column: Column) -> Any:
    """Turn a plain value into the one that documents have in this field."""
    from uuid import UUID

    from bson import Decimal128, ObjectId

    declared = column.declared.strip("[]")
    if declared == "objectId" and isinstance(value, str):
        return ObjectId(value) if ObjectId.is_valid(value) else value
    if declared == "uuid" and isinstance(value, str):
        return UUID(value)
    return Decimal128(value) if declared == "decimal" and not isinstance(value, int) else value


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
            size = (len(element) + 5).to_bytes(4, "little")
            found |= bson.decode(size + element + b"\0", options)
        except errors as error:
            found[name] = Unreadable(str(error))
    # it was broken as a whole
    return found or {"_id": Unreadable(reason)}


def _elements(data: bytes) -> Iterator[tuple[str, bytes]]:
    """The name of each element, and its bytes; up to one of a type that is not known."""
    position, end = 4, len(data) - 1
    while position < end:
        type_, start = data[position], position
        named = data.index(b"\0", position + 1)
        name = data[position + 1 : named].decode("utf-8", "replace")
        position = named + 1
        if type_ in _FIXED:
            position += _FIXED[type_]
        elif type_ in _COUNTED:
            position += _COUNTED[type_] + int.from_bytes(data[position : position + 4], "little")
        elif type_ == _REGULAR_EXPRESSION:
            position = data.index(b"\0", data.index(b"\0", position) + 1) + 1
        else:
            # its length is not known
            position = end
        yield name, data[start:position]
