"""From values to SQL: what both stores write alike. A store's own writer has the rest.

The text is made of what is written here and in the table of functions, of names of columns, of
whole numbers, and of marks where a bound value stands. Keys within JSON that are plain words are
written too: an index knows them only so.
"""

from __future__ import annotations

import re
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from .. import labels
from ..errors import LabelError
from .functions import Function, functions
from .values import (
    Aggregate,
    And,
    AnyOf,
    Arithmetic,
    Call,
    Case,
    Cast,
    Column,
    Compare,
    Computed,
    Contains,
    EndsWith,
    Expression,
    InPath,
    IsNull,
    IsSet,
    IsTrue,
    Json,
    Like,
    Matches,
    Not,
    NotDistinct,
    Now,
    Or,
    OrderTerm,
    Select,
    Shift,
    StartsWith,
    Type,
    Value,
)

MANY = 1_000  # values of one list that are bound one by one, at most
_MAX_STEP = 64  # characters of a step within JSON that is written into SQL


class SqlWriter(ABC):
    """Writes expressions over the row `r` of a record, and collects what is bound.

    Args:
        schema: whose columns they name.
    """

    true = "TRUE"
    false = "FALSE"
    prefix = ""  # of the functions that a store adds to its database

    mark: re.Pattern[str]  # of what is bound, by its number

    def __init__(self, schema: str) -> None:
        self.schema = schema
        self.values: list[Any] = []
        self._numbers: dict[tuple[Any, Type], int] = {}

    # -- what a store says -------------------------------------------------------------------------

    @staticmethod
    @abstractmethod
    def template(function: Function) -> str:
        """The SQL of a function of the table."""

    @abstractmethod
    def bind(self, value: Any, kind: Type) -> str:
        """A mark for a value."""

    @abstractmethod
    def column(self, value: Column) -> str:
        """A column as what is computed with."""

    @abstractmethod
    def time_column(self, value: Column) -> str:
        """A column of times as the text that the record shows."""

    @abstractmethod
    def json(self, value: Expression) -> str:
        """JSON as JSON."""

    @abstractmethod
    def json_length(self, value: Expression) -> str: ...

    @abstractmethod
    def json_typeof(self, value: Expression) -> str: ...

    @abstractmethod
    def compare_json(self, comparison: Compare) -> str:
        """A comparison of JSON with a literal."""

    @abstractmethod
    def is_one_of(self, value: Expression, literals: Sequence[Value]) -> str:
        """Whether a value that is not JSON is one of several of one type."""

    @abstractmethod
    def json_is_one_of(self, condition: AnyOf) -> str: ...

    @abstractmethod
    def has_key(self, key: str) -> str:
        """Whether the record has a name of this key, by the index of names."""

    @abstractmethod
    def contains(self, condition: Contains) -> str: ...

    @abstractmethod
    def starts_with(self, condition: StartsWith) -> str: ...

    @abstractmethod
    def ends_with(self, condition: EndsWith) -> str: ...

    @abstractmethod
    def like(self, condition: Like) -> str: ...

    @abstractmethod
    def matches(self, condition: Matches) -> str: ...

    @abstractmethod
    def in_path(self, path: InPath) -> str: ...

    @abstractmethod
    def is_set(self, condition: IsSet) -> str: ...

    @abstractmethod
    def null_test(self, value: Expression) -> str:
        """The SQL before IS NULL, which is NULL where the value is unset."""

    @abstractmethod
    def cast(self, value: Cast) -> str:
        """A cast that the stores write differently."""

    @abstractmethod
    def arithmetic(self, value: Arithmetic) -> str: ...

    @abstractmethod
    def aggregate(self, call: Aggregate) -> str:
        """An aggregate function of a value, over the rows that `self.filtered` leaves."""

    @abstractmethod
    def format_time(self, pattern: str, at: str) -> str:
        """A time by a format of strftime."""

    # -- what is bound -----------------------------------------------------------------------------

    def bind_number(self, value: Any, kind: Type) -> int:
        """The number of a bound value; the same whenever it is bound again."""
        number = self._numbers.get((value, kind))
        if number is None:
            self.values.append(value)
            number = self._numbers[value, kind] = len(self.values)
        return number

    def positional(self, sql: str, mark: str) -> tuple[str, list[Any]]:
        """SQL with one and the same mark in every place, and the values in their order."""
        numbers = map(int, self.mark.findall(sql))
        values = [self.values[number - 1] for number in numbers]
        return self.mark.sub(mark, sql), values

    # -- values ------------------------------------------------------------------------------------

    def write(self, value: Expression) -> str:
        """The SQL of a value."""
        sql: str = getattr(self, _METHODS[type(value)])(value)
        return sql

    def text(self, value: Expression) -> str:
        """The SQL of a value as text, where it may be JSON."""
        return self.write(Cast(value, "text") if value.type == "json" else value)

    def _column(self, value: Column) -> str:
        return self.json(value) if value.type == "json" else self.column(value)

    def _value(self, value: Value) -> str:
        if value.value is None:
            return self.bind(None, value.type)
        if value.type == "boolean":
            return self.true if value.value else self.false
        return self.bind(value.value, value.type)

    def _computed(self, value: Computed) -> str:
        return value.sql

    def _now(self, _: Now) -> str:
        # bound, so that all of a statement has one time
        return self.bind(time.time_ns() // 1_000, "time")

    def _shift(self, value: Shift) -> str:
        at = self.write(value.part)
        micros = self.bind(value.micros, "integer")
        if not value.months:
            return f"({at} + {micros})"
        return f"{self.prefix}time_shift({at}, {self.bind(value.months, 'integer')}, {micros})"

    def _call(self, value: Call) -> str:
        name, arguments = value.name, value.arguments
        if name == "||":
            # in brackets: `->>` binds no tighter
            texts = (f"({self.write(argument)})" for argument in arguments)
            return f"({' || '.join(texts)})"
        if name == "json_array_length":
            return self.json_length(arguments[0])
        if name == "json_typeof":
            return self.json_typeof(arguments[0])
        if name == "strftime":
            pattern = str(getattr(arguments[0], "value", ""))
            return self.format_time(pattern, self.write(arguments[1]))
        written = [self.write(argument) for argument in arguments]
        template = self._templates()[name]
        return template.format(*written, all=", ".join(written))

    @classmethod
    @cache
    def _templates(cls) -> Mapping[str, str]:
        return {function.name: cls.template(function) for function in functions()}

    # -- conditions --------------------------------------------------------------------------------

    def _compare(self, value: Compare) -> str:
        left, right = value.left, value.right
        if left.type == "json" and isinstance(right, Value):
            return self.compare_json(value)
        if value.operator == "=":
            for side, other in ((left, right), (right, left)):
                if not isinstance(side, Column) or not isinstance(other, Value):
                    continue
                if side.name == "name":
                    return self._name_is(other.value)
                if other.value is not None:
                    return self._any_of(AnyOf(side, (other,)))
        return f"({self.write(left)} {value.operator} {self.write(right)})"

    def _any_of(self, condition: AnyOf) -> str:
        value, literals = condition.part, condition.values
        if not literals:
            return self.false
        if isinstance(value, Column) and value.name == "name":
            return f"({' OR '.join(self._name_is(literal.value) for literal in literals)})"
        if value.type != "json":
            return self.is_one_of(value, literals)
        return self.json_is_one_of(condition)

    def _name_is(self, name: str) -> str:
        exact = f"{self.column(Column('name', 'text'))} = {self.bind(name, 'text')}"
        try:
            key = labels.key(name)
        except LabelError:
            return f"({exact})"
        return f"({self.has_key(key)} AND {exact})"

    def _and(self, value: And) -> str:
        return self._join(" AND ", value.parts) or self.true

    def _or(self, value: Or) -> str:
        return self._join(" OR ", value.parts) or self.false

    def _join(self, word: str, parts: Sequence[Expression]) -> str:
        """The parts as a balanced tree: a store's parser goes down every bracket."""
        written = [self.write(part) for part in parts]
        while len(written) > 1:
            pairs = zip(written[::2], written[1::2], strict=False)
            joined = [f"({word.join(pair)})" for pair in pairs]
            # the last, if it has no other half
            if len(written) % 2:
                joined.append(written[-1])
            written = joined
        return written[0] if written else ""

    def _not(self, value: Not) -> str:
        return f"(NOT {self.write(value.part)})"

    def _not_distinct(self, value: NotDistinct) -> str:
        return f"({self.write(value.left)} IS NOT DISTINCT FROM {self.write(value.right)})"

    def _is_true(self, value: IsTrue) -> str:
        return f"({self.write(value.part)} IS {'NOT ' if value.negated else ''}TRUE)"

    def _is_null(self, value: IsNull) -> str:
        return f"({self.null_test(value.part)} IS {'NOT ' if value.negated else ''}NULL)"

    # -- the others --------------------------------------------------------------------------------

    def _case(self, value: Case) -> str:
        arms = "".join(
            f" WHEN {self.write(condition)} THEN {self.write(result)}"
            for condition, result in value.whens
        )
        otherwise = "" if value.otherwise is None else f" ELSE {self.write(value.otherwise)}"
        return f"(CASE{arms}{otherwise} END)"

    def _cast(self, value: Cast) -> str:
        part = value.part
        if value.type == "text" and part.type in ("time", "date") and isinstance(part, Column):
            return self.time_column(part)
        # the day of a time, and the midnight of a day
        if value.type == "date" or (part.type == "date" and value.type == "time"):
            return f"{self.prefix}time_trunc('day', {self.write(part)})"
        if (part.type, value.type) == ("date", "text"):
            return self.format_time("%F", self.write(part))
        template = _CONVERSIONS.get((part.type, value.type))
        if template is None:
            return self.cast(value)
        return template.format(self.write(part), prefix=self.prefix)

    def _aggregate(self, value: Aggregate) -> str:
        return f"count(*){self.filtered(value)}" if value.part is None else self.aggregate(value)

    def filtered(self, call: Aggregate) -> str:
        """What follows the call of an aggregate function, to leave some rows out."""
        return "" if call.where is None else f" FILTER (WHERE {self.write(call.where)})"

    def columns(self, select: Select, *, grouped: bool = False) -> tuple[list[str], list[Type]]:
        """The columns c0, c1, … of a SELECT, and their types."""
        columns: list[str] = []
        kinds: list[Type] = []
        for index, output in enumerate(select.outputs):
            value, kind = output.value, output.value.type
            # A time that is not computed with is shown as it is stored.
            if isinstance(value, Column) and kind in ("time", "date") and not grouped:
                sql, kind = self.time_column(value), "text"
            else:
                sql = self.write(value)
            columns.append(f"{sql} AS c{index}")
            kinds.append(kind)
        return columns, kinds


# (from, to) -> the casts that all stores write alike, of what is written
_CONVERSIONS: dict[tuple[Type, Type], str] = {
    ("time", "text"): "{prefix}time_shown({0})",
    ("text", "time"): "{prefix}time_of({0})",
    ("number", "integer"): "{prefix}whole({0})",
    ("real", "integer"): "{prefix}whole({0})",
    ("text", "integer"): "{prefix}whole({prefix}number_of({0}))",
    ("text", "number"): "{prefix}number_of({0})",
    ("text", "real"): "{prefix}number_of({0})",
    ("number", "number"): "{0}",
    ("number", "real"): "{0}",
    ("real", "number"): "{0}",
    ("real", "real"): "{0}",
    ("integer", "boolean"): "({0} <> 0)",
}


# the kind of a value -> the method that writes it, here or in a store's own writer
_METHODS: dict[type[Any], str] = {
    Aggregate: "_aggregate",
    And: "_and",
    AnyOf: "_any_of",
    Arithmetic: "arithmetic",
    Call: "_call",
    Case: "_case",
    Cast: "_cast",
    Column: "_column",
    Compare: "_compare",
    Computed: "_computed",
    Contains: "contains",
    EndsWith: "ends_with",
    InPath: "in_path",
    IsNull: "_is_null",
    IsSet: "is_set",
    IsTrue: "_is_true",
    Json: "json",
    Like: "like",
    Matches: "matches",
    Not: "_not",
    NotDistinct: "_not_distinct",
    Now: "_now",
    Or: "_or",
    Shift: "_shift",
    StartsWith: "starts_with",
    Value: "_value",
}


def column_and_steps(value: Expression) -> tuple[str, tuple[str | int, ...]]:
    """The column that JSON is in, and the way to it from there."""
    if isinstance(value, Column):
        return value.name, ()
    assert isinstance(value, Json)  # noqa: S101 - only a column and a path have the type `json`
    return value.column, value.steps


def quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def order_way(term: OrderTerm) -> str:
    way = "DESC" if term.descending else "ASC"
    return f"{way} NULLS {'FIRST' if term.nulls_first else 'LAST'}"


def requires_value(where: Expression | None, *names: str) -> bool:
    """Whether a condition holds only for rows with one of some values in one of these columns."""
    waiting = [where]
    while waiting:
        part = waiting.pop()
        match part:
            case And(parts=parts):
                waiting += parts
            case (
                Compare(operator="=", left=Column(name=name), right=Value())
                | Compare(operator="=", left=Value(), right=Column(name=name))
                | AnyOf(part=Column(name=name))
            ) if name in names:
                return True
    return False


def is_plain_step(step: str | int) -> bool:
    """Whether a step within JSON may be written into SQL: a plain word or a position in a list.

    >>> is_plain_step("page"), is_plain_step("two words"), is_plain_step("größe")
    (True, True, True)
    >>> is_plain_step("a'b"), is_plain_step("")
    (False, False)
    """
    if isinstance(step, int):
        return True
    is_word = all(character.isalnum() or character in "_- " for character in step)
    # two hyphens would begin a comment
    return is_word and 0 < len(step) <= _MAX_STEP and "--" not in step
