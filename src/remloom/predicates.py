"""Filters over the fields of a record: values that every store compiles and every WHERE parses to.

Source: seed design 2, "Query layer". A field is a name ("category") or a path into a JSON field
("metadata.source", "properties.industry").
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from .errors import InvalidInputError
from .model import Order


class _Comparison(Struct, frozen=True, tag=True):
    field: str
    value: Any


class Eq(_Comparison, frozen=True):
    """The field equals the value; `Eq(f, None)` holds where it is unset.

    For a list field, see `Contains`.
    """


class Ne(_Comparison, frozen=True):
    """The field is set and differs from the value."""


class Gt(_Comparison, frozen=True):
    """The field is greater than the value (numbers, text, or datetimes)."""


class Gte(_Comparison, frozen=True):
    """The field is greater than or equal to the value."""


class Lt(_Comparison, frozen=True):
    """The field is less than the value."""


class Lte(_Comparison, frozen=True):
    """The field is less than or equal to the value."""


class In(_Comparison, frozen=True):
    """The field is one of the values; a list field holds at least one of them."""

    value: Sequence[Any]


class NotIn(_Comparison, frozen=True):
    """The field is set and is not one of the values; a list field holds none of them."""

    value: Sequence[Any]


class Contains(_Comparison, frozen=True):
    """A text has the value as a substring (in any case); a list has it as an element."""


class StartsWith(_Comparison, frozen=True):
    """The text starts with the value (case-sensitive)."""

    value: str


class EndsWith(_Comparison, frozen=True):
    """The text ends with the value (case-sensitive)."""

    value: str


class Matches(_Comparison, frozen=True):
    """The text matches the regular expression somewhere (Python `re` syntax)."""

    value: str


class Exists(Struct, frozen=True, tag=True):
    """The field is set: not null, not an empty text, list or object."""

    field: str


class NotExists(Struct, frozen=True, tag=True):
    """The field is not set."""

    field: str


class And(Struct, frozen=True, tag=True):
    """All of the predicates hold; true when there are none."""

    predicates: tuple[Predicate, ...]


class Or(Struct, frozen=True, tag=True):
    """At least one of the predicates holds; false when there are none."""

    predicates: tuple[Predicate, ...]


class Not(Struct, frozen=True, tag=True):
    """The predicate does not hold.

    A comparison with an unset field is false, so its `Not` is true.
    """

    predicate: Predicate


class All(Struct, frozen=True, tag=True):
    """Every record."""


# Results that may be asked for at once: some searches fetch a few times as many.
MOST_RESULTS = 2**31 - 1
LONGEST_QUESTION = 8_000  # characters


class VectorSimilar(Struct, frozen=True, tag=True, kw_only=True):
    """The record is among the `top_k` most similar to the vector, with cosine of at least
    `min_score`.

    At most one per query, at the top or under `And`; results come in falling order of similarity
    unless `order_by` says otherwise.
    """

    query: Sequence[float]
    field: str = "embedding"
    top_k: int = 10
    min_score: float = 0.0


# every predicate there is
Predicate: TypeAlias = (
    Eq | Ne | Gt | Gte | Lt | Lte | In | NotIn | Contains | StartsWith | EndsWith | Matches
    | Exists | NotExists | And | Or | Not | All | VectorSimilar
)  # fmt: skip


class Query(Struct, frozen=True):
    """Which records of one schema to fetch: a filter, an order, a window.

    Built by chaining; each call returns a copy.

    >>> query = Query().filter(Eq("category", "note")).filter(Gt("ordinal", 3))
    >>> query = query.order_by("created_at", "desc").limit(5)
    >>> len(query.where.predicates), query.count
    (2, 5)
    """

    where: Predicate = field(default_factory=All)
    order: tuple[tuple[str, Order], ...] = ()
    count: int | None = None  # records at most; None is all
    skip: int = 0

    def filter(self, predicate: Predicate) -> Query:
        """Add a predicate; several are joined by AND."""
        joined = predicate
        if isinstance(self.where, And):
            joined = And((*self.where.predicates, predicate))
        elif not isinstance(self.where, All):
            joined = And((self.where, predicate))
        return replace(self, where=joined)

    def order_by(self, field: str, order: Order = "asc") -> Query:
        """Order by a field; a second call orders ties."""
        return replace(self, order=(*self.order, (field, order)))

    def limit(self, count: int) -> Query:
        """Return at most this many records."""
        return replace(self, count=count)

    def offset(self, skip: int) -> Query:
        """Skip this many records first."""
        return replace(self, skip=skip)


def check_length(question: str) -> None:
    """Refuse a question that is longer than `LONGEST_QUESTION`.

    Raises:
        InvalidInputError: it is.
    """
    if len(question) > LONGEST_QUESTION:
        raise InvalidInputError(
            f"a question may have {LONGEST_QUESTION:,} characters, this one has {len(question):,}",
            remedy="read the text into the memory and ask something about it",
        )
