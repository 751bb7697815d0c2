"""The REM dialect: statements, their equal as calls, and questions that a model turns into
statements."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

from .. import labels
from ..errors import InvalidInputError
from ..model import Answer, Direction, Hit
from ..predicates import Predicate
from .arguments import aware, names, positive
from .closing import weakly
from .records import Records

if TYPE_CHECKING:
    from ..ask.result import AskResult, AskTurn
    from ..query.executor import Executor
    from ..query.statements import Plan, Statement, Strategy

__all__ = ["Queries"]


class Queries(Records):
    """LOOKUP, FUZZY, SEARCH, TRAVERSE, SQL, and `ask`."""

    def query(self, statement: str | Plan | Statement) -> Answer:
        """Run a statement of the dialect, as text or as a value. See docs/dialect.md.

        Raises:
            QuerySyntaxError: with a caret, what was expected, and a right example.
            UnknownNameError: a table, column, edge type or option that does not exist.
            SqlGuardError: SQL that is more than one read-only SELECT over one table.
        """
        if isinstance(statement, str):
            from ..query.parser import parse

            statement = parse(statement)
        return self._executor.run(statement)

    def rem_query(self, query_type: str, parameters: Mapping[str, Any] | None = None) -> Answer:
        """Run a query in the seeds' JSON form; without parameters, a statement as text. Source:
        seed 5.

        >>> memory.rem_query("lookup", {"key": "sarah chen"}).records[0].name
        'Sarah Chen'
        """
        if parameters is None:
            return self.query(query_type)
        from ..query.json_form import from_parameters

        return self._executor.run(from_parameters(query_type, parameters))

    def lookup(self, *labels: str, as_of: datetime | None = None) -> Answer:
        """The records that have these labels, of every schema. Nothing found: `suggestions`.

        With `as_of`, those that had them then, entities as they were: names, aliases, types,
        summaries, properties.

        Raises:
            InvalidInputError: `as_of` has no time zone.
            NotFoundError: what an entity was then is no longer kept: of each, its last thousand
                changes are.
        """
        from ..query.statements import Lookup, Statement

        query = Lookup(labels)
        return self._executor.run(query if as_of is None else Statement(query, as_of=as_of))

    def fuzzy(
        self, text: str, *, type: str | None = None, threshold: float = 0.5, limit: int = 5
    ) -> Answer:
        """Records whose name or alias is like the text, best first."""
        from ..query.statements import Fuzzy

        return self._executor.run(Fuzzy(text, type, threshold, limit))

    def search(
        self,
        text: str = "",
        *,
        schema: str = "resources",
        where: Predicate | str | None = None,
        min_score: float | None = None,
        limit: int = 10,
        vector: Sequence[float] | None = None,
    ) -> Answer:
        """Records of a schema by meaning: those whose best window is most like the text (or the
        vector given).

        Raises:
            EmbedderError: there is no embedder, or it does not work.
            VectorError: the vector has another dimension than this memory's.
        """
        if isinstance(where, str):
            from ..query.parser import parse_where

            where = parse_where(where)
        from ..query.statements import Search

        return self._executor.run(Search(text, schema, where, min_score, limit, vector))

    def search_text(
        self,
        text: str,
        *,
        schema: str | None = None,
        where: Predicate | str | None = None,
        limit: int = 10,
    ) -> Answer:
        """Records by their words (BM25). Needs no embedder and sees what was written a moment ago.

        Raises:
            InvalidInputError: the text is blank.
        """
        if isinstance(where, str):
            from ..query.parser import parse_where

            where = parse_where(where)
        from ..query.statements import TextSearch

        return self._executor.run(TextSearch(text, schema, where, limit))

    def search_resources(
        self,
        query: str = "",
        *,
        limit: int = 10,
        vector: Sequence[float] | None = None,
        where: Predicate | str | None = None,
        min_score: float | None = None,
    ) -> list[Hit]:
        """Resources by meaning. Source: seed 2."""
        return self.search(
            query, limit=limit, vector=vector, where=where, min_score=min_score
        ).records

    def search_entities(
        self, query: str, *, type: str | None = None, limit: int = 5, threshold: float = 0.7
    ) -> list[Hit]:
        """Entities by name or alias, typos forgiven. Source: seed 2."""
        answer = self.fuzzy(query, type=type or "entities", threshold=threshold, limit=limit)
        return [hit for hit in answer.records if hit.schema == "entities"]

    def traverse(
        self,
        label: str,
        *,
        edge_types: Sequence[str] | None = None,
        max_depth: int = 1,
        direction: Direction = "out",
        breadth: int | str | None = None,
        order_by: str | None = None,
        limit: int = 9,
        plan_memo: str = "",
        as_of: datetime | None = None,
        strategy: Strategy = "breadth-first",
        edge_type: str | None = None,
    ) -> Answer:
        """What can be reached from a label by following edges; `max_depth=0` only looks at them.
        Source: seed 5.

        Args:
            strategy: the order of the nodes, which LIMIT cuts: by the edges that reached them
                ("breadth-first"), or each branch to its end before the next ("depth-first"). What
                is reached is the same.
            edge_type: one type to follow, as seed 2 calls it.
        """
        from ..query.statements import DEFAULT_ORDER, Lookup, Statement, Traverse

        if edge_type is not None and edge_types is not None:
            raise InvalidInputError(
                "edge_type and edge_types are both given", remedy="give edge_types alone"
            )
        plan = Traverse(
            Lookup((self._label(label),)), names(edge_types if edge_type is None else [edge_type]), max_depth,
            direction, breadth, order_by or DEFAULT_ORDER, limit, plan_memo, strategy,  # type: ignore[arg-type]
        )  # fmt: skip
        return self._executor.run(plan if as_of is None else Statement(plan, as_of=as_of))

    def sql(self, text: str) -> Answer:
        """One read-only SELECT over one schema. See docs/dialect.md for the columns."""
        from ..query.statements import Sql

        return self._executor.run(Sql(text))

    def complete(self, prefix: str, limit: int = 10) -> list[str]:
        """Names and aliases that begin like this, in order of their keys."""
        if not isinstance(prefix, str):
            raise InvalidInputError(f"a prefix is text, not {type(prefix).__name__}")
        return (
            self._store.records.complete(labels.key(prefix), positive(limit))
            if prefix.strip(" \t\n\"'")
            else []
        )

    @cached_property
    def _executor(self) -> Executor:
        from ..query.executor import Executor

        return Executor(self._store, weakly(self._embed_query))

    def ask(
        self,
        question: str,
        *,
        turns: int = 5,
        budget_tokens: int = 20_000,
        now: datetime | None = None,
        told: Callable[[AskTurn], None] | None = None,
    ) -> AskResult:
        """Let a model find the answer: it asks this memory in statements, turn by turn, and cites
        what it found. Source: seed 5, `ask_rem`. See docs/ask.md.

        Args:
            turns: statements at most.
            budget_tokens: of all calls of the model, in and out.
            now: what is today, with a time zone; default the present.
            told: called with each turn.

        Raises:
            ModelNotConfiguredError, ModelError: there is no model, or it did not answer.
            InvalidInputError: an empty or overlong question, turns or a budget below 1.
        """
        from uuid_utils import uuid7

        from ..ask.agent import Asker
        from ..llm import Budget
        from ..retrieve.names import names_in
        from ..retrieve.question import checked

        question, now = checked(question), now or datetime.now(UTC)
        aware(now)
        budget = Budget(tokens=positive(budget_tokens))

        def names(text: str) -> list[str]:
            return [named.record.name for named in names_in(self._store, text)]

        with self._llm.run(f"ask-{uuid7()}", budget) as llm:
            asker = Asker(self._executor, llm, names)
            return asker.ask(
                question, turns=positive(turns), tokens=budget_tokens, now=now, on_turn=told
            )

    def ask_rem(self, question: str, **given: Any) -> dict[str, Any]:
        """`ask` as the seed's JSON: `query`, `staged_plan`, and all the rest of the answer. Source:
        seed 5."""
        return self.ask(question, **given).as_dict()
