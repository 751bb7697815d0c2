"""Values of the dialect as text again: parsing it gives the value back."""

from __future__ import annotations

import math
import re
from datetime import date
from typing import Any, Literal

from .. import predicates
from ..errors import InvalidInputError
from ..predicates import Predicate
from .conditions import COMPARISONS, TEXT_TESTS
from .statements import (
    DEFAULT_ORDER,
    KEYWORDS,
    Fuzzy,
    Lookup,
    Plan,
    Search,
    Sql,
    Statement,
    TextSearch,
    Traverse,
)

_PLAIN_LABEL = re.compile(r"""[^\s,;'"`\\-][^\s,;'"\\]*(?: [^\s,;'"`\\-][^\s,;'"\\]*)*""")
_PLAIN_NAME = re.compile(r"[^\W\d]\w*")
_PLAIN_STEP = re.compile(r"\w+")
# What a condition may begin with besides a field.
_RESERVED = frozenset({"not", "true", "false"})

# of several spellings the first
_OPERATORS: dict[type[Any], str] = {
    kind: operator for operator, kind in reversed((COMPARISONS | TEXT_TESTS).items())
}


# -- statements ------------------------------------------------------------------------------------


def render(value: Plan | Statement) -> str:
    """The canonical text of a value: clauses in the order of the grammar, defaults left out.

    Raises:
        InvalidInputError: no statement says it: a `TextSearch`, a search by vector, a condition
            with `VectorSimilar`.

    >>> render(Lookup(("Sarah Chen", "Men in Black")))
    'LOOKUP Sarah Chen, "Men in Black"'
    >>> render(Traverse("sally", ["manages"], max_depth=2, plan_memo="Goal: org chart"))
    'TRAVERSE manages WITH LOOKUP sally DEPTH 2 MEMO "Goal: org chart"'
    """
    # the commonest by far, and the only one whose time is measured in microseconds
    if isinstance(value, Lookup):
        return "LOOKUP " + ", ".join(map(render_label, value.labels))
    return _render(value)


def render_or_empty(value: Plan | Statement) -> str:
    """The canonical text of a value; empty if no statement says it."""
    query = value.query if isinstance(value, Statement) else value
    is_by_vector = isinstance(query, Search) and query.vector is not None
    if is_by_vector or isinstance(query, TextSearch):
        return ""
    return render(value)


def _render(value: Plan | Statement) -> str:
    # what is False is a default, and left out
    match value:
        case Statement():
            explain = "EXPLAIN " if value.explain else ""
            as_of = f" AS OF {quote(value.as_of.isoformat())}" if value.as_of else ""
            return f"{explain}{render(value.query)}{as_of}"
        case Fuzzy():
            return _join(
                f"FUZZY {quote(value.text)}",
                value.type is not None and f"TYPE {_render_name(value.type or '')}",
                value.threshold != 0.5 and f"THRESHOLD {value.threshold!r}",
                value.limit != 5 and f"LIMIT {value.limit}",
            )
        case Search():
            return _render_search(value)
        case Sql():
            return value.text
        case Traverse():
            return _render_traverse(value)
    raise InvalidInputError(
        f"{type(value).__name__} cannot be written in a statement",
        remedy="run it as a value",
    )


def _render_search(value: Search) -> str:
    if value.vector is not None:
        raise InvalidInputError(
            "a search by vector cannot be written in a statement", remedy="run it as a value"
        )
    return _join(
        f"SEARCH {quote(value.text)}",
        value.schema != "resources" and f"IN {_render_name(value.schema)}",
        value.where is not None and f"WHERE {render_condition(value.where)}",
        value.mode != "vector" and f"MODE {value.mode}",
        value.min_score is not None and f"MIN {value.min_score!r}",
        value.limit != 10 and f"LIMIT {value.limit}",
    )


def _render_traverse(value: Traverse) -> str:
    start = render(value.start)
    return _join(
        "TRAVERSE",
        bool(value.edge_types) and ",".join(map(_render_name, value.edge_types)),
        # a comment in SQL ends with its line
        f"WITH {start}\n" if "--" in start else f"WITH {start}",
        f"DEPTH {value.max_depth}",
        value.direction != "out" and f"DIRECTION {value.direction}",
        value.breadth is not None and f"BREADTH {str(value.breadth).upper()}",
        value.strategy == "depth-first" and "DEPTH FIRST",
        value.order_by != DEFAULT_ORDER and f"ORDER BY {value.order_by}",
        value.limit != 9 and f"LIMIT {value.limit}",
        bool(value.plan_memo) and f"MEMO {quote(value.plan_memo)}",
    )


def render_label(label: str) -> str:
    """A label as it stands in a statement: bare when it can be, else quoted."""
    if _PLAIN_LABEL.fullmatch(label) and KEYWORDS.isdisjoint(label.upper().split(" ")):
        return label
    return quote(label)


def quote(text: str) -> str:
    """A text as a string of the dialect, in double quotes."""
    return '"' + text.replace("\\", "\\\\").replace('"', '""') + '"'


def _render_name(name: str) -> str:
    return render_label(name) if " " not in name and name != "*" else quote(name)


def _join(*parts: str | Literal[False]) -> str:
    return " ".join(part for part in parts if part)


# -- conditions ------------------------------------------------------------------------------------


def render_condition(predicate: Predicate) -> str:
    """The canonical text of a predicate, as it stands after WHERE.

    Raises:
        InvalidInputError: no text says it: `VectorSimilar`, or a value that is not JSON.

    >>> from remloom.predicates import Eq, Exists, Not, Or
    >>> render_condition(Not(Or((Eq("type", "it's"), Exists("properties.two words")))))
    "NOT (type = 'it''s' OR properties->>'two words' IS NOT NULL)"
    """
    match predicate:
        case predicates.All():
            return "TRUE"
        case predicates.And():
            return " AND ".join(map(_render_operand, predicate.predicates)) or "TRUE"
        case predicates.Or():
            return " OR ".join(map(_render_operand, predicate.predicates)) or "FALSE"
        case predicates.Not():
            return f"NOT {_render_operand(predicate.predicate)}"
        case predicates.Exists():
            return f"{_render_field(predicate.field)} IS NOT NULL"
        case predicates.NotExists():
            return f"{_render_field(predicate.field)} IS NULL"
        case predicates.In() | predicates.NotIn():
            word = "IN" if isinstance(predicate, predicates.In) else "NOT IN"
            values = ", ".join(map(_render_value, predicate.value))
            return f"{_render_field(predicate.field)} {word} ({values})"
    operator = _OPERATORS.get(type(predicate))
    if operator is None:
        raise InvalidInputError(
            f"{type(predicate).__name__} cannot be written in a statement",
            remedy="use it in a Query value",
        )
    comparison: Any = predicate
    return f"{_render_field(comparison.field)} {operator} {_render_value(comparison.value)}"


def _render_operand(predicate: Predicate) -> str:
    text = render_condition(predicate)
    is_joined = isinstance(predicate, predicates.And | predicates.Or) and predicate.predicates
    return f"({text})" if is_joined else text


def _render_field(path: str) -> str:
    name, *steps = path.split(".")
    is_plain = _PLAIN_NAME.fullmatch(name) and name.lower() not in _RESERVED
    if not is_plain and (not name or "`" in name):
        raise InvalidInputError(
            f"the field {path!r} cannot be written in a statement", remedy="use a Query value"
        )
    text = name if is_plain else f"`{name}`"
    for index, step in enumerate(steps):
        # a dotted step may not follow an arrow
        if not _PLAIN_STEP.fullmatch(step):
            return text + "".join(f"->>{_quote_value(later)}" for later in steps[index:])
        text += f".{step}"
    return text


def _render_value(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, str):
        return _quote_value(value)
    if isinstance(value, int) or (isinstance(value, float) and math.isfinite(value)):
        return repr(value)
    if isinstance(value, date):
        return _quote_value(value.isoformat())
    raise InvalidInputError(
        f"the value {value!r} cannot be written in a statement", remedy="use a Query value"
    )


def _quote_value(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "''") + "'"
