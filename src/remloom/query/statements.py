"""The REM dialect as values: what a statement means, before anything runs it.

Source: DESIGN section 4; seed design 5, "Query Types" and "TRAVERSE Query Details". Each value
checks itself when it is made, so one that exists can be run. `render` gives its canonical text;
parsing that gives the value back.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Literal, TypeAlias, cast

from msgspec import Struct
from msgspec.structs import force_setattr

from ..errors import InvalidInputError, UnknownNameError
from ..model import Direction, Order
from ..predicates import Predicate

__all__ = [
    "Fuzzy",
    "Lookup",
    "Plan",
    "Search",
    "Sql",
    "Start",
    "Statement",
    "Strategy",
    "Traverse",
    "render",
]

MAX_LIMIT = 1_000_000  # records
MAX_DEPTH = 1_000  # hops
# edges followed at each node when BREADTH is not given: the LIMIT, and at least these
MIN_BREADTH = 9

Strategy: TypeAlias = Literal["breadth-first", "depth-first"]
STRATEGIES: tuple[Strategy, ...] = ("breadth-first", "depth-first")
DIRECTIONS: tuple[Direction, ...] = ("out", "in", "both")
ORDER_FIELDS = (
    "edge.created_at", "edge.weight", "edge.rel_type", "edge.valid_from", "edge.valid_to", "edge.dst",
    "node.name", "node.created_at", "node.updated_at", "node.starts_at", "node.type", "node.category",
)  # fmt: skip
DEFAULT_ORDER = "edge.created_at DESC"

# Words that mean something somewhere in the dialect; `render` quotes a label that has one.
KEYWORDS = frozenset({
    "EXPLAIN", "LOOKUP", "FUZZY", "SEARCH", "TRAVERSE", "SELECT", "PLAN", "WITH", "DEPTH", "DIRECTION",
    "BREADTH", "ORDER", "LIMIT", "MEMO", "TYPE", "THRESHOLD", "IN", "FROM", "WHERE", "MIN", "AS", "ALL", "ASC",
    "DESC",
})  # fmt: skip


class Lookup(Struct, frozen=True, gc=False):
    """LOOKUP: the records of every schema that have one of these labels as name or alias."""

    labels: Sequence[str]  # kept as a tuple

    def __post_init__(self) -> None:
        labels = _names("a label", self.labels)
        if not labels:
            raise InvalidInputError("LOOKUP needs at least one label", remedy='LOOKUP "Sarah Chen"')
        force_setattr(self, "labels", labels)


class Fuzzy(Struct, frozen=True, gc=False):
    """FUZZY: the records of every schema whose name or alias is like the text."""

    text: str
    type: str | None = None  # of entities and moments, category of resources; None: any
    threshold: float = 0.5  # 0..1, likeness at least
    limit: int = 5  # records at most

    def __post_init__(self) -> None:
        _text("the text of FUZZY", self.text)
        if self.type is not None:
            _text("TYPE", self.type)
        force_setattr(self, "threshold", _number("THRESHOLD", self.threshold, 0, 1))
        _whole("LIMIT", self.limit, 1, MAX_LIMIT)


class Search(Struct, frozen=True, gc=False):
    """SEARCH: the records of one schema whose text means what the query means."""

    text: str
    schema: str = "resources"
    where: Predicate | None = None
    min_score: float | None = None  # -1..1, cosine at least
    limit: int = 10  # records at most

    def __post_init__(self) -> None:
        _text("the text of SEARCH", self.text)
        _text("the schema of SEARCH", self.schema)
        if self.min_score is not None:
            force_setattr(self, "min_score", _number("MIN", self.min_score, -1, 1))
        _whole("LIMIT", self.limit, 1, MAX_LIMIT)


class Sql(Struct, frozen=True, gc=False):
    """One read-only SELECT over one schema; checked by the guard when it is run."""

    text: str

    def __post_init__(self) -> None:
        _text("SQL", self.text)
        force_setattr(self, "text", self.text.strip().rstrip(";").rstrip())


Start: TypeAlias = Lookup | Fuzzy | Search | Sql


class Traverse(Struct, frozen=True, gc=False):
    """TRAVERSE: what can be reached from the records of a first query by following edges.

    `initial_query` may be given as a bare label, which means its LOOKUP.
    """

    initial_query: Start | str
    edge_types: Sequence[str] = ()  # to follow, kept as a tuple; empty: all
    max_depth: int = 1  # hops; 0 is PLAN: look at the edges, follow none
    direction: Direction = "out"
    # edges followed at each node; None: the limit, at least 9
    breadth: int | Literal["all"] | None = None
    order_by: str = DEFAULT_ORDER  # one of ORDER_FIELDS, then ASC or DESC
    limit: int = 9  # nodes at most, not counting the start nodes
    plan_memo: str = ""  # echoed on every stage
    # the order of the nodes: depth-first is each branch to its end
    strategy: Strategy = "breadth-first"

    def __post_init__(self) -> None:
        start: object = self.initial_query
        if isinstance(start, str):
            force_setattr(self, "initial_query", Lookup((start,)))
        elif not isinstance(start, Lookup | Fuzzy | Search | Sql):
            raise InvalidInputError(
                f"a TRAVERSE cannot start with {type(start).__name__}",
                remedy="start with a label, or a Lookup, Fuzzy, Search or Sql value",
            )
        force_setattr(self, "edge_types", _edge_types(self.edge_types))
        _whole("DEPTH", self.max_depth, 0, MAX_DEPTH)
        if self.direction not in DIRECTIONS:
            raise UnknownNameError("direction", str(self.direction), DIRECTIONS)
        if self.breadth is not None and self.breadth != "all":
            _whole("BREADTH", self.breadth, 1, MAX_LIMIT, also=" or ALL")
        force_setattr(self, "order_by", _order(self.order_by))
        _whole("LIMIT", self.limit, 1, MAX_LIMIT)
        _text("MEMO", self.plan_memo, empty=True)
        if self.strategy not in STRATEGIES:
            raise UnknownNameError("strategy", str(self.strategy), STRATEGIES)

    @property
    def start(self) -> Start:
        """`initial_query`; a bare label has become a Lookup."""
        return cast("Start", self.initial_query)

    @property
    def order(self) -> tuple[Literal["edge", "node"], str, Order]:
        """`order_by` in its parts: ("edge", "created_at", "desc")."""
        path, _, way = self.order_by.partition(" ")
        side, _, field = path.partition(".")
        return ("edge" if side == "edge" else "node"), field, ("asc" if way == "ASC" else "desc")

    @property
    def fan_out(self) -> int | None:
        """Edges followed at each node; None is all of them."""
        if self.breadth is None:
            return max(self.limit, MIN_BREADTH)
        return None if self.breadth == "all" else self.breadth


Plan: TypeAlias = Lookup | Fuzzy | Search | Traverse | Sql


class Statement(Struct, frozen=True, gc=False):
    """A query with what may stand around it: EXPLAIN before, AS OF behind."""

    query: Plan
    explain: bool = False  # say how it would run instead of running it
    as_of: datetime | None = None  # edges in force then, entities as they were; None: now

    def __post_init__(self) -> None:
        if self.as_of is None:
            return
        if not isinstance(self.as_of, datetime) or self.as_of.tzinfo is None:
            raise InvalidInputError(
                f"AS OF needs a time with its zone, not {self.as_of!r}",
                remedy="AS OF '2025-01-15T10:00:00Z'",
            )
        if not isinstance(self.query, Traverse | Lookup):
            raise InvalidInputError(
                "AS OF is for LOOKUP and TRAVERSE: the others search what is there now",
                remedy="LOOKUP \"Sarah Chen\" AS OF '2025-01-15'",
            )


def render(value: Plan | Statement) -> str:
    """The canonical text of a value: clauses in the order of the grammar, defaults left out.

    >>> render(Lookup(("Sarah Chen", "Men in Black")))
    'LOOKUP Sarah Chen, "Men in Black"'
    >>> render(Traverse("sally", ["manages"], max_depth=2, plan_memo="Goal: org chart"))
    'TRAVERSE manages WITH LOOKUP sally DEPTH 2 MEMO "Goal: org chart"'
    """
    if isinstance(value, Lookup):
        return "LOOKUP " + ", ".join(map(label_text, value.labels))
    if isinstance(value, Statement):
        as_of = f" AS OF {quoted(value.as_of.isoformat())}" if value.as_of else ""
        return f"{'EXPLAIN ' if value.explain else ''}{render(value.query)}{as_of}"
    if isinstance(value, Fuzzy):
        return _joined(
            f"FUZZY {quoted(value.text)}",
            value.type is not None and f"TYPE {_name_text(value.type or '')}",
            value.threshold != 0.5 and f"THRESHOLD {value.threshold!r}",
            value.limit != 5 and f"LIMIT {value.limit}",
        )
    if isinstance(value, Search):
        from .conditions import render as render_where

        return _joined(
            f"SEARCH {quoted(value.text)}",
            value.schema != "resources" and f"IN {_name_text(value.schema)}",
            value.where is not None and f"WHERE {render_where(value.where)}",
            value.min_score is not None and f"MIN {value.min_score!r}",
            value.limit != 10 and f"LIMIT {value.limit}",
        )
    if isinstance(value, Traverse):
        start = render(value.start)
        return _joined(
            "TRAVERSE",
            bool(value.edge_types) and ",".join(map(_name_text, value.edge_types)),
            # a comment in SQL ends with its line
            f"WITH {start}\n" if "--" in start else f"WITH {start}",
            f"DEPTH {value.max_depth}",
            value.direction != "out" and f"DIRECTION {value.direction}",
            value.breadth is not None and f"BREADTH {str(value.breadth).upper()}",
            value.strategy == "depth-first" and "DEPTH FIRST",
            value.order_by != DEFAULT_ORDER and f"ORDER BY {value.order_by}",
            value.limit != 9 and f"LIMIT {value.limit}",
            bool(value.plan_memo) and f"MEMO {quoted(value.plan_memo)}",
        )
    return value.text


_PLAIN_LABEL = re.compile(r"""[^\s,;'"`\\-][^\s,;'"\\]*(?: [^\s,;'"`\\-][^\s,;'"\\]*)*""")


def label_text(label: str) -> str:
    """A label as it stands in a statement: bare when it can be, else quoted."""
    if _PLAIN_LABEL.fullmatch(label) and KEYWORDS.isdisjoint(label.upper().split(" ")):
        return label
    return quoted(label)


def quoted(text: str) -> str:
    """A text as a string of the dialect, in double quotes."""
    return '"' + text.replace("\\", "\\\\").replace('"', '""') + '"'


def _name_text(name: str) -> str:
    return label_text(name) if " " not in name and name != "*" else quoted(name)


def _joined(*parts: str | Literal[False]) -> str:
    return " ".join(part for part in parts if part)


def _text(what: str, value: object, *, empty: bool = False) -> None:
    if not isinstance(value, str):
        raise InvalidInputError(f"{what} must be text, not {type(value).__name__}")
    if not empty and not value.strip():
        raise InvalidInputError(f"{what} may not be empty")


def _whole(what: str, value: object, low: int, high: int, *, also: str = "") -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise InvalidInputError(
            f"{what} takes a whole number from {low} to {high:,}{also}, not {value!r}"
        )


def _number(what: str, value: object, low: float, high: float) -> float:
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float)
        or math.isnan(value)
        or not low <= value <= high
    ):
        raise InvalidInputError(f"{what} takes a number from {low} to {high}, not {value!r}")
    return float(value)


def _names(what: str, given: object) -> tuple[str, ...]:
    names = (given,) if isinstance(given, str) else given
    if not isinstance(names, list | tuple):
        raise InvalidInputError(
            f"{what} must be text, or a list of texts, not {type(given).__name__}"
        )
    for name in names:
        _text(what, name)
    return tuple(names)


def _edge_types(given: object) -> tuple[str, ...]:
    names = _names("an edge type", given.split(",") if isinstance(given, str) else given)
    types = tuple(dict.fromkeys(name.strip() for name in names))
    if types == ("*",):
        return ()
    if "*" in types:
        raise InvalidInputError(
            "'*' already means every edge type", remedy="use '*' alone, or name the types"
        )
    return types


def _order(text: Any) -> str:
    _text("ORDER BY", text)
    words = text.split()
    field, way = words[0].lower(), (words[1].upper() if len(words) > 1 else "ASC")
    if field not in ORDER_FIELDS:
        raise UnknownNameError("order field", words[0], ORDER_FIELDS)
    if len(words) > 2 or way not in ("ASC", "DESC"):
        raise InvalidInputError(
            f"ORDER BY takes a field, then ASC or DESC, not {text!r}", remedy=DEFAULT_ORDER
        )
    return f"{field} {way}"
