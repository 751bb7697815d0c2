"""What a SELECT or a condition can say: frozen values, of which every store writes its SQL.

A literal is bound, never written; everything else is a word of this list. Each value knows its
type.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal, TypeAlias

from msgspec import Struct

__all__ = [
    "Aggregate", "And", "AnyOf", "Arithmetic", "Call", "Case", "Cast", "Column", "Compare", "Contains", "Ends",
    "Expression", "InPath", "IsNull", "IsSet", "IsTrue", "Json", "Like", "Matches", "Not", "Now", "Operator", "Or",
    "Ordered", "Output", "Same", "Select", "Shift", "Starts", "Type", "Value", "children", "walk",
]  # fmt: skip

# A time is microseconds since 1970 UTC wherever it is computed with; a date is the time of its
# midnight. `number` is one that came out of JSON: computed with as a real, and shown whole if it
# is. `json` is a value whose type only the row knows; `any` an SQL value of such a type.
Type: TypeAlias = Literal[
    "text", "integer", "number", "real", "boolean", "time", "date", "json", "any", "null"
]
Operator: TypeAlias = Literal["=", "<>", "<", "<=", ">", ">="]


class Column(Struct, frozen=True):
    """A column of the one table that is read."""

    name: str
    type: Type


class Json(Struct, frozen=True):
    """A value within a JSON column."""

    column: str
    # keys of objects, places in lists (from 0; from the end if negative)
    steps: tuple[str | int, ...]
    type: ClassVar[Type] = "json"


class Value(Struct, frozen=True):
    """A literal: a text, number, boolean, time in microseconds, or None."""

    value: Any
    type: Type


class Now(Struct, frozen=True):
    """The time at which the statement is run."""

    type: ClassVar[Type] = "time"


class Call(Struct, frozen=True):
    """A function of the table in `functions`, by its canonical name."""

    name: str
    arguments: tuple[Expression, ...]
    type: Type


class Arithmetic(Struct, frozen=True):
    """Two numbers of one type: both integers, or both reals. What is divided by 0 is NULL."""

    operator: Literal["+", "-", "*", "/", "%"]
    left: Expression
    right: Expression
    type: Type


class Shift(Struct, frozen=True):
    """A time so much later: by calendar months first, then by microseconds."""

    part: Expression
    months: int
    micros: int
    type: ClassVar[Type] = "time"


class Compare(Struct, frozen=True):
    """Two values of one type; or one of JSON (`left`) with one of a type that JSON has, which it
    must then be of."""

    operator: Operator
    left: Expression
    right: Expression
    type: ClassVar[Type] = "boolean"


class Same(Struct, frozen=True):
    """Two values of one type are equal, or both are NULL."""

    left: Expression
    right: Expression
    type: ClassVar[Type] = "boolean"


class And(Struct, frozen=True):
    """Every part holds; true when there are none."""

    parts: tuple[Expression, ...]
    type: ClassVar[Type] = "boolean"


class Or(Struct, frozen=True):
    """A part holds; false when there are none."""

    parts: tuple[Expression, ...]
    type: ClassVar[Type] = "boolean"


class Not(Struct, frozen=True):
    """SQL's NOT: of what is unknown, unknown."""

    part: Expression
    type: ClassVar[Type] = "boolean"


class IsTrue(Struct, frozen=True):
    """It holds (or, `negated`, it does not, or is unknown)."""

    part: Expression
    negated: bool = False
    type: ClassVar[Type] = "boolean"


class IsNull(Struct, frozen=True):
    part: Expression
    negated: bool = False
    type: ClassVar[Type] = "boolean"


class IsSet(Struct, frozen=True):
    """Neither null nor an empty text, list or object."""

    part: Expression
    type: ClassVar[Type] = "boolean"


class AnyOf(Struct, frozen=True):
    """It equals one of the values; with `lists`, or is a list that holds one of them."""

    part: Expression
    values: tuple[Value, ...]
    lists: bool = False
    type: ClassVar[Type] = "boolean"


class Contains(Struct, frozen=True):
    """A list has the value as an element, or one of that name; a text has it in it, whatever its
    case."""

    part: Expression
    value: Value
    type: ClassVar[Type] = "boolean"


class Starts(Struct, frozen=True):
    part: Expression
    text: str
    type: ClassVar[Type] = "boolean"


class Ends(Struct, frozen=True):
    part: Expression
    text: str
    type: ClassVar[Type] = "boolean"


class Like(Struct, frozen=True):
    """A text fits a pattern of `%` and `_`, in which a backslash takes the meaning of the next
    character away. The case of letters does not matter: of those of ASCII, or of all when the
    pattern has others."""

    part: Expression
    pattern: str
    type: ClassVar[Type] = "boolean"


class Matches(Struct, frozen=True):
    """A regular expression of Python's matches somewhere in a text."""

    part: Expression
    pattern: str
    type: ClassVar[Type] = "boolean"


class InPath(Struct, frozen=True):
    """An edge leaves the record whose graph path has these parts: keys; None stands for any."""

    schema: str | None
    source: str | None
    rel_type: str | None
    shared: str | None  # the key of the entity shared; of an "entity" edge told with it
    target: str | None
    tells: bool = False  # the path tells a shared entity, any if `shared` is None
    type: ClassVar[Type] = "boolean"


class Case(Struct, frozen=True):
    """The value of the first condition that holds."""

    whens: tuple[tuple[Expression, Expression], ...]
    otherwise: Expression | None
    type: Type


class Cast(Struct, frozen=True):
    """The value as another type; NULL where it is none."""

    part: Expression
    type: Type


class Aggregate(Struct, frozen=True):
    """A figure of all rows of a group."""

    name: str
    part: Expression | None  # None: count(*)
    distinct: bool
    where: Expression | None
    separator: str  # of group_concat
    type: Type


Expression: TypeAlias = (
    Column | Json | Value | Now | Call | Arithmetic | Shift | Compare | Same | And | Or | Not | IsTrue | IsNull | IsSet
    | AnyOf | Contains | Starts | Ends | Like | Matches | InPath | Case | Cast | Aggregate
)  # fmt: skip


class Output(Struct, frozen=True):
    """A column of the answer."""

    value: Expression
    name: str  # as the user is shown it: never a part of any SQL


class Ordered(Struct, frozen=True):
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
    order: tuple[Ordered, ...] = ()
    limit: int | None = None
    offset: int = 0

    @property
    def aggregated(self) -> bool:
        """Whether a row of the answer stands for many."""
        if self.groups or self.having is not None:
            return True
        return any(
            isinstance(node, Aggregate) for output in self.outputs for node in walk(output.value)
        ) or any(
            isinstance(node, Aggregate) for ordered in self.order for node in walk(ordered.value)
        )


def children(value: Expression) -> tuple[Expression, ...]:
    """What a value is directly made of."""
    match value:
        case Call(arguments=parts) | And(parts=parts) | Or(parts=parts):
            return parts
        case (
            Arithmetic(left=left, right=right)
            | Compare(left=left, right=right)
            | Same(left=left, right=right)
        ):
            return left, right
        case Case(whens=whens, otherwise=otherwise):
            pairs = tuple(part for pair in whens for part in pair)
            return pairs if otherwise is None else (*pairs, otherwise)
        case Aggregate(part=part, where=where):
            return tuple(child for child in (part, where) if child is not None)
        case Column() | Json() | Value() | Now() | InPath():
            return ()
        case _:
            return (value.part,)


def walk(value: Expression) -> list[Expression]:
    """The value and everything it is made of."""
    found, waiting = [], [value]
    while waiting:
        found.append(waiting.pop())
        waiting += children(found[-1])
    return found
