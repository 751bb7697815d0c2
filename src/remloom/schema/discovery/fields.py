"""Fields: the columns of a table that are taken, and those left out, as secrets are."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from ipaddress import ip_address
from statistics import mean
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ...model import Field, Kind
from ...store.rules.row_rules import value_fault
from ...text.secrets import find_secrets
from ..databases.columns import converter
from ..databases.contract import items_of
from ..definitions.definition_faults import MOST_FIELDS, can_be_values
from ..plan.planned import LeftOut, PlannedField, Question
from .facts import ColumnFacts, TableFacts
from .names import is_of_people
from .plan_names import name_fields
from .words import word_lists

_FEW_VALUES = 20  # of a column whose values are kinds
_ENOUGH_ROWS = 100
_SHARE_OF_ROWS = 0.05
_PROSE = 4  # words of a text that is read rather than compared, on average
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
_MOST = 0.8  # of the values looked at
_HALF = 0.5
_FEW = 20  # values, of which secrets are looked for
_LONGEST = 200  # characters of a value that may be one
_EMAIL = re.compile(r"[^\s@]{1,64}@[^\s@]+\.[^\s@.]{2,}")
# with a sign that numbers of other things do not have
_PHONE = re.compile(r"(?=(?:\D*\d){7})(?:\+|\(\d|00\d)[\d\s()./x-]{6,24}")
_MAC_ADDRESS = re.compile(r"(?:[0-9a-fA-F]{2}[:-]){5}[0-9a-fA-F]{2}")
# which secrets numbers prove themselves to be, and what they say of a person
_BY_NUMBER = {"IBAN": "bank account", "social security number": "national id"}


class FieldChoice(Struct, frozen=True):
    """The columns of a table that become fields, those that do not, and questions about them."""

    fields: tuple[PlannedField, ...]
    left_out: tuple[LeftOut, ...]
    questions: tuple[Question, ...]


def choose_fields(
    facts: TableFacts, columns: Iterable[str], entity_type: str, needed: Collection[str]
) -> FieldChoice:
    """Choose the columns that become fields; those that are needed always do."""
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
    """The field of a column, and a question if its values are not of its type."""
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
    if field.kind == "string":
        return []
    seen = items_of(column.profile.values) if field.list else column.profile.values
    convert, single = converter(field.kind), replace(field, list=False)
    return [value for value in seen if value_fault(convert(value), single)]


def _wider(column: ColumnFacts, field: Field) -> Field:
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
    """The values of an enum: those declared, or those of all rows if they are categories."""
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
    """Whether people look rows up by its values: an email address, a SKU."""
    if column.value_class != "text":
        return False
    if not _LABELS.isdisjoint(column.words):
        return True
    is_opaque = column.words[-1] in word_lists().opaque
    return column.is_identifier and not is_opaque and bool(column.content)


def _is_prose(column: ColumnFacts) -> bool:
    if column.column.kind != "string" or column.column.list:
        return False
    if not column.texts:
        return column.words[-1] in _PROSE_WORDS
    return mean(len(text.split()) for text in column.texts) >= _PROSE


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


# -- personal data and secrets ---------------------------------------------------------------------


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return _MAC_ADDRESS.fullmatch(text) is not None
    return True


# personal data that have a form, and whether a text has it
_BY_FORM: tuple[tuple[str, Callable[[str], object]], ...] = (
    ("email", _EMAIL.fullmatch),
    ("ip address", _is_address),
    ("phone", _PHONE.fullmatch),
)


class Sensitivity(Struct, frozen=True):
    """The personal data or secret that a column holds, and how that is known."""

    kind: str
    is_secret: bool = False  # it is not taken at all
    evidence: str = ""


class _Rule(Struct, frozen=True):
    kind: str
    names: tuple[str, ...]


class _Rules(Struct, frozen=True):
    secrets: tuple[_Rule, ...]
    personal: tuple[_Rule, ...]
    names: tuple[_Rule, ...]


@cache
def _rules() -> _Rules:
    data = files(__package__).joinpath("personal_data.toml").read_bytes()
    return msgspec.toml.decode(data, type=_Rules)


def find_sensitivity(facts: TableFacts, column: ColumnFacts) -> Sensitivity | None:
    """Find the personal data or secret that a column holds; None: none that can be seen."""
    if column.column.kind in ("boolean", None):
        return None
    rules = _rules()
    is_scalar = column.column.kind in ("string", "integer", "decimal", "json", "enum")
    if is_scalar and (kind := _kind_of_name(column, rules.secrets)):
        return Sensitivity(kind, True, "by its name")
    if found := _by_values(column):
        return found
    if kind := _kind_of_name(column, rules.personal):
        return Sensitivity(kind, evidence="by its name")
    if is_of_people(facts.words) and (kind := _kind_of_name(column, rules.names)):
        return Sensitivity(kind, evidence="by its name")
    return None


def _kind_of_name(column: ColumnFacts, rules: Sequence[_Rule]) -> str:
    text = f" {' '.join(column.full_words)} "
    # "email_id" holds no address, "address_id" leads to one
    if column.value_class == "number" and column.is_identifier and text.endswith(" id "):
        return ""
    for rule in rules:
        if any(f" {name} " in text for name in rule.names):
            return rule.kind
    return ""


def _by_values(column: ColumnFacts) -> Sensitivity | None:
    texts = column.texts
    if not texts or column.column.kind != "string":
        return None
    for kind, is_one in _BY_FORM:
        hits = sum(bool(is_one(text.strip())) for text in texts)
        if hits / len(texts) >= _MOST:
            return Sensitivity(kind, evidence="by its values")
    few = [text for text in texts[:_FEW] if len(text) < _LONGEST]
    found = [{secret.kind for secret in find_secrets(text)} for text in few]
    kinds = set().union(*found) if found else set()
    for kind in sorted(kinds):
        if sum(kind in each for each in found) / len(few) >= _HALF:
            known = _BY_NUMBER.get(kind)
            return Sensitivity(known or kind, known is None, "by its values")
    return None
