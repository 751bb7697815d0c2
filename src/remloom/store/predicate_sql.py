"""Predicates for a provider: as values (`remloom.sql`), which its writer makes SQL of. Values are
always bound."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from ..errors import InvalidInputError, UnknownNameError
from ..predicates import And, Matches, Not, Or, Predicate, VectorSimilar
from ..sql.conditions import Conditions
from ..sql.writer import Writer
from .contract import SCHEMAS

__all__ = ["Compiler", "Condition", "asks_regex", "check_window", "direction", "known", "split"]

Condition: TypeAlias = tuple[str, list[Any]]  # a boolean SQL expression and its parameters


def known(schema: str) -> str:
    """The schema's name, if there is one.

    Raises:
        UnknownNameError: there is none.
    """
    if schema not in SCHEMAS:
        raise UnknownNameError("schema", schema, list(SCHEMAS))
    return schema


def split(where: Predicate) -> tuple[VectorSimilar | None, Predicate]:
    """The VectorSimilar of a filter, and the filter without it."""
    if isinstance(where, VectorSimilar):
        return where, And(())
    if isinstance(where, And):
        found = [part for part in where.predicates if isinstance(part, VectorSimilar)]
        if len(found) > 1:
            raise InvalidInputError(
                "a query takes one VectorSimilar", remedy="run one query for each vector"
            )
        if found:
            return found[0], And(tuple(part for part in where.predicates if part is not found[0]))
    return None, where


def asks_regex(where: Predicate) -> bool:
    """Whether a regular expression is part of a filter."""
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
    """Compiles predicates of one schema. See `Conditions`.

    Args:
        writer: makes the provider's writer for a schema.
        mark: of a parameter in the provider's statements.
    """

    def __init__(
        self,
        schema: str,
        has_path: Callable[[str], bool],
        writer: Callable[[str], Writer],
        mark: str,
    ) -> None:
        super().__init__(schema, has_path)
        self._writer = writer
        self._mark = mark

    def compile(self, predicate: Predicate) -> Condition:
        """A boolean SQL expression and its parameters.

        Raises:
            UnknownNameError: a field that does not exist.
            InvalidInputError: a value that the field cannot be compared with.
        """
        writer = self._writer(self.schema)
        try:
            return writer.positional(writer.write(self.read(predicate)), self._mark)
        except RecursionError:
            raise InvalidInputError(
                "this predicate is too deeply nested", remedy="And and Or take any number"
            ) from None


def direction(way: str) -> str:
    """An order, as SQL.

    Raises:
        InvalidInputError: it is neither asc nor desc.
    """
    if way.lower() not in ("asc", "desc"):
        raise InvalidInputError(f"an order is asc or desc, not {way!r}")
    return way.upper()


def check_window(count: int | None, skip: int) -> None:
    """Refuse a limit or an offset below nothing."""
    for number, what in ((count, "limit"), (skip, "offset")):
        if number is not None and number < 0:
            raise InvalidInputError(f"{what} may not be negative, it is {number}")
