"""Values as text again: a SELECT in its canonical form, which means the same when it is read."""

from __future__ import annotations

import msgspec

from . import times
from .functions import find_function
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
    Output,
    Select,
    Shift,
    StartsWith,
    Value,
)

_NAME_LENGTH = 63  # characters of the name of a column that was given none
_TYPE_NAMES = {"number": "REAL", "time": "TIMESTAMP"}


def render_select(select: Select) -> str:
    """The canonical text of a SELECT.

    >>> from remloom.sql.compile import compile_select
    >>> render_select(compile_select("select  NAME as n from Resources r where r.ordinal+1 > 2"))
    'SELECT name AS n FROM resources WHERE (ordinal + 1) > 2'
    """
    distinct = "DISTINCT " if select.distinct else ""
    clauses = [f"SELECT {distinct}{_render_outputs(select)} FROM {select.schema}"]
    if select.where is not None:
        clauses.append(f"WHERE {render(select.where)}")
    if select.groups:
        clauses.append(f"GROUP BY {_render_list(select.groups)}")
    if select.having is not None:
        clauses.append(f"HAVING {render(select.having)}")
    if select.order:
        clauses.append(f"ORDER BY {', '.join(map(_render_term, select.order))}")
    if select.limit is not None:
        clauses.append(f"LIMIT {select.limit}")
    if select.offset:
        clauses.append(f"OFFSET {select.offset}")
    return " ".join(clauses)


def _render_outputs(select: Select) -> str:
    if select.is_star:
        return "*"
    return ", ".join(map(_render_output, select.outputs))


def _render_output(output: Output) -> str:
    text = render(output.value)
    if output.name == default_name(output.value):
        return text
    return f"{text} AS {_quote_name(output.name)}"


def _render_term(term: OrderTerm) -> str:
    text = render(term.value)
    if term.descending:
        text += " DESC"
    # Unset values are lowest, so rising order has them first.
    if term.nulls_first == term.descending:
        text += " NULLS FIRST" if term.nulls_first else " NULLS LAST"
    return text


def default_name(value: Expression) -> str:
    """The name of an answer's column that was given none."""
    return render(value)[:_NAME_LENGTH]


# -- expressions -----------------------------------------------------------------------------------


def render(value: Expression) -> str:
    """The text of an expression."""
    match value:
        case Column(name=name):
            return name
        case Json(column=column, steps=steps):
            keys = (str(step) if isinstance(step, int) else _quote(step) for step in steps)
            return " ->> ".join((column, *keys))
        case Value(value=literal, type=kind):
            return _render_literal(literal, kind)
        case Call():
            return _render_call(value)
        case Now():
            return "now()"
        case (
            Arithmetic(operator=operator, left=left, right=right)
            | Compare(operator=operator, left=left, right=right)
        ):
            return f"{_render_operand(left)} {operator} {_render_operand(right)}"
        case Shift():
            return _render_shift(value)
        case Case():
            return _render_case(value)
        case Cast(part=part, type=kind):
            return f"CAST({render(part)} AS {_TYPE_NAMES.get(kind, kind.upper())})"
        case Aggregate():
            return _render_aggregate(value)
    return _render_condition(value)


def _render_condition(value: Expression) -> str:
    match value:
        case And(parts=parts):
            return " AND ".join(map(_render_operand, parts)) or "TRUE"
        case Or(parts=parts):
            return " OR ".join(map(_render_operand, parts)) or "FALSE"
        case Not(part=part):
            return f"NOT {_render_operand(part)}"
        case NotDistinct(left=left, right=right):
            return f"{_render_operand(left)} IS NOT DISTINCT FROM {_render_operand(right)}"
        case IsTrue(part=part, negated=negated):
            return f"{_render_operand(part)} IS {'NOT ' if negated else ''}TRUE"
        case IsNull(part=part, negated=negated):
            return f"{_render_operand(part)} IS {'NOT ' if negated else ''}NULL"
        case IsSet(part=part):
            return f"{_render_operand(part)} IS NOT NULL"
    return _render_search(value)


def _render_search(value: Expression) -> str:
    match value:
        case AnyOf(part=part, values=values):
            return f"{_render_operand(part)} IN ({_render_list(values)})"
        case Contains(part=part, value=needle):
            return f"contains({render(part)}, {render(needle)})"
        case StartsWith(part=part, text=text):
            return f"starts_with({render(part)}, {_quote(text)})"
        case EndsWith(part=part, text=text):
            return f"ends_with({render(part)}, {_quote(text)})"
        case Like(part=part, pattern=pattern):
            escape = " ESCAPE '\\'" if "\\" in pattern else ""
            return f"{_render_operand(part)} LIKE {_quote(pattern)}{escape}"
        case Matches(part=part, pattern=pattern):
            return f"{_render_operand(part)} ~ {_quote(pattern)}"
        case InPath():
            entity = [value.entity] if value.names_entity else []
            steps = (value.schema, value.source, value.rel_type, *entity, value.target)
            path = "".join(f"/{_path_step(step)}" for step in steps)
            return f"contains(graph_paths, {_quote(path)})"
    raise TypeError(f"{type(value).__name__} is not an expression")


def _render_shift(value: Shift) -> str:
    sign, months, micros = "+", value.months, value.micros
    if min(months, micros) < 0 >= max(months, micros):
        sign, months, micros = "-", -months, -micros
    return f"{_render_operand(value.part)} {sign} interval '{_render_interval(months, micros)}'"


def _render_case(value: Case) -> str:
    arms = "".join(
        f" WHEN {render(condition)} THEN {render(result)}" for condition, result in value.whens
    )
    otherwise = "" if value.otherwise is None else f" ELSE {render(value.otherwise)}"
    return f"CASE{arms}{otherwise} END"


def _render_aggregate(value: Aggregate) -> str:
    argument = "*" if value.part is None else render(value.part)
    if value.distinct:
        argument = f"DISTINCT {argument}"
    if value.name == "group_concat" and value.separator != ",":
        argument = f"{argument}, {_quote(value.separator)}"
    rows = "" if value.where is None else f" FILTER (WHERE {render(value.where)})"
    return f"{value.name}({argument}){rows}"


def _render_call(value: Call) -> str:
    name, arguments = value.name, value.arguments
    if name == "||":
        return " || ".join(map(_render_operand, arguments))
    if name == "extract":
        unit = getattr(arguments[0], "value", "")
        return f"extract({unit} FROM {render(arguments[1])})"
    function = find_function(name)
    if function is not None and not function.takes:
        return f"{name}()"
    return f"{name}({_render_list(arguments)})"


# -- their parts -----------------------------------------------------------------------------------

# What reads as one thing beside an operator, and so needs no brackets.
_CLOSED = (
    Column, Value, Now, Cast, Aggregate, Contains, StartsWith, EndsWith, InPath, Case,
)  # fmt: skip


def _render_operand(value: Expression) -> str:
    """An expression as it stands beside an operator."""
    text = render(value)
    is_call = isinstance(value, Call) and value.name != "||"
    return text if is_call or isinstance(value, _CLOSED) else f"({text})"


def _render_list(values: tuple[Expression, ...] | tuple[Value, ...]) -> str:
    return ", ".join(render(value) for value in values)


def _render_literal(given: object, kind: str) -> str:
    if given is None:
        return "NULL"
    if isinstance(given, bool):
        return "TRUE" if given else "FALSE"
    if kind in ("time", "date") and isinstance(given, int):
        return _quote(times.render_time(given, date_only=kind == "date"))
    if isinstance(given, str):
        return _quote(given)
    if isinstance(given, int | float):
        return repr(given)
    return msgspec.json.encode(given).decode()


def _render_interval(months: int, micros: int) -> str:
    parts = [f"{months} months"] if months else []
    # the largest unit that divides the rest
    for unit, (_, size) in reversed(times.UNITS.items()):
        if micros and size and micros % size == 0 and unit != "week":
            parts.append(f"{micros // size} {unit}s")
            break
    return " ".join(parts) or "0 days"


def _quote(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _quote_name(name: str) -> str:
    if name.isidentifier() and name.isascii():
        return name
    return '"' + name.replace('"', '""') + '"'


def _path_step(step: str | None) -> str:
    return "*" if step is None else step.replace("%", "%25").replace("/", "%2F")
