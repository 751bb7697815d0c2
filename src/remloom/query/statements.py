"""The REM dialect as values: what a statement means, before anything runs it.

Source: DESIGN section 4; seed design 5, "Query Types" and "TRAVERSE Query Details". Each value
checks itself when it is made, so one that exists can be run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from difflib import get_close_matches
from typing import Any, Literal, TypeAlias, cast

from msgspec import Struct
from msgspec.structs import force_setattr

from ..errors import InvalidInputError, UnknownNameError
from ..model import Direction, Order
from ..predicates import MOST_RESULTS, Predicate, check_length
from ..sql.columns import SCHEMAS

MAX_LIMIT = 1_000_000  # records
MAX_DEPTH = 1_000  # hops
# edges followed at each node when BREADTH is not given: the LIMIT, and at least these
MIN_BREADTH = 9

Strategy: TypeAlias = Literal["breadth-first", "depth-first"]
STRATEGIES: tuple[Strategy, ...] = ("breadth-first", "depth-first")
SearchMode: TypeAlias = Literal["vector", "late", "words"]
SEARCH_MODES: tuple[SearchMode, ...] = ("vector", "late", "words")
DIRECTIONS: tuple[Direction, ...] = ("out", "in", "both")
ORDER_FIELDS = (
    "edge.created_at", "edge.weight", "edge.rel_type", "edge.valid_from", "edge.valid_to",
    "edge.dst", "node.name", "node.created_at", "node.updated_at", "node.starts_at", "node.type",
    "node.category",
)  # fmt: skip
DEFAULT_ORDER = "edge.created_at DESC"

# Words that mean something somewhere in the dialect: a label that has one stands in quotes.
KEYWORDS = frozenset({
    "EXPLAIN", "LOOKUP", "FUZZY", "SEARCH", "TRAVERSE", "SELECT", "PLAN", "WITH", "DEPTH",
    "DIRECTION", "BREADTH", "ORDER", "LIMIT", "MEMO", "TYPE", "THRESHOLD", "IN", "FROM", "WHERE",
    "MIN", "MODE", "AS", "ALL", "ASC", "DESC",
})  # fmt: skip


class Lookup(Struct, frozen=True, gc=False):
    """LOOKUP: the records of every schema that have one of these labels as name or alias."""

    labels: Sequence[str]  # kept as a tuple

    def __post_init__(self) -> None:
        # a frozen value may still set its fields right while it is made
        labels = _as_names("a label", self.labels)
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
        _check_text("the text of FUZZY", self.text)
        check_length(self.text)
        if self.type is not None:
            _check_text("TYPE", self.type)
        force_setattr(self, "threshold", _as_number("THRESHOLD", self.threshold, 0, 1))
        _check_whole("LIMIT", self.limit, 1, MAX_LIMIT)


class Search(Struct, frozen=True, gc=False):
    """SEARCH: the records of one schema whose text means what the query means.

    The query is a text, or else a vector; a statement can say a text only.
    """

    text: str = ""
    schema: str = "resources"
    where: Predicate | None = None
    min_score: float | None = None  # -1..1, cosine at least
    limit: int = 10  # records at most
    vector: Sequence[float] | None = None  # in place of the text
    # what is nearest: by the vectors of records, or, of what those and words find, by the vectors
    # of their tokens, or what has the words (BM25)
    mode: SearchMode = "vector"

    def __post_init__(self) -> None:
        if self.vector is None:
            _check_text("the text of SEARCH", self.text)
            check_length(self.text)
        _check_text("the schema of SEARCH", self.schema)
        if self.min_score is not None:
            force_setattr(self, "min_score", _as_number("MIN", self.min_score, -1, 1))
        is_plain = self.vector is None and self.mode == "vector"
        _check_whole("LIMIT", self.limit, 1, MAX_LIMIT if is_plain else MOST_RESULTS)
        if self.mode not in SEARCH_MODES:
            raise UnknownNameError("mode of SEARCH", str(self.mode), SEARCH_MODES)
        if self.mode != "vector" and self.vector is not None:
            raise InvalidInputError(
                f"a SEARCH in mode {self.mode} needs a text, and is given a vector",
                remedy="give the text",
            )
        if self.mode == "words" and self.min_score is not None:
            raise InvalidInputError(
                "MIN is a cosine, and a SEARCH in mode words has none",
                remedy="leave MIN out, or search in mode vector",
            )


class TextSearch(Struct, frozen=True, gc=False):
    """The records that have the words of a text (BM25). No statement says it."""

    text: str
    schema: str | None = None  # None: every schema
    where: Predicate | None = None
    limit: int = 10  # records at most

    def __post_init__(self) -> None:
        if not isinstance(self.text, str) or not self.text.strip():
            raise InvalidInputError(
                f"there is nothing to look for in {self.text!r}", remedy="give some words"
            )
        check_length(self.text)
        _check_whole("LIMIT", self.limit, 1, MOST_RESULTS)


class Sql(Struct, frozen=True, gc=False):
    """One read-only SELECT over one schema; checked when it is run."""

    text: str

    def __post_init__(self) -> None:
        _check_text("SQL", self.text)
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
        # also what a caller without type checks may have given
        start: object = self.initial_query
        if isinstance(start, str):
            force_setattr(self, "initial_query", Lookup((start,)))
        elif not isinstance(start, Lookup | Fuzzy | Search | Sql):
            raise InvalidInputError(
                f"a TRAVERSE cannot start with {type(start).__name__}",
                remedy="start with a label, or a Lookup, Fuzzy, Search or Sql value",
            )
        elif isinstance(start, Search) and start.vector is not None:
            raise InvalidInputError(
                "a TRAVERSE cannot start with a vector",
                remedy="search first, and start with the labels of what is found",
            )
        force_setattr(self, "edge_types", _as_edge_types(self.edge_types))
        _check_whole("DEPTH", self.max_depth, 0, MAX_DEPTH)
        if self.direction not in DIRECTIONS:
            raise UnknownNameError("direction", str(self.direction), DIRECTIONS)
        if self.breadth is not None and self.breadth != "all":
            _check_whole("BREADTH", self.breadth, 1, MAX_LIMIT, also=" or ALL")
        force_setattr(self, "order_by", _as_order(self.order_by))
        _check_whole("LIMIT", self.limit, 1, MAX_LIMIT)
        _check_text("MEMO", self.plan_memo, empty=True)
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
        order: Order = "asc" if way == "ASC" else "desc"
        return ("edge" if side == "edge" else "node"), field, order

    @property
    def fan_out(self) -> int | None:
        """Edges followed at each node; None is all of them."""
        if self.breadth is None:
            return max(self.limit, MIN_BREADTH)
        return None if self.breadth == "all" else self.breadth


Plan: TypeAlias = Lookup | Fuzzy | Search | TextSearch | Traverse | Sql


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


def known_schema(name: str, registered: Callable[[], Iterable[str]] = tuple) -> str:
    """The schema of this name, whatever its case; `registered` gives those that are not built in.

    Raises:
        UnknownNameError: there is none.
    """
    schema = name.lower()
    if schema not in SCHEMAS and schema not in (others := list(registered())):
        known = [*SCHEMAS, *others]
        nearest = get_close_matches(schema, others, n=3) if others else []
        raise UnknownNameError(
            "schema",
            name,
            known,
            remedy=f'there are {", ".join([*SCHEMAS, *nearest])}; if "in {name}" is part of what to'
            " search for, put it all in quotes",
        )
    return schema


# -- checks ----------------------------------------------------------------------------------------


def _check_text(what: str, value: object, *, empty: bool = False) -> None:
    if not isinstance(value, str):
        raise InvalidInputError(f"{what} must be text, not {type(value).__name__}")
    if not empty and not value.strip():
        raise InvalidInputError(f"{what} may not be empty")


def _check_whole(
    what: str,
    value: object,
    low: int,
    high: int,
    *,
    also: str = "",
) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise InvalidInputError(
            f"{what} takes a whole number from {low} to {high:,}{also}, not {value!r}"
        )


def _as_number(
    what: str,
    value: object,
    low: float,
    high: float,
) -> float:
    # to Python True is a number
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    # false for NaN, which is in no range
    if is_number and low <= value <= high:  # type: ignore[operator]
        return float(value)  # type: ignore[arg-type]
    raise InvalidInputError(f"{what} takes a number from {low} to {high}, not {value!r}")


def _as_names(what: str, value: object) -> tuple[str, ...]:
    names = (value,) if isinstance(value, str) else value
    if not isinstance(names, list | tuple):
        raise InvalidInputError(
            f"{what} must be text, or a list of texts, not {type(value).__name__}"
        )
    for name in names:
        _check_text(what, name)
    return tuple(names)


def _as_edge_types(value: object) -> tuple[str, ...]:
    """The edge types, each once; none at all for '*', which means every type."""
    names = _as_names("an edge type", value.split(",") if isinstance(value, str) else value)
    types = tuple(dict.fromkeys(name.strip() for name in names))
    if types == ("*",):
        return ()
    if "*" in types:
        raise InvalidInputError(
            "'*' already means every edge type", remedy="use '*' alone, or name the types"
        )
    return types


def _as_order(text: Any) -> str:
    """An order in its canonical form: a field, then ASC or DESC."""
    _check_text("ORDER BY", text)
    words = text.split()
    field = words[0].lower()
    way = words[1].upper() if len(words) > 1 else "ASC"
    if field not in ORDER_FIELDS:
        raise UnknownNameError("order field", words[0], ORDER_FIELDS)
    if len(words) > 2 or way not in ("ASC", "DESC"):
        raise InvalidInputError(
            f"ORDER BY takes a field, then ASC or DESC, not {text!r}", remedy=DEFAULT_ORDER
        )
    return f"{field} {way}"
