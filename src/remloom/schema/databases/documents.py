"""Documents: the columns that a sample of them has, and their values as rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from ...model import Kind
from .contract import Column
from .plain_values import converters

__all__ = ["Document", "bound", "columns_of", "plain_rows"]

Document: TypeAlias = Mapping[str, Any]

_SCALARS: Mapping[str, Kind] = {
    "string": "string", "objectId": "string", "uuid": "string", "int": "integer",
    "double": "float", "decimal": "decimal", "bool": "boolean", "date": "datetime",
}  # fmt: skip
# from narrow to wide: of numbers of several types
_NUMBERS: tuple[Kind, ...] = ("integer", "float", "decimal")


def columns_of(documents: Sequence[Document], schema: Document) -> Iterable[Column]:
    """The fields of documents, in the order in which they turn up."""
    said = schema.get("properties", {})
    names = dict.fromkeys([*(name for document in documents for name in document), *said])
    required = set(schema.get("required", ()))
    for name in names:
        values = [document[name] for document in documents if name in document]
        kinds = Counter(_type(value) for value in values if value is not None)
        kind, is_list = _kind(kinds)
        of_schema = said.get(name, {})
        allowed = tuple(v for v in of_schema.get("enum", ()) if isinstance(v, str))
        yield Column(
            name=name,
            kind="enum" if allowed and kind == "string" else kind,
            list=is_list,
            declared=_shares(kinds),
            nullable=not (name == "_id" or name in required),
            values=allowed if kind == "string" else (),
            comment=str(of_schema.get("description", "")),
        )


def _shares(kinds: Counter[str]) -> str:
    """The types of a field, with their shares if there are several: "string 98 %, int 2 %"."""
    total = sum(kinds.values())
    if len(kinds) <= 1:
        return "".join(kinds)
    return ", ".join(f"{kind} {100 * many / total:.0f} %" for kind, many in kinds.most_common())


def _type(value: Any) -> str:
    """The type of a value in the words of MongoDB; of a list, that of its items in brackets."""
    from uuid import UUID

    from bson import Decimal128, ObjectId

    types: tuple[tuple[type | tuple[type, ...], str], ...] = (
        (str, "string"), (bool, "bool"), (int, "int"), (float, "double"), (ObjectId, "objectId"),
        (Decimal128, "decimal"), (UUID, "uuid"), (Mapping, "object"), (bytes, "binData"),
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
    convert = converters(columns)
    return [
        tuple(
            to_plain(_without_types(document.get(column.name)))
            for column, to_plain in zip(columns, convert, strict=True)
        )
        for document in documents
    ]


def _without_types(value: Any) -> Any:
    """A value without the types that only MongoDB has."""
    from bson import Decimal128

    if isinstance(value, Decimal128):
        return value.to_decimal()
    if isinstance(value, Mapping):
        return {name: _without_types(of) for name, of in value.items()}
    if isinstance(value, list):
        return [_without_types(item) for item in value]
    return value


def bound(value: Any, column: Column) -> Any:
    """A plain value as documents have it in this field."""
    from uuid import UUID

    from bson import Decimal128, ObjectId

    declared = column.declared.strip("[]")
    if declared == "objectId" and isinstance(value, str):
        return ObjectId(value) if ObjectId.is_valid(value) else value
    if declared == "uuid" and isinstance(value, str):
        return UUID(value)
    return Decimal128(value) if declared == "decimal" and not isinstance(value, int) else value
