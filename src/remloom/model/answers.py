"""Answers of queries and of recall: hits, nodes or rows, and a report of how they came about."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from msgspec import Struct

from .edges import Edge
from .premises import Stale
from .records import Record, Resource, Row, cited, record_dict, set_values
from .traversal import (
    FoundRecord,
    Meaning,
    Node,
    ResolvedLabel,
    Stage,
    TraverseReport,
    United,
    meanings_dict,
)


class Hit(FoundRecord, frozen=True, gc=False, kw_only=True):
    """A record that answers a query, and how well. It reads like the record itself."""

    score: float = 1.0  # LOOKUP 1.0; FUZZY similarity 0..1; SEARCH cosine; text search BM25
    matched: str = ""  # the key or window that matched
    # sources of the other records with the same text, which SEARCH and recall show once
    copies: tuple[str, ...] = ()
    # of AS OF: what it says was written after that time; what it said then is not kept
    written_later: bool = False
    # why what was made of others may not hold any more
    stale: Stale | None = None
    # of AS OF: when, later than that, it was said to have been wrong
    retracted_at: datetime | None = None

    @property
    def content(self) -> str:
        """The text of the record: a resource's content, else the summary."""
        return self.record.content if isinstance(self.record, Resource) else self.record.summary

    @property
    def uri(self) -> str:
        return self.record.uri if isinstance(self.record, Resource) else ""

    @property
    def lines(self) -> tuple[int, int] | None:
        """First and last line in `uri`, from 1, if the record was read from lines."""
        return self.record.lines if isinstance(self.record, Resource) else None

    @property
    def pages(self) -> tuple[int, int] | None:
        """First and last page of `uri`, from 1, if the record was read from pages (PDF)."""
        return self.record.pages if isinstance(self.record, Resource) else None

    @property
    def message_ids(self) -> tuple[str, ...]:
        """The ids of the chat messages that the record was read from."""
        return self.record.message_ids if isinstance(self.record, Resource) else ()

    @property
    def graph_paths(self) -> tuple[Edge, ...]:
        return self.record.graph_paths

    @property
    def source(self) -> str:
        """A citation: `uri:first-last` (lines), `uri#page=first-last`, or `uri`; of a row of a
        database its table and handle; else the name."""
        record = self.record
        if isinstance(record, Row) and record.uri:
            return f"{record.uri} {record.handle}"
        if isinstance(record, Resource) and record.uri:
            return cited(record.uri, record.metadata)
        return self.name

    def as_dict(self) -> dict[str, Any]:
        shown = record_dict(self.record)
        shown["score"] = round(self.score, 6)
        return shown | set_values(
            matched=self.matched,
            copies=list(self.copies),
            written_later=self.written_later,
            stale=self.stale and self.stale.as_dict(),
            retracted_at=self.retracted_at and self.retracted_at.isoformat(),
        )


class LookupReport(Struct, frozen=True, gc=False, kw_only=True, tag="lookup"):
    """Labels of a LOOKUP that are missing, were resolved, or mean several things."""

    missing: tuple[str, ...] = ()  # labels that mean nothing
    resolved: tuple[ResolvedLabel, ...] = ()
    # by the key of a label that means several things: these, or the first 20
    meanings: dict[str, tuple[Meaning, ...]] = {}
    united: tuple[United, ...] = ()  # rows of several sources that are one thing
    as_of: datetime | None = None
    written_later: int = 0  # hits that say what was written after `as_of`

    def as_dict(self) -> dict[str, Any]:
        return {"missing": list(self.missing)} | set_values(
            resolved=[label.as_dict() for label in self.resolved],
            meanings=meanings_dict(self.meanings),
            united=[united.as_dict() for united in self.united],
            as_of=self.as_of and self.as_of.isoformat(),
            written_later=self.written_later,
        )


class SearchReport(Struct, frozen=True, gc=False, tag="search"):
    """Texts that a SEARCH could not see."""

    waiting: int = 0  # texts without a vector; some more may not be counted

    def as_dict(self) -> dict[str, Any]:
        return set_values(waiting=self.waiting)


class SelectReport(Struct, frozen=True, gc=False, tag="select"):
    """The schema of a SELECT, and whether there was more of it."""

    schema: str
    truncated: bool  # there were more rows

    def as_dict(self) -> dict[str, Any]:
        return {"schema": self.schema, "truncated": self.truncated}


class Answer(Struct, frozen=True, gc=False, kw_only=True):
    """The answer to a query. Which fields are filled depends on the kind of query.

    LOOKUP, FUZZY, SEARCH: `records` (and `suggestions` when a LOOKUP finds nothing).
    TRAVERSE: `nodes`, `stages`, `source_nodes`, `edge_summary`, `metadata`.
    SQL: `columns`, `rows`.
    """

    query_type: str  # lookup | fuzzy | search | traverse | sql | explain
    statement: str = ""  # canonical text of what ran
    records: list[Hit] = []
    suggestions: list[Hit] = []
    nodes: list[Node] = []
    stages: list[Stage] = []
    source_nodes: list[str] = []
    edge_summary: list[tuple[str, str, str]] = []
    columns: list[str] = []
    rows: list[tuple[Any, ...]] = []
    report: LookupReport | SearchReport | SelectReport | TraverseReport | None = None

    @property
    def meanings(self) -> dict[str, tuple[Meaning, ...]]:
        """What labels that were looked up mean, if they mean several things; by their keys."""
        return (
            self.report.meanings if isinstance(self.report, LookupReport | TraverseReport) else {}
        )

    @property
    def united(self) -> tuple[United, ...]:
        """Which rows that were looked up are one thing, and why."""
        return self.report.united if isinstance(self.report, LookupReport | TraverseReport) else ()

    @property
    def metadata(self) -> dict[str, Any]:
        """The report as the seeds' JSON."""
        return {} if self.report is None else self.report.as_dict()

    def as_dict(self) -> dict[str, Any]:
        """Show the answer as the seeds' JSON: only the fields of its kind of query."""
        if self.query_type == "traverse":
            shown: dict[str, Any] = {
                "nodes": [node.as_dict() for node in self.nodes],
                "stages": [stage.as_dict() for stage in self.stages],
                "source_nodes": self.source_nodes,
                "edge_summary": [list(edge) for edge in self.edge_summary],
                "metadata": self.metadata,
            }
            if self.suggestions:
                shown["suggestions"] = [hit.as_dict() for hit in self.suggestions]
            return shown
        if self.query_type in ("sql", "explain"):
            return {
                "columns": self.columns,
                "rows": [list(row) for row in self.rows],
                "metadata": self.metadata,
            }
        return {
            "records": [hit.as_dict() for hit in self.records],
            "suggestions": [hit.as_dict() for hit in self.suggestions],
            "metadata": self.metadata,
        }


class Reason(Struct, frozen=True, kw_only=True):
    """One signal that brought a record up, and what it was worth."""

    part: str  # one of `remloom.retrieve.PARTS`
    share: float  # of the hit's score
    rank: int = 0  # in that signal's own list, from 1; 0: it has no list
    score: float = 0.0  # there: cosine, BM25, …
    note: str = ""


class RecallHit(Hit, frozen=True, kw_only=True):
    """A recalled record with the reasons.

    `matched` is its best window ("start:end" in its text), where one is known.
    """

    reasons: tuple[Reason, ...] = ()
    # edges walked to it: keys and type, from the question's side
    path: tuple[tuple[str, str, str], ...] = ()
    before: tuple[Resource, ...] = ()  # the neighbours of it in its source
    after: tuple[Resource, ...] = ()
    # of what is stale: what it rests on that changed, as it is now, if it is still there
    changed: Record | None = None
    # of a row: which rows of other sources are the same thing, and why
    united: United | None = None

    def as_dict(self) -> dict[str, Any]:
        shown = super().as_dict()
        shown["source"] = self.source
        shown["reasons"] = [_set_fields(reason) for reason in self.reasons]
        if self.path:
            shown["path"] = [list(edge) for edge in self.path]
        for side, neighbours in (("before", self.before), ("after", self.after)):
            if neighbours:
                shown[side] = [
                    {"id": one.id, "name": one.name, "content": one.content} for one in neighbours
                ]
        if self.changed is not None:
            shown["changed"] = record_dict(self.changed)
        if self.united is not None:
            shown["united"] = self.united.as_dict()
        return shown


class Episode(Struct, frozen=True, kw_only=True):
    """A session of a chat that decides what was asked, with the turns that do, in their order.

    What was read or written outside of chats is an episode by itself.
    """

    id: str  # of its moment; outside of chats, of its first text
    name: str
    uri: str = ""
    starts_at: datetime | None = None  # of all of it
    ends_at: datetime | None = None
    score: float = 0.0  # probability that it decides, or that of what it amends
    hits: tuple[RecallHit, ...] = ()
    reasons: tuple[Reason, ...] = ()
    amends: str = ""  # id of the earlier episode of which it amends the decision, behind it
    amends_at: datetime | None = None  # when that began

    def as_dict(self) -> dict[str, Any]:
        """Show the episode as JSON-ready values; its hits by their ids."""
        return {"id": self.id, "name": self.name, "score": round(self.score, 6)} | set_values(
            uri=self.uri,
            starts_at=self.starts_at and self.starts_at.isoformat(),
            ends_at=self.ends_at and self.ends_at.isoformat(),
            amends=self.amends,
            amends_at=self.amends_at and self.amends_at.isoformat(),
            reasons=[_set_fields(reason) for reason in self.reasons],
            hits=[hit.id for hit in self.hits],
        )


class Recall(Struct, frozen=True, kw_only=True):
    """The answer to a question: hits; or, if recall abstained, none, and the `reason`."""

    question: str
    asked: str = ""  # the question as it was searched: pronouns resolved
    mode: str = "hybrid"  # hybrid | temporal | contextual | iterated: how it was answered
    hits: list[RecallHit] = []
    # with the unit "episode": the sessions of the hits, what amends one before it
    episodes: list[Episode] = []
    abstained: bool = False
    reason: str = ""
    # what was left out for it took too long, or a token encoder that nobody asked for failed; of
    # `as_of`, what was not looked at
    note: str = ""
    as_of: datetime | None = None  # when it was remembered so; None: now
    window: tuple[datetime, datetime] | None = None  # the time it is about: from, until
    # of the hits as `Memory.context` writes them; counted only with a budget or `explain`
    tokens: int = 0
    # with `explain`: the names found, how many records each signal found, time taken, doubts
    explained: dict[str, Any] = {}

    def as_dict(self) -> dict[str, Any]:
        """Show the recall as JSON-ready values."""
        shown: dict[str, Any] = {name: getattr(self, name) for name in self.__struct_fields__}
        shown["as_of"] = self.as_of and self.as_of.isoformat()
        shown["window"] = [at.isoformat() for at in self.window] if self.window else None
        shown["hits"] = [hit.as_dict() for hit in self.hits]
        shown["episodes"] = [episode.as_dict() for episode in self.episodes]
        return shown


def _set_fields(value: Struct) -> dict[str, Any]:
    shown = {}
    for name in value.__struct_fields__:
        field = getattr(value, name)
        if field not in ("", 0):
            shown[name] = round(field, 6) if isinstance(field, float) else field
    return shown
