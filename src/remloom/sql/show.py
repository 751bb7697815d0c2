"""Values as text again: a SELECT in its canonical form, which means the same when it is read."""

from __future__ import annotations

import msgspec

from . import times
from .functions import find
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
    Select,
    Shift,
    Starts,
    Value,
)

__all__ = ["name_of", "shown", "statement"]

_NAME = 63  # characters of the name of a column that was given none
_TYPES = {"number": "REAL", "time": "TIMESTAMP"}


def statement(select: Select) -> str:
    """The canonical text of a SELECT.

    >>> from remloom.sql.compile import compile_select
    >>> statement(compile_select("select  NAME as n from Resources r where r.ordinal+1 > 2 -- all"))
    'SELECT name AS n FROM resources WHERE (ordinal + 1) > 2'
    """
    from .columns import columns

    outputs = [
        shown(output.value)
        + ("" if output.name == name_of(output.value) else f" AS {_named(output.name)}")
        for output in select.outputs
    ]
    every = list(columns(select.schema).items())
    if [(output.name, output.value) for output in select.outputs] == every:
        outputs = ["*"]
    parts = [
        f"SELECT {'DISTINCT ' if select.distinct else ''}{', '.join(outputs)} FROM {select.schema}"
    ]
    if select.where is not None:
        parts.append(f"WHERE {shown(select.where)}")
    if select.groups:
        parts.append(f"GROUP BY {', '.join(map(shown, select.groups))}")
    if select.having is not None:
        parts.append(f"HAVING {shown(select.having)}")
    if select.order:
        terms = (
            shown(term.value)
            + (" DESC" if term.descending else "")
            + (
                ""
                if term.nulls_first != term.descending
                else f" NULLS {'FIRST' if term.nulls_first else 'LAST'}"
            )
            for term in select.order
        )
        parts.append(f"ORDER BY {', '.join(terms)}")
    if select.limit is not None:
        parts.append(f"LIMIT {select.limit}")
    if select.offset:
        parts.append(f"OFFSET {select.offset}")
    return " ".join(parts)


def name_of(value: Expression) -> str:
    """What a column of an answer is called that was given no name."""
    return shown(value)[:_NAME]


def shown(value: Expression) -> str:
    """The text of a value."""
    match value:
        case Column(name=name):
            return name
        case Json(column=column, steps=steps):
            return column + "".join(
                f" ->> {step if isinstance(step, int) else _quoted(step)}" for step in steps
            )
        case Value(value=given, type=kind):
            return _literal(given, kind)
        case Now():
            return "now()"
        case (
            Arithmetic(operator=operator, left=left, right=right)
            | Compare(operator=operator, left=left, right=right)
        ):
            return f"{_inner(left)} {operator} {_inner(right)}"
        case Same(left=left, right=right):
            return f"{_inner(left)} IS NOT DISTINCT FROM {_inner(right)}"
        case Shift(part=part, months=months, micros=micros):
            sign, months, micros = (
                ("-", -months, -micros)
                if min(months, micros) < 0 >= max(months, micros)
                else ("+", months, micros)
            )
            return f"{_inner(part)} {sign} interval '{_interval(months, micros)}'"
        case And(parts=parts) | Or(parts=parts):
            word = " AND " if isinstance(value, And) else " OR "
            return word.join(map(_inner, parts)) or ("TRUE" if isinstance(value, And) else "FALSE")
        case Not(part=part):
            return f"NOT {_inner(part)}"
        case IsTrue(part=part, negated=negated):
            return f"{_inner(part)} IS {'NOT ' if negated else ''}TRUE"
        case IsNull(part=part, negated=negated):
            return f"{_inner(part)} IS {'NOT ' if negated else ''}NULL"
        case IsSet(part=part):
            return f"{_inner(part)} IS NOT NULL"
        case AnyOf(part=part, values=values):
            return f"{_inner(part)} IN ({', '.join(map(shown, values))})"
        case Contains(part=part, value=wanted):
            return f"contains({shown(part)}, {shown(wanted)})"
        case Starts(part=part, text=text):
            return f"starts_with({shown(part)}, {_quoted(text)})"
        case Ends(part=part, text=text):
            return f"ends_with({shown(part)}, {_quoted(text)})"
        case Like(part=part, pattern=pattern):
            escape = " ESCAPE '\\'" if "\\" in pattern else ""
            return f"{_inner(part)} LIKE {_quoted(pattern)}{escape}"
        case Matches(part=part, pattern=pattern):
            return f"{_inner(part)} ~ {_quoted(pattern)}"
        case InPath():
            return f"contains(graph_paths, {_quoted(_path(value))})"
        case Case(whens=whens, otherwise=otherwise):
            arms = "".join(
                f" WHEN {shown(condition)} THEN {shown(then)}" for condition, then in whens
            )
            return f"CASE{arms}{'' if otherwise is None else f' ELSE {shown(otherwise)}'} END"
        case Cast(part=part, type=kind):
            return f"CAST({shown(part)} AS {_TYPES.get(kind, kind.upper())})"
        case Aggregate(name=name, part=part, distinct=distinct, where=where, separator=separator):
            inside = "*" if part is None else shown(part)
            between = (
                f", {_quoted(separator)}" if name == "group_concat" and separator != "," else ""
            )
            among = "" if where is None else f" FILTER (WHERE {shown(where)})"
            return f"{name}({'DISTINCT ' if distinct else ''}{inside}{between}){among}"
        case Call(name=name, arguments=arguments):
            listed = [shown(argument) for argument in arguments]
            if name == "||":
                return " || ".join(map(_inner, arguments))
            if name == "extract":
                return f"extract({getattr(arguments[0], 'value', '')!s} FROM {listed[1]})"
            if (function := find(name)) is not None and not function.takes:
                return f"{name}()"
            return f"{name}({', '.join(listed)})"


def _inner(value: Expression) -> str:
    text = shown(value)
    plain = isinstance(
        value, Column | Value | Now | Cast | Aggregate | Contains | Starts | Ends | InPath | Case
    )
    plain = plain or (isinstance(value, Call) and value.name != "||")
    return text if plain else f"({text})"


def _literal(given: object, kind: str) -> str:
    if given is None:
        return "NULL"
    if isinstance(given, bool):
        return "TRUE" if given else "FALSE"
    if kind in ("time", "date") and isinstance(given, int):
        return _quoted(times.shown(given, date=kind == "date"))
    if isinstance(given, str):
        return _quoted(given)
    return repr(given) if isinstance(given, int | float) else msgspec.json.encode(given).decode()


def _interval(months: int, micros: int) -> str:
    parts = [f"{months} months"] if months else []
    for word, (_, size) in reversed(times.UNITS.items()):
        if size and (micros % size == 0 and micros) and word != "week":
            parts.append(f"{micros // size} {word}s")
            break
    return " ".join(parts) or "0 days"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _named(name: str) -> str:
    return name if name.isidentifier() and name.isascii() else '"' + name.replace('"', '""') + '"'


def _path(path: InPath) -> str:
    parts = [
        path.schema,
        path.source,
        path.rel_type,
        *([path.shared] if path.tells else []),
        path.target,
    ]
    return "".join(
        f"/{'*' if part is None else part.replace('%', '%25').replace('/', '%2F')}"
        for part in parts
    )
