"""`Memory`: all that is done with one tenant's memory, each method passed to the service for it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, Unpack

import msgspec

from ..dream.service import Dreams
from ..embed import check_name, check_token_encoder_name
from ..engine import fetching, lineage
from ..engine.arguments import Progress, check_budget, check_kind, check_limit
from ..engine.engine import Engine
from ..engine.ingesting import Ingesting
from ..engine.queries import Queries, parse_condition
from ..engine.recall import Recalling
from ..engine.writing import Writing
from ..errors import InvalidInputError
from ..jobs.service import Jobs
from ..model import (
    Answer,
    Direction,
    Edge,
    Entity,
    Hit,
    Message,
    Moment,
    ReadReport,
    Recall,
    Receipt,
    Record,
    Resource,
    TargetKind,
)
from ..model.reports import WrittenIds
from ..predicates import Eq, Predicate, Query
from ..profile.service import Profiles
from ..runs.service import Runs
from ..schema.service import Schemas
from ..settings import Settings
from ..store.tenants.backends import backend_for
from .admin import Admin
from .features import FEATURES

if TYPE_CHECKING:
    from ..ask.result import AskResult, AskTurn
    from ..dream.context import LearnProgress
    from ..dream.learn.run import LearnResult
    from ..dream.rem_cycle import DreamResult
    from ..embed.contract import Embedder, TokenEncoder
    from ..llm import Budget, Model
    from ..query.statements import Plan, SearchMode, Statement, Strategy
    from ..reader.loop.events import EventCallback
    from ..reader.loop.strategy import Strategy as ReadingStrategy
    from ..reader.reader import Reader
    from ..retrieve.options import RecallChanges, RecallOptions
    from ..runs.run import Run

# the nouns whose methods jobs call, by kind of job; of other kinds the method is of `Memory`
_JOB_OWNERS = {
    **dict.fromkeys(("moments", "affinity", "consolidate", "refresh"), "dreams"),
    **dict.fromkeys(("observe", "normalise"), "profile"),
    **dict.fromkeys(("optimize", "reembed", "sweep"), "admin"),
    **dict.fromkeys(("sync", "discover"), "schemas"),
}


class Memory:
    """A tenant's memory, opened. Use it as a context manager; any thread may call any method.

    What is done less often stands under a noun: `runs`, `jobs`, `dreams`, `profile`,
    `schemas` and `admin`.

    >>> with Memory.open(home, embedder="none") as memory:
    ...     _ = memory.write([
    ...         Entity(name="Sarah Chen", type="person", aliases=("S. Chen",)),
    ...         Edge(src="Sarah Chen", rel_type="manages", dst="Bob Smith"),
    ...     ])
    ...     answer = memory.query('TRAVERSE manages WITH LOOKUP "sarah chen"')
    ...     [node["name"] for node in answer.nodes]
    ['Sarah Chen', 'Bob Smith']
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._writing = Writing(engine)
        self._queries = Queries(engine)
        self._recalling = Recalling(engine)
        self._ingesting = Ingesting(engine, self._writing)

    # -- opening -----------------------------------------------------------------------------------

    @classmethod
    def open(
        cls,
        home_or_url: str | os.PathLike[str] | None = None,
        *,
        tenant: str | None = None,
        key: str | None = None,
        embedder: Embedder | str | None = None,
        token_encoder: TokenEncoder | str | None = None,
        llm: Model | str | None = None,
        settings: Settings | None = None,
        create: bool = True,
    ) -> Self:
        """Open a tenant's memory; it is made when it does not exist yet.

        Args:
            home_or_url: the folder that holds the tenants, or `postgresql://…`; default the setting
                `home`.
            tenant: default the setting `tenant`, which is "default".
            key: the master key; with it a new tenant is encrypted. Default the setting `key`.
            embedder: a name ("minilm", "bge", "openai:<model>", "fastembed:<model>", "none") or an
                `Embedder`; default the setting `embedder`, and where that is empty the one that
                made this memory's vectors, or minilm. Loaded when it is first needed.
            token_encoder: of late interaction: "colbert", "none" or a `TokenEncoder`; default the
                setting `token_encoder`, and where that is empty "colbert" beside an embedder that
                is given by its name.
            llm: a name ("openai:gpt-5-mini", "local:smollm2", …) or a `llm.Model`; default the
                setting `llm_model`. Opened when it is first needed.
            settings: all settings as one value, instead of environment and TOML.
            create: False refuses a tenant that does not exist.

        Raises:
            UnknownNameError: no embedder, or no token encoder, has this name.
            TenantNotFoundError: there is no such tenant and `create` is False.
            WrongKeyError: the key does not open this tenant.
            CorruptStoreError, SchemaVersionError, ReadOnlyStoreError, StoreBusyError: see
                `remloom.errors`.
        """
        _check_provider(embedder, "embed_query", "an embedder", "'minilm', or an Embedder")
        _check_provider(
            token_encoder, "encode_query", "a token encoder", "'colbert', or a TokenEncoder"
        )
        _check_provider(llm, "complete", "a language model", "'local:smollm2', or a Model")
        options = {
            "home": os.fspath(home_or_url) if home_or_url is not None else None,
            "tenant": tenant,
            "key": key,
            "llm_model": llm if isinstance(llm, str) else None,
        }
        if settings is None:
            settings = Settings.load(**options)
        else:
            changes = {name: value for name, value in options.items() if value is not None}
            settings = msgspec.structs.replace(settings, **changes)
        if embedder is None:
            embedder = settings.embedder
        if isinstance(embedder, str) and embedder:
            check_name(embedder)
        name = settings.token_encoder if token_encoder is None else token_encoder
        if isinstance(name, str) and name:
            check_token_encoder_name(name)
        # only now is anything opened: wrong arguments leave nothing behind
        engine = Engine(
            backend_for(settings).open(settings, create=create),
            settings,
            embedder,
            None if isinstance(llm, str) else llm,
            token_encoder=token_encoder,
            label=f"<{cls.__name__} of {settings.tenant!r} in {settings.shown_home!r}>",
            hooks=FEATURES,
        )
        return cls(engine)

    def __repr__(self) -> str:
        settings = self._engine.settings
        return f"<{type(self).__name__} of {settings.tenant!r} in {settings.shown_home!r}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Finish what is being written and release the files.

        Queued texts wait for the next opening.
        """
        self._engine.close()

    # -- nouns -------------------------------------------------------------------------------------

    @property
    def runs(self) -> Runs:
        """What learning, dreaming and its chores did: `list`, `records`, `rollback`, `failed`."""
        return Runs(self._engine)

    @property
    def jobs(self) -> Jobs:
        """Work for later: `add`, `list`, `retry`, `remove`, `work`."""
        # not kept: it refers to this memory, and a cycle would keep a dropped memory open
        return Jobs(self._engine, self._job_method)

    @property
    def dreams(self) -> Dreams:
        """Dreaming besides `learn` and `dream`: moments, affinities, consolidation, refreshing."""
        return Dreams(self._engine)

    @property
    def profile(self) -> Profiles:
        """What is known of the user and others: `show`, `why`, `set`, `observe`, …"""
        return Profiles(self._engine, self._writing, self._ingesting, self._recalling)

    @property
    def schemas(self) -> Schemas:
        """Schemas of one's own and their rows: `register`, `list`, `get`, `migrate`, `drop`, …"""
        return Schemas(self._engine, self._writing)

    @property
    def admin(self) -> Admin:
        """Chores: `stats`, `check`, `export`, `backup`, `sweep`, `usage`, …; and the settings."""
        return Admin(self._engine, self._writing)

    def _job_method(self, kind: str) -> Callable[..., Any]:
        owner: object = getattr(self, _JOB_OWNERS[kind]) if kind in _JOB_OWNERS else self
        # by the name of a source: a job keeps no address
        method: Callable[..., Any] = getattr(owner, "rediscover" if kind == "discover" else kind)
        return method

    # -- writing -----------------------------------------------------------------------------------

    def write(
        self,
        records: Iterable[Record | Edge],
        *,
        expected: Mapping[str, int | None] | None = None,
        wait: bool = False,
    ) -> WrittenIds:
        """Write any mix of records and edges as one atomic batch; on disk when it returns.

        An edge goes from label to label; the id of a stored record at either end stands for its
        name. What has no id gets one: a resource the same id for the same text from the same place,
        an entity that of its namesake of the same type (the two are merged), anything else a new
        one. Texts without an `embedding` are queued for the embedder. What has an `expires_at` is
        returned until then; one written by its id again has the time that is written, one merged
        with its namesake keeps the time it had unless it is given another.

        A text takes the place of an older one where its writer says so: `Resource(content="…",
        replaces=id)`, with the reason "changed" (the older one held until `since`, by default now)
        or "wrong" (it never held). No search finds the older one then; `get_resource`, `history`
        and `admin.describe` do, and say what replaced it. With `amends=id` both are found, and the
        older one is marked. What was derived from the older one is stale. `unreplace` undoes it;
        forgetting the newer text does not. An id may be its first eight characters or more.

        Args:
            expected: ids of records, each with the `revision` that it must have still, or None
                if there must be none: what was read before can be changed without losing what
                others wrote meanwhile.
            wait: embed the texts before returning. Without, that is done in the background, or by
                the next search if few texts wait.

        Returns: the ids, in the order of the records; edges have none. `stale` of the list counts
            what the write made stale: what rests on something that says another thing now. Its
            `stale_ids` has the first hundred.

        Raises:
            ChangedError: a record is not as `expected`, and nothing was written.
            InvalidInputError, LabelError, VectorError: an item cannot be stored; the message says
                which and why, and nothing was written.
            EmbedderMismatchError: this memory's vectors were made by another embedder.
            EmbedderError: with `wait`, a text could not be embedded. All is written, and the text
                stays queued.
        """
        return self._writing.write(records, expected, wait=wait)

    def create_resource(self, resource: Resource) -> str:
        """Remember a resource; returns its id. Source: seed 2."""
        return self.write([check_kind(resource, Resource)])[0]

    def create_entity(self, entity: Entity) -> str:
        """Remember an entity; returns its id. Source: seed 2.

        It is the id of its namesake when there is one.
        """
        return self.write([check_kind(entity, Entity)])[0]

    def create_moment(self, moment: Moment) -> str:
        """Remember a moment; returns its id. Source: seed 2."""
        return self.write([check_kind(moment, Moment)])[0]

    def create_edge(self, edge: Edge) -> None:
        """Connect two labels, or strengthen their connection. Source: seed 2.

        An id at either end stands for its record's name.
        """
        self.write([check_kind(edge, Edge)])

    def update_entity(
        self,
        id: str,
        properties: Mapping[str, Any] | None = None,
        *,
        expected: int | None = None,
        **changes: Any,
    ) -> Entity:
        """Change an entity: merge `properties` into its own, replace whole fields by `changes`.

        With another `name` it is the same entity: its edges follow, and the old name is an alias
        now (unless `aliases` are given). `history` lists what was changed, and when. Source: seed
        2.

        Args:
            expected: the `revision` that the entity must have still; None: any.

        Raises:
            NotFoundError: no entity has this id.
            ChangedError: it is not as `expected`, and nothing was written.
            ConflictError: another entity of its type has that name.
            UnknownNameError: an entity has no such field.
        """
        self._writing.update_entity(id, properties, changes, expected)
        return self.get_entity(id)

    def unreplace(self, id: str) -> Resource:
        """Undo that a text was replaced or amended, by the older text's id: it is found again, and
        says what it said. The newer one stays as it is. Returns the older text.

        Raises:
            NotFoundError: no record has this id.
            ConflictError: nothing was said to replace or amend it.
        """
        return self._writing.unreplace(id)

    def delete_resource(self, id: str, *, expected: int | None = None) -> Receipt:
        """Forget one resource and what was derived from it. Source: seed 2.

        Args:
            expected: the `revision` that the resource must have still; None: any.

        Raises:
            NotFoundError: no resource has this id.
            ChangedError: it is not as `expected`, and nothing was forgotten.
        """
        return self._writing.delete_resource(id, expected)

    def forget(self, *targets: str, by: TargetKind | None = None, dry_run: bool = False) -> Receipt:
        """Forget records by id, sources by uri, or things by label, and all that was made of them.

        What quotes them beside others is made again without them. See docs/guarantees.md.

        Args:
            by: what the targets are: "id", "source" or "label". None, the default, finds out.

        Raises:
            NotFoundError: one of them is not known. Nothing was forgotten.
            AmbiguousLabelError: one of them means several things; the error names each, and how to
                say which. Nothing was forgotten.
        """
        return self._writing.forget(targets, by=by, dry_run=dry_run)

    def confirm(self, *ids: str, by: str = "") -> Run:
        """Say that what is stale still holds: it rests on what its premises say now.

        Those that are gone are left out. One run, which `runs.rollback` takes back; the metadata of
        a record says when it was confirmed, and by whom.

        Raises:
            NotFoundError: there is no record with an id.
            InvalidInputError: a record was derived from nothing. Nothing was confirmed.
        """
        from ..runs.confirm import confirm

        return confirm(self._engine, ids, by)

    # -- getting -----------------------------------------------------------------------------------

    def get_resource(self, id: str, *, as_of: datetime | None = None) -> Resource:
        """Get a resource, without `graph_paths`: `get_edges` and `lookup` have them.

        With `as_of`, as it was then.

        Raises:
            NotFoundError: there is none; or there was none then, or what it was then is not kept.
            InvalidInputError: `as_of` has no time zone.
        """
        return fetching.fetch_at(self._engine.store, Resource, id, as_of)

    def get_entity(self, id: str, *, as_of: datetime | None = None) -> Entity:
        """Get an entity, without `graph_paths`: `get_edges` and `lookup` have them.

        With `as_of`, as it was then.

        Raises:
            NotFoundError: there is none; or there was none then, or what it was then is not kept.
            InvalidInputError: `as_of` has no time zone.
        """
        return fetching.fetch_at(self._engine.store, Entity, id, as_of)

    def get_moment(self, id: str, *, as_of: datetime | None = None) -> Moment:
        """Get a moment, without `graph_paths`: `get_edges` and `lookup` have them.

        With `as_of`, as it was then.

        Raises:
            NotFoundError: there is none; or there was none then, or what it was then is not kept.
            InvalidInputError: `as_of` has no time zone.
        """
        return fetching.fetch_at(self._engine.store, Moment, id, as_of)

    def get_edges(
        self,
        label_or_id: str,
        *,
        direction: Direction = "out",
        edge_types: Sequence[str] | None = None,
        limit: int | None = None,
        as_of: datetime | None = None,
    ) -> list[Edge]:
        """List the edges at a label, or of the record with an id, newest first. Source: seed 2.

        Raises:
            UnknownNameError: there is no such edge type or direction.
            InvalidInputError: a limit below 1, or an `as_of` without time zone.
        """
        return fetching.get_edges(
            self._engine.store,
            label_or_id,
            direction=direction,
            edge_types=edge_types,
            limit=limit,
            as_of=as_of,
        )

    def get_moments_by_time(self, start: datetime, end: datetime) -> list[Moment]:
        """List the moments that overlap [start, end), in order of their start. Source: seed 2.

        Raises:
            InvalidInputError: a naive datetime, or an end before the start.
        """
        return fetching.moments_between(self._engine.store, start, end)

    def get_moments_by_type(self, type: str) -> list[Moment]:
        """List the moments of a type, in order of their start. Source: seed 2."""
        return self.query_moments(Query().filter(Eq("type", type)).order_by("starts_at"))

    def query_resources(self, query: Query) -> list[Resource]:
        """List resources by predicates. Source: seed 2, "Query layer".

        Raises:
            UnknownNameError: a field that resources do not have.
        """
        return fetching.query(self._engine.store, Resource, query)

    def query_entities(self, query: Query) -> list[Entity]:
        """List entities by predicates; a bare name that is not a field means a property."""
        return fetching.query(self._engine.store, Entity, query)

    def query_moments(self, query: Query) -> list[Moment]:
        """List moments by predicates."""
        return fetching.query(self._engine.store, Moment, query)

    def create_index(self, schema: str, field: str) -> None:
        """Make predicates and SQL on one field of a schema fast. Source: seed 2.

        Args:
            schema: resources, entities or moments; or a type of entities ("person"), whose
                fields are properties: the index is that of every entity's.

        Raises:
            UnknownNameError: the schema has no such field, or this is nearly the name of a schema.
        """
        fetching.create_index(self._engine.store, schema, field)

    def history(self, id: str) -> lineage.Lineage:
        """Trace a record to its parents, theirs, and so on, down to what was read.

        `changes` are its own, newest first, as far as they are kept: not those of what was read.
        The `chain` is of a text: what it replaced and what replaced it, oldest first.

        Raises:
            NotFoundError: no record has this id.
        """
        return lineage.trace(self._engine.store, id)

    # -- asking ------------------------------------------------------------------------------------

    def query(self, statement: str | Plan | Statement) -> Answer:
        """Run a statement of the dialect, as text or as a value. See docs/dialect.md.

        Raises:
            QuerySyntaxError: with a caret, what was expected, and a right example.
            UnknownNameError: a table, column, edge type or option that does not exist.
            SqlGuardError: SQL that is more than one read-only SELECT over one table.
        """
        if isinstance(statement, str):
            return self._queries.run_text(statement)
        return self._queries.run(statement)

    def rem_query(self, query_type: str, parameters: Mapping[str, Any] | None = None) -> Answer:
        """Run a query given as JSON; without parameters, a statement as text.

        Source: seed 5.

        >>> memory.rem_query("lookup", {"key": "sarah chen"}).records[0].name
        'Sarah Chen'
        """
        if parameters is None:
            return self.query(query_type)
        return self._queries.run_json(query_type, parameters)

    def lookup(self, *labels: str, as_of: datetime | None = None) -> Answer:
        """Look up the records of every schema that have these labels.

        When there are none, `suggestions` has the nearest names. With `as_of`, those that had them
        then, entities as they were: names, aliases, types, summaries, properties.

        Raises:
            InvalidInputError: `as_of` has no time zone.
            NotFoundError: what an entity was then is no longer kept: of each, its last thousand
                changes are.
        """
        from ..query.statements import Lookup

        return self._queries.run(Lookup(labels), as_of)

    def fuzzy(
        self, text: str, *, type: str | None = None, threshold: float = 0.5, limit: int = 5
    ) -> Answer:
        """Find records whose name or alias is like the text, best first.

        Raises:
            InvalidInputError: the text is blank, or longer than 8,000 characters.
        """
        from ..query.statements import Fuzzy

        return self._queries.run(Fuzzy(text, type, threshold, limit))

    def search(
        self,
        text: str = "",
        *,
        schema: str = "resources",
        where: Predicate | str | None = None,
        min_score: float | None = None,
        limit: int = 10,
        vector: Sequence[float] | None = None,
        mode: SearchMode = "vector",
    ) -> Answer:
        """Find records of a schema by meaning: those whose best window is most like the text.

        Args:
            vector: in place of the text's own.
            mode: "vector"; "late": of what vectors and words find, those whose tokens fit those
                of the text best (late interaction); or "words" (BM25), which needs no embedder.

        Raises:
            EmbedderError: there is no embedder, or it does not work; in mode late, no token
                encoder.
            InvalidInputError: the text is blank, or longer than 8,000 characters.
            VectorError: the vector has another dimension than this memory's.
        """
        from ..query.statements import Search

        condition = parse_condition(where)
        return self._queries.search(Search(text, schema, condition, min_score, limit, vector, mode))

    def search_text(
        self,
        text: str,
        *,
        schema: str | None = None,
        where: Predicate | str | None = None,
        limit: int = 10,
    ) -> Answer:
        """Find records by their words (BM25).

        Needs no embedder and sees what was written a moment ago.

        Raises:
            InvalidInputError: the text is blank, or longer than 8,000 characters.
        """
        from ..query.statements import TextSearch

        return self._queries.run(TextSearch(text, schema, parse_condition(where), limit))

    def search_resources(
        self,
        query: str = "",
        *,
        limit: int = 10,
        vector: Sequence[float] | None = None,
        where: Predicate | str | None = None,
        min_score: float | None = None,
    ) -> list[Hit]:
        """Find resources by meaning. Source: seed 2."""
        answer = self.search(query, limit=limit, vector=vector, where=where, min_score=min_score)
        return answer.records

    def search_entities(
        self, query: str, *, type: str | None = None, limit: int = 5, threshold: float = 0.7
    ) -> list[Hit]:
        """Find entities by name or alias, typos forgiven. Source: seed 2."""
        # a type may be one of moments or resources as well
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
        """Find what can be reached from a label by following edges. Source: seed 5.

        Args:
            max_depth: 0 only looks at the edges.
            strategy: the order of the nodes, which LIMIT cuts: by the edges that reached them
                ("breadth-first"), or each branch to its end before the next ("depth-first"). What
                is reached is the same.
            edge_type: one type to follow.
        """
        return self._queries.traverse(
            label,
            edge_types,
            edge_type,
            as_of,
            max_depth=max_depth,
            direction=direction,
            breadth=breadth,
            order_by=order_by,
            limit=limit,
            plan_memo=plan_memo,
            strategy=strategy,
        )

    def sql(self, text: str) -> Answer:
        """Run one read-only SELECT over one schema. See docs/dialect.md for the columns."""
        from ..query.statements import Sql

        return self._queries.run(Sql(text))

    def ask(
        self,
        question: str,
        *,
        turns: int = 5,
        budget_tokens: int = 20_000,
        now: datetime | None = None,
        on_turn: Callable[[AskTurn], None] | None = None,
    ) -> AskResult:
        """Let a model answer: it asks this memory in statements, turn by turn, and cites.

        See docs/ask.md. Source: seed 5, `ask_rem`.

        Args:
            turns: statements at most.
            budget_tokens: of all calls of the model, in and out.
            now: what is today, with a time zone; default the present.
            on_turn: called with each turn.

        Raises:
            ModelNotConfiguredError, ModelError: there is no model, or it did not answer.
            InvalidInputError: an empty or overlong question, turns or a budget below 1.
        """
        return self._queries.ask(question, turns, budget_tokens, now, on_turn)

    # -- recalling ---------------------------------------------------------------------------------

    def recall(
        self,
        question: str,
        options: RecallOptions | None = None,
        **changes: Unpack[RecallChanges],
    ) -> Recall:
        """Recall what answers a question, best first, each with why; nothing when nothing does.

        The options are those of `RecallOptions`, given as a value, as keywords, or both: keywords
        change the value. When nothing answers, the recall says why.

        Raises:
            InvalidInputError: an empty or overlong question, a limit or budget below 1, a time that
                ends before it starts, in mode temporal no time at all.
            UnknownNameError: an option, mode, fusion, part, field or reranker that does not exist.
            RerankerError, ModelError, MissingExtraError: the reranker cannot be had, or did not
                answer.
        """
        return self._recalling.recall(question, options, changes)

    def context(
        self,
        question: str,
        options: RecallOptions | None = None,
        **changes: Unpack[RecallChanges],
    ) -> str:
        """Recall what answers a question as text for a prompt.

        The text has quoted passages with source, id, date and trust, within a budget of 1500 tokens
        by default; a heading leaves out what the one before it says too. By default at most 100
        hits, and besides them only the short question before a short reply; options given as a
        value say how many hits and neighbours, and, if they have one, the budget. With
        `profile=True` it begins with what is known of the user, in half of the budget and 600
        tokens at most. See `recall` for the options and errors.
        """
        return self._recalling.context(question, options, changes)

    # -- reading -----------------------------------------------------------------------------------

    def read(
        self,
        source: str | os.PathLike[str],
        *,
        category: str | None = None,
        recursive: bool = True,
        glob: str | None = None,
        exclude: Sequence[str] = (),
        wait: bool = True,
        progress: Progress | None = None,
        uri: str | None = None,
    ) -> ReadReport:
        """Read a file, a folder, or "-" (standard input). See docs/reading.md for the formats.

        What was read before and did not change writes nothing; what changed replaces its old
        chunks. A document that cannot be read is in the report with the reason and stops no other;
        so is an embedder that does not work.

        Args:
            category: of the resources; default by format.
            recursive, glob: which files of a folder.
            exclude: names, or paths below the folder, of folders and files that are not read, with
                `*` and `?`; besides those of the setting `read_exclude`, where agents write.
            wait: embed before returning. Without, texts are embedded in the background; words and
                labels are findable either way.
            progress: called as `progress(done, total)` while reading, then while embedding.
            uri: what the source is called; default its path. Another one that is read under it
                replaces it.

        Raises:
            InvalidInputError: it is not a path: of several each is read by a call of its own.
            SourceError: there is no such file or folder.
        """
        return self._ingesting.read(
            source,
            category=category,
            recursive=recursive,
            glob=glob,
            exclude=exclude,
            wait=wait,
            progress=progress,
            uri=uri,
        )

    def read_text(
        self,
        text: str,
        *,
        uri: str,
        name: str | None = None,
        category: str = "note",
        at: datetime | None = None,
        origin: str = "",
        wait: bool = True,
        replaces: str = "",
        amends: str = "",
        reason: str = "",
        since: datetime | None = None,
    ) -> ReadReport:
        """Read a text that is at hand.

        Args:
            uri: says where it is from; reading another text under it replaces this one.
            at: when it was written.
            origin: the source that it is one of several texts of, if any: to forget that source is
                to forget them all.
            wait: embed before returning; see `read`.
            replaces: the id of an older text that this one, or its first chunk, takes the place of;
                see `write`, also of the other three.

        Raises:
            InvalidInputError: the uri is empty, the origin blank, or `at` has no time zone; what
                `write` raises of `replaces`.
        """
        said = Resource(replaces=replaces, amends=amends, reason=reason, since=since)
        return self._ingesting.read_text(
            text, uri, name, category, at, origin=origin, wait=wait, said=said
        )

    def read_chat(
        self,
        messages: Iterable[Message],
        *,
        uri: str,
        name: str | None = None,
        append: bool = False,
        wait: bool = True,
    ) -> ReadReport:
        """Read the turns of a chat: a resource each, a moment for each session, and the people.

        Give the whole chat, as it is now: what is stored already is not written again, and a turn
        that was read from this uri before and is not in it any more is forgotten.

        Args:
            name: of the chat; default what it was called before, or else what the uri says.
            append: the messages follow those that were read from this uri before, of which none is
                forgotten. One whose `id` was read before takes that one's place, so repeating an
                append changes nothing.
            wait: embed before returning; see `read`.

        Raises:
            InvalidInputError: the uri is empty, or a message has a time without zone; or, to
                append, what was read from this uri is not a chat, or was read from a file.
        """
        return self._ingesting.read_chat(messages, uri, name, append, wait=wait)

    def reader(
        self,
        *documents: str | os.PathLike[str],
        told: EventCallback | None = None,
        strategy: ReadingStrategy | None = None,
        table: str = "documents",
        files: bool = True,
    ) -> Reader:
        """Open long documents to look through, search and ask them. Source: seed 3.

        Args:
            documents: each a path, read in if it is not there or has changed; or the uri, title or
                label of a document that this memory has.
            told: called with each `ReadEvent` as it happens.
            strategy: how a model goes about reading; see `remloom.reader.loop.strategy`.
            table: what SQL calls the table of lines; it may say `documents` as well.
            files: whether paths are opened; without, only documents that this memory has.

        Raises:
            NotFoundError: there is no such file or document; the remedy names the nearest.
            SourceError: a file cannot be read, or has no text.
            InvalidInputError: `table` is not a name in small letters, digits and underscores.
        """
        from ..reader.reader import Reader

        reader = Reader(
            self._engine,
            self._ingesting,
            told=told,
            strategy=strategy,
            table=table,
            files=files,
        )
        for document in documents:
            reader.open(document)
        return reader

    def embed_pending(self, progress: Progress | None = None) -> int:
        """Embed every queued text now; returns how many.

        Texts that were parked after failing are tried again, and what was written before there was
        an embedder is embedded too. First, and without an embedder too, texts that were read before
        what they name was known are linked to it.

        Args:
            progress: called as `progress(done, total)`.

        Raises:
            EmbedderError: there is no embedder, or it does not work; the queue is kept.
        """
        return self._ingesting.embed_pending(progress)

    # -- learning and dreaming ---------------------------------------------------------------------

    def learn(
        self,
        source: str | os.PathLike[str] | None = None,
        *,
        order: str = "strict",
        period: str | int = "month",
        dreams: int | float | str | None = None,
        seed: str = "",
        window: int | None = None,
        budget: Budget | None = None,
        glob: str | None = None,
        neighbours: int = 5,
        progress: Callable[[LearnProgress], None] | None = None,
    ) -> LearnResult:
        """Read a source and learn from it in time order; dream whenever a period is over.

        What was read before and not learned yet is learned too. A run that was killed or stopped
        goes on where it was when it is started again with the same arguments. A document of which a
        call of the model failed is parked with the reason; the next run tries it again. See
        docs/dreaming.md. Source: seed 1.

        Args:
            source: what to read first, as for `read`; None: learn from all that was read.
            order: "strict": one document after another, so that the outcome is the same each time;
                "relaxed": many at once.
            period: after which a REM cycle follows: "month", "year", a number of documents, or
                "none".
            dreams: of each cycle: a number, or a ratio of the records ("10%"); default 100, but one
                for each record of the period at most.
            seed: of the dreams; another one, other dreams.
            window: documents at once in relaxed order; default twice the setting `llm_concurrency`.
            budget: what this call may spend; then it stops cleanly.
            neighbours: records near a text that it is held against.
            progress: called after each document and each ten dreams.

        Raises:
            ModelNotConfiguredError, EmbedderError: there is no model, or no embedder.
            ModelError: the model refused, or did not answer for several documents in a row. What is
                done is done: its fields `read` (a `ReadReport`) and `run` (a `Run`) tell what.
            ConflictError: a run is learning already.
            InvalidInputError, SourceError: an argument is wrong.
        """
        from ..dream.learn.run import LearnOptions, learn

        options = LearnOptions(
            source=None if source is None else os.fspath(source),
            order=order,
            period=period,
            dreams=dreams,
            seed=seed,
            # twice as many documents as calls at once keep the model busy
            window=2 * self._engine.settings.llm_concurrency if window is None else window,
            budget=check_budget(budget),
            neighbours=check_limit(neighbours),
        )
        return learn(self._engine, self._ingesting, options, glob=glob, progress=progress)

    def dream(
        self,
        dreams: int | float | str | None = None,
        *,
        seed: str | None = None,
        period: str | None = None,
        dry_run: bool = False,
        budget: Budget | None = None,
        neighbours: int = 5,
        progress: Callable[[LearnProgress], None] | None = None,
    ) -> DreamResult:
        """Dream once about what is remembered.

        Each dream takes three records, one of them of the current period, states the question that
        binds them, and stores what its answer reveals. See docs/dreaming.md. Source: seed 1.

        Args:
            dreams: a number, or a ratio of the records ("10%"); default 100, but one for each
                record of the current period at most.
            seed: the same seed over the same memory draws the same records; default another one
                each time.
            period: the current period: a month ("2021-03") or a year; default the year of the
                latest record.
            dry_run: write nothing; the report has what would be written. The model is called (and
                paid) all the same.
            budget, neighbours: as for `learn`.
            progress: called after each ten dreams.

        Raises:
            ModelNotConfiguredError, EmbedderError, ModelError, ConflictError, InvalidInputError: as
                for `learn`.
        """
        from ..dream.rem_cycle import dream

        return dream(
            self._engine,
            dreams,
            seed=seed,
            period=period,
            dry_run=dry_run,
            budget=budget,
            neighbours=neighbours,
            progress=progress,
        )


def _check_provider(value: object, method: str, what: str, examples: str) -> None:
    """Refuse what is neither a name nor has the method of what is wanted."""
    if value is not None and not isinstance(value, str) and not hasattr(value, method):
        raise InvalidInputError(
            f"a {type(value).__name__} is not {what}", remedy=f"give a name such as {examples}"
        )
