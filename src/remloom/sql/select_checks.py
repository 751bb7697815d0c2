"""Checks of a SELECT as a whole: its groups, and how much one row of it may cost."""

from __future__ import annotations

from ..errors import SqlGuardError
from .columns import LONG
from .render import render
from .values import (
    Aggregate,
    Call,
    Column,
    Expression,
    Json,
    Select,
    Value,
    children,
    walk,
)

MAX_COPIES = 8  # times that a long text may be repeated in a row
MAX_WRITTEN = 100_000  # characters of a row that come out of the statement, not of the record
MAX_SCANS = 200  # times that long texts may be looked through for a row
_SHORT = 0.05  # the length of a short column, in lengths of a long one
_NUMBER = 30.0  # characters of a number, time or boolean as a text
_WRITTEN = ""  # stands for the statement among the columns
_DESCRIBED = 60  # characters of a value in an error


def check_groups(select: Select) -> None:
    """Refuse a value that has many values in a group: a store would show any row's, or refuse.

    Raises:
        SqlGuardError: such a value, or an order of DISTINCT rows by what they do not have.
    """
    ordered = [term.value for term in select.order]
    if select.aggregated:
        groups = set(select.groups)
        having = [] if select.having is None else [select.having]
        for value in (*_output_values(select), *ordered, *having):
            column = _find_ungrouped(value, groups)
            if column is not None:
                name = _describe(column)
                raise SqlGuardError(
                    f"{name} has many values in a group",
                    remedy=f"add it to GROUP BY, or take one of them: max({name})",
                )
    if select.distinct:
        selected = set(_output_values(select))
        for value in ordered:
            if value not in selected:
                raise SqlGuardError(
                    f"SELECT DISTINCT is ordered by what it selects, not by {_describe(value)}",
                    remedy="select it too",
                )


def _find_ungrouped(value: Expression, groups: set[Expression]) -> Expression | None:
    """A column of the value that is neither in a group nor in an aggregate function."""
    waiting = [value]
    while waiting:
        part = waiting.pop()
        if part in groups or isinstance(part, Aggregate):
            continue
        if isinstance(part, Column | Json):
            return part
        waiting += children(part)
    return None


def check_lengths(select: Select) -> None:
    """Refuse rows much longer than what is stored of them, or that take thousands of scans.

    Raises:
        SqlGuardError: such rows.
    """
    _check_row_length(select)
    values = _output_values(select)
    values += [term.value for term in select.order]
    values += select.groups
    values += [value for value in (select.where, select.having) if value is not None]
    parts = [part for value in values for part in walk(value)]
    read = [part for part in parts if isinstance(part, Column | Json)]
    # each use of a long text is a scan of it
    scans = sum(_column_name(part) in LONG for part in read)
    if scans > MAX_SCANS:
        raise SqlGuardError(
            f"this looks through long texts {scans:,} times for a row, and may {MAX_SCANS} times",
            remedy="ask for less at a time, or find texts by their words with search_text",
        )
    for part in parts:
        copies = _count_copies(part)
        written = copies.pop(_WRITTEN, 0)
        if max(copies.values(), default=0) > MAX_COPIES:
            raise SqlGuardError(
                f"{_describe(part)} may become many times as long as what is stored",
                remedy=f"repeat a long text at most {MAX_COPIES} times",
            )
        _check_written(written, part)


def _check_row_length(select: Select) -> None:
    copies: dict[str, float] = {}
    for value in _output_values(select):
        # the column itself is one copy of what is stored
        if isinstance(value, Column) and copies.get(value.name, 0) < 1:
            copies[value.name] = 1
        else:
            _add_copies(copies, _count_copies(value))
    written = copies.pop(_WRITTEN, 0)
    _check_written(written, None)
    most = max(copies.values(), default=0)
    if most > MAX_COPIES:
        raise SqlGuardError(
            f"a row of this would be {most:,.0f} times as long as what is stored",
            remedy=f"repeat a long text at most {MAX_COPIES} times,"
            " or take a part of it: left(content, 200)",
        )


def _check_written(length: float, part: Expression | None) -> None:
    """Check what a part of a row has of the statement's own, or the row."""
    if length > MAX_WRITTEN:
        what = "a row of this" if part is None else _describe(part)
        raise SqlGuardError(
            f"{what} may have {length:,.0f} characters of the statement's own, and may have"
            f" {MAX_WRITTEN:,}",
            remedy="put in shorter texts, or put them in fewer times",
        )


def _count_copies(value: Expression) -> dict[str, float]:
    """How many times the length of each column a value may have, and how many characters of the
    statement's own."""
    if isinstance(value, Value):
        return {_WRITTEN: float(_literal_length(value))}
    if isinstance(value, Column | Json):
        name = _column_name(value)
        return {name: 1.0 if name in LONG or isinstance(value, Json) else _SHORT}
    if value.type not in ("text", "json", "any"):
        return {_WRITTEN: _NUMBER}
    if isinstance(value, Call) and value.name == "replace":
        text, *literals = value.arguments
        old, new = map(_literal_length, literals)
        # every character of the text may be the old one
        factor = max(1.0, new / max(1, old))
        return {name: times * factor for name, times in _count_copies(text).items()}
    copies: dict[str, float] = {}
    for part in children(value):
        _add_copies(copies, _count_copies(part))
    if isinstance(value, Call) and value.name == "concat_ws":
        separator, *texts = value.arguments
        _add_copies(copies, {_WRITTEN: float(_literal_length(separator) * len(texts))})
    return copies


def _literal_length(argument: Expression) -> int:
    text = getattr(argument, "value", "") or ""
    return len(str(text))


def _add_copies(copies: dict[str, float], more: dict[str, float]) -> None:
    for name, times in more.items():
        copies[name] = copies.get(name, 0) + times


def _output_values(select: Select) -> list[Expression]:
    return [output.value for output in select.outputs]


def _column_name(part: Column | Json) -> str:
    return part.name if isinstance(part, Column) else part.column


def _describe(value: Expression) -> str:
    return render(value)[:_DESCRIBED]
