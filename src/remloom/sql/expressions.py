"""From the nodes of a parsed SELECT to expression values. What has no translation is refused by its
name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from ..errors import InvalidInputError, SqlGuardError, UnknownNameError
from . import bounds, coercion, patterns, times
from .calls import call
from .columns import is_json
from .containing import contains, key_there, overlaps
from .paths import json_path
from .values import (  # fmt: skip
    And,
    AnyOf,
    Arithmetic,
    Call,
    Case,
    Column,
    Expression,
    IsNull,
    IsTrue,
    Json,
    Like,
    Matches,
    Not,
    Or,
    Shift,
    Value,
)

if TYPE_CHECKING:
    from sqlglot import exp

__all__ = ["Expressions"]

MAX_DEPTH = 80  # values inside each other
MAX_LISTED = 1_000  # values of an IN
MAX_WHOLE = 2**63 - 1
_TYPES: dict[str, str] = {
    **dict.fromkeys(("TEXT", "VARCHAR", "CHAR", "NCHAR", "NVARCHAR", "BPCHAR", "NAME"), "text"),
    **dict.fromkeys(("INT", "BIGINT", "SMALLINT", "TINYINT", "MEDIUMINT"), "integer"),
    **dict.fromkeys(("FLOAT", "DOUBLE", "DECIMAL", "BIGDECIMAL"), "real"),
    "BOOLEAN": "boolean", "DATE": "date", "JSON": "json", "JSONB": "json",
    **dict.fromkeys(("TIMESTAMP", "TIMESTAMPTZ", "TIMESTAMPLTZ", "TIMESTAMPNTZ", "DATETIME"), "time"),
}  # fmt: skip
_CLOSED = "text, integer, real, boolean, date and timestamp"

Read = Callable[["Expressions", Any], Expression]


class Expressions:
    """Reads the expressions of one statement over one table.

    Args:
        columns: the table's, by name.
        table: the name by which the statement calls it.
    """

    def __init__(
        self, sql: str, tokens: Sequence[Any], columns: Mapping[str, Column], table: str
    ) -> None:
        self.sql = sql
        self.tokens = tokens
        self.columns = columns
        self.table = table
        self.outputs: dict[str, Expression] = {}  # by the names that the SELECT gives them
        self._aliases = self._first = False
        self._depth = 0

    def __call__(
        self, node: exp.Expression, *, aliases: bool = False, first: bool = False
    ) -> Expression:
        """The value of an expression; with `aliases` also of the SELECT's own names, `first` before
        the columns'."""
        before = self._aliases, self._first
        if aliases:
            self._aliases, self._first = True, first
        try:
            return self.value(node)
        finally:
            self._aliases, self._first = before

    def condition(self, node: exp.Expression, *, aliases: bool = False) -> Expression:
        """The value of an expression that holds or does not."""
        return coercion.as_condition(self(node, aliases=aliases))

    def value(self, node: Any) -> Expression:
        from sqlglot import exp

        kind = type(node).__name__
        read = _READ.get(kind)
        if read is None and not isinstance(node, exp.Func):
            self.refuse(f"{_title(node)} is not allowed", node)
        self._depth += 1
        if self._depth > MAX_DEPTH:
            self.refuse(f"an expression may be nested {MAX_DEPTH} deep", node)
        try:
            return read(self, node) if read is not None else self.function(node)
        except InvalidInputError as error:
            raise self.placed(error, node) from None
        finally:
            self._depth -= 1

    def only(self, node: Any, *known: str) -> None:
        """Refuse a node that says more than this."""
        extras = [name for name, value in node.args.items() if value and name not in known]
        if extras:
            self.refuse(f"{_title(node)} … {extras[0].upper()} is not allowed", node)

    def function(self, node: exp.Expression) -> Expression:
        """A function by its name and its arguments in their order."""
        from sqlglot import exp

        if isinstance(node, exp.Anonymous):
            if not isinstance(node.this, str):
                self.refuse("a function has a plain name", node)
            return call(self, node.this.lower(), list(node.expressions), node)
        arguments: list[exp.Expression] = []
        for key in node.arg_types:
            given = node.args.get(key)
            if isinstance(given, exp.Expression):
                arguments.append(given)
            elif isinstance(given, list):
                arguments += given
            elif given and key not in _HARMLESS:
                self.refuse(f"{_title(node)} … {key.upper()} is not allowed", node)
        return call(
            self,
            _NAMES.get(type(node).__name__) or _title(node).removeprefix("the function "),
            arguments,
            node,
        )

    # -- errors ------------------------------------------------------------------------------------

    def refuse(self, message: str, node: Any, remedy: str = "") -> NoReturn:
        bounds.refuse(message, self.sql, self.position(node), remedy)

    def placed(self, error: InvalidInputError, node: Any) -> InvalidInputError:
        """The error, saying where if it does not yet."""
        if isinstance(error, SqlGuardError) and error.fields["position"] is None:
            error.fields |= {"statement": self.sql, "position": self.position(node)}
        return error

    def position(self, node: Any) -> int:
        """Where a node stands in the text, as well as can be told."""
        from sqlglot import exp

        if isinstance(node, exp.Expression):
            for part in node.walk():
                if "start" in part.meta:
                    return int(part.meta["start"])
            words = {
                str(getattr(node, "name", "")).upper(),
                _title(node).rpartition(" ")[2].upper(),
                node.key.upper(),
            }
            for token in self.tokens:
                if token.text and token.text.upper() in words:
                    return int(token.start)
        return 0

    def check_table(self, node: exp.Column) -> None:
        """Refuse a column of another table."""
        if (
            node.args.get("db")
            or node.args.get("catalog")
            or (node.table and node.table.lower() != self.table)
        ):
            raise UnknownNameError("table", node.table, [self.table])

    # -- what values are ---------------------------------------------------------------------------

    def column(self, node: exp.Column) -> Expression:
        from sqlglot import exp

        self.only(node, "this", "table")
        self.check_table(node)
        if not isinstance(node.this, exp.Identifier):
            self.refuse("a column has a plain name", node)
        name = node.name.lower()
        if self._aliases and self._first and not node.table and name in self.outputs:
            return self.outputs[name]
        if name in self.columns:
            return self.columns[name]
        if self._aliases and not node.table and name in self.outputs:
            return self.outputs[name]
        remedy = (
            f"text stands in single quotes: '{node.name[:60]}'"
            if node.this.args.get("quoted")
            else ""
        )
        raise UnknownNameError("column", node.name[:200], list(self.columns), remedy=remedy)

    def literal(self, node: exp.Literal) -> Expression:
        if node.is_string:
            return Value(node.name, "text")
        text = node.name.replace("_", "")
        if text.isdigit() and len(text) <= 19:
            if int(text) <= MAX_WHOLE:
                return Value(int(text), "integer")
            self.refuse(
                f"{text} is too large a number", node, f"the largest whole one is {MAX_WHOLE}"
            )
        try:
            number = float(text[:400])
        except ValueError:
            self.refuse(f"{text[:40]} is no number", node)
        if number in (float("inf"), float("-inf")) or len(text) > 400:
            self.refuse("this number is too large", node, "stay below 1e308")
        return Value(number, "real")

    def trim(self, node: Any) -> Expression:
        self.only(node, "this", "expression", "position")
        name = {"LEADING": "ltrim", "TRAILING": "rtrim"}.get(
            str(node.args.get("position") or "").upper(), "trim"
        )
        characters = node.args.get("expression")
        return call(
            self, name, [node.this] if characters is None else [node.this, characters], node
        )

    def negative(self, node: exp.Neg) -> Expression:
        part = self.value(node.this)
        if isinstance(part, Value) and part.type in ("integer", "real"):
            return Value(-part.value, part.type)
        kind = coercion.arithmetic_type(part, part)
        zero = Value(0, "integer") if kind == "integer" else Value(0.0, "real")
        return Arithmetic("-", zero, coercion.cast(part, kind), kind)

    def arithmetic(self, node: Any) -> Expression:
        from sqlglot import exp

        self.only(node, "this", "expression", "typed", "safe")
        operator = {"Add": "+", "Sub": "-", "Mul": "*", "Div": "/", "Mod": "%"}[type(node).__name__]
        sides = [_open(node.this), _open(node.expression)]
        if operator in "+-" and any(isinstance(side, exp.Interval) for side in sides):
            return self.shifted(operator, sides, node)
        left, right = (self.value(side) for side in sides)
        if (
            operator in "+-"
            and "date" in (left.type, right.type)
            and "integer" in (left.type, right.type)
        ):
            return self.days_later(operator, left, right, node)
        if {"time", "date"} & {left.type, right.type}:
            self.refuse(
                "times are shifted by intervals", node,
                "starts_at + interval '7 days'; seconds between two: unixepoch(ends_at) - unixepoch(starts_at)",
            )  # fmt: skip
        kind = coercion.arithmetic_type(left, right)
        if operator == "%":
            kind = "integer"
        elif operator == "/" and kind != "integer":
            kind = "real"
        return Arithmetic(operator, coercion.cast(left, kind), coercion.cast(right, kind), kind)  # type: ignore[arg-type]

    def shifted(self, operator: str, sides: Sequence[exp.Expression], node: Any) -> Expression:
        from sqlglot import exp

        left, right = sides
        if isinstance(left, exp.Interval) and operator == "+":
            left, right = right, left
        if not isinstance(right, exp.Interval) or isinstance(left, exp.Interval):
            self.refuse(
                "an interval is added to a time, or taken from one",
                node,
                "now() - interval '7 days'",
            )
        months, micros = self.interval(right)
        sign = -1 if operator == "-" else 1
        return Shift(coercion.cast(self.value(left), "time"), sign * months, sign * micros)

    def interval(self, node: exp.Interval) -> tuple[int, int]:
        """Months and microseconds."""
        from sqlglot import exp

        self.only(node, "this", "unit")
        amount, named = node.this, node.args.get("unit")
        negative = isinstance(amount, exp.Neg)
        amount = amount.this if negative else amount
        if not isinstance(amount, exp.Literal) or not (named is None or isinstance(named, exp.Var)):
            self.refuse("an interval is a literal", node, "interval '7 days'")
        months, micros = times.interval(
            amount.name, named.name.lower() if named is not None else ""
        )
        return (-months, -micros) if negative else (months, micros)

    def days_later(
        self, operator: str, left: Expression, right: Expression, node: Any
    ) -> Expression:
        date, days = (left, right) if left.type == "date" else (right, left)
        if (
            not isinstance(days, Value)
            or (operator == "-" and date is right)
            or abs(days.value) > 4_000_000
        ):
            self.refuse("a number of days is a literal", node, "current_date - 7")
        sign = -1 if operator == "-" else 1
        return coercion.cast(Shift(date, 0, sign * days.value * times.UNITS["day"][1]), "date")

    # -- conditions --------------------------------------------------------------------------------

    def comparison(self, node: Any) -> Expression:
        from sqlglot import exp

        self.only(node, "this", "expression")
        operator = {"EQ": "=", "NEQ": "<>", "GT": ">", "GTE": ">=", "LT": "<", "LTE": "<="}[
            type(node).__name__
        ]
        for one, other in ((node.this, node.expression), (node.expression, node.this)):
            if isinstance(one, exp.Any):
                if operator != "=":
                    self.refuse("ANY stands after =", node, "'x' = ANY(topic_tags)")
                return self.any_of(self.value(other), _open(one.this), node)
        return coercion.compared(operator, self.value(node.this), self.value(node.expression))  # type: ignore[arg-type]

    def any_of(self, wanted: Expression, among: Any, node: Any) -> Expression:
        from sqlglot import exp

        if isinstance(among, exp.Array | exp.Tuple):
            return self.among(wanted, among.expressions, node)
        if not isinstance(wanted, Value):
            self.refuse("ANY takes a literal before it", node, "'x' = ANY(topic_tags)")
        return contains(self.value(among), wanted)

    def membership(self, node: exp.In) -> Expression:
        if node.args.get("query") is not None or node.args.get("field") or node.args.get("unnest"):
            self.refuse("IN takes a list in brackets", node, "category IN ('note', 'report')")
        self.only(node, "this", "expressions")
        return self.among(self.value(node.this), node.expressions, node)

    def among(self, value: Expression, listed: Sequence[Any], node: Any) -> Expression:
        if len(listed) > MAX_LISTED:
            self.refuse(
                f"IN may list {MAX_LISTED:,} values, this lists {len(listed):,}",
                node,
                "ask several times",
            )
        if not listed:
            self.refuse("IN lists nothing", node, "category IN ('note', 'report')")
        each = [coercion.compared("=", value, self.value(other)) for other in listed]
        plain: list[Value] = []
        for compared in each:
            left, right = getattr(compared, "left", None), getattr(compared, "right", None)
            if (
                left is not None
                and isinstance(right, Value)
                and left == getattr(each[0], "left", None)
            ):
                plain.append(right)
        if len(plain) == len(each) and len({entry.type for entry in plain}) == 1:
            return AnyOf(each[0].left, tuple(dict.fromkeys(plain)))  # type: ignore[union-attr]
        return Or(tuple(each))

    def between(self, node: exp.Between) -> Expression:
        self.only(node, "this", "low", "high")
        value = self.value(node.this)
        low, high = self.value(node.args["low"]), self.value(node.args["high"])
        return And((coercion.compared(">=", value, low), coercion.compared("<=", value, high)))

    def both(self, node: exp.Connector) -> Expression:
        """A row of ANDs or of ORs, which the parser nests to the left."""
        kind, sides, waiting = type(node), list[Expression](), [node]
        while waiting:
            part = waiting.pop()
            if type(part) is kind:
                waiting += [part.expression, part.this]
            else:
                sides.append(coercion.as_condition(self.value(part)))
        return And(tuple(sides)) if kind.__name__ == "And" else Or(tuple(sides))

    def negation(self, node: exp.Not) -> Expression:
        self.only(node, "this")
        part = coercion.as_condition(self.value(node.this))
        return IsNull(part.part, not part.negated) if isinstance(part, IsNull) else Not(part)

    def same(self, node: Any) -> Expression:
        self.only(node, "this", "expression")
        found = coercion.same(self.value(node.this), self.value(node.expression))
        return found if type(node).__name__ == "NullSafeEQ" else Not(found)

    def test(self, node: exp.Is) -> Expression:
        self.only(node, "this", "expression", "negate")
        negated, right = bool(node.args.get("negate")), self.value(node.expression)
        left = self.value(node.this)
        if isinstance(right, Value) and right.value is None:
            return IsNull(left, negated)
        if isinstance(right, Value) and right.type == "boolean":
            part = coercion.as_condition(left)
            return IsTrue(part if right.value else Not(part), negated)
        found = coercion.same(left, right)
        return Not(found) if negated else found

    def like(self, node: Any) -> Expression:
        return self.like_escaped(node, "")

    def like_escaped(self, node: Any, escape: str) -> Expression:
        self.only(node, "this", "expression", "negate")
        pattern = self.value(node.expression)
        if not isinstance(pattern, Value) or pattern.type != "text":
            self.refuse("LIKE takes a pattern that is a literal", node, "name LIKE 'Project%'")
        found = Like(
            coercion.cast(self.value(node.this), "text"), patterns.like(pattern.value, escape)
        )
        return Not(found) if node.args.get("negate") else found

    def escape(self, node: exp.Escape) -> Expression:
        from sqlglot import exp

        self.only(node, "this", "expression")
        inner, escape = node.this, self.value(node.expression)
        if (
            not isinstance(inner, exp.Like | exp.ILike)
            or not isinstance(escape, Value)
            or escape.type != "text"
        ):
            self.refuse("ESCAPE stands after LIKE and its pattern", node, "LIKE '100!%' ESCAPE '!'")
        return self.like_escaped(inner, escape.value)

    def matches(self, node: exp.Expression) -> Expression:
        self.only(node, "this", "expression", "flag")
        pattern, flags = self.value(node.expression), node.args.get("flag")
        if not isinstance(pattern, Value) or pattern.type != "text":
            self.refuse("a regular expression is a literal", node, "name ~ '^Project'")
        ignore = type(node).__name__ == "RegexpILike" or self.ignores_case(flags, node)
        return matched(self.value(node.this), pattern.value, ignore_case=ignore)

    def ignores_case(self, flags: Any, node: Any) -> bool:
        """Whether the flags of a regular expression are `i`."""
        if flags is None:
            return False
        given = self.value(flags)
        if not isinstance(given, Value) or given.value not in ("i", "c", ""):
            self.refuse(
                "the flags of a regular expression are 'i' or none",
                node,
                "regexp_like(name, '^a', 'i')",
            )
        return bool(given.value == "i")

    def containment(self, node: Any) -> Expression:
        self.only(node, "this", "expression")
        one, other = node.this, node.expression
        if type(node).__name__ == "ArrayContainedBy":  # the operator the other way round
            one, other = other, one
        return contains(self.value(one), self.listed(other, node))

    def overlap(self, node: Any) -> Expression:
        self.only(node, "this", "expression")
        wanted = self.listed(node.expression, node)
        return overlaps(self.value(node.this), wanted if isinstance(wanted, list) else [wanted])

    def listed(self, node: Any, place: Any) -> Any:
        """What is looked for in JSON: the literals of an ARRAY, or a literal."""
        from sqlglot import exp

        node = _open(node)
        while isinstance(node, exp.Cast) and isinstance(_open(node.this), exp.Literal | exp.Array):
            node = _open(node.this)  # '["x"]'::jsonb
        if isinstance(node, exp.Array | exp.Tuple):
            found = [self.value(part) for part in node.expressions]
            if len(found) > MAX_LISTED or not all(isinstance(part, Value) for part in found):
                self.refuse(
                    f"an ARRAY is of literals here, at most {MAX_LISTED:,}",
                    place,
                    "topic_tags && ARRAY['a', 'b']",
                )
            return found
        value = self.value(node)
        if not isinstance(value, Value):
            self.refuse("what is looked for is a literal", place, "topic_tags @> ARRAY['pricing']")
        return value

    def top_key(self, node: Any) -> Expression:
        self.only(node, "this", "expression")
        key = self.value(node.expression)
        if not isinstance(key, Value) or key.type != "text":
            self.refuse("? takes a key that is a literal", node, "metadata ? 'page'")
        return key_there(self.value(node.this), key)

    # -- the others --------------------------------------------------------------------------------

    def arrow(self, node: exp.Expression) -> Expression:
        """JSON by `->`, `->>`, `#>`, `#>>` and json_extract."""
        from sqlglot import exp

        self.only(
            node,
            "this",
            "expression",
            "only_json_types",
            "json_subtype",
            "scalar_only",
            "requires_json",
            "json_type",
        )
        place = _open(node.expression)
        if isinstance(place, exp.Neg) and isinstance(place.this, exp.Literal):
            steps: tuple[str | int, ...] = (-int(place.this.name[:9]),)
        elif isinstance(place, exp.Literal):
            braces = type(node).__name__.startswith("JSONB")
            steps = json_path(place.name, number=not place.is_string, braces=braces)
        else:
            steps = self.parsed_path(place, node)
        return below(self.value(node.this), steps)

    def parsed_path(self, place: Any, node: Any) -> tuple[str | int, ...]:
        """The steps of a place that the parser has read already: one, as it does for the operators."""
        from sqlglot import exp

        parts = place.expressions[1:] if isinstance(place, exp.JSONPath) else []
        step = parts[0].this if len(parts) == 1 else None
        if isinstance(step, str) and isinstance(parts[0], exp.JSONPathKey):
            return json_path(step)
        if isinstance(step, int) and isinstance(parts[0], exp.JSONPathSubscript):
            return (step,)
        return self.refuse("a place in JSON is a literal", node, "metadata ->> 'page'")

    def case(self, node: exp.Case) -> Expression:
        self.only(node, "this", "ifs", "default")
        subject = node.args.get("this")
        of = None if subject is None else self.value(subject)
        conditions = [
            self.condition(arm.this)
            if of is None
            else coercion.compared("=", of, self.value(arm.this))
            for arm in node.args["ifs"]
        ]
        values = [self.value(arm.args["true"]) for arm in node.args["ifs"]]
        default = node.args.get("default")
        otherwise = [] if default is None else [self.value(default)]
        values = coercion.unified([*values, *otherwise])
        whens = tuple(zip(conditions, values, strict=False))
        return Case(whens, values[-1] if otherwise else None, values[0].type)

    def iif(self, node: exp.If) -> Expression:
        self.only(node, "this", "true", "false")
        values = [self.value(node.args["true"])]
        if node.args.get("false") is not None:
            values.append(self.value(node.args["false"]))
        values = coercion.unified(values)
        return Case(
            ((self.condition(node.this), values[0]),),
            values[1] if len(values) > 1 else None,
            values[0].type,
        )

    def cast(self, node: exp.Cast) -> Expression:
        from sqlglot import exp

        self.only(node, "this", "to", "safe", "_type")
        to: Any = node.args.get("to")
        name = to.this.name if isinstance(to, exp.DataType) and hasattr(to.this, "name") else ""
        kind = _TYPES.get(name)
        sized = (
            isinstance(part, exp.DataTypeParam)
            and isinstance(part.this, exp.Literal)
            and not part.this.is_string
            for part in to.expressions
        )
        if kind is None or not all(sized):
            given = (to.args.get("kind") if isinstance(to, exp.DataType) else None) or to
            told = str(given if isinstance(given, str) else getattr(given, "name", "") or name)[:40]
            at = next(
                (token.start for token in self.tokens if told and token.text == told),
                self.position(node),
            )
            bounds.refuse(
                f"the type {told!r} is not allowed", self.sql, at, f"the types are {_CLOSED}"
            )
        for key, given in to.args.items():
            if given and key not in ("this", "nested", "expressions"):
                self.refuse(
                    f"a type … {key.upper()} is not allowed", node, f"the types are {_CLOSED}"
                )
        value = self.value(node.this)
        if kind == "json":
            if value.type != "json":
                self.refuse("only JSON can be cast to JSON", node, "metadata ->> 'page'")
            return value
        return coercion.cast(value, kind)  # type: ignore[arg-type]

    def concatenation(self, node: exp.Expression) -> Expression:
        sides, waiting = list[Expression](), [node]
        while waiting:
            part = waiting.pop()
            if type(part) is type(node):
                self.only(part, "this", "expression", "safe")
                waiting += [part.expression, part.this]
            else:
                sides.append(coercion.cast(self.value(part), "text"))
        return Call("||", tuple(sides), "text")

    def aggregate_filter(self, node: exp.Filter) -> Expression:
        from msgspec.structs import replace

        from .values import Aggregate

        self.only(node, "this", "expression")
        found = self.value(node.this)
        if not isinstance(found, Aggregate):
            self.refuse(
                "FILTER stands after a figure of many rows",
                node,
                "count(*) FILTER (WHERE type = 'person')",
            )
        return replace(found, where=self.condition(node.expression.this))

    def collation(self, node: exp.Collate) -> Expression:
        name = str(node.expression.name).upper()
        if name == "NOCASE":
            return Call("lower", (coercion.cast(self.value(node.this), "text"),), "text")
        if name in ("C", "BINARY", "POSIX"):
            return self.value(node.this)
        return self.refuse(
            f"the collation {name[:40]!r} is not allowed",
            node,
            "compare lower(name) to ignore case",
        )

    def interval_alone(self, node: exp.Interval) -> Expression:
        self.refuse(
            "an interval is added to a time, or taken from one", node, "now() - interval '7 days'"
        )


def below(value: Expression, steps: tuple[str | int, ...]) -> Json:
    """What stands at a place in JSON.

    Raises:
        InvalidInputError: the value is no JSON, or a place of a column is asked for that is too
            deep.
    """
    if isinstance(value, Column) and is_json(value.name):
        value = Json(value.name, ())
    if not isinstance(value, Json):
        raise SqlGuardError(f"{coercion.told(value)} holds no JSON", remedy="metadata ->> 'page'")
    if len(value.steps) + len(steps) > 32:
        raise SqlGuardError("a place in JSON may be 32 keys deep")
    return Json(value.column, value.steps + steps)


def matched(value: Expression, pattern: str, *, ignore_case: bool) -> Matches:
    """Whether a regular expression matches somewhere in a text."""
    flagged = f"(?i){pattern}" if ignore_case else pattern
    return Matches(coercion.cast(value, "text"), patterns.regular_expression(flagged))


def _open(node: Any) -> Any:
    """A node without the brackets around it."""
    from sqlglot import exp

    while isinstance(node, exp.Paren):
        node = node.this
    return node


def _title(node: Any) -> str:
    """What a node is called in SQL."""
    from sqlglot import exp

    if isinstance(node, exp.Anonymous):
        return f"the function {str(node.this)[:40]}"
    if isinstance(node, exp.Func):
        return f"the function {node.sql_names()[0].lower()}"
    return str(getattr(node, "key", type(node).__name__)).upper()


_HARMLESS = frozenset({  # what the parser notes of a function that changes nothing here
    "big_int", "safe", "coalesce", "is_left", "ignore_nulls", "is_nvl", "is_null", "ansi", "requires_json",
    "json_subtype", "only_json_types", "scalar_only", "value_constructor", "bracket_notation",
})  # fmt: skip
_NAMES = {  # functions that the parser has other names for
    "StrPosition": "instr", "TimestampTrunc": "date_trunc", "DateTrunc": "date_trunc", "CurrentTimestamp": "now",
    "Substring": "substr", "Length": "length", "Localtimestamp": "now", "GroupConcat": "group_concat", "Ceil": "ceil",
    "CurrentDate": "current_date", "TimeToStr": "strftime", "Greatest": "greatest", "Least": "least",
}  # fmt: skip
_READ: dict[str, Read] = {
    "Paren": lambda read, node: read.value(node.this),
    "Column": Expressions.column,
    "Literal": Expressions.literal,
    "Null": lambda _, __: Value(None, "null"),
    "Boolean": lambda _, node: Value(bool(node.this), "boolean"),
    "Neg": Expressions.negative,
    **dict.fromkeys(("Add", "Sub", "Mul", "Div", "Mod"), Expressions.arithmetic),
    **dict.fromkeys(("EQ", "NEQ", "GT", "GTE", "LT", "LTE"), Expressions.comparison),
    **dict.fromkeys(("NullSafeEQ", "NullSafeNEQ"), Expressions.same),
    **dict.fromkeys(("And", "Or"), Expressions.both),
    **dict.fromkeys(("Like", "ILike"), Expressions.like),
    **dict.fromkeys(("RegexpLike", "RegexpILike"), Expressions.matches),
    **dict.fromkeys(("ArrayContainsAll", "ArrayContainedBy"), Expressions.containment),
    **dict.fromkeys(
        ("JSONExtract", "JSONExtractScalar", "JSONBExtract", "JSONBExtractScalar"),
        Expressions.arrow,
    ),
    **dict.fromkeys(("Cast", "TryCast"), Expressions.cast),
    "Not": Expressions.negation,
    "Is": Expressions.test,
    "In": Expressions.membership,
    "Between": Expressions.between,
    "Escape": Expressions.escape,
    "ArrayOverlaps": Expressions.overlap,
    "JSONBContainsTopKey": Expressions.top_key,
    "Case": Expressions.case,
    "If": Expressions.iif,
    "DPipe": Expressions.concatenation,
    "Filter": Expressions.aggregate_filter,
    "Trim": Expressions.trim,
    "Collate": Expressions.collation,
    "Interval": Expressions.interval_alone,
}
