"""Values of a SELECT and its conditions: the closed vocabulary that each store writes SQL from.

All are frozen, and each knows its type. A literal is bound, never written into the SQL.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from ..model import Kind

# A time is microseconds since 1970 UTC wherever it is computed with; a date is the time of its
# midnight. `number` came out of JSON: it is computed with as a real, and shown as a whole number
# if it is one. `json` is a value whose type only the row knows; `any` an SQL value of such a type.
Type: TypeAlias = Literal[
    "text", "integer", "number", "real", "boolean", "time", "date", "json", "any", "null"
]
Operator: TypeAlias = Literal["=", "<>", "<", "<=", ">", ">="]


class FieldColumn(Struct, frozen=True):
    """Where the field of a row is stored, and how."""

    path: tuple[str, ...]  # within the record: ("fields", "total")
    kind: Kind
    # where rows that nobody migrated yet may have it; they may have it in another kind, too
    earlier: tuple[tuple[str, ...], ...] = ()
    is_mixed: bool = False  # there may be such rows
    default: str | int | float | None = None  # of rows that do not have it, as it is stored


class Column(Struct, frozen=True):
    """A column of the one table that the SELECT reads."""

    name: str
    type: Type
    field: FieldColumn | None = None  # of a row, that it is


class Json(Struct, frozen=True):
    """A value within a JSON column."""

    column: str
    # keys of objects, positions in lists (from 0; from the end if negative)
    steps: tuple[str | int, ...]
    # other names of the first step: those that rows have which nobody migrated yet
    earlier: tuple[str, ...] = ()
    default: str = ""  # JSON of the first step in rows that do not have it; empty: none
    is_list: bool = False  # a field of a row that holds any number of values
    type: ClassVar[Type] = "json"

    @property
    def is_mixed(self) -> bool:
        """Whether some rows may have its first step elsewhere, or not at all."""
        return bool(self.earlier or self.default)


# Equal numbers of two types are two values: their type is compared as well.
class Value(Struct, frozen=True):
    """A literal: a text, number, boolean, time in microseconds, or None."""

    value: Any
    type: Type


class Now(Struct, frozen=True):
    """The time at which the statement runs."""

    type: ClassVar[Type] = "time"


class Call(Struct, frozen=True):
    """A call of a function from the table in `functions`, by its canonical name."""

    name: str
    arguments: tuple[Expression, ...]
    type: Type


class Computed(Struct, frozen=True):
    """A value that a store has computed already, for a part of a statement around it."""

    sql: str
    type: Type


class Arithmetic(Struct, frozen=True):
    """A sum, difference, … of two numbers of one type. Division by 0 gives NULL."""

    operator: Literal["+", "-", "*", "/", "%"]
    left: Expression
    right: Expression
    type: Type


class Shift(Struct, frozen=True):
    """A time moved by calendar months, then by microseconds."""

    part: Expression
    months: int
    micros: int
    type: ClassVar[Type] = "time"


class _Condition(Struct, frozen=True):
    """A value that holds or does not, or is unknown."""

    type: ClassVar[Type] = "boolean"


class Compare(_Condition, frozen=True):
    """A comparison of two values of one type.

    Or of JSON (`left`) with a value of a type that JSON has; the JSON must then be of that type.
    """

    operator: Operator
    left: Expression
    right: Expression


class NotDistinct(_Condition, frozen=True):
    """Two values of one type are equal, or both are NULL (SQL: IS NOT DISTINCT FROM)."""

    left: Expression
    right: Expression


class And(_Condition, frozen=True):
    """Every part holds; true when there are none."""

    parts: tuple[Expression, ...]


class Or(_Condition, frozen=True):
    """At least one part holds; false when there are none."""

    parts: tuple[Expression, ...]


class Not(_Condition, frozen=True):
    """The part does not hold. As in SQL, the NOT of an unknown is unknown."""

    part: Expression


class IsTrue(_Condition, frozen=True):
    """The part is true; `negated`: it is false or unknown."""

    part: Expression
    negated: bool = False


class IsNull(_Condition, frozen=True):
    """The part is NULL; `negated`: it is not."""

    part: Expression
    negated: bool = False


class IsSet(_Condition, frozen=True):
    """The part is neither null nor an empty text, list or object."""

    part: Expression


class AnyOf(_Condition, frozen=True):
    """The part equals one of the values; with `lists`, or is a list that holds one of them."""

    part: Expression
    values: tuple[Value, ...]
    lists: bool = False


class Contains(_Condition, frozen=True):
    """A list has the value, or an object of that name; a text contains it in any case."""

    part: Expression
    value: Value


class StartsWith(_Condition, frozen=True):
    """The text begins with another (case-sensitive)."""

    part: Expression
    text: str


class EndsWith(_Condition, frozen=True):
    """The text ends with another (case-sensitive)."""

    part: Expression
    text: str


class Like(_Condition, frozen=True):
    """A text fits a pattern of `%` and `_`; a backslash escapes the next character.

    The case of ASCII letters does not matter, nor that of any letter once the pattern has others.
    """

    part: Expression
    pattern: str


class Matches(_Condition, frozen=True):
    """A Python regular expression matches somewhere in a text."""

    part: Expression
    pattern: str


class InPath(_Condition, frozen=True):
    """An edge leaves the record along a graph path of these parts: keys, None for any."""

    schema: str | None
    source: str | None
    rel_type: str | None
    entity: str | None  # the key of the entity that source and target share
    target: str | None
    names_entity: bool = False  # the path has a shared entity in it: any one if `entity` is None


class Case(Struct, frozen=True):
    """The value that belongs to the first condition that holds, else `otherwise`."""

    whens: tuple[tuple[Expression, Expression], ...]
    otherwise: Expression | None
    type: Type


class Cast(Struct, frozen=True):
    """The value as another type; NULL where it cannot be one."""

    part: Expression
    type: Type


class Aggregate(Struct, frozen=True):
    """An aggregate function over the rows of a group."""

    name: str
    part: Expression | None  # what is aggregated; None: count(*)
    distinct: bool
    where: Expression | None
    separator: str  # between the texts of group_concat
    type: Type


Expression: TypeAlias = (
    Column | Json | Value | Now | Computed | Call | Arithmetic | Shift | Compare | NotDistinct | And
    | Or | Not | IsTrue | IsNull | IsSet | AnyOf | Contains | StartsWith | EndsWith | Like | Matches
    | InPath | Case | Cast | Aggregate
)  # fmt: skip


class Output(Struct, frozen=True):
    """A column of the answer."""

    value: Expression
    name: str  # what the user sees; never a part of any SQL


class OrderTerm(Struct, frozen=True):
    """One term of ORDER BY."""

    value: Expression
    descending: bool = False
    nulls_first: bool = True


class Select(Struct, frozen=True):
    """One SELECT over one schema."""

    schema: str
    outputs: tuple[Output, ...]
    distinct: bool = False
    where: Expression | None = None
    groups: tuple[Expression, ...] = ()
    having: Expression | None = None
    order: tuple[OrderTerm, ...] = ()
    limit: int | None = None
    offset: int = 0
    is_star: bool = False  # its outputs are all columns of the schema

    @property
    def aggregated(self) -> bool:
        """Whether a row of the answer stands for several rows of the table."""
        if self.groups or self.having is not None:
            return True
        shown = [output.value for output in self.outputs]
        ordered = [term.value for term in self.order]
        return any(map(has_aggregate, (*shown, *ordered)))


def children(value: Expression) -> tuple[Expression, ...]:
    """The expressions that a value is directly made of."""
    match value:
        case Call(arguments=parts) | And(parts=parts) | Or(parts=parts):
            return parts
        case (
            Arithmetic(left=left, right=right)
            | Compare(left=left, right=right)
            | NotDistinct(left=left, right=right)
        ):
            return left, right
        case Case(whens=whens, otherwise=otherwise):
            pairs = tuple(part for pair in whens for part in pair)
            return pairs if otherwise is None else (*pairs, otherwise)
        case Aggregate(part=part, where=where):
            return tuple(child for child in (part, where) if child is not None)
        case Column() | Json() | Value() | Now() | Computed() | InPath():
            return ()
        case _:
            return (value.part,)


def walk(value: Expression) -> list[Expression]:
    """The value and everything it is made of."""
    seen, waiting = [], [value]
    # without recursion: a row of ANDs is a value of many parts, and each may be deep
    while waiting:
        part = waiting.pop()
        seen.append(part)
        waiting += children(part)
    return seen


def substitute(value: Expression, known: Mapping[Expression, Expression]) -> Expression:
    """The value with some of its parts replaced, but in what an aggregate function takes."""
    if value in known:
        return known[value]
    if isinstance(value, Aggregate) or not children(value):
        return value
    fields = {name: _substitute(getattr(value, name), known) for name in value.__struct_fields__}
    return replace(value, **fields)


def _substitute(part: Any, known: Mapping[Expression, Expression]) -> Any:
    if isinstance(part, tuple):
        return tuple(_substitute(each, known) for each in part)
    if part is None or isinstance(part, str | int):
        return part
    return substitute(part, known)


def with_value_of(select: Select, column: Column, value: Expression) -> Select:
    """The SELECT with a value in the place of a column, wherever that is named."""

    def put(part: Any) -> Any:
        if part == column:
            return value
        if isinstance(part, tuple):
            return tuple(put(each) for each in part)
        if not isinstance(part, Struct) or isinstance(part, Column | Json | Value):
            return part
        return replace(part, **{name: put(getattr(part, name)) for name in part.__struct_fields__})

    whole: Select = put(select)
    return replace(whole, outputs=put(select.outputs))


def names_column(select: Select, column: Column) -> bool:
    """Whether a SELECT names a column anywhere."""
    values = [*(output.value for output in select.outputs), *select.groups]
    values += [term.value for term in select.order]
    values += [part for part in (select.where, select.having) if part is not None]
    return any(part == column for value in values for part in walk(value))


def has_aggregate(value: Expression) -> bool:
    """Whether an aggregate function is part of a value."""
    return any(isinstance(part, Aggregate) for part in walk(value))
