"""Fields: what becomes of the columns of a table, and which are left out."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from statistics import mean
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ...model import Field, Kind
from ...store.rules.row_validation import value_fault
from ..databases.plain_values import converter
from ..databases.profiles import items_of
from ..definitions.definition_faults import MOST_FIELDS, can_be_values
from ..plan.planned import LeftOut, PlannedField, Question
from .facts import ColumnFacts, TableFacts
from .personal_data import Sensitivity, find_sensitivity
from .plan_names import name_fields
from .words import word_lists

_FEW_VALUES = 20  # of a column whose values are kinds
_ENOUGH_ROWS = 100
_SHARE_OF_ROWS = 0.05
_PROSE = 4  # words of a text that is read rather than compared, on average
_LOOKED_AT = 100
_ODD_SHARE = 0.05  # of different values that may be left out for the sake of a column's type
_EXAMPLES = 3
_SHOWN = 40  # characters of an example
# the kinds whose values are all of another one too, from narrow to wide; all can be text
_WIDER: Mapping[Kind, tuple[Kind, ...]] = {
    "boolean": ("integer", "decimal"), "integer": ("decimal",), "float": ("decimal",),
    "date": ("datetime",),
}  # fmt: skip
_PROSE_WORDS = frozenset((
    "description", "comment", "comments", "note", "notes", "body", "content", "text", "message",
    "summary", "abstract", "bio", "biography", "review", "remark", "remarks", "detail", "details",
    "subject", "title", "headline", "question", "answer", "transcript", "feedback",
))  # fmt: skip
_LABELS = frozenset(("email", "sku", "isbn", "ean", "upc", "barcode", "slug", "username", "vin"))


_WRITTEN = frozenset((
    "update", "updated", "modified", "modify", "changed", "change", "modification", "mtime",
    "touched", "revised", "edited", "synced", "amended",
))  # fmt: skip
_NOT_OF_ROWS = frozenset(("status", "password", "price", "login", "stock"))


class FieldChoice(Struct, frozen=True):
    """Which columns of a table become fields, which do not, and what is asked of them."""

    fields: tuple[PlannedField, ...]
    left_out: tuple[LeftOut, ...]
    questions: tuple[Question, ...]


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
    return FieldChoice(
        fields=tuple(field for field, _ in fields),
        left_out=tuple(left_out),
        questions=tuple(question for _, question in fields if question),
    )


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
) -> tuple[PlannedField, Question | None]:
    """What becomes of a column, and what is asked if its type is not that of what is in it."""
    declared = column.column
    values = () if is_label or sensitivity else _enum_values(facts, column)
    personal = sensitivity.kind if sensitivity and not sensitivity.is_secret else ""
    kind: Kind = "enum" if values else (declared.kind or "string")
    if kind == "enum" and not values:
        kind = "string"
    field = Field(kind=kind, list=declared.list, values=values, personal=personal)
    misfits = _misfits(column, field)
    if len(misfits) > _ODD_SHARE * column.profile.distinct:
        field = _wider(column, field)
    question = _ask_of_type(facts, column, field, misfits) if misfits else None
    is_own = personal in ("", "email")
    is_key = column.is_unique and not is_label and is_own and _is_identity(column)
    is_text = not (is_label or personal or field.values)
    planned = PlannedField(
        column=column.name,
        name=name,
        field=replace(
            field,
            description=declared.comment.strip(),
            is_key=is_key,
            searchable=is_text and _is_prose(column),
        ),
        is_unique=column.is_unique,
        evidence=_evidence(facts, column, field.values, sensitivity, is_key),
    )
    return planned, question


def _misfits(column: ColumnFacts, field: Field) -> list[Any]:
    """The values of a sample that a field cannot have."""
    if field.kind == "string":
        return []
    seen = items_of(column.profile.values) if field.list else column.profile.values
    convert, single = converter(field.kind), replace(field, list=False)
    return [value for value in seen if value_fault(convert(value), single)]


def _wider(column: ColumnFacts, field: Field) -> Field:
    """The field, of the narrowest kind that takes all of a sample."""
    for kind in _WIDER.get(field.kind, ()):
        wider = replace(field, kind=kind, values=())
        if not _misfits(column, wider):
            return wider
    return replace(field, kind="string", values=())


def _ask_of_type(
    facts: TableFacts, column: ColumnFacts, field: Field, misfits: Sequence[Any]
) -> Question:
    evidence = f"{len(misfits):,} of {column.profile.distinct:,} different values seen are not"
    if not field.personal:
        shown = ", ".join(str(value)[:_SHOWN] for value in misfits[:_EXAMPLES])
        evidence = f"{evidence}: {shown}"
    is_wider = field.kind not in (column.column.kind, "enum")
    declared = column.column.declared or column.column.kind
    return Question(
        table=facts.name,
        columns=(column.name,),
        question=f"Is it {declared}?",
        proposal=f"no: {field.kind}, which takes all" if is_wider else "yes: others are left out",
        evidence=evidence,
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
    notes = []
    if sensitivity is not None:
        notes.append(f"personal: {sensitivity.kind}, {sensitivity.evidence}")
    if facts.is_sampled and not column.filled:
        notes.append("no values seen")
    elif column.is_unique:
        notes.append("all different")
    elif values and not column.column.values:
        notes.append(f"{len(values)} values in {column.filled:,} rows")
    if is_key:
        notes.append("rows are found by it")
    if column.column.sampled:
        notes.append(column.column.sampled)
    return "; ".join(notes)


def find_watermark(facts: TableFacts) -> str:
    """Find the column of times that says when a row was last written: one with an index, never
    NULL. Empty: there is none, so that all rows are compared."""
    leading = {columns[0].lower() for columns in facts.table.indexed if columns}
    for column in facts.columns.values():
        if column.name.lower() in leading and _says_when_written(column):
            return column.name
    return ""


def _says_when_written(column: ColumnFacts) -> bool:
    words = set(column.words)
    return (
        column.column.kind == "datetime"
        and bool(words & _WRITTEN)
        and not words & _NOT_OF_ROWS
        and column.profile.nulls == 0
    )
