"""Runs the values of the dialect against a store.

TRAVERSE is in traverse.py, EXPLAIN in explain.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from msgspec.structs import replace

from .. import labels
from ..deadline import Deadline
from ..errors import EmbedderError, InvalidInputError
from ..model import (
    Answer,
    Hit,
    LookupReport,
    Record,
    Row,
    SearchReport,
    SelectReport,
    is_written_after,
)
from ..store.as_of import is_shown, lookup_at, retracted_at
from ..store.contract import Store
from ..store.definitions import read_taxonomy
from ..store.meanings import several_meanings, without_united
from ..store.premises import FindStale, finder_of, marked
from ..store.results import Match
from ..store.specs import NameSpec, SearchSpec
from ..store.united import find_united, together, told
from .duplicates import search_distinct
from .label_resolution import Resolution, only_shown, resolve_labels
from .late_interaction import LateInteraction, TokenQuestion, proposed_by_each, with_missing
from .render import render, render_or_empty
from .select import run_select
from .statements import (
    Fuzzy,
    Lookup,
    Plan,
    Search,
    Sql,
    Statement,
    TextSearch,
    Traverse,
    known_schema,
)

SUGGESTION_THRESHOLD = 0.5  # likeness at least
SUGGESTIONS = 5  # for each missing label
MAX_SUGGESTIONS = 10  # for all of them
MAX_WAITING = 1_000  # texts without a vector that a SEARCH counts


class Executor:
    """Answers queries from one tenant's store.

    Args:
        embed: makes the unit vector of a query text, or None when there is no embedder.
        late: gives what scores records by their token vectors; None when nothing does.
        deadline: gives that of a text which is about to be put to the embedder and the token
            encoder; default none.
        find_stale: gives which of some records are stale; default all that the store knows.
    """

    def __init__(
        self,
        store: Store,
        embed: Callable[[str, Deadline], Sequence[float] | None] | None = None,
        late: Callable[[], LateInteraction | None] | None = None,
        deadline: Callable[[], Deadline] = Deadline,
        find_stale: FindStale | None = None,
    ) -> None:
        self.store = store
        self.find_stale = find_stale or finder_of(store.records)
        self._embed = embed
        self._late = late
        self._deadline = deadline

    def run(self, query: Plan | Statement | str) -> Answer:
        """The answer to a query, given as a value or as text.

        Raises:
            QuerySyntaxError: the text is not in the dialect.
            UnknownNameError: a table, column, schema, field or edge type does not exist.
            SqlGuardError: SQL that is more than one read-only SELECT over one table.
            EmbedderError: a SEARCH for a text, without an embedder.
        """
        if isinstance(query, str):
            from .parser import parse

            query = parse(query)
        if not isinstance(query, Statement):
            return self._run_plan(query)
        if query.explain:
            from .explain import explain

            return explain(self.store, query)
        return self._run_plan(query.query, query.as_of)

    def _marked(self, hits: list[Hit]) -> list[Hit]:
        return marked(hits, self.find_stale)

    def _run_plan(self, query: Plan, as_of: datetime | None = None) -> Answer:
        # the commonest first: a LOOKUP takes microseconds
        match query:
            case Lookup():
                return self.lookup(query, as_of)
            case Fuzzy():
                return self.fuzzy(query)
            case Search():
                return self.search(query)
            case TextSearch():
                return self.search_text(query)
            case Sql():
                return self.sql(query)
            case Traverse():
                from .traverse import run_traverse

                return run_traverse(self, query, as_of)
            case other:
                raise InvalidInputError(
                    f"{type(other).__name__} is not a query", remedy='LOOKUP "Sarah Chen"'
                )

    # -- LOOKUP ------------------------------------------------------------------------------------

    def lookup(self, query: Lookup, as_of: datetime | None = None) -> Answer:
        """One hit for each record that has one of the labels, in the order of the labels.

        With `as_of`, of those that had one of them, as they were. A label that nothing has, but
        that can mean only one thing, gives that, and the report's `resolved` says so (see
        label_resolution.py). Any other is in its `missing`, and `suggestions` are like it. What a
        label means that means several things is in its `meanings`.
        """
        keys = [labels.key(label) for label in query.labels]
        records_by_key = self._lookup_keys(keys, as_of)
        hits = [
            Hit(
                record=record,
                matched=key,
                written_later=is_written_after(record, as_of),
                retracted_at=as_of and retracted_at(self.store, record.id, as_of),
            )
            for key, records in records_by_key.items()
            for record in records
        ]
        missing = [
            label for key, label in zip(keys, query.labels, strict=True) if not records_by_key[key]
        ]
        resolved: dict[str, Resolution] = {}
        # Labels are resolved by what there is now, which says nothing of another time.
        if missing and as_of is None:
            resolved = resolve_labels(self.store, missing)
            missing = [label for label in missing if label not in resolved]
            hits += self._resolved_hits(resolved)
        # A record with several of the labels comes once: matched by the first, placed as the last.
        if len(keys) > 1:
            by_id = {hit.id: hit for hit in reversed(hits)}
            hits = list(reversed(by_id.values()))
        things = find_united(self.store, [hit.record for hit in hits], as_of)
        if things:
            hits = together(things, hits, _record_of, _beside)
        return Answer(
            query_type="lookup",
            statement=render(Statement(query, as_of=as_of) if as_of else query),
            records=self._marked(hits),
            suggestions=self._marked(self.suggest(missing)) if missing else [],
            report=LookupReport(
                missing=tuple(missing),
                resolved=tuple(resolution.summary for resolution in resolved.values()),
                meanings=without_united(several_meanings(records_by_key), things)
                if len(hits) > 1
                else {},
                united=tuple(told(self.store, thing) for thing in things),
                as_of=as_of,
                written_later=sum(hit.written_later for hit in hits),
            ),
        )

    def _lookup_keys(self, keys: Sequence[str], as_of: datetime | None) -> dict[str, list[Record]]:
        if as_of is not None:
            return lookup_at(self.store, list(dict.fromkeys(keys)), as_of)
        return only_shown(self.store.records.lookup(keys))

    def _resolved_hits(self, resolved: dict[str, Resolution]) -> list[Hit]:
        # looked up again, for their edges
        records = self.store.records.lookup([resolution.key for resolution in resolved.values()])
        return [
            Hit(record=record, score=resolution.score, matched=resolution.key)
            for resolution in resolved.values()
            for record in records[resolution.key]
            if record.id == resolution.record.id
        ]

    def suggest(self, missing: Sequence[str]) -> list[Hit]:
        """Find names like the first missing labels; an answer never passes them off as matches."""
        hits: dict[str, Hit] = {}
        for label in list(dict.fromkeys(missing))[:MAX_SUGGESTIONS]:
            if len(hits) >= MAX_SUGGESTIONS:
                break
            like = Fuzzy(label, threshold=SUGGESTION_THRESHOLD, limit=SUGGESTIONS)
            for match in self.fuzzy_matches(like):
                hits.setdefault(match.record.id, _to_hit(match))
        return list(hits.values())[:MAX_SUGGESTIONS]

    # -- FUZZY, SEARCH, SELECT ---------------------------------------------------------------------

    def fuzzy(self, query: Fuzzy) -> Answer:
        """The records whose names or aliases are most like the text, best first."""
        hits = [_to_hit(match) for match in self.fuzzy_matches(query)]
        return Answer(query_type="fuzzy", statement=render(query), records=self._marked(hits))

    def fuzzy_matches(self, query: Fuzzy) -> list[Match]:
        """The matches of a FUZZY, best first."""
        spec = NameSpec(type=query.type, threshold=query.threshold, limit=query.limit)
        if query.type is None:
            return self._similar_names(query.text, spec)
        found: dict[str, Match] = {}
        for type in read_taxonomy(self.store.kv).types_below(query.type):
            for match in self._similar_names(query.text, replace(spec, type=type)):
                found.setdefault(match.record.id, match)
        # the sort is stable: of one type they stay in their order
        best = sorted(found.values(), key=lambda match: -match.score)
        return best[: query.limit]

    def _similar_names(self, text: str, spec: NameSpec) -> list[Match]:
        """The records whose names are most like a text, without those that were replaced."""
        wide = spec
        while True:
            found = self.store.search.names(text, wide)
            shown = [match for match in found if is_shown(match.record, None)]
            if len(shown) >= spec.limit or len(found) < wide.limit:
                return shown[: spec.limit]
            wide = replace(wide, limit=2 * wide.limit)

    def search(self, query: Search) -> Answer:
        """The records of one schema nearest in meaning, best first, each text once.

        For a text, the report's `waiting` says how many texts (at most `MAX_WAITING` are counted)
        have no vector yet.
        """
        if query.mode == "late":
            return self._search_late(query)
        if query.mode == "words":
            words = TextSearch(query.text, query.schema, query.where, query.limit)
            return replace(self.search_text(words), statement=render(query))
        spec, vector = self._vector_spec(query), self._query_vector(query)

        def fetch(count: int) -> list[Match]:
            return self.store.search.vector(vector, replace(spec, limit=count))

        hits = self._marked(search_distinct(fetch, query.limit))
        waiting = 0
        if query.vector is None:
            waiting = len(self.store.vectors.pending(MAX_WAITING))
        return Answer(
            query_type="search",
            statement=render_or_empty(query),
            records=hits,
            report=SearchReport(waiting),
        )

    def search_matches(self, query: Search) -> list[Match]:
        """The matches of a SEARCH, best first."""
        if query.mode == "late":
            return self._late_matches(query, *self._late_question(query))[: query.limit]
        spec = self._vector_spec(query)
        if query.mode == "words":
            return self.store.search.text(query.text, spec)
        return self.store.search.vector(self._query_vector(query), spec)

    def _search_late(self, query: Search) -> Answer:
        """The records of one schema that fit best by their token vectors, best first, each text
        once. The report's `waiting` counts the texts without any, or without a vector."""
        late, question, vector = self._late_question(query)

        def fetch(count: int) -> list[Match]:
            return self._late_matches(replace(query, limit=count), late, question, vector)

        hits = self._marked(search_distinct(fetch, query.limit))
        waiting = min(late.waiting(), MAX_WAITING)
        if vector is not None:
            waiting = max(waiting, len(self.store.vectors.pending(MAX_WAITING)))
        return Answer(
            query_type="search",
            statement=render_or_empty(query),
            records=hits,
            report=SearchReport(waiting),
        )

    def _late_question(
        self, query: Search
    ) -> tuple[LateInteraction, TokenQuestion, Sequence[float] | None]:
        """What scores by token vectors, those of the question, and the vector by which records are
        proposed: None where words alone propose them."""
        late = self._late() if self._late is not None else None
        if late is None:
            raise EmbedderError(
                "SEARCH in mode late needs a token encoder, and this memory was opened without one",
                remedy="set REMLOOM_TOKEN_ENCODER=colbert, or leave MODE out",
            )
        deadline = self._deadline()
        question = late.question(query.text, deadline)
        vector = self._embed(query.text, deadline) if self._embed is not None else None
        return late, question, vector

    def _late_matches(
        self,
        query: Search,
        late: LateInteraction,
        question: TokenQuestion,
        vector: Sequence[float] | None,
    ) -> list[Match]:
        """What words and vectors find, by its token vectors, best first."""
        spec = replace(
            self._vector_spec(query), limit=proposed_by_each(query.limit), min_score=None
        )
        matches = self.store.search.vector(vector, spec) if vector is not None else []
        found = {match.record.id: match for match in self.store.search.text(query.text, spec)}
        # those of vectors say which window it was
        found.update((match.record.id, match) for match in matches)
        late.make(list(found), question.deadline)
        scores = late.scores(question, list(found))
        late.repair()
        if found and not scores and late.waiting():
            raise EmbedderError(
                "what this search is about has no token vectors yet",
                remedy="call embed_pending(), or wait until they are made in the background",
            )
        scores = with_missing(scores, list(found), _scores(matches))
        # what has no text to encode fits nothing
        matches = [replace(match, score=scores.get(id, -1.0)) for id, match in found.items()]
        least = -1.0 if query.min_score is None else query.min_score
        matches = [match for match in matches if match.score >= least]
        return sorted(matches, key=lambda match: -match.score)

    def _query_vector(self, query: Search) -> Sequence[float]:
        if query.vector is not None:
            return query.vector
        vector = self._embed(query.text, self._deadline()) if self._embed is not None else None
        if vector is None:
            raise EmbedderError(
                "this memory was opened without an embedder, and SEARCH needs one",
                remedy="set REMLOOM_EMBEDDER (for example to minilm),"
                " or find text by its words with search_text",
            )
        return vector

    def search_text(self, query: TextSearch) -> Answer:
        """The records with the words of the text (BM25), best first, each text once."""
        schema = None if query.schema is None else known_schema(query.schema, self.store.schemas)
        spec = SearchSpec(schema=schema, where=query.where, limit=query.limit)

        def fetch(count: int) -> list[Match]:
            return self.store.search.text(query.text, replace(spec, limit=count))

        hits = self._marked(search_distinct(fetch, query.limit))
        return Answer(query_type="search", records=hits)

    def sql(self, query: Sql) -> Answer:
        """The rows of a SELECT; the report's `truncated` says whether there were more."""
        selection = run_select(self.store, query.text)
        return Answer(
            query_type="sql",
            statement=selection.statement,
            columns=selection.columns,
            rows=selection.rows,
            report=SelectReport(selection.schema, selection.truncated),
        )

    def _vector_spec(self, query: Search) -> SearchSpec:
        return SearchSpec(
            schema=known_schema(query.schema, self.store.schemas),
            where=query.where,
            limit=query.limit,
            min_score=query.min_score,
        )


def _scores(matches: Sequence[Match]) -> dict[str, float]:
    scores = {match.record.id: match.score for match in matches}
    low, high = min(scores.values(), default=0.0), max(scores.values(), default=0.0)
    return {id: (score - low) / (high - low or 1.0) for id, score in scores.items()}


def _record_of(hit: Hit) -> Record:
    return hit.record


def _beside(row: Row, before: Hit) -> Hit:
    """The hit of a row that is one thing with the row of a hit."""
    return replace(before, record=row)


def _to_hit(match: Match) -> Hit:
    return Hit(record=match.record, score=match.score, matched=match.matched)
