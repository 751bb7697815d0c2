"""Predicates for a provider: as values (`remloom.sql`), which its writer makes SQL of. Values are
always bound."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NoReturn, TypeAlias

from ..errors import InvalidInputError
from ..model import SchemaDefinition
from ..predicates import MOST_RESULTS, And, Matches, Not, Or, Predicate, Query, VectorSimilar
from ..sql.columns import SqlTable, table_of
from ..sql.conditions import Conditions
from ..sql.writer import SqlWriter
from .definitions import Definitions
from .results import Match
from .specs import SearchSpec

Condition: TypeAlias = tuple[str, list[Any]]  # a boolean SQL expression and its parameters
VectorSearch: TypeAlias = Callable[[Sequence[float], SearchSpec], list[Match]]


def search_similar(
    search: VectorSearch, schema: str, query: Query
) -> tuple[Predicate, list[Match] | None]:
    """Return the filter without its VectorSimilar, and what that finds, best first; None without
    one.

    Raises:
        InvalidInputError: a negative limit or offset; two VectorSimilar, or one whose top_k or
            min_score is not valid.
    """
    _check_not_negative(query.count, "limit")
    _check_not_negative(query.skip, "offset")
    similar, others = _split(query.where)
    if similar is None:
        return others, None
    limit, least = similar.top_k, similar.min_score
    if not isinstance(limit, int) or isinstance(limit, bool) or not 1 <= limit <= MOST_RESULTS:
        raise InvalidInputError(
            f"top_k is a whole number from 1 to {MOST_RESULTS:,}, not {limit!r}"
        )
    if not isinstance(least, (int, float)) or not -1 <= least <= 1:  # NaN is neither
        raise InvalidInputError(f"min_score is a cosine, a number from -1 to 1, not {least!r}")
    spec = SearchSpec(schema=schema, where=others, limit=limit, min_score=least)
    return others, search(similar.query, spec)


def refuse_search(_vector: Sequence[float], _spec: SearchSpec) -> NoReturn:
    """Refuse to search by vector: an update sees its own transaction, the index does not."""
    raise InvalidInputError(
        "nothing is searched by likeness inside `update`", remedy="search before it"
    )


def _split(where: Predicate) -> tuple[VectorSimilar | None, Predicate]:
    if isinstance(where, VectorSimilar):
        return where, And(())
    if not isinstance(where, And):
        return None, where
    similar = [part for part in where.predicates if isinstance(part, VectorSimilar)]
    if not similar:
        return None, where
    if len(similar) > 1:
        raise InvalidInputError(
            "a query takes one VectorSimilar", remedy="run one query for each vector"
        )
    return similar[0], And(tuple(part for part in where.predicates if part is not similar[0]))


def has_regex(where: Predicate) -> bool:
    waiting = [where]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Matches):
            return True
        if isinstance(part, And | Or):
            waiting += part.predicates
        elif isinstance(part, Not):
            waiting.append(part.predicate)
    return False


class Compiler(Conditions):
    """Compiles predicates of one table, by a writer for a schema and its placeholder of a
    parameter."""

    def __init__(
        self,
        table: SqlTable,
        has_path: Callable[[str], bool],
        writer: Callable[[str], SqlWriter],
        placeholder: str,
    ) -> None:
        super().__init__(table, has_path)
        self._writer = writer
        self._placeholder = placeholder

    def compile(self, predicate: Predicate) -> Condition:
        """A boolean SQL expression and its parameters.

        Raises:
            UnknownNameError: a field that does not exist.
            InvalidInputError: a value that the field cannot be compared with.
        """
        writer = self._writer(self.schema)
        try:
            return writer.positional(writer.write(self.read(predicate)), self._placeholder)
        except RecursionError:
            raise InvalidInputError(
                "this predicate is too deeply nested", remedy="And and Or take any number"
            ) from None


class Compilers:
    """Makes the compiler of each schema once, and that of a registered one again when its
    definition is another.

    Args:
        has_path: whether some record of a schema has a value at a JSON path.
    """

    def __init__(
        self,
        definitions: Definitions,
        has_path: Callable[[str, str], bool],
        writer: Callable[[str], SqlWriter],
        placeholder: str,
    ) -> None:
        self.definitions = definitions
        self._has_path = has_path
        self._writer = writer
        self._placeholder = placeholder
        self._by_schema: dict[str, tuple[SchemaDefinition | None, Compiler]] = {}

    def of(self, schema: str) -> Compiler:
        """Return the compiler of a schema. Raises UnknownNameError: there is no such schema."""
        definition = self.definitions.of(schema)
        known, compiler = self._by_schema.get(schema, (None, None))
        if compiler is None or known is not definition:
            table, has_path = table_of(schema, definition), partial(self._has_path, schema)
            compiler = Compiler(table, has_path, self._writer, self._placeholder)
            self._by_schema[schema] = definition, compiler
        return compiler


def order_direction(order: str) -> str:
    """Return an order as SQL. Raises InvalidInputError: it is neither asc nor desc."""
    if order.lower() not in ("asc", "desc"):
        raise InvalidInputError(f"an order is asc or desc, not {order!r}")
    return order.upper()


def _check_not_negative(number: int | None, name: str) -> None:
    if number is not None and number < 0:
        raise InvalidInputError(f"{name} may not be negative, it is {number}")
