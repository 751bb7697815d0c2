"""The tool `query`: a statement of the dialect."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct, UnsetType

from ...memory.memory import Memory
from ...model import Meaning
from ...text.quoting import one_line
from ..bounds import LONGEST_STATEMENT, NO_NUL
from ..operation import Progress, tool
from .passage import QUOTED, Passage, meanings_text, quote_all

_MOST_EDGES = 100  # that are told


class QueryTakes(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The arguments of `query`."""

    statement: Annotated[str, Meta(max_length=LONGEST_STATEMENT, pattern=NO_NUL)]


class Queried(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The answer to a statement as JSON; its kind decides which fields it has.

    Every record and node has its `trust` and `source` besides.
    """

    records: list[dict[str, Any]] | UnsetType = UNSET
    suggestions: list[dict[str, Any]] | UnsetType = UNSET
    nodes: list[dict[str, Any]] | UnsetType = UNSET
    stages: list[dict[str, Any]] | UnsetType = UNSET
    source_nodes: list[str] | UnsetType = UNSET
    edge_summary: list[list[str]] | UnsetType = UNSET
    columns: list[str] | UnsetType = UNSET
    rows: list[list[Any]] | UnsetType = UNSET
    metadata: dict[str, Any] | UnsetType = UNSET


def _query(memory: Memory, values: QueryTakes, progress: Progress | None) -> Queried:
    """Run a statement: LOOKUP "Sarah Chen"; FUZZY "sara"; SEARCH "coffee" LIMIT 5; TRAVERSE
    manages WITH LOOKUP "Sarah Chen" DEPTH 2 (DEPTH 0 PLAN counts edges; MEMO "…" is echoed);
    SELECT name, type FROM entities WHERE type = 'person' LIMIT 10. LOOKUP and
    TRAVERSE may end in AS OF '2025-05-01'. memory://dialect has it all, memory://schemas the
    user's own tables.
    """
    shown = memory.query(values.statement).as_dict()
    for part in ("records", "suggestions", "nodes"):
        if part in shown:
            shown[part] = [_with_source(fields) for fields in shown[part]]
    return Queried(**shown)


def _meanings(metadata: Mapping[str, Any]) -> Iterator[str]:
    for key, some in metadata.get("meanings", {}).items():
        yield meanings_text(key, [str(Meaning(**meaning)) for meaning in some])


def _with_source(fields: Mapping[str, Any]) -> dict[str, Any]:
    passage = Passage.of_fields(fields)
    return {**fields, "source": passage.source, "trust": passage.trust}


def _text(value: Queried) -> str:
    if value.columns is not UNSET:
        return _rows_text(value)
    parts = [quote_all(map(Passage.of_fields, _listed(value.records) or _listed(value.nodes)))]
    edges = _listed(value.edge_summary)
    parts += ["edges:", *(f"> {_line(edge)}" for edge in edges[:_MOST_EDGES])] if edges else []
    if len(edges) > _MOST_EDGES:
        parts.append(f"and {len(edges) - _MOST_EDGES} more edges")
    metadata = value.metadata or {}
    if later := _written_later(value):
        parts.append(f"Written after the time of AS OF, what they said then is not kept: {later}")
    parts += [f"{name}:\n> {_line(metadata[name])}" for name in _REPORTED if metadata.get(name)]
    parts += _meanings(metadata)
    if suggestions := _listed(value.suggestions):
        parts.append(f"Names like it:\n> {_line(hit['name'] for hit in suggestions)}")
    return "\n".join(part for part in parts if part) or "Nothing found."


def _written_later(value: Queried) -> str:
    """The numbers of the passages that say what was written after the time of AS OF."""
    shown = enumerate(_listed(value.records) or _listed(value.nodes), 1)
    return ", ".join(f"[{number}]" for number, fields in shown if fields.get("written_later"))


# of the report of an answer
_REPORTED = ("missing", "unknown_edge_types", "edge_counts", "nodes_omitted", "waiting")


def _rows_text(value: Queried) -> str:
    rows = [_listed(value.columns), *_listed(value.rows)]
    truncated = (value.metadata or {}).get("truncated")
    more = "\nThere are more rows." if truncated else ""
    return QUOTED + "\n".join(f"> {_line(row, ' | ')}" for row in rows) + more


def _line(values: Any, between: str = ", ") -> str:
    if isinstance(values, str | int) or not isinstance(values, Iterable):
        return one_line(values, 0)
    return between.join(one_line(value, 0) for value in values)


def _listed(value: Any) -> list[Any]:
    return [] if value is UNSET else value


QUERY = tool(
    _query, text=_text, aliases={"query": "statement", "q": "statement", "sql": "statement"}
)
