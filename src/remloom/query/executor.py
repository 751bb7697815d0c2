"""Runs the values of the dialect against a store. TRAVERSE is in traverse.py, EXPLAIN in
explain.py."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from msgspec.structs import replace

from .. import labels
from ..errors import EmbedderError, InvalidInputError, UnknownNameError
from ..model import Answer, Hit
from ..store.contract import Store
from ..store.history import lookup_at
from ..store.results import Match
from ..store.schemas import SCHEMAS
from ..store.specs import NameSpec, SearchSpec
from . import duplicates
from .label_resolution import resolve, told
from .select import compiled
from .statements import Fuzzy, Lookup, Plan, Search, Sql, Statement, Traverse, render

__all__ = ["MAX_ROWS", "Executor"]

MAX_ROWS = 1_000  # of one SELECT
SQL_TIMEOUT = 5.0  # seconds
SUGGESTIONS = 5  # for each label that nothing has
MAX_SUGGESTIONS = 10  # for all of them
WAITING = 1_000  # texts without a vector that a SEARCH counts


class Executor:
    """Answers queries from one tenant's store.

    Args:
        embed: the unit vector of a query text; None when there is no embedder.
    """

    def __init__(self, store: Store, embed: Callable[[str], Sequence[float]] | None = None) -> None:
        self.store = store
        self._embed = embed

    def run(self, query: Plan | Statement | str) -> Answer:
        """The answer to a query, given as a value or as text.

        Raises:
            QuerySyntaxError: the text is not in the dialect.
            UnknownNameError: a table, column, schema, field or edge type does not exist.
            SqlGuardError: SQL that is more than one read-only SELECT over one table.
            EmbedderError: a SEARCH without an embedder.
        """
        if isinstance(query, str):
            from .parser import parse

            query = parse(query)
        if isinstance(query, Lookup):
            return self.lookup(query)
        statement = query if isinstance(query, Statement) else Statement(query)
        if statement.explain:
            from .explain import explain

            return explain(self, statement)
        match statement.query:
            case Lookup() as lookup:
                return self.lookup(lookup, statement.as_of)
            case Fuzzy() as fuzzy:
                return self.fuzzy(fuzzy)
            case Search() as search:
                return self.search(search)
            case Sql() as sql:
                return self.sql(sql)
            case Traverse() as traverse:
                from .traverse import run

                return run(self, traverse, statement.as_of)
            case other:
                raise InvalidInputError(
                    f"{type(other).__name__} is no query", remedy='LOOKUP "Sarah Chen"'
                )

    def lookup(self, query: Lookup, as_of: datetime | None = None) -> Answer:
        """One hit for each record that has one of the labels, in the order of the labels; with
        `as_of`, of those that had one of them, as they were.

        A label that nothing has, but that can only mean one thing, gives that, and
        `metadata["resolved"]` says so (see label_resolution.py). Any other is listed in
        `metadata["missing"]`, and `suggestions` are like it.
        """
        keys = [labels.key(label) for label in query.labels]
        found = (
            self.store.records.lookup(keys)
            if as_of is None
            else lookup_at(self.store, list(dict.fromkeys(keys)), as_of)
        )
        hits = [
            Hit(record=record, matched=key) for key, records in found.items() for record in records
        ]
        missing = [label for key, label in zip(keys, query.labels, strict=True) if not found[key]]
        meant = {}
        if missing and as_of is None:  # names are resolved by what there is now
            meant = resolve(self.store, missing)
            missing = [label for label in missing if label not in meant]
            whole = self.store.records.lookup([one.key for one in meant.values()])
            hits += [
                Hit(record=record, score=one.score, matched=one.key)
                for one in meant.values()
                for record in whole[one.key]
                if record.id == one.record.id
            ]
        if len(keys) > 1:
            hits = list({hit.id: hit for hit in reversed(hits)}.values())[::-1]
        return Answer(
            query_type="lookup",
            statement=render(Statement(query, as_of=as_of) if as_of else query),
            records=hits,
            suggestions=self.suggest(missing) if missing else [],
            metadata={"missing": missing, **told(meant)}
            | ({"as_of": as_of.isoformat()} if as_of else {}),
        )

    def suggest(self, missing: Sequence[str]) -> list[Hit]:
        """What is like the first labels that nothing has; never passed off as a match."""
        hits: dict[str, Hit] = {}
        for label in list(dict.fromkeys(missing))[:MAX_SUGGESTIONS]:
            if len(hits) >= MAX_SUGGESTIONS:
                break
            for match in self.store.search.names(label, NameSpec(threshold=0.5, limit=SUGGESTIONS)):
                hits.setdefault(match.record.id, _hit(match))
        return list(hits.values())[:MAX_SUGGESTIONS]

    def fuzzy(self, query: Fuzzy) -> Answer:
        """The records whose names or aliases are most like the text, best first."""
        matches = self.fuzzy_matches(query)
        return Answer(
            query_type="fuzzy", statement=render(query), records=[_hit(match) for match in matches]
        )

    def fuzzy_matches(self, query: Fuzzy) -> list[Match]:
        return self.store.search.names(
            query.text, NameSpec(type=query.type, threshold=query.threshold, limit=query.limit)
        )

    def search(self, query: Search) -> Answer:
        """The records of one schema nearest in meaning, best first.

        `metadata["waiting"]` says how many texts (at most `WAITING` are counted) have no vector
        yet.
        """
        hits = duplicates.search(
            lambda count: self.search_matches(replace(query, limit=count)), query.limit
        )
        waiting = len(self.store.vectors.pending(WAITING))
        return Answer(
            query_type="search",
            statement=render(query),
            records=hits,
            metadata={"waiting": waiting} if waiting else {},
        )

    def search_matches(self, query: Search) -> list[Match]:
        schema = known_schema(query.schema)
        if self._embed is None:
            raise EmbedderError(
                "SEARCH needs an embedder, and this memory was opened without one",
                remedy="set REMLOOM_EMBEDDER (for example to minilm), or find text by its words with search_text",
            )
        return self.store.search.vector(
            self._embed(query.text),
            SearchSpec(
                schema=schema, where=query.where, limit=query.limit, min_score=query.min_score
            ),
        )

    def sql(self, query: Sql) -> Answer:
        """The rows of a SELECT, at most `MAX_ROWS`; `metadata["truncated"]` says whether there were
        more."""
        select, statement = compiled(query.text)
        columns, rows, truncated = self.store.sql.select(
            select, limit=MAX_ROWS, timeout=SQL_TIMEOUT
        )
        return Answer(
            query_type="sql",
            statement=statement,
            columns=columns,
            rows=rows,
            metadata={"schema": select.schema, "truncated": truncated},
        )


def known_schema(name: str) -> str:
    """The schema of this name, whatever its case. Raises UnknownNameError."""
    schema = name.lower()
    if schema not in SCHEMAS:
        remedy = f'there are {", ".join(SCHEMAS)}; if "in {name}" is part of what to search for, put it all in quotes'
        raise UnknownNameError("schema", name, list(SCHEMAS), remedy=remedy)
    return schema


def _hit(match: Match) -> Hit:
    return Hit(record=match.record, score=match.score, matched=match.matched)
