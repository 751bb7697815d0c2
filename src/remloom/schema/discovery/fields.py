"""Fields: what becomes of the columns of a table, and which are left out."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from statistics import mean

from msgspec import Struct

from ...model import Field
from ..definition_faults import MOST_FIELDS, can_be_values
from ..planned import LeftOut, PlannedField
from .facts import ColumnFacts, TableFacts
from .personal_data import Sensitivity, find_sensitivity
from .schema_names import name_fields
from .words import word_lists

__all__ = ["FieldChoice", "choose_fields"]

_FEW_VALUES = 20  # of a column whose values are kinds
_ENOUGH_ROWS = 100
_SHARE_OF_ROWS = 0.05
_PROSE = 4  # words of a text that is read rather than compared, on average
_LOOKED_AT = 100
_PROSE_WORDS = frozenset((
    "description", "comment", "comments", "note", "notes", "body", "content", "text", "message",
    "summary", "abstract", "bio", "biography", "review", "remark", "remarks", "detail", "details",
    "subject", "title", "headline", "question", "answer", "transcript", "feedback",
))  # fmt: skip
_LABELS = frozenset(("email", "sku", "isbn", "ean", "upc", "barcode", "slug", "username", "vin"))


class FieldChoice(Struct, frozen=True):
    """Which columns of a table become fields, and which do not."""

    fields: tuple[PlannedField, ...]
    left_out: tuple[LeftOut, ...]


def choose_fields(
    facts: TableFacts,
    columns: Sequence[str],
    entity_type: str,
    *,
    key: Collection[str],
    name: Collection[str],
    leading: Collection[str],
) -> FieldChoice:
    """Choose what becomes of columns.

    Args:
        key: columns of the table's key; they are always taken, and so are those that `name` rows.
        leading: columns that are foreign keys.
    """
    needed = {*key, *name, *leading}
    further = MOST_FIELDS - len(needed)
    left_out: list[LeftOut] = []
    taken: list[tuple[ColumnFacts, Sensitivity | None]] = []
    for column in map(facts.column_of, columns):
        sensitivity = find_sensitivity(facts, column)
        reason = ""
        if column.name not in needed:
            reason = _reason_against(column, sensitivity)
            further -= not reason
            if further < 0 and not reason:
                reason = f"a schema has at most {MOST_FIELDS} fields"
        if reason:
            left_out.append(LeftOut(table=facts.name, column=column.name, reason=reason))
        else:
            taken.append((column, sensitivity))
    names = name_fields([column.name for column, _ in taken], entity_type)
    fields = [
        _field(facts, column, names[column.name], sensitivity, column.name in needed)
        for column, sensitivity in taken
    ]
    return FieldChoice(tuple(fields), tuple(left_out))


def _reason_against(column: ColumnFacts, sensitivity: Sensitivity | None) -> str:
    if column.column.kind is None:
        return f"{column.column.declared or 'what it holds'} is nothing that a field can hold"
    if sensitivity is not None and sensitivity.is_secret:
        return f"a secret ({sensitivity.kind}), {sensitivity.evidence}"
    return ""


def _field(
    facts: TableFacts,
    column: ColumnFacts,
    name: str,
    sensitivity: Sensitivity | None,
    is_label: bool,
) -> PlannedField:
    declared = column.column
    values = () if is_label or sensitivity else _enum_values(facts, column)
    personal = sensitivity.kind if sensitivity and not sensitivity.is_secret else ""
    kind = (
        "enum" if values else ("string" if declared.kind == "enum" else declared.kind or "string")
    )
    is_own = personal in ("", "email")
    is_key = column.is_unique and not is_label and is_own and _is_identity(column)
    return PlannedField(
        column=column.name,
        name=name,
        field=Field(
            kind=kind,
            list=declared.list,
            values=values,
            description=declared.comment.strip(),
            is_key=is_key,
            searchable=not (is_label or personal or values) and _is_prose(column),
            personal=personal,
        ),
        is_unique=column.is_unique,
        evidence=_evidence(facts, column, values, sensitivity, is_key),
    )


def _enum_values(facts: TableFacts, column: ColumnFacts) -> tuple[str, ...]:
    """The values of an enum: those declared, or those of all rows if they are kinds."""
    if column.column.values and not column.column.list:
        # MySQL takes '' for a value
        return column.column.values if can_be_values(column.column.values) else ()
    # rows that were not seen may have others, and would be refused
    is_text = column.column.kind == "string" and not column.column.list
    if not (is_text and facts.profile.whole) or column.filled < _ENOUGH_ROWS:
        return ()
    distinct = column.profile.distinct
    if distinct > _FEW_VALUES or distinct >= _SHARE_OF_ROWS * column.filled:
        return ()
    values = sorted(str(value) for value in column.profile.values)
    # a definition keeps its values: sentences are those of a row, and go when it is forgotten
    are_kinds = all(0 < len(value.split()) <= _PROSE for value in values)
    return tuple(values) if are_kinds and can_be_values(values) else ()


def _is_identity(column: ColumnFacts) -> bool:
    """Whether its values are what people look its rows up by: an address of mail, a SKU."""
    if column.value_class != "text":
        return False
    if not _LABELS.isdisjoint(column.words):
        return True
    opaque = set(word_lists().opaque)
    return column.is_identifier and column.words[-1] not in opaque and bool(column.content)


def _is_prose(column: ColumnFacts) -> bool:
    if column.column.kind != "string" or column.column.list:
        return False
    texts = [value for value in column.profile.values if isinstance(value, str)][:_LOOKED_AT]
    if not texts:
        return column.words[-1] in _PROSE_WORDS
    return mean(len(text.split()) for text in texts) >= _PROSE


def _evidence(
    facts: TableFacts,
    column: ColumnFacts,
    values: Sequence[str],
    sensitivity: Sensitivity | None,
    is_key: bool,
) -> str:
    said = []
    if sensitivity is not None:
        said.append(f"personal: {sensitivity.kind}, {sensitivity.evidence}")
    if facts.is_sampled and not column.filled:
        said.append("no values seen")
    elif column.is_unique:
        said.append("all different")
    elif values and not column.column.values:
        said.append(f"{len(values)} values in {column.filled:,} rows")
    if is_key:
        said.append("rows are found by it")
    if column.column.sampled:
        said.append(column.column.sampled)
    return "; ".join(said)
