"""Rows that a program has as a document: a line each, with the values beside it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from ..errors import InvalidInputError
from .document import Document
from .inline import check_uri

_TEXT = "text"
_MAX_WHOLE = 2**63  # what is kept as a whole number is below


def from_rows(rows: Iterable[Mapping[str, Any]], *, uri: str, name: str) -> Document:
    """Make a document of rows: the line of each is its `text`; its other values stand beside it.

    Line ends in a text become blanks. Values that JSON does not have become texts, and so do whole
    numbers of more than 64 bits; what is not a number (NaN) is none.

    >>> from_rows([{"text": "a\\nb", "year": 1999}], uri="rows:x", name="x").columns
    {'year': (1999,)}

    Args:
        rows: mappings, or a DataFrame of pandas or polars.

    Raises:
        InvalidInputError: a row is no mapping or has no `text`, or no row has a text.
    """
    check_uri(uri)
    texts: list[str] = []
    values: list[dict[str, Any]] = []
    for number, row in enumerate(_mappings(rows), 1):
        if not isinstance(row, Mapping) or _TEXT not in row:
            raise InvalidInputError(
                f"row {number} has no `text`", remedy="give mappings with a `text`, a row a line"
            )
        texts.append(_line(_value(row[_TEXT])))
        values.append({str(key): _value(row[key]) for key in row if key != _TEXT})
    if not any(texts):
        raise InvalidInputError("there is no text in the rows", remedy="give rows with a `text`")
    names = dict.fromkeys(key for row in values for key in row)
    return Document(
        uri=uri,
        title=name,
        text="\n".join(texts),
        category="table",
        columns={key: tuple(row.get(key) for row in values) for key in names},
    )


def _mappings(rows: Any) -> Iterable[Any]:
    """The rows of a DataFrame, of pandas or of polars; of anything else the rows themselves."""
    if hasattr(rows, "to_dicts"):
        return list(rows.to_dicts())
    if hasattr(rows, "to_dict") and hasattr(rows, "columns"):
        return list(rows.to_dict("records"))
    if isinstance(rows, Mapping | str) or not isinstance(rows, Iterable):
        raise InvalidInputError(
            f"a {type(rows).__name__} is no list of rows", remedy='give [{"text": …}, …]'
        )
    return list(rows)


def _line(value: Any) -> str:
    """A text as one line, with the blanks that it begins with."""
    return " ".join(str("" if value is None else value).splitlines()).rstrip()


def _value(value: Any) -> Any:
    """A value as JSON has it."""
    if hasattr(value, "item") and not isinstance(value, str | bytes):
        # a number of numpy
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, int) and not -_MAX_WHOLE <= value < _MAX_WHOLE:
        return str(value)
    if value is None or isinstance(value, str | bool | int | float):
        return value
    return value.isoformat() if hasattr(value, "isoformat") else str(value)
