"""The REM dialect: statements, their equal as calls, and questions that a model turns into them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

from .. import labels
from ..errors import InvalidInputError
from ..model import Answer, label_of_record
from ..predicates import Predicate
from .arguments import check_aware, check_limit, edge_type_names
from .engine import Engine
from .fetching import may_be_id

if TYPE_CHECKING:
    from ..ask.result import AskResult, AskTurn
    from ..query.executor import Executor
    from ..query.statements import Plan, Search, Start, Statement


class Queries:
    """Runs statements on one tenant's store."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._store = engine.store

    @cached_property
    def _executor(self) -> Executor:
        from ..query.executor import Executor

        engine = self._engine
        # binds the engine alone: a reference to `self` would be a cycle
        embed = engine.try_embed_query
        return Executor(
            self._store, embed, lambda: engine.late_interaction, deadline=engine.deadline
        )

    def run(self, plan: Plan | Statement, as_of: datetime | None = None) -> Answer:
        """Run a statement, or a plan as of a time."""
        if as_of is None:
            return self._executor.run(plan)
        from ..query.statements import Statement

        return self._executor.run(Statement(plan, as_of=as_of))  # type: ignore[arg-type]  # a plan

    def search(self, query: Search) -> Answer:
        """Find the records nearest in meaning."""
        if query.vector is not None:
            return self._executor.run(query)
        return self._engine.ask(lambda: self._executor.run(query))

    def run_text(self, statement: str) -> Answer:
        """Parse and run a statement."""
        from ..query.parser import parse

        parsed = parse(statement)
        return self._engine.ask(lambda: self._executor.run(parsed))

    def run_json(self, query_type: str, parameters: Mapping[str, Any]) -> Answer:
        """Run a query given as JSON."""
        from ..query.json_form import from_parameters

        return self._executor.run(from_parameters(query_type, parameters))

    def traverse(
        self,
        label: str,
        edge_types: Sequence[str] | None,
        edge_type: str | None,
        as_of: datetime | None,
        *,
        order_by: str | None,
        **options: Any,
    ) -> Answer:
        """Follow edges from a label; `options` are the other fields of a `Traverse`."""
        from ..query.statements import DEFAULT_ORDER, Traverse

        if edge_type is not None:
            if edge_types is not None:
                raise InvalidInputError(
                    "edge_type and edge_types are both given", remedy="give edge_types alone"
                )
            edge_types = [edge_type]
        start = self._start_of(label)
        options["order_by"] = order_by or DEFAULT_ORDER
        return self.run(Traverse(start, edge_type_names(edge_types), **options), as_of)

    def _start_of(self, label_or_id: str) -> Start:
        """Say where to start: from what is called so, or from the record that has the id alone."""
        from ..query.statements import Lookup, Sql

        record = self._store.records.get(None, label_or_id) if may_be_id(label_or_id) else None
        if record is None:
            return Lookup((label_or_id,))
        label = label_of_record(record)
        (namesakes,) = self._store.records.lookup([labels.key(label)], edges=0).values()
        if len(namesakes) == 1:
            return Lookup((label,))
        return Sql(f"SELECT id FROM {record.schema} WHERE id = '{record.id}'")

    def ask(
        self,
        question: str,
        turns: int,
        budget_tokens: int,
        now: datetime | None,
        on_turn: Callable[[AskTurn], None] | None,
    ) -> AskResult:
        """Let a model answer a question by statements; see `Memory.ask`."""
        from uuid_utils import uuid7

        from ..ask.agent import Asker
        from ..llm import Budget
        from ..retrieve.names import names_in
        from ..retrieve.question import checked

        question = checked(question)
        now = now or datetime.now(UTC)
        check_aware(now)
        budget = Budget(tokens=check_limit(budget_tokens))

        # names the model is told of, so that it need not guess labels
        def names_of(text: str) -> list[str]:
            return [named.record.name for named in names_in(self._store, text)]

        # each question is a run of its own in the ledger
        with self._engine.required_llm.run(f"ask-{uuid7()}", budget) as llm:
            asker = Asker(self._executor, llm, names_of)
            return asker.ask(
                question, turns=check_limit(turns), tokens=budget_tokens, now=now, on_turn=on_turn
            )


def parse_condition(where: Predicate | str | None) -> Predicate | None:
    """Parse a condition that is given as the text of a WHERE."""
    if not isinstance(where, str):
        return where
    from ..query.parser import parse_where

    return parse_where(where)
