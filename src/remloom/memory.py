"""Memory: the one door. Everything that reads, remembers or answers goes through it."""

from __future__ import annotations

import atexit
import os
import weakref
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cached_property, partial
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any, Self, TypeVar, get_args

import msgspec

from . import labels
from .errors import (
    ConflictError,
    EmbedderError,
    EmbedderMismatchError,
    InvalidInputError,
    ModelNotConfiguredError,
    NotFoundError,
    ReadOnlyStoreError,
    UnknownNameError,
    VectorError,
)
from .model import (
    Answer,
    Copied,
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
    TenantInfo,
    record_dict,
)
from .predicates import Eq, Predicate, Query
from .settings import Settings
from .store import batch
from .store.contract import EdgeOrder, Match, Store, Written
from .store.places import place

if TYPE_CHECKING:
    from threading import Event

    from .dream.chores import Chore, Theme
    from .dream.learning import Progress as LearnProgress
    from .dream.metrics import Metrics
    from .dream.parked import Parked
    from .dream.runs import Run
    from .dream.session import Dreamt, Learned, Means
    from .dream.writer import Writer
    from .embed.contract import Embedder
    from .ingest.embedding import EmbeddingQueue
    from .ingest.entities import Extractor
    from .jobs import Job, StoredQueue
    from .jobs.contract import State
    from .llm import LLM, Model, UsageReport
    from .query.asked import Asked, AskTurn
    from .query.executor import Executor
    from .query.plan import Plan, Statement
    from .retrieve import Recaller, Reranker
    from .retrieve.recall import Ask
    from .sources import Document, Skipped

__all__ = ["Memory"]

_R = TypeVar("_R", Resource, Entity, Moment)
Progress = Callable[[int, int], None]

_AT_ONCE = 64  # queued texts that a SEARCH embeds first rather than answer without them


class Memory:
    """A tenant's memory, opened. Use it as a context manager; any thread may call any method.

    >>> with Memory.open(home, embedder="none") as memory:
    ...     _ = memory.write([
    ...         Entity(name="Sarah Chen", type="person", aliases=("S. Chen",)),
    ...         Edge(src="Sarah Chen", rel_type="manages", dst="Bob Smith"),
    ...     ])
    ...     answer = memory.query('TRAVERSE manages WITH LOOKUP "sarah chen"')
    ...     [node["name"] for node in answer.nodes]
    ['Sarah Chen', 'Bob Smith']
    """

    def __init__(
        self, store: Store, settings: Settings, embedder: Embedder | str | None, model: Model | None = None
    ) -> None:
        self._store = store
        self._settings = settings
        self._given_embedder = embedder
        self._given_model = model
        _opened.add(self)

    # -- opening ---------------------------------------------------------------------------------------------

    @classmethod
    def open(
        cls,
        home_or_url: str | os.PathLike[str] | None = None,
        *,
        tenant: str | None = None,
        key: str | None = None,
        embedder: Embedder | str | None = None,
        llm: Model | str | None = None,
        settings: Settings | None = None,
        create: bool = True,
    ) -> Self:
        """Open a tenant's memory; made when it is not there yet.

        Args:
            home_or_url: the folder that holds the tenants, or `postgresql://…`; default the setting `home`.
            tenant: default the setting `tenant`, which is "default".
            key: the master key; with it a new tenant is encrypted. Default the setting `key`.
            embedder: a name ("minilm", "openai:<model>", "fastembed:<model>", "none") or an `Embedder`; default the
                setting `embedder`. Loaded when it is first needed.
            llm: a name ("openai:gpt-5-mini", "local:smollm2", …) or a `llm.Model`; default the setting `llm_model`.
                Opened when it is first needed.
            settings: all settings as one value, instead of environment and TOML.
            create: False refuses a tenant that is not there.

        Raises:
            TenantNotFoundError: there is no such tenant and `create` is False.
            WrongKeyError: the key does not open this tenant.
            CorruptStoreError, SchemaVersionError, ReadOnlyStoreError, StoreBusyError: see `remloom.errors`.
        """
        url = os.fspath(home_or_url) if home_or_url is not None else None
        if not (embedder is None or isinstance(embedder, str) or hasattr(embedder, "embed_query")):
            raise InvalidInputError(
                f"a {type(embedder).__name__} is no embedder", remedy="give a name such as 'minilm', or an Embedder"
            )
        if not (llm is None or isinstance(llm, str) or hasattr(llm, "complete")):
            raise InvalidInputError(
                f"a {type(llm).__name__} is no language model", remedy="give a name such as 'local:smollm2', or a Model"
            )
        model, named = (None, llm) if isinstance(llm, str) else (llm, None)
        if settings is None:
            settings = Settings.load(home=url, tenant=tenant, key=key, llm_model=named)
        else:
            given = {"home": url, "tenant": tenant, "key": key, "llm_model": named}
            settings = msgspec.structs.replace(settings, **{k: v for k, v in given.items() if v is not None})
        store = place(settings).open(settings, create=create)
        return cls(store, settings, embedder if embedder is not None else settings.embedder, model)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Finish what is being written and release the files. Queued texts wait for the next opening."""
        queue: EmbeddingQueue | None = self.__dict__.get("_queue")
        if queue is not None:
            queue.close()
        llm: LLM | None = self.__dict__.get("_llm")
        if llm is not None:
            llm.close()
        self._store.close()
        _opened.discard(self)

    @property
    def tenant(self) -> str:
        """Whose memory this is."""
        return self._settings.tenant

    @property
    def settings(self) -> Settings:
        """The settings it was opened with."""
        return self._settings

    @property
    def embedder(self) -> Embedder | None:
        """The embedder, loaded if it was not yet; None when there is none.

        Raises:
            EmbedderError, MissingExtraError, UnknownNameError: it cannot be loaded.
        """
        return self._embedder

    @property
    def llm(self) -> LLM | None:
        """The language model, opened if it was not yet; None when none is set.

        Raises:
            SettingsError, MissingExtraError: it cannot be opened.
        """
        return self._llm if self._given_model is not None or self._settings.llm_model else None

    @cached_property
    def _llm(self) -> LLM:
        from .llm import LLM, open_llm, open_model

        model = self._given_model if self._given_model is not None else open_llm(self._settings)
        if model is None:
            raise ModelNotConfiguredError
        opening = partial(open_model, settings=self._settings)
        journal = self._store if self._store.capabilities.writable else None
        owned = self._given_model is None
        return LLM(model, settings=self._settings, journal=journal, opening=opening, owned=owned)

    # -- writing ---------------------------------------------------------------------------------------------

    def write(self, records: Iterable[Record | Edge]) -> list[str]:
        """Write any mix of records and edges as one atomic batch; on disk when it returns.

        An edge goes from label to label; the id of a stored record at either end stands for its name.
        What has no id gets one: a resource the same id for the same text from the same place, an entity that
        of its namesake of the same type (the two are merged), anything else a new one. Texts without an
        `embedding` are queued for the embedder.

        Returns: the ids, in the order of the records; edges have none.

        Raises:
            InvalidInputError, LabelError, VectorError: an item cannot be stored; the message says which and why,
                and nothing was written.
            EmbedderMismatchError: this memory's vectors were made by another embedder.
        """
        if not isinstance(records, msgspec.Struct):  # one record instead of a list is refused below
            records = map(self._by_label, records)
        return list(self._write(records).ids)

    def _write(
        self,
        items: Iterable[Record | Edge],
        removed: Sequence[str] = (),
        unlinked: Sequence[tuple[str, str, str]] = (),
        *,
        background: bool = True,
    ) -> Written:
        model = self._model_name
        if not model and (stored := self._store.model()):
            model = stored[0]  # whoever opens it with that embedder finds these texts in the queue
        prepared = batch.build(items, tenant=self.tenant, model=model, removed=removed, unlinked=unlinked)
        if prepared.dims and self._model_name and self._embedder is not None:
            expected = self._embedder.dims
            if prepared.dims != expected:
                raise VectorError(
                    f"these vectors have {prepared.dims} dimensions, those of {self._model_name} {expected}",
                    remedy='open the memory with embedder="none" to bring vectors of your own',
                )
        written = self._store.write(prepared)
        if background and self._embedder is not None and any(record.embed for record in prepared.records):
            self._queue.start()
        if prepared.places:
            return msgspec.structs.replace(written, ids=tuple(written.ids[place] for place in prepared.places))
        return written

    def create_resource(self, resource: Resource) -> str:
        """Remember a resource; returns its id. Source: seed 2."""
        return self.write([_of(resource, Resource)])[0]

    def create_entity(self, entity: Entity) -> str:
        """Remember an entity; returns its id, which is that of its namesake when there is one. Source: seed 2."""
        return self.write([_of(entity, Entity)])[0]

    def create_moment(self, moment: Moment) -> str:
        """Remember a moment; returns its id. Source: seed 2."""
        return self.write([_of(moment, Moment)])[0]

    def create_edge(self, edge: Edge) -> None:
        """Connect two labels, or strengthen their connection. An id at either end stands for its record's name."""
        self.write([_of(edge, Edge)])

    def delete_edge(self, src: str, rel_type: str, dst: str) -> None:
        """Take back a connection between two labels, or the records with these ids, as if it had never been made.

        What was true once is better ended than deleted: write the edge with `valid_to`, and `AS OF` still finds it.

        Raises:
            NotFoundError: there is no such edge.
        """
        ends = labels.key(self._label(src)), labels.key(self._label(dst))
        types = {edge.rel_type for edge in self.get_edges(ends[0], direction="out") if edge.dst == ends[1]}
        found = [name for name in types if labels.key(name) == labels.key(rel_type)]
        if not found:
            raise NotFoundError(
                f"no edge {rel_type!r} leads from {src!r} to {dst!r}",
                remedy=f"there is {', '.join(sorted(types))}" if types else "see get_edges() for those there are",
            )
        self._write([], unlinked=[(ends[0], name, ends[1]) for name in found])

    def update_entity(self, id: str, properties: Mapping[str, Any] | None = None, **changes: Any) -> Entity:
        """Change an entity: `properties` are merged into what it has, `changes` replace whole fields.

        Raises:
            NotFoundError: no entity has this id.
        """
        entity = self.get_entity(id)
        merged = {**entity.properties, **(properties or {})}
        merged.pop(batch.EXTRACTED, None)
        try:
            self.write([msgspec.structs.replace(entity, properties=merged, thin=False, **changes)])
        except TypeError as error:
            raise InvalidInputError(f"an entity has no such field: {error}") from error
        return self.get_entity(id)

    def delete_resource(self, id: str) -> Receipt:
        """Forget one resource and what was derived from it. Source: seed 2.

        Raises:
            NotFoundError: no resource has this id.
        """
        self.get_resource(id)
        return self.forget(id)

    # -- by id -----------------------------------------------------------------------------------------------

    def get_resource(self, id: str) -> Resource:
        """The resource with this id, without `graph_paths`: `get_edges` and `lookup` have them.

        Raises:
            NotFoundError: there is none.
        """
        return self._get(Resource, id)

    def get_entity(self, id: str) -> Entity:
        """The entity with this id, without `graph_paths`: `get_edges` and `lookup` have them.

        Raises:
            NotFoundError: there is none.
        """
        return self._get(Entity, id)

    def get_moment(self, id: str) -> Moment:
        """The moment with this id, without `graph_paths`: `get_edges` and `lookup` have them.

        Raises:
            NotFoundError: there is none.
        """
        return self._get(Moment, id)

    def _get(self, kind: type[_R], id: str) -> _R:
        record = self._store.get(kind.schema, id)
        if record is None:
            raise NotFoundError(
                f"no record of {kind.schema} has the id {id!r}",
                remedy="look it up by its label",
                id=id,
                schema=kind.schema,
            )
        return record  # type: ignore[return-value]

    def show(self, id_or_label: str) -> dict[str, Any]:
        """All that is known of one thing: its records, edges in and out, where it came from, what came of it.

        Returns: `records`, each as JSON-ready values with `parents` and `children` (ids), and, of what was derived, the
        `sources` it rests on in the end (with lines); `edges_out` and `edges_in`
        (the newest hundred of each), those out with their path strings as `paths`; `edge_counts`.

        Raises:
            NotFoundError: nothing has this id or label; the remedy names what is most like it.
        """
        from .store.forgetting import targets

        record = self._store.get(None, id_or_label)
        records = [record] if record else self._store.lookup([labels.key(id_or_label)])[labels.key(id_or_label)]
        if not records:
            records = targets(self._store, [id_or_label])[id_or_label]
        keys = list(dict.fromkeys(labels.key(record.name) for record in records))

        def at(direction: Direction) -> list[dict[str, Any]]:
            edges = self._store.edges(keys, direction=direction, rel_types=None, limit=100)
            return [msgspec.to_builtins(edge) for edge in edges]

        return {
            "records": [
                record_dict(record)
                | {"parents": self._store.parents(record.id), "children": self._store.children(record.id)}
                | self._grounds(record.id)
                for record in records
            ],
            "edges_out": [edge | {"paths": msgspec.convert(edge, Edge).paths(records[0].schema)} for edge in at("out")],
            "edges_in": at("in"),
            "edge_counts": [msgspec.to_builtins(count) for count in self._store.count_edges(keys, direction="both")],
        }

    def _grounds(self, id: str) -> dict[str, list[str]]:
        """Of what was derived: the sources, with their lines, that it rests on in the end."""
        above = self.history(id)[1:]
        return {"sources": [entry["source"] for entry in above if not entry["parents"]]} if above else {}

    def history(self, id: str) -> list[dict[str, Any]]:
        """Where a record came from: itself, its parents, theirs, down to what was read, each with source and lines.

        Raises:
            NotFoundError: no record has this id.
        """
        record = self._store.get(None, id)
        if record is None:
            raise NotFoundError(f"no record has the id {id!r}", id=id)
        found: dict[str, dict[str, Any]] = {}
        queue = [(record, 0)]
        while queue:
            record, depth = queue.pop(0)
            if record.id in found:
                continue
            above = self._store.parents(record.id)
            hit = Hit(record=record)
            found[record.id] = {
                "depth": depth, "id": record.id, "name": record.name, "schema": record.schema, "source": hit.source,
                "kind": getattr(record, "kind", ""), "created_at": record.created_at, "updated_at": record.updated_at,
                "parents": above,
            }  # fmt: skip
            queue += [(parent, depth + 1) for id in above if (parent := self._store.get(None, id)) is not None]
        return list(found.values())

    # -- edges -----------------------------------------------------------------------------------------------

    def get_edges(
        self,
        label_or_id: str,
        *,
        direction: Direction = "out",
        edge_types: Sequence[str] | None = None,
        limit: int | None = None,
        as_of: datetime | None = None,
    ) -> list[Edge]:
        """The edges at a label, newest first. Source: seed 2.

        Raises:
            UnknownNameError: an edge type or direction that there is not.
            InvalidInputError: a limit below 1, or an `as_of` without time zone.
        """
        if direction not in get_args(Direction):
            raise UnknownNameError("direction", str(direction), get_args(Direction))
        if as_of is not None:
            _aware(as_of)
        if limit is not None:
            _positive(limit)
        return self._store.edges(
            [labels.key(self._label(label_or_id))],
            direction=direction, rel_types=_names(edge_types) or None, limit=limit, order=EdgeOrder(), as_of=as_of,
        )  # fmt: skip

    def _by_label(self, item: Record | Edge) -> Record | Edge:
        """An edge between labels, where it was given ids."""
        if isinstance(item, Edge):
            src, dst = self._label(item.src), self._label(item.dst)
            if src is not item.src or dst is not item.dst:
                return msgspec.structs.replace(item, src=src, dst=dst)
        return item

    def _label(self, label_or_id: str) -> str:
        if isinstance(label_or_id, str) and len(label_or_id) == 36 and label_or_id.count("-") == 4:
            record = self._store.get(None, label_or_id)
            if record is not None:
                return record.name
        return label_or_id

    # -- moments ---------------------------------------------------------------------------------------------

    def get_moments_by_time(self, start: datetime, end: datetime) -> list[Moment]:
        """Moments that overlap [start, end), in order of their start. Source: seed 2.

        Raises:
            InvalidInputError: a naive datetime, or an end before the start.
        """
        for at in (start, end):
            _aware(at)
        if end < start:
            raise InvalidInputError(f"the window ends {end.isoformat()}, before it starts {start.isoformat()}")
        return self._store.moments_between(start, end)

    def get_moments_by_type(self, type: str) -> list[Moment]:
        """Moments of a type, in order of their start. Source: seed 2."""
        return self.query_moments(Query().filter(Eq("type", type)).order_by("starts_at"))

    # -- by field --------------------------------------------------------------------------------------------

    def query_resources(self, query: Query) -> list[Resource]:
        """Resources by predicate. Source: seed 2, "Query layer".

        Raises:
            UnknownNameError: a field that resources do not have.
        """
        return self._store.query("resources", _of(query, Query))  # type: ignore[return-value]

    def query_entities(self, query: Query) -> list[Entity]:
        """Entities by predicate; a bare name that is no field means a property."""
        return self._store.query("entities", _of(query, Query))  # type: ignore[return-value]

    def query_moments(self, query: Query) -> list[Moment]:
        """Moments by predicate."""
        return self._store.query("moments", _of(query, Query))  # type: ignore[return-value]

    def create_index(self, schema: str, field: str) -> None:
        """Make predicates and SQL on one field of a schema fast. Source: seed 2."""
        self._store.create_index(schema, field)

    # -- the dialect -----------------------------------------------------------------------------------------

    def query(self, statement: str | Plan | Statement) -> Answer:
        """Run a statement of the dialect, as text or as a value. See docs/dialect.md.

        Raises:
            QuerySyntaxError: with a caret, what was expected, and a right example.
            UnknownNameError: a table, column, edge type or option that does not exist.
            SqlGuardError: SQL that is more than one read-only SELECT over one table.
        """
        if isinstance(statement, str):
            from .query.parser import parse

            statement = parse(statement)
        return self._executor.run(statement)

    def rem_query(self, query_type: str, parameters: Mapping[str, Any] | None = None) -> Answer:
        """Run a query in the seeds' JSON form; without parameters, a statement as text. Source: seed 5.

        >>> memory.rem_query("lookup", {"key": "sarah chen"}).records[0].name
        'Sarah Chen'
        """
        if parameters is None:
            return self.query(query_type)
        from .query.parameters import from_parameters

        return self._executor.run(from_parameters(query_type, parameters))

    def lookup(self, *labels: str) -> Answer:
        """The records that have these labels, of every schema. Nothing found: `suggestions`."""
        from .query.plan import Lookup

        return self._executor.run(Lookup(labels))

    def fuzzy(self, text: str, *, type: str | None = None, threshold: float = 0.5, limit: int = 5) -> Answer:
        """Records whose name or alias is like the text, best first."""
        from .query.plan import Fuzzy

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
        """Records of a schema by meaning: those whose best window is most like the text (or the vector given).

        Raises:
            EmbedderError: there is no embedder, or it does not work.
            VectorError: the vector has another dimension than this memory's.
        """
        if isinstance(where, str):
            from .query.parser import parse_where

            where = parse_where(where)
        if vector is None:
            from .query.plan import Search

            return self._executor.run(Search(text, schema, where, min_score, limit))
        from .store.compiling import known

        matches = self._store.search_vector(
            vector, schema=known(schema), where=where, limit=_positive(limit), min_score=min_score
        )
        return Answer(query_type="search", records=_hits(matches))

    def search_text(
        self, text: str, *, schema: str | None = None, where: Predicate | str | None = None, limit: int = 10
    ) -> Answer:
        """Records by their words (BM25). Needs no embedder and sees what was written a moment ago."""
        if isinstance(where, str):
            from .query.parser import parse_where

            where = parse_where(where)
        from .store.compiling import known

        schema = None if schema is None else known(schema)
        matches = self._store.search_text(text, schema=schema, where=where, limit=_positive(limit))
        return Answer(query_type="search", records=_hits(matches))

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
        return self.search(query, limit=limit, vector=vector, where=where, min_score=min_score).records

    def search_entities(
        self, query: str, *, type: str | None = None, limit: int = 5, threshold: float = 0.7
    ) -> list[Hit]:
        """Entities by name or alias, typos forgiven. Source: seed 2."""
        matches = self._store.fuzzy(query, type=type or "entities", threshold=threshold, limit=_positive(limit))
        return [hit for hit in _hits(matches) if hit.schema == "entities"]

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
    ) -> Answer:
        """What can be reached from a label by following edges; `max_depth=0` only looks at them. Source: seed 5."""
        from .query.plan import DEFAULT_ORDER, Lookup, Statement, Traverse

        plan = Traverse(
            Lookup((self._label(label),)), _names(edge_types), max_depth, direction, breadth,  # type: ignore[arg-type]
            order_by or DEFAULT_ORDER, limit, plan_memo,
        )  # fmt: skip
        return self._executor.run(plan if as_of is None else Statement(plan, as_of=as_of))

    def sql(self, text: str) -> Answer:
        """One read-only SELECT over one schema. See docs/dialect.md for the columns."""
        from .query.plan import Sql

        return self._executor.run(Sql(text))

    def complete(self, prefix: str, limit: int = 10) -> list[str]:
        """Names and aliases that begin like this, in order of their keys."""
        if not isinstance(prefix, str):
            raise InvalidInputError(f"a prefix is text, not {type(prefix).__name__}")
        return self._store.complete(labels.key(prefix), _positive(limit)) if prefix.strip(" \t\n\"'") else []

    @cached_property
    def _executor(self) -> Executor:
        from .query.executor import Executor

        return Executor(self._store, self._embed_query)

    # -- recall ----------------------------------------------------------------------------------------------

    def recall(
        self,
        question: str,
        *,
        limit: int = 10,
        budget_tokens: int | None = None,
        mode: str = "auto",
        history: Sequence[Message | Mapping[str, Any] | str] = (),
        now: datetime | None = None,
        where: Predicate | str | None = None,
        vector: Sequence[float] | None = None,
        fusion: str = "blend",
        without: Collection[str] = (),
        hops: int = 2,
        neighbours: int = 1,
        preferences: Mapping[str, float] = {},
        half_life: float | None = None,
        rerank: Reranker | str | None = None,
        abstain: bool = True,
        count_tokens: Callable[[str], int] | None = None,
        explain: bool = False,
    ) -> Recall:
        """What answers a question, best first, each with why; nothing, and the reason, when nothing does.

        Args:
            budget_tokens: of the hits together, as `context` writes them.
            mode: "hybrid" (words, meaning, names, relations); "temporal" (only the time that the question names);
                "contextual" (what the conversation was about, and what is recent, counts more); "iterated" (also what
                is `hops` away, a third of the hits at most); "auto": hybrid, minding the time that the question names
                and the history, if there are any.
            history: the conversation so far, oldest first: Messages, `{"role": …, "content": …}`, or texts.
            now: what "last week" counts from, with a time zone; default the present.
            where: only resources for which this holds.
            vector: of the question, instead of the embedder's.
            fusion: "blend" (of scores) or "rrf" (of ranks).
            without: parts of the search to leave out, of "text", "vector", "entity", "graph", "speaker", "asks",
                "answers", "time", "history", "recency", "preferences", "rerank", "hops".
            neighbours: resources before and after each hit to return with it.
            preferences: label -> -1..1: what names a thing the user cares for counts more, or less.
            half_life: days after which a record's recency counts half; default: 30 in mode "contextual", else age
                does not count.
            rerank: gives the best candidates a second look: "onnx:<folder>", "fastembed:<model>", "llm", a
                `remloom.retrieve.Reranker`, or "none"; default the setting `reranker`.
            abstain: false: never; the best there is comes back, fitting or not.
            count_tokens: of the model that will read it; default an estimate that errs towards too many.
            explain: fill `Recall.explained`.

        Raises:
            InvalidInputError: an empty or overlong question, a limit or budget below 1, a time that ends before it
                starts, in mode temporal no time at all.
            UnknownNameError: a mode, fusion, part, field or reranker that does not exist.
            RerankerError, ModelError, MissingExtraError: the reranker cannot be had, or did not answer.
        """
        return self._recaller.recall(
            self._ask(
                question, limit=limit, budget_tokens=budget_tokens, mode=mode, history=history, now=now, where=where,
                vector=vector, fusion=fusion, without=without, hops=hops, neighbours=neighbours,
                preferences=preferences, half_life=half_life, reranker=self._reranker(rerank), abstain=abstain,
                tokens=count_tokens, explain=explain,
            )
        )  # fmt: skip

    def context(
        self,
        question: str,
        *,
        budget_tokens: int = 1500,
        limit: int = 20,
        mode: str = "auto",
        history: Sequence[Message | Mapping[str, Any] | str] = (),
        now: datetime | None = None,
        where: Predicate | str | None = None,
        preferences: Mapping[str, float] = {},
        half_life: float | None = None,
        rerank: Reranker | str | None = None,
        count_tokens: Callable[[str], int] | None = None,
    ) -> str:
        """What answers a question as text for a prompt: quoted passages with source, date and trust, within a budget.

        See `recall` for the arguments and errors.
        """
        from .retrieve.budget import text_of

        ask = self._ask(
            question, limit=limit, budget_tokens=budget_tokens, mode=mode, history=history, now=now, where=where,
            preferences=preferences, half_life=half_life, reranker=self._reranker(rerank), tokens=count_tokens,
        )  # fmt: skip
        return text_of(self._recaller.recall(ask))

    def ask(
        self,
        question: str,
        *,
        turns: int = 5,
        budget_tokens: int = 20_000,
        now: datetime | None = None,
        told: Callable[[AskTurn], None] | None = None,
    ) -> Asked:
        """Let a model find the answer: it asks this memory in statements, turn by turn, and cites what it found.
        Source: seed 5, `ask_rem`. See docs/ask.md.

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

        from .llm import Budget
        from .query.ask import Asker
        from .retrieve.question import checked, names_in

        question, now = checked(question), now or datetime.now(UTC)
        _aware(now)
        budget = Budget(tokens=_positive(budget_tokens))

        def names(text: str) -> list[str]:
            return [named.record.name for named in names_in(self._store, text)]

        with self._llm.run(f"ask-{uuid7()}", budget) as llm:
            asker = Asker(self._executor, llm, names)
            return asker.ask(question, turns=_positive(turns), tokens=budget_tokens, now=now, told=told)

    def ask_rem(self, question: str, **given: Any) -> dict[str, Any]:
        """`ask` as the seed's JSON: `query`, `staged_plan`, and all the rest of the answer. Source: seed 5."""
        return self.ask(question, **given).as_dict()

    @staticmethod
    def _ask(question: str, *, where: Predicate | str | None, **given: Any) -> Ask:
        from .retrieve.recall import Ask

        if isinstance(where, str):
            from .query.parser import parse_where

            where = parse_where(where)
        return Ask(question=question, where=where, **given)

    def _reranker(self, given: Reranker | str | None) -> Reranker | None:
        """The reranker given, or that of the settings; loaded once by its name."""
        name = self._settings.reranker if given is None else given
        if not isinstance(name, str):
            return name
        if name == "none":
            return None
        if name not in self._rerankers:
            from .retrieve.rerank import load_reranker

            self._rerankers[name] = load_reranker(name, self._settings, lambda: self._llm)
        return self._rerankers[name]

    @cached_property
    def _rerankers(self) -> dict[str, Reranker]:
        return {}

    @cached_property
    def _recaller(self) -> Recaller:
        from .retrieve import Recaller

        return Recaller(self._store, lambda text: self._embed_query(text) if self._embedder else None, self._model_name)

    # -- embedding -------------------------------------------------------------------------------------------

    @cached_property
    def _embedder(self) -> Embedder | None:
        if not isinstance(self._given_embedder, str):
            return self._given_embedder
        from .embed import load

        return load(self._given_embedder, self._settings)

    @cached_property
    def _model_name(self) -> str:
        return self._embedder.name if self._embedder is not None else ""

    @cached_property
    def _queue(self) -> EmbeddingQueue:
        if self._embedder is None:
            raise EmbedderError(
                "this memory was opened without an embedder", remedy="set REMLOOM_EMBEDDER=minilm, or open it with one"
            )
        from .ingest.embedding import EmbeddingQueue

        return EmbeddingQueue(self._store, self._embedder)

    def _embed_query(self, text: str) -> Any:
        """The vector of a question, once the few texts that still wait for theirs have them."""
        queue = self._queue
        stored = self._store.model()
        if stored and stored[0] and stored[0] != self._model_name:
            raise EmbedderMismatchError(
                f"this memory's vectors were made by {stored[0]}, not by {self._model_name}",
                remedy="run `remloom reembed`, or open it with the embedder it was written with",
                stored=stored[0], given=self._model_name,
            )  # fmt: skip
        waiting = len(self._store.pending(_AT_ONCE + 1))
        if 0 < waiting <= _AT_ONCE and self._store.capabilities.writable:
            queue.run(_AT_ONCE)
        elif not waiting and stored is None and self._store.unembedded(self._model_name, 1):
            raise EmbedderError(
                "what this memory holds was written without an embedder, and has no vectors yet",
                remedy="run `remloom reembed`, or call embed_pending()",
            )
        assert self._embedder is not None  # noqa: S101 - _queue would have raised
        return self._embedder.embed_query(text)

    def embed_pending(self, progress: Progress | None = None) -> int:
        """Embed every queued text now, parked ones too, and what was written before there was an embedder;
        returns how many. `progress(done, total)`.

        Raises:
            EmbedderError: there is no embedder, or it does not work; the queue is kept.
        """
        self._store.unpark()
        done = self._queue.run(progress=progress)
        if self._store.model() is None and self._store.unembedded(self._model_name, 1):
            return self._queue.move(progress)
        return done

    def reembed(self, embedder: Embedder | str | None = None, progress: Progress | None = None) -> int:
        """Move this memory to another embedder. The old vectors serve until the last new one is there; an
        interrupted move goes on where it was. Returns how many texts were embedded."""
        if embedder is not None:
            self.__dict__.pop("_queue", None)
            self._given_embedder = embedder
            for name in ("_embedder", "_model_name", "_queue", "_recaller"):
                self.__dict__.pop(name, None)
        return self._queue.move(progress)

    # -- reading ---------------------------------------------------------------------------------------------

    def read(
        self,
        source: str | os.PathLike[str],
        *,
        category: str | None = None,
        recursive: bool = True,
        glob: str | None = None,
        wait: bool = True,
        progress: Progress | None = None,
    ) -> ReadReport:
        """Read a file, a folder, or "-" (standard input). See docs/reading.md for the formats.

        What was read before and did not change writes nothing; what changed replaces its old chunks. A document
        that cannot be read is in the report with the reason and stops no other; so is an embedder that does not work.

        Args:
            category: of the resources; default by format.
            recursive, glob: which files of a folder.
            wait: embed before returning. Without, texts are embedded in the background; words and labels are
                findable either way.
            progress: called as `progress(done, total)` while reading, then while embedding.

        Raises:
            SourceError: there is no such file or folder.
        """
        from .sources import open_source

        documents = open_source(source, recursive=recursive, glob=glob)
        return self._ingest(documents, category=category, wait=wait, progress=progress)

    def read_text(
        self, text: str, *, uri: str, name: str | None = None, category: str = "note", at: datetime | None = None
    ) -> ReadReport:
        """Read a text that is at hand. `uri` says where it is from; reading it again under it replaces it.

        Raises:
            InvalidInputError: the uri is empty, or `at` has no time zone.
        """
        from .sources import from_text

        return self._ingest([from_text(text, uri=uri, name=name, category=category, at=at)])

    def read_chat(self, messages: Iterable[Message], *, uri: str, name: str | None = None) -> ReadReport:
        """Read the turns of a chat: a resource each, a moment for each session, people and what they spoke of.

        Raises:
            InvalidInputError: the uri is empty, or a message has a time without zone.
        """
        from .sources import from_messages

        return self._ingest([from_messages(messages, uri=uri, name=name)])

    def _ingest(
        self,
        documents: Iterable[Document | Skipped],
        *,
        category: str | None = None,
        wait: bool = True,
        progress: Progress | None = None,
    ) -> ReadReport:
        from .ingest.pipeline import ingest

        def write(
            items: list[Record | Edge], removed: Sequence[str], unlinked: Sequence[tuple[str, str, str]]
        ) -> Written:
            return self._write(items, removed, unlinked, background=False)

        report = ingest(
            documents,
            tenant=self.tenant,
            store=self._store,
            write=write,
            category=category,
            extractor=self._extractor,
            progress=progress,
        )
        if self._embedder is None or not self._store.pending(1):
            return report
        failed = ""
        if wait:
            try:
                self._queue.run(progress=progress)
            except (EmbedderError, VectorError) as error:
                failed = str(error)
        else:
            self._queue.start()
        return msgspec.structs.replace(report, pending=self._store.stats()["pending"], embedding_error=failed)

    @cached_property
    def _extractor(self) -> Extractor:
        from .ingest.entities import CapitalizedNames

        if self._settings.names == "rules":
            return CapitalizedNames()
        from .ingest.spacy_names import SpacyNames

        return SpacyNames()

    # -- dreaming --------------------------------------------------------------------------------------------

    def learn(
        self,
        source: str | os.PathLike[str] | None = None,
        *,
        order: str = "strict",
        period: str | int = "month",
        dreams: int | float | str | None = None,
        seed: str = "",
        window: int | None = None,
        budget_tokens: int | None = None,
        budget_calls: int | None = None,
        budget_cost: float | None = None,
        glob: str | None = None,
        progress: Callable[[LearnProgress], None] | None = None,
    ) -> Learned:
        """Read a source and learn from it, document by document in time order, and dream whenever a period is over.
        See docs/dreaming.md. Source: seed 1.

        What was read before and not learned yet is learned too. A run that was killed or stopped goes on where it was
        when it is started again with the same arguments. A document of which a call of the model failed is parked with
        the reason; the next run tries it again.

        Args:
            source: what to read first, as for `read`; None: learn from all that was read.
            order: "strict": one document after another, so that the outcome is the same each time; "relaxed": many at
                once.
            period: after which a REM cycle follows: "month", "year", a number of documents, or "none".
            dreams: of each cycle: a number, or a ratio of the records ("10%"); default 100, but one for each record of
                the period at most.
            seed: of the dreams; another one, other dreams.
            window: documents at once in relaxed order; default twice the setting `llm_concurrency`.
            budget_tokens, budget_calls, budget_cost: (US dollars) what this call may spend; then it stops cleanly.
            progress: called after each document and each ten dreams.

        Raises:
            ModelNotConfiguredError, EmbedderError: there is no model, or no embedder.
            ModelError: the model refused, or did not answer for several documents in a row. What is done is done.
            ConflictError: a run is learning already.
            InvalidInputError, SourceError: of the arguments.
        """
        from .dream.session import Learned, Wanted, allowed, learn_run

        wanted = Wanted(
            source=None if source is None else os.fspath(source), order=order, period=period, dreams=dreams, seed=seed,
            window=2 * self._settings.llm_concurrency if window is None else window,
            budget=allowed(budget_tokens, budget_calls, budget_cost),
        )  # fmt: skip
        means = self._means()
        report = uris = None
        if source is not None:
            report = self.read(source, glob=glob, progress=_told_as_reading(progress))
            uris = [item.uri for item in report.items if item.status in ("read", "unchanged")]
        if self._store.pending(1):
            self._queue.run()
        run = learn_run(means, uris, wanted, progress)
        return Learned(run=run, read=report, parked=self.parked("learn") + self.parked("dream"))

    def dream(
        self,
        dreams: int | float | str | None = None,
        *,
        seed: str | None = None,
        period: str | None = None,
        dry_run: bool = False,
        budget_tokens: int | None = None,
        budget_calls: int | None = None,
        budget_cost: float | None = None,
        progress: Callable[[LearnProgress], None] | None = None,
    ) -> Dreamt:
        """Dream once about what is remembered: three records at a time, one of them of the current period, the question
        that binds them, and what its answer reveals. See docs/dreaming.md. Source: seed 1.

        Args:
            dreams: a number, or a ratio of the records ("10%"); default 100, but one for each record of the current
                period at most.
            seed: the same seed over the same memory draws the same records; default another one each time.
            period: the current period: a month ("2021-03") or a year; default the year of the latest record.
            dry_run: write nothing; the report has what would be written. The model is called (and paid) all the same.
            budget_tokens, budget_calls, budget_cost: as for `learn`.
            progress: called after each ten dreams.

        Raises:
            ModelNotConfiguredError, EmbedderError, ModelError, ConflictError, InvalidInputError: as for `learn`.
        """
        from .dream.session import allowed, dream_run

        budget = allowed(budget_tokens, budget_calls, budget_cost)
        means = self._means()
        if self._store.pending(1):
            self._queue.run()
        return dream_run(
            means, dreams=dreams, seed=seed, period=period, dry_run=dry_run, progress=progress, budget=budget,
            settings={"dreams": dreams, "seed": seed, "period": period},
        )  # fmt: skip

    def moments(
        self,
        *,
        hours: float | None = 24.0,
        since: datetime | None = None,
        model: bool | None = None,
        dry_run: bool = False,
        budget_tokens: int | None = None,
        budget_calls: int | None = None,
        budget_cost: float | None = None,
        progress: Progress | None = None,
    ) -> Chore:
        """Tell what happened as moments: sessions, their parts by topic, and, with a model, what happened in them; each
        connected by label with its people, resources, topics, and what came before and after. See docs/moments.md.
        Again, it writes nothing. Source: seed 5.

        Args:
            hours: how far to look back, at what happened or was remembered; None: at everything.
            since: from when on, instead of `hours`.
            model: True asks the model, False does not; None asks it if there is one.
            dry_run: write nothing; the report has what would be written. The model is called all the same.
            budget_tokens, budget_calls, budget_cost: as for `learn`.
            progress: called as `progress(sessions done, sessions)`.

        Raises:
            ModelNotConfiguredError: the model is wanted, and there is none.
            ConflictError: such a run is going on. InvalidInputError: of the arguments.
        """
        from .dream.chores import lookback
        from .dream.moments import extract

        now = datetime.now(UTC)
        start = lookback(hours, since, now)

        def work(writer: Writer, llm: LLM | None) -> list[Theme]:
            extract(self._store, writer, since=start, now=now, llm=llm, progress=progress)
            return []

        settings = {"since": start.isoformat() if since and start else None, "hours": hours}
        return self._chore("moments", settings, work, model, dry_run, (budget_tokens, budget_calls, budget_cost))

    def affinity(
        self,
        *,
        hours: float | None = None,
        since: datetime | None = None,
        neighbours: int = 5,
        min_score: float | None = None,
        judge: bool = False,
        dry_run: bool = False,
        budget_tokens: int | None = None,
        budget_calls: int | None = None,
        budget_cost: float | None = None,
        progress: Progress | None = None,
    ) -> Chore:
        """Connect resources that are about the same: `related` by their vectors, `entity` by the names they share.
        Edges are merged into what is there. Again, it writes nothing. See docs/moments.md. Source: seed 5.

        Args:
            hours, since: edges only from what happened or was remembered since then; default from everything.
            neighbours: edges of each type from one resource, at most.
            min_score: cosine from which two are related; None: found from the memory itself.
            judge: keep only those edges by vectors that the model agrees to. Each pair is asked about once.
            dry_run, budget_tokens, budget_calls, budget_cost: as for `moments`.
            progress: called as `progress(resources done, resources)`.

        Raises:
            ModelNotConfiguredError: the model is to judge, and there is none.
            ConflictError: such a run is going on. InvalidInputError: of the arguments.
        """
        from .dream.affinity import Options, link
        from .dream.chores import lookback

        if min_score is not None and not -1 <= min_score <= 1:
            raise InvalidInputError(f"a cosine is between -1 and 1, not {min_score!r}")
        start = lookback(hours, since, datetime.now(UTC))
        options = Options(since=start, neighbours=_positive(neighbours), min_score=min_score)

        def work(writer: Writer, llm: LLM | None) -> list[Theme]:
            link(self._store, writer, options, llm=llm, progress=progress)
            return []

        settings = {"neighbours": neighbours, "min_score": min_score, "judge": judge, "hours": hours}
        return self._chore("affinity", settings, work, judge, dry_run, (budget_tokens, budget_calls, budget_cost))

    def consolidate(
        self,
        *,
        min_score: float = 0.95,
        model: bool | None = None,
        dry_run: bool = False,
        budget_tokens: int | None = None,
        budget_calls: int | None = None,
        budget_cost: float | None = None,
        progress: Progress | None = None,
    ) -> Chore:
        """Tidy up what was derived: an insight that says what an older one says is superseded by it, and, with a model,
        those that are close to each other get a summary. What was read stays as it is. See docs/metrics.md.

        Args:
            min_score: cosine above which two insights say the same.
            model, dry_run, budget_tokens, budget_calls, budget_cost: as for `moments`.
            progress: called as `progress(summaries done, summaries)`.

        Raises:
            ModelNotConfiguredError: the model is wanted, and there is none.
            MissingExtraError: the extra `consolidate` is not installed.
            ConflictError: such a run is going on. InvalidInputError: of the arguments.
        """
        from .dream.chores import Theme
        from .dream.consolidate import consolidate

        if not 0 < min_score < 1:
            raise InvalidInputError(f"a cosine that says the same is between 0 and 1, not {min_score!r}")

        def work(writer: Writer, llm: LLM | None) -> list[Theme]:
            found = consolidate(
                self._store, writer, tenant=self.tenant, llm=llm, min_score=min_score, progress=progress
            )
            return [
                Theme(topics=cluster.topics, insights=tuple(record.name for record in cluster.members))
                for cluster in found
            ]

        settings = {"min_score": min_score}
        return self._chore("consolidate", settings, work, model, dry_run, (budget_tokens, budget_calls, budget_cost))

    def metrics(self, held_out: str | os.PathLike[str] | None = None) -> Metrics:
        """How good what was dreamt is: coherence, coverage, novelty, depth, cost. Definitions: docs/metrics.md.

        Args:
            held_out: a file or folder that was not read: coverage is how much of it is foreseen.

        Raises:
            SourceError: there is no such file or folder. EmbedderError: `held_out` without an embedder.
        """
        from .dream.metrics import measure, passages
        from .llm.ledger import rows
        from .sources import open_source

        texts = [] if held_out is None else passages(open_source(held_out))
        if (texts or self._embedder is not None) and self._store.pending(1):
            self._queue.run()
        embed = self._queue.windows if texts else None
        return measure(self._store, rows(self._store), held_out=texts, embed=embed)

    def _chore(
        self,
        kind: str,
        settings: dict[str, Any],
        work: Callable[[Writer, LLM | None], list[Theme]],
        model: bool | None,
        dry_run: bool,
        budget: tuple[int | None, int | None, float | None],
    ) -> Chore:
        """A run that a model helps with if it is wanted (or, when None, if there is one)."""
        from .dream.chores import chore
        from .llm import Budget

        llm = self._llm if model or (model is None and self.llm is not None) else None
        if self._embedder is not None and self._store.pending(1):
            self._queue.run()
        writer = self._writer(kind, settings, dry_run=dry_run)
        tokens, calls, cost = budget
        return chore(
            self._store, writer, lambda calls: work(writer, calls),
            llm=llm, budget=Budget(tokens=tokens, calls=calls, cost=cost), dry_run=dry_run,
        )  # fmt: skip

    def runs(self, kind: str = "", *, limit: int | None = None) -> list[Run]:
        """Every time this memory learned, dreamt or tidied up, newest first."""
        from .dream.runs import runs

        return list(runs(self._store, kind, limit=limit))

    def made(self, run: str) -> list[Record]:
        """The records that a run made and that are still there, in order."""
        from .dream.rollback import made

        found = (self._store.get(None, id) for id in made(self._store, run))
        return [record for record in found if record is not None]

    def rollback(self, run: str) -> Run:
        """Take a run back: what it made goes, what it changed is as it was before. All of it, or nothing.

        What you changed since stays, and is counted as `kept` in the receipt.

        Args:
            run: its id, or one end of it that no other has.

        Raises:
            NotFoundError: there is no such run.
            ConflictError: it is going on, was rolled back already, or something was built on it since; says what.
        """
        from .dream.rollback import rollback

        return rollback(self._store, run)

    def parked(self, kind: str = "") -> list[Parked]:
        """What runs could not do because a call of the model failed, with the reason; the next run tries it again."""
        from .dream.parked import parked

        return parked(self._store, kind)

    def _means(self) -> Means:
        """What cycles are done with."""
        from .dream.mind import Limits
        from .dream.session import Means

        llm = self._llm
        return Means(
            self._store, self.tenant, llm, self._model_name, self._queue.windows, self._embed_query,
            Limits(depth=self._settings.dream_depth),
        )  # fmt: skip

    def _writer(self, kind: str, settings: dict[str, Any], *, dry_run: bool = False) -> Writer:
        """A run of a kind, begun; for what needs no model."""
        from .dream.runs import begin
        from .dream.writer import Writer

        run = begin(self._store, kind, settings, dry_run=dry_run)
        embed = self._queue.windows if self._embedder is not None else None
        return Writer(self._store, self.tenant, run, model=self._model_name, embed=embed, dry_run=dry_run)

    # -- jobs ------------------------------------------------------------------------------------------------

    def add_job(
        self,
        kind: str,
        payload: Mapping[str, Any] | None = None,
        *,
        key: str = "",
        not_before: datetime | None = None,
        every: str = "",
        zone: str = "UTC",
    ) -> Job:
        """Have `work` call a method later, in this process or another. See docs/jobs.md.

        Args:
            kind: the method: read, learn, dream, moments, affinity, consolidate, embed_pending, reembed.
            payload: its arguments, JSON.
            key: adding the same job under the same key again changes nothing.
            not_before: default now, or the next time of `every`.
            every: a cron expression ("0 2 * * *"): the job is done again at each of its times.
            zone: the time zone of `every`.

        Raises:
            UnknownNameError: no such kind.
            InvalidInputError: arguments the method does not take, or that are no JSON; a wrong expression or zone.
            ConflictError: the key is that of another job.
        """
        from .jobs.work import bound

        bound(self, kind, payload or {})
        return self._jobs.add(kind, payload, key=key, not_before=not_before, every=every, zone=zone)

    def jobs(self, state: State | None = None) -> list[Job]:
        """The jobs, or those in a state: what is to be done in the order of its time, then what was done."""
        return self._jobs.jobs(state)

    def retry_job(self, id: str) -> Job:
        """Let a waiting or parked job be done at once, its failures forgotten.

        Raises:
            NotFoundError: there is no such job.
            ConflictError: it is running or done.
        """
        return self._jobs.retry(id)

    def remove_job(self, id: str) -> None:
        """Take a job out of the queue, whatever its state.

        Raises:
            NotFoundError: there is no such job.
        """
        self._jobs.remove(id)

    def work(
        self,
        *,
        until_idle: bool = False,
        kinds: Collection[str] | None = None,
        lease: float = 60.0,
        told: Callable[[Job], None] | None = None,
        stop: Event | None = None,
    ) -> int:
        """Do the jobs that are due, one after another, until `stop` is set; returns how many were begun.

        Any number of workers may run, in any number of processes: a job is begun again only when its worker died.

        Args:
            until_idle: return when nothing is due.
            kinds: only these.
            lease: seconds after which the job of a dead worker is begun again.
            told: called with each job as it begins, and as it is afterwards.
        """
        from .jobs import Worker
        from .jobs.work import bound, summary

        def do(job: Job) -> Any:
            return summary(bound(self, job.kind, job.payload)())

        return Worker(self._jobs, do, told=told, kinds=kinds, lease=lease, stop=stop).work(until_idle=until_idle)

    @cached_property
    def _jobs(self) -> StoredQueue:
        from .jobs import StoredQueue

        return StoredQueue(self._store)

    # -- care ------------------------------------------------------------------------------------------------

    def forget(self, *targets: str, dry_run: bool = False) -> Receipt:
        """Forget records by id, sources by uri, or things by label, with all that hangs on them.

        Raises:
            NotFoundError: one of them is not known. Nothing was forgotten.
        """
        from .store.forgetting import forget

        return forget(self._store, targets, dry_run=dry_run)

    def usage(self, *, run: str | None = None, since: datetime | None = None) -> UsageReport:
        """What the language model was used for: calls, tokens, US dollars and time, by task and by run.

        Args:
            run: of one run only.
            since: calls that began then or later.
        """
        from .llm import ledger

        if since is not None:
            _aware(since)
        return ledger.report(ledger.rows(self._store, run=run, since=since))

    def stats(self) -> dict[str, Any]:
        """Counts by schema, type and edge type; vectors, their model and the share searched exactly; queue; bytes.
        `embedding_error` is there when embedding in the background stopped, and says why."""
        queue: EmbeddingQueue | None = self.__dict__.get("_queue")
        failed = {"embedding_error": str(queue.error)} if queue is not None and queue.error else {}
        return {"tenant": self.tenant, **self._store.stats(), **failed}

    def check(self) -> list[str]:
        """Verify the files and every index against its table; a line for each disagreement, none when all is well."""
        return self._store.check()

    def settle(self) -> None:
        """Finish background work on indexes now; may take minutes. Answers are right without."""
        self._store.settle()

    def export(self, path: str | os.PathLike[str] | IO[bytes], *, vectors: bool = True) -> dict[str, int]:
        """Write everything as JSON lines into a new file, or into an open stream; returns counts.

        Raises:
            ConflictError: the file is there already.
        """
        from .store.portable import export

        if not isinstance(path, str | os.PathLike):
            return export(self._store, path, tenant=self.tenant, vectors=vectors)
        try:
            with open(path, "xb", opener=_private) as stream:
                return export(self._store, stream, tenant=self.tenant, vectors=vectors)
        except FileExistsError:
            raise ConflictError(f"{path} is there already", remedy="choose a new file name") from None
        except OSError as error:
            raise ReadOnlyStoreError(f"{path} cannot be written: {error.strerror}") from error

    def import_(self, path: str | os.PathLike[str] | IO[bytes]) -> dict[str, int]:
        """Write an export (a file, or an open stream) into this memory, by id; returns counts."""
        from .store.portable import import_

        if not isinstance(path, str | os.PathLike):
            return import_(self._store, path, model=self._model_name)
        try:
            with Path(path).open("rb") as stream:
                return import_(self._store, stream, model=self._model_name)
        except OSError as error:
            raise InvalidInputError(f"{path} cannot be read: {error.strerror}") from error

    def backup(self, path: str | os.PathLike[str]) -> None:
        """Copy this tenant, as encrypted as it is, into a new folder that can stand in for the tenant's own.

        Raises:
            InvalidInputError: it is kept in PostgreSQL, which has its own way to back up.
        """
        place(self._settings).backup(self._store, self.tenant, Path(path))

    # -- tenants ---------------------------------------------------------------------------------------------

    @staticmethod
    def migrate(home: str | os.PathLike[str] | None = None, *, citus: bool = False) -> tuple[int, int]:
        """Bring a PostgreSQL database to the schema this version knows; returns the version it had, and the one it has.

        `open` does so too, unless `create` is False. With `citus` its tables are distributed by tenant.

        Raises:
            InvalidInputError: the home is a folder.
            SchemaVersionError: a newer Remloom made the schema.
            StoreError: an extension is missing, or the user may not do this.
        """
        return place(_settings(home)).migrate(citus=citus)

    @staticmethod
    def copy(
        source: str | os.PathLike[str],
        target: str | os.PathLike[str],
        *,
        tenant: str | None = None,
        to_tenant: str | None = None,
        key: str | None = None,
        to_key: str | None = None,
        plain: bool = False,
        progress: Progress | None = None,
    ) -> Copied:
        """Copy a tenant from one home into another, a folder or a database either, and verify it by checksums.

        A copy that was broken off goes on when it is called again. Nobody should write to either meanwhile.

        Args:
            to_tenant: its name there; default the same.
            key, to_key: master keys of folders; `to_key` defaults to `key`.
            plain: the copy of an encrypted tenant may be unencrypted.
            progress: told (done, all) of records and edges.

        Raises:
            ConflictError: the target has memories of its own.
            StoreError: source and target differ afterwards; the source was written to meanwhile.
        """
        from .store.copying import copy_tenant

        one = Settings.load(home=os.fspath(source), tenant=tenant, key=key)
        given = {"home": os.fspath(target), "tenant": to_tenant, "key": to_key}
        other = msgspec.structs.replace(one, **{k: v for k, v in given.items() if v is not None})
        return copy_tenant(one, other, plain=plain, progress=progress)

    @staticmethod
    def tenants(home: str | os.PathLike[str] | None = None) -> list[TenantInfo]:
        """The tenants of a home, by name."""
        return place(_settings(home)).tenants()

    @staticmethod
    def create_tenant(home: str | os.PathLike[str] | None, name: str, key: str | None = None) -> None:
        """Make a tenant, encrypted when there is a key (default the setting `key`).

        Raises:
            ConflictError: it is there already.
        """
        settings = _settings(home, key)
        place(settings).create(name, settings.key)

    @staticmethod
    def delete_tenant(home: str | os.PathLike[str] | None, name: str) -> None:
        """Destroy a tenant: first its key, then its folder.

        Raises:
            TenantNotFoundError: there is no such tenant.
        """
        place(_settings(home)).delete(name)


_opened: weakref.WeakSet[Memory] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    """Background threads must not be inside a library when the interpreter goes away under them."""
    for memory in list(_opened):
        memory.close()


def _settings(home: str | os.PathLike[str] | None, key: str | None = None) -> Settings:
    return Settings.load(home=None if home is None else os.fspath(home), key=key)


def _told_as_reading(told: Callable[[LearnProgress], None] | None) -> Progress | None:
    """Reading's progress, told as that of learning."""
    if told is None:
        return None
    from .dream.learning import Progress as LearnProgress

    return lambda done, total: told(LearnProgress(phase="reading", done=done, total=total))


def _of(value: Any, kind: type[Any]) -> Any:
    if not isinstance(value, kind):
        raise InvalidInputError(f"expected a {kind.__name__}, not a {type(value).__name__}")
    return value


def _aware(at: datetime) -> None:
    if not isinstance(at, datetime) or at.utcoffset() is None:
        raise InvalidInputError(f"{at!r} has no time zone", remedy="use an aware datetime, e.g. datetime.now(UTC)")


def _names(edge_types: Sequence[str] | None) -> tuple[str, ...]:
    return (edge_types,) if isinstance(edge_types, str) else tuple(edge_types or ())


def _private(path: str, flags: int) -> int:
    """An opener of files that only their owner may read: an export is plaintext, whatever the tenant is."""
    return os.open(path, flags, 0o600)


def _positive(limit: int) -> int:
    if not isinstance(limit, int) or isinstance(limit, bool) or limit < 1:
        raise InvalidInputError(f"a limit is a whole number from 1, not {limit!r}")
    return limit


def _hits(matches: Iterable[Match]) -> list[Hit]:
    return [Hit(record=match.record, score=match.score, matched=match.matched) for match in matches]
