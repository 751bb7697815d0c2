"""Operators, from `=` and `AND` to `||`, `+`, LIKE, `->>` and `@>`: each as a value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from . import times
from .coercion import arithmetic_type, as_condition, cast, compare, not_distinct
from .matching import (
    Steps,
    contains,
    extend_path,
    has_key,
    match_regex,
    overlaps,
    parse_like,
    parse_path,
)
from .nodes import Handler, Node, NodeReader, flatten, kind_of, strip_brackets
from .values import (
    And,
    AnyOf,
    Arithmetic,
    Call,
    Compare,
    Expression,
    IsNull,
    IsTrue,
    Like,
    Not,
    Operator,
    Or,
    Shift,
    Value,
)

MAX_LISTED = 1_000  # values of an IN
_MAX_DAYS = 4_000_000  # between the years 1 and 9999
_COMPARISONS: dict[str, Operator] = {
    "EQ": "=",
    "NEQ": "<>",
    "GT": ">",
    "GTE": ">=",
    "LT": "<",
    "LTE": "<=",
}
_ARITHMETIC = {"Add": "+", "Sub": "-", "Mul": "*", "Div": "/", "Mod": "%"}
_BINARY_COLLATIONS = ("C", "BINARY", "POSIX")
_ARROWS = ("JSONExtract", "JSONExtractScalar", "JSONBExtract", "JSONBExtractScalar")
# What the parser notes of an arrow that changes nothing here.
_HARMLESS = ("only_json_types", "json_subtype", "scalar_only", "requires_json", "json_type")


# -- comparisons -----------------------------------------------------------------------------------


def _read_comparison(read: NodeReader, node: Node) -> Expression:
    operator = _COMPARISONS[kind_of(node)]
    left, right = node.this, node.expression
    for side, other in ((left, right), (right, left)):
        if kind_of(side) == "Any":
            if operator != "=":
                read.refuse("ANY stands after =", node, "'x' = ANY(topic_tags)")
            among = strip_brackets(side.this)
            return _read_any(read, read.value(other), among, node)
    return compare(operator, read.value(left), read.value(right))


def _read_any(read: NodeReader, value: Expression, among: Node, node: Node) -> Expression:
    """`value = ANY(…)` of a list that is written out, or of a column."""
    if kind_of(among) in ("Array", "Tuple"):
        return _read_among(read, value, among.expressions, node)
    if not isinstance(value, Value):
        read.refuse("ANY takes a literal before it", node, "'x' = ANY(topic_tags)")
    return contains(read.value(among), value)


def _read_in(read: NodeReader, node: Node) -> Expression:
    # IN (SELECT …), IN column, IN UNNEST(…)
    if any(node.args.get(form) for form in ("query", "field", "unnest")):
        read.refuse("IN takes a list in brackets", node, "category IN ('note', 'report')")
    read.allow_only(node, "this", "expressions")
    return _read_among(read, read.value(node.this), node.expressions, node)


def _read_among(
    read: NodeReader, value: Expression, listed: Sequence[Node], node: Node
) -> Expression:
    if len(listed) > MAX_LISTED:
        read.refuse(
            f"IN may list {MAX_LISTED:,} values, this lists {len(listed):,}",
            node,
            "ask several times",
        )
    if not listed:
        read.refuse("IN lists nothing", node, "category IN ('note', 'report')")
    comparisons = [compare("=", value, read.value(other)) for other in listed]
    return _as_any_of(comparisons) or Or(tuple(comparisons))


def _as_any_of(comparisons: Sequence[Expression]) -> AnyOf | None:
    """One condition for comparisons of one value with literals of one type, else None."""
    pairs = [
        (comparison.left, comparison.right)
        for comparison in comparisons
        if isinstance(comparison, Compare) and isinstance(comparison.right, Value)
    ]
    one_left = len({left for left, _ in pairs}) == 1
    one_type = len({literal.type for _, literal in pairs}) == 1
    if len(pairs) < len(comparisons) or not one_left or not one_type:
        return None
    return AnyOf(pairs[0][0], tuple(dict.fromkeys(literal for _, literal in pairs)))


def _read_between(read: NodeReader, node: Node) -> Expression:
    value = read.value(node.this)
    low = read.value(node.args["low"])
    high = read.value(node.args["high"])
    return And((compare(">=", value, low), compare("<=", value, high)))


def _read_connector(read: NodeReader, node: Node) -> Expression:
    parts = tuple(read.condition(side) for side in flatten(node))
    return And(parts) if kind_of(node) == "And" else Or(parts)


def _read_not(read: NodeReader, node: Node) -> Expression:
    part = read.condition(node.this)
    # The parser has `x IS NOT NULL` as the NOT of `x IS NULL`.
    return IsNull(part.part, not part.negated) if isinstance(part, IsNull) else Not(part)


def _read_distinct(read: NodeReader, node: Node) -> Expression:
    """IS NOT DISTINCT FROM, or IS DISTINCT FROM."""
    equal = not_distinct(read.value(node.this), read.value(node.expression))
    return equal if kind_of(node) == "NullSafeEQ" else Not(equal)


def _read_is(read: NodeReader, node: Node) -> Expression:
    negated = bool(node.args.get("negate"))
    right = read.value(node.expression)
    left = read.value(node.this)
    if isinstance(right, Value) and right.value is None:
        return IsNull(left, negated)
    if isinstance(right, Value) and right.type == "boolean":
        part = as_condition(left)
        return IsTrue(part if right.value else Not(part), negated)
    equal = not_distinct(left, right)
    return Not(equal) if negated else equal


# -- arithmetic ------------------------------------------------------------------------------------


def _read_negative(read: NodeReader, node: Node) -> Expression:
    part = read.value(node.this)
    if isinstance(part, Value) and part.type in ("integer", "real"):
        return Value(-part.value, part.type)
    kind = arithmetic_type(part, part)
    zero = Value(0, "integer") if kind == "integer" else Value(0.0, "real")
    return Arithmetic("-", zero, cast(part, kind), kind)


def _read_arithmetic(read: NodeReader, node: Node) -> Expression:
    operator = _ARITHMETIC[kind_of(node)]
    is_sum = operator in "+-"
    sides = (strip_brackets(node.this), strip_brackets(node.expression))
    if is_sum and "Interval" in map(kind_of, sides):
        return _read_shift(read, operator, sides, node)
    left, right = map(read.value, sides)
    types = {left.type, right.type}
    # PostgreSQL adds a number of days to a date, and nothing else to a time.
    if is_sum and types == {"date", "integer"}:
        return _shift_days(read, operator, left, right, node)
    if types & {"time", "date"}:
        read.refuse(
            "times are shifted by intervals",
            node,
            "starts_at + interval '7 days'; seconds between two:"
            " unixepoch(ends_at) - unixepoch(starts_at)",
        )
    kind = arithmetic_type(left, right)
    # A remainder is of whole numbers; a quotient is whole only if both are.
    if operator == "%":
        kind = "integer"
    elif operator == "/" and kind != "integer":
        kind = "real"
    left, right = cast(left, kind), cast(right, kind)
    return Arithmetic(operator, left, right, kind)  # type: ignore[arg-type]


def _read_shift(
    read: NodeReader, operator: str, sides: tuple[Node, Node], node: Node
) -> Expression:
    """A time and an interval, in either order if they are added."""
    time, interval = sides
    if kind_of(time) == "Interval" and operator == "+":
        time, interval = interval, time
    if kind_of(interval) != "Interval" or kind_of(time) == "Interval":
        _refuse_interval(read, node)
    months, micros = _read_interval(read, interval)
    if operator == "-":
        months, micros = -months, -micros
    return Shift(cast(read.value(time), "time"), months, micros)


def _read_interval(read: NodeReader, node: Node) -> tuple[int, int]:
    """Months and microseconds of a literal interval."""
    read.allow_only(node, "this", "unit")
    amount, unit = node.this, node.args.get("unit")
    is_negative = kind_of(amount) == "Neg"
    if is_negative:
        amount = amount.this
    has_known_unit = unit is None or kind_of(unit) == "Var"
    if kind_of(amount) != "Literal" or not has_known_unit:
        read.refuse("an interval is a literal", node, "interval '7 days'")
    unit_name = "" if unit is None else unit.name.lower()
    months, micros = times.parse_interval(amount.name, unit_name)
    return (-months, -micros) if is_negative else (months, micros)


def _shift_days(
    read: NodeReader, operator: str, left: Expression, right: Expression, node: Node
) -> Expression:
    """A date and a whole number of days, as PostgreSQL adds them."""
    date, days = (left, right) if left.type == "date" else (right, left)
    subtracts_date = operator == "-" and date is right
    if not isinstance(days, Value) or subtracts_date or abs(days.value) > _MAX_DAYS:
        read.refuse("a number of days is a literal", node, "current_date - 7")
    micros = days.value * times.DAY
    return cast(Shift(date, 0, -micros if operator == "-" else micros), "date")


def _refuse_interval(read: NodeReader, node: Node) -> NoReturn:
    """Refuse an interval that stands alone: it is not a value."""
    read.refuse(
        "an interval is added to a time, or taken from one", node, "now() - interval '7 days'"
    )


# -- texts -----------------------------------------------------------------------------------------


def _read_like(read: NodeReader, node: Node, escape: str = "") -> Expression:
    read.allow_only(node, "this", "expression", "negate")
    pattern = read.literal_text(
        node.expression, "LIKE takes a pattern that is a literal", node, "name LIKE 'Project%'"
    )
    text = cast(read.value(node.this), "text")
    like = Like(text, parse_like(pattern, escape))
    return Not(like) if node.args.get("negate") else like


def _read_escape(read: NodeReader, node: Node) -> Expression:
    refusal = "ESCAPE stands after LIKE and its pattern", node, "LIKE '100!%' ESCAPE '!'"
    escape = read.literal_text(node.expression, *refusal)
    if kind_of(node.this) not in ("Like", "ILike"):
        read.refuse(*refusal)
    return _read_like(read, node.this, escape)


def _read_regex(read: NodeReader, node: Node) -> Expression:
    pattern = read.literal_text(
        node.expression, "a regular expression is a literal", node, "name ~ '^Project'"
    )
    ignore_case = kind_of(node) == "RegexpILike" or _ignores_case(read, node)
    return match_regex(read.value(node.this), pattern, ignore_case=ignore_case)


def _ignores_case(read: NodeReader, node: Node) -> bool:
    flags = node.args.get("flag")
    if flags is None:
        return False
    value = read.value(flags)
    if not isinstance(value, Value) or value.value not in ("i", "c", ""):
        read.refuse(
            "the flags of a regular expression are 'i' or none",
            node,
            "regexp_like(name, '^a', 'i')",
        )
    return bool(value.value == "i")


def _read_concatenation(read: NodeReader, node: Node) -> Expression:
    texts = [cast(read.value(side), "text") for side in flatten(node)]
    return Call("||", tuple(texts), "text")


def _read_collation(read: NodeReader, node: Node) -> Expression:
    name = str(node.expression.name).upper()
    if name == "NOCASE":
        return Call("lower", (cast(read.value(node.this), "text"),), "text")
    if name not in _BINARY_COLLATIONS:
        read.refuse(
            f"the collation {name[:40]!r} is not allowed",
            node,
            "compare lower(name) to ignore case",
        )
    return read.value(node.this)


# -- JSON ------------------------------------------------------------------------------------------


def _read_arrow(read: NodeReader, node: Node) -> Expression:
    """A value within JSON, by an arrow or json_extract."""
    path = strip_brackets(node.expression)
    if kind_of(path) == "Neg" and kind_of(path.this) == "Literal":
        steps: Steps = (-int(path.this.name[:9]),)
    elif kind_of(path) == "Literal":
        # `#>` and `#>>`, whose paths are PostgreSQL's lists
        braces = kind_of(node).startswith("JSONB")
        steps = parse_path(path.name, number=not path.is_string, braces=braces)
    else:
        steps = _read_parsed_path(read, path, node)
    return extend_path(read.value(node.this), steps)


def _read_parsed_path(read: NodeReader, path: Node, node: Node) -> Steps:
    """The steps of a path that the parser has read already: one, as it does for the operators."""
    parts = path.expressions[1:] if kind_of(path) == "JSONPath" else []
    step = parts[0].this if len(parts) == 1 else None
    if isinstance(step, str) and kind_of(parts[0]) == "JSONPathKey":
        return parse_path(step)
    if isinstance(step, int) and kind_of(parts[0]) == "JSONPathSubscript":
        return (step,)
    return read.refuse("a place in JSON is a literal", node, "metadata ->> 'page'")


def _read_containment(read: NodeReader, node: Node) -> Expression:
    whole, part = node.this, node.expression
    # the operator the other way round
    if kind_of(node) == "ArrayContainedBy":
        whole, part = part, whole
    return contains(read.value(whole), _read_needle(read, part, node))


def _read_overlap(read: NodeReader, node: Node) -> Expression:
    needle = _read_needle(read, node.expression, node)
    needles = needle if isinstance(needle, list) else [needle]
    return overlaps(read.value(node.this), needles)


def _read_needle(read: NodeReader, node: Node, whole: Node) -> Value | list[Value]:
    """Read what is looked for in JSON: a literal, or the literals of an ARRAY."""
    node = strip_brackets(node)
    # '["x"]'::jsonb
    while kind_of(node) in ("Cast", "TryCast"):
        inner = strip_brackets(node.this)
        if kind_of(inner) not in ("Literal", "Array"):
            break
        node = inner
    if kind_of(node) in ("Array", "Tuple"):
        listed = [read.value(part) for part in node.expressions]
        literals = [part for part in listed if isinstance(part, Value)]
        if len(listed) > MAX_LISTED or len(literals) < len(listed):
            read.refuse(
                f"an ARRAY is of literals here, at most {MAX_LISTED:,}",
                whole,
                "topic_tags && ARRAY['a', 'b']",
            )
        return literals
    value = read.value(node)
    if not isinstance(value, Value):
        read.refuse("what is looked for is a literal", whole, "topic_tags @> ARRAY['pricing']")
    return value


def _read_key_test(read: NodeReader, node: Node) -> Expression:
    message = "? takes a key that is a literal"
    key = read.literal_text(node.expression, message, node, "metadata ? 'page'")
    return has_key(read.value(node.this), Value(key, "text"))


_BOTH = ("this", "expression")
HANDLERS: dict[str, Handler] = {
    "And": Handler(_read_connector),
    "ArrayContainedBy": Handler(_read_containment, _BOTH),
    "ArrayContainsAll": Handler(_read_containment, _BOTH),
    "ArrayOverlaps": Handler(_read_overlap, _BOTH),
    "Between": Handler(_read_between, ("this", "low", "high")),
    "Collate": Handler(_read_collation),
    "DPipe": Handler(_read_concatenation, (*_BOTH, "safe")),
    "Escape": Handler(_read_escape, _BOTH),
    "ILike": Handler(_read_like),
    "In": Handler(_read_in),
    "Interval": Handler(_refuse_interval),
    "Is": Handler(_read_is, (*_BOTH, "negate")),
    "JSONBContainsTopKey": Handler(_read_key_test, _BOTH),
    "Like": Handler(_read_like),
    "Neg": Handler(_read_negative),
    "Not": Handler(_read_not, ("this",)),
    "NullSafeEQ": Handler(_read_distinct, _BOTH),
    "NullSafeNEQ": Handler(_read_distinct, _BOTH),
    "Or": Handler(_read_connector),
    "RegexpILike": Handler(_read_regex, (*_BOTH, "flag")),
    "RegexpLike": Handler(_read_regex, (*_BOTH, "flag")),
    **dict.fromkeys(_ARITHMETIC, Handler(_read_arithmetic, (*_BOTH, "typed", "safe"))),
    **dict.fromkeys(_ARROWS, Handler(_read_arrow, (*_BOTH, *_HARMLESS))),
    **dict.fromkeys(_COMPARISONS, Handler(_read_comparison, _BOTH)),
}
