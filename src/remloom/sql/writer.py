"""SQL out of values: what both stores write alike. A provider's writer says the rest.

The text is made of what is written here and in the table of functions, of names of columns, of
whole numbers, and of marks where a bound value stands. Keys within JSON that are plain words are
written too: an index knows them only so.
"""

from __future__ import annotations

import re
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from .functions import FUNCTIONS
from .values import (  # fmt: skip
    Aggregate,
    And,
    AnyOf,
    Arithmetic,
    Call,
    Case,
    Cast,
    Column,
    Compare,
    Contains,
    Ends,
    Expression,
    InPath,
    IsNull,
    IsSet,
    IsTrue,
    Json,
    Like,
    Matches,
    Not,
    Now,
    Or,
    Same,
    Shift,
    Starts,
    Type,
    Value,
)

__all__ = ["Writer", "asks_for", "plain"]


class Writer(ABC):
    """Writes expressions over the row `r` of a record, and collects what is bound.

    Args:
        schema: whose columns they name.
    """

    true = "TRUE"
    false = "FALSE"
    prefix = ""  # of the functions that a provider adds to its database

    mark: re.Pattern[str]  # of what is bound, by its number

    _templates: Mapping[str, str]  # of the functions, by their names

    def __init_subclass__(cls) -> None:
        cls._templates = {
            function.name: cls.template(function.sqlite, function.postgres)
            for function in FUNCTIONS
        }

    def __init__(self, schema: str) -> None:
        self.schema = schema
        self.values: list[Any] = []
        self._numbers: dict[tuple[Any, Type], int] = {}

    # -- what a provider says ----------------------------------------------------------------------

    @staticmethod
    @abstractmethod
    def template(sqlite: str, postgres: str) -> str:
        """The one of the two that is its own."""

    @abstractmethod
    def bind(self, value: Any, kind: Type) -> str:
        """A mark for a value."""

    @abstractmethod
    def column(self, name: str) -> str:
        """A column as what is computed with."""

    @abstractmethod
    def time_column(self, name: str) -> str:
        """A column of times as the text that the record shows."""

    @abstractmethod
    def json(self, value: Expression) -> str:
        """JSON as JSON."""

    @abstractmethod
    def compare_json(self, operator: str, value: Expression, literal: Value) -> str: ...

    @abstractmethod
    def among(self, value: Expression, values: Sequence[Value], *, lists: bool) -> str:
        """Whether a value is one of several of one type."""

    @abstractmethod
    def name_is(self, name: str) -> str:
        """Whether the record has this name, found by the index of names."""

    @abstractmethod
    def contains(self, value: Expression, wanted: Value) -> str: ...

    @abstractmethod
    def starts(self, text: str, wanted: str) -> str: ...

    @abstractmethod
    def ends(self, text: str, wanted: str) -> str: ...

    @abstractmethod
    def like(self, text: str, pattern: str) -> str: ...

    @abstractmethod
    def matches(self, text: str, pattern: str) -> str: ...

    @abstractmethod
    def in_path(self, path: InPath) -> str: ...

    @abstractmethod
    def is_set(self, value: Expression) -> str: ...

    @abstractmethod
    def is_null(self, value: Expression) -> str: ...

    @abstractmethod
    def cast(self, part: Expression, kind: Type) -> str: ...

    @abstractmethod
    def aggregate(
        self, name: str, part: Expression, distinct: str, separator: str, kind: Type
    ) -> str: ...

    @abstractmethod
    def arithmetic(self, operator: str, left: str, right: str, kind: Type) -> str: ...

    @abstractmethod
    def json_length(self, value: Expression) -> str: ...

    @abstractmethod
    def json_typeof(self, value: Expression) -> str: ...

    @abstractmethod
    def formatted(self, pattern: str, at: str) -> str:
        """A time by a format of strftime."""

    def number(self, value: Any, kind: Type) -> int:
        """The number of what is bound; the same each time."""
        number = self._numbers.get((value, kind))
        if number is None:
            self.values.append(value)
            number = self._numbers[value, kind] = len(self.values)
        return number

    def positional(self, sql: str, mark: str) -> tuple[str, list[Any]]:
        """SQL with the same mark in every place, and the values in their order."""
        places = [int(number) for number in self.mark.findall(sql)]
        return self.mark.sub(mark, sql), [self.values[place - 1] for place in places]

    # -- values ------------------------------------------------------------------------------------

    def write(self, value: Expression) -> str:
        """The SQL of a value."""
        return self._WRITE[type(value)](self, value)

    def _column(self, value: Column) -> str:
        return self.json(value) if value.type == "json" else self.column(value.name)

    def _value(self, value: Value) -> str:
        if value.value is None:
            return self.bind(None, value.type)
        if value.type == "boolean":
            return self.true if value.value else self.false
        return self.bind(value.value, value.type)

    def _now(self, _: Now) -> str:
        return self.bind(time.time_ns() // 1_000, "time")

    def _shift(self, value: Shift) -> str:
        at = self.write(value.part)
        micros = self.bind(value.micros, "integer")
        if not value.months:
            return f"({at} + {micros})"
        return f"{self.prefix}time_shift({at}, {self.bind(value.months, 'integer')}, {micros})"

    def _arithmetic(self, value: Arithmetic) -> str:
        return self.arithmetic(
            value.operator, self.write(value.left), self.write(value.right), value.type
        )

    def _call(self, value: Call) -> str:
        name, arguments = value.name, value.arguments
        if name == "||":
            # `->>` binds no tighter
            return f"({' || '.join(f'({self.write(argument)})' for argument in arguments)})"
        if name == "json_array_length":
            return self.json_length(arguments[0])
        if name == "json_typeof":
            return self.json_typeof(arguments[0])
        if name == "strftime":
            return self.formatted(str(getattr(arguments[0], "value", "")), self.write(arguments[1]))
        written = [self.write(argument) for argument in arguments]
        return self._templates[name].format(*written, all=", ".join(written))

    def _compare(self, value: Compare) -> str:
        left, right = value.left, value.right
        if left.type == "json" and isinstance(right, Value):
            return self.compare_json(value.operator, left, right)
        if value.operator == "=":
            for one, other in ((left, right), (right, left)):
                if isinstance(one, Column) and one.name == "name" and isinstance(other, Value):
                    return self.name_is(other.value)
                if isinstance(one, Column) and isinstance(other, Value) and other.value is not None:
                    return self.among(one, [other], lists=False)
        return f"({self.write(left)} {value.operator} {self.write(right)})"

    def _joined(self, value: And | Or) -> str:
        word, empty = (" AND ", self.true) if isinstance(value, And) else (" OR ", self.false)
        written = [self.write(part) for part in value.parts]
        # as a balanced tree: a store's parser goes down every bracket
        while len(written) > 1:
            written = [
                f"({word.join(written[place : place + 2])})"
                if place + 1 < len(written)
                else written[place]
                for place in range(0, len(written), 2)
            ]
        return written[0] if written else empty

    def _not(self, value: Not) -> str:
        return f"(NOT {self.write(value.part)})"

    def _same(self, value: Same) -> str:
        return f"({self.write(value.left)} IS NOT DISTINCT FROM {self.write(value.right)})"

    def _is_true(self, value: IsTrue) -> str:
        return f"({self.write(value.part)} IS {'NOT ' if value.negated else ''}TRUE)"

    def _is_null(self, value: IsNull) -> str:
        return f"({self.is_null(value.part)} IS {'NOT ' if value.negated else ''}NULL)"

    def _case(self, value: Case) -> str:
        arms = "".join(
            f" WHEN {self.write(condition)} THEN {self.write(then)}"
            for condition, then in value.whens
        )
        default = "" if value.otherwise is None else f" ELSE {self.write(value.otherwise)}"
        return f"(CASE{arms}{default} END)"

    def _cast(self, value: Cast) -> str:
        part = value.part
        if value.type == "text" and part.type == "time" and isinstance(part, Column):
            return self.time_column(part.name)
        if value.type == "date" or (part.type == "date" and value.type == "time"):
            return f"{self.prefix}time_trunc('day', {self.write(part)})"
        if value.type == "text" and part.type == "date":
            return self.formatted("%F", self.write(part))
        if value.type == "text" and part.type == "time":
            return f"{self.prefix}time_shown({self.write(part)})"
        if value.type == "time" and part.type == "text":
            return f"{self.prefix}time_of({self.write(part)})"
        if value.type == "integer" and part.type in ("number", "real"):
            return f"{self.prefix}whole({self.write(part)})"
        if value.type == "integer" and part.type == "text":
            return f"{self.prefix}whole({self.prefix}number_of({self.write(part)}))"
        if value.type in ("number", "real") and part.type == "text":
            return f"{self.prefix}number_of({self.write(part)})"
        if value.type in ("number", "real") and part.type in ("number", "real"):
            return self.write(part)
        if value.type == "boolean" and part.type == "integer":
            return f"({self.write(part)} <> 0)"
        return self.cast(part, value.type)

    def _aggregate(self, value: Aggregate) -> str:
        if value.part is None:
            figure = "count(*)"
        else:
            distinct = "DISTINCT " if value.distinct else ""
            figure = self.aggregate(value.name, value.part, distinct, value.separator, value.type)
        return figure if value.where is None else self.filtered(figure, value.where)

    def filtered(self, figure: str, where: Expression) -> str:
        return f"{figure} FILTER (WHERE {self.write(where)})"

    _WRITE: ClassVar[dict[type[Any], Callable[[Writer, Any], str]]] = {
        Column: _column,
        Json: lambda self, value: self.json(value),
        Value: _value,
        Now: _now,
        Call: _call,
        Arithmetic: _arithmetic,
        Shift: _shift,
        Compare: _compare,
        Same: _same,
        And: _joined,
        Or: _joined,
        Not: _not,
        IsTrue: _is_true,
        IsNull: _is_null,
        IsSet: lambda self, value: self.is_set(value.part),
        AnyOf: lambda self, value: self.among(value.part, value.values, lists=value.lists),
        Contains: lambda self, value: self.contains(value.part, value.value),
        Starts: lambda self, value: self.starts(self.text(value.part), value.text),
        Ends: lambda self, value: self.ends(self.text(value.part), value.text),
        Like: lambda self, value: self.like(self.write(value.part), value.pattern),
        Matches: lambda self, value: self.matches(self.text(value.part), value.pattern),
        InPath: lambda self, value: self.in_path(value),
        Case: _case,
        Cast: _cast,
        Aggregate: _aggregate,
    }

    def text(self, value: Expression) -> str:
        """A value as text, where JSON may be meant."""
        return self.write(Cast(value, "text") if value.type == "json" else value)


def asks_for(where: Expression | None, *names: str) -> bool:
    """Whether a condition holds only for rows that have one of some values in one of these columns."""
    waiting = [where]
    while waiting:
        part = waiting.pop()
        match part:
            case And(parts=parts):
                waiting += parts
            case (
                Compare(operator="=", left=Column(name=name), right=Value())
                | AnyOf(part=Column(name=name))
            ) if name in names:
                return True
            case Compare(operator="=", left=Value(), right=Column(name=name)) if name in names:
                return True
    return False


def plain(step: str | int) -> bool:
    """Whether a key within JSON is a plain word or a place in a list, which may be written.

    >>> plain("page"), plain("two words"), plain("größe"), plain("a'b"), plain("")
    (True, True, True, False, False)
    """
    return isinstance(step, int) or (
        0 < len(step) <= 64 and "--" not in step and all(c.isalnum() or c in "_- " for c in step)
    )
