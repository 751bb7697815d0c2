"""Values as text again: a SELECT in its canonical form, which means the same when it is read."""

from __future__ import annotations

from functools import singledispatch

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


@singledispatch
def render(value: Expression) -> str:
    """The text of an expression."""
    raise TypeError(f"{type(value).__name__} is not an expression")


@render.register(Column)
def _(value: Column) -> str:
    return value.name


@render.register(Json)
def _(value: Json) -> str:
    text = value.column
    for step in value.steps:
        text += f" ->> {step if isinstance(step, int) else _quote(step)}"
    return text


@render.register(Value)
def _(value: Value) -> str:
    return _render_literal(value.value, value.type)


@render.register(Now)
def _(_: Now) -> str:
    return "now()"


@render.register(Arithmetic)
@render.register(Compare)
def _(value: Arithmetic | Compare) -> str:
    return f"{_render_operand(value.left)} {value.operator} {_render_operand(value.right)}"


@render.register(NotDistinct)
def _(value: NotDistinct) -> str:
    return f"{_render_operand(value.left)} IS NOT DISTINCT FROM {_render_operand(value.right)}"


@render.register(Shift)
def _(value: Shift) -> str:
    sign, months, micros = "+", value.months, value.micros
    if min(months, micros) < 0 >= max(months, micros):
        sign, months, micros = "-", -months, -micros
    return f"{_render_operand(value.part)} {sign} interval '{_render_interval(months, micros)}'"


@render.register(And)
def _(value: And) -> str:
    return " AND ".join(map(_render_operand, value.parts)) or "TRUE"


@render.register(Or)
def _(value: Or) -> str:
    return " OR ".join(map(_render_operand, value.parts)) or "FALSE"


@render.register(Not)
def _(value: Not) -> str:
    return f"NOT {_render_operand(value.part)}"


@render.register(IsTrue)
def _(value: IsTrue) -> str:
    return f"{_render_operand(value.part)} IS {'NOT ' if value.negated else ''}TRUE"


@render.register(IsNull)
def _(value: IsNull) -> str:
    return f"{_render_operand(value.part)} IS {'NOT ' if value.negated else ''}NULL"


@render.register(IsSet)
def _(value: IsSet) -> str:
    return f"{_render_operand(value.part)} IS NOT NULL"


@render.register(AnyOf)
def _(value: AnyOf) -> str:
    return f"{_render_operand(value.part)} IN ({_render_list(value.values)})"


@render.register(Contains)
def _(value: Contains) -> str:
    return f"contains({render(value.part)}, {render(value.value)})"


@render.register(StartsWith)
def _(value: StartsWith) -> str:
    return f"starts_with({render(value.part)}, {_quote(value.text)})"


@render.register(EndsWith)
def _(value: EndsWith) -> str:
    return f"ends_with({render(value.part)}, {_quote(value.text)})"


@render.register(Like)
def _(value: Like) -> str:
    escape = " ESCAPE '\\'" if "\\" in value.pattern else ""
    return f"{_render_operand(value.part)} LIKE {_quote(value.pattern)}{escape}"


@render.register(Matches)
def _(value: Matches) -> str:
    return f"{_render_operand(value.part)} ~ {_quote(value.pattern)}"


@render.register(InPath)
def _(value: InPath) -> str:
    entity = [value.entity] if value.names_entity else []
    steps = [value.schema, value.source, value.rel_type, *entity, value.target]
    path = "".join(f"/{_path_step(step)}" for step in steps)
    return f"contains(graph_paths, {_quote(path)})"


@render.register(Case)
def _(value: Case) -> str:
    arms = "".join(
        f" WHEN {render(condition)} THEN {render(result)}" for condition, result in value.whens
    )
    otherwise = "" if value.otherwise is None else f" ELSE {render(value.otherwise)}"
    return f"CASE{arms}{otherwise} END"


@render.register(Cast)
def _(value: Cast) -> str:
    type_name = _TYPE_NAMES.get(value.type, value.type.upper())
    return f"CAST({render(value.part)} AS {type_name})"


@render.register(Aggregate)
def _(value: Aggregate) -> str:
    argument = "*" if value.part is None else render(value.part)
    if value.distinct:
        argument = f"DISTINCT {argument}"
    if value.name == "group_concat" and value.separator != ",":
        argument = f"{argument}, {_quote(value.separator)}"
    rows = "" if value.where is None else f" FILTER (WHERE {render(value.where)})"
    return f"{value.name}({argument}){rows}"


@render.register(Call)
def _(value: Call) -> str:
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
