"""Answers as a model reads them: numbered, to be cited, quoted line by line, and kept short.

What is from the memory stands behind `>`, so it cannot pass for a number, a hint or an error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar

from .. import labels
from ..model import (
    Answer,
    Hit,
    LookupReport,
    Node,
    SelectReport,
    TraverseReport,
    TypeCount,
    trust_of,
)
from ..text.quoting import one_line, quoted, quoted_lines
from .result import Citation

MAX_TURN = 6_000  # bytes of all the records that one turn brought back
_MAX_PASSAGE = 600  # characters of a record's text
_MAX_VALUE = 200  # characters of a field
_MAX_CELL = 600  # of a value in a row, which may be a text
# Fields of a record that are shown besides its text.
_SHOWN_FIELDS = (
    "aliases",
    "role",
    "starts_at",
    "present_persons",
    "topic_tags",
    "emotion_tags",
)

_Item = TypeVar("_Item")
_MAX_EDGES = 100  # of an edge summary
_MAX_EXAMPLES = 3  # of each type and direction in a PLAN, which has the counts besides

_Edge: TypeAlias = tuple[str, str, str]  # source key, edge type, target key


class Transcript:
    """The answers of a conversation, with one number for each record however often it came back."""

    def __init__(self) -> None:
        self._citations: dict[str, Citation] = {}  # by the id of the record, or the SELECT
        self.connections = Connections()

    def citation(self, number: int) -> Citation | None:
        """The citation that a number stands for."""
        citations = self._citations.values()
        return next((citation for citation in citations if citation.number == number), None)

    def quote_answer(self, answer: Answer) -> str:
        """An answer as text; what did not fit is counted in its last line."""
        if answer.query_type in ("sql", "explain"):
            rows = list(self._row_lines(answer))
            return "\n".join(self._fit(rows, str))
        if answer.nodes:
            passages = self._fit(answer.nodes, self._node_passage)
        else:
            passages = self._fit(answer.records, self._hit_passage)
        # in this order: edges are named by the numbers that the passages have given out
        return "\n".join([*passages, *self._edge_lines(answer), *_hint_lines(answer)])

    def _fit(self, items: Sequence[_Item], quote: Callable[[_Item], str]) -> Iterator[str]:
        """The first items that fit into a turn. An item that is not shown gets no number."""
        left = MAX_TURN
        for index, item in enumerate(items):
            citations = dict(self._citations)
            text = quote(item)
            left -= len(text.encode("utf-8", "surrogatepass")) + 1
            if left < 0:
                self._citations = citations
                yield (
                    f"and {len(items) - index} more that are not shown:"
                    " narrow the statement with LIMIT or WHERE"
                )
                return
            yield text

    def _hit_passage(self, hit: Hit) -> str:
        excerpt = _excerpt(hit.content, hit.matched)
        return self._passage(hit.as_dict(), excerpt, trust_of(hit.record))

    def _node_passage(self, node: Node) -> str:
        record = node.record
        text = node.get("content") or node.get("summary") or ""
        return self._passage(node.as_dict(), _excerpt(text, ""), trust_of(record))

    def _passage(self, fields: Mapping[str, Any], excerpt: str, trust: str) -> str:
        citation = self._cite_record(fields)
        kind = fields.get("category") or fields.get("type") or ""
        kind_text = f" ({one_line(kind)})" if kind else ""
        lines = [
            f"[{citation.number}] {fields['schema']} (trust: {trust})",
            f"> {one_line(fields['name'])}{kind_text}",
        ]
        if fields.get("uri"):
            lines.append(f"> from {one_line(citation.source)}")
        lines += quoted_lines(excerpt)
        if stale := fields.get("stale"):
            lines.append(f"> may not hold any more: {one_line(stale['message'])}")
        shown = {name: fields.get(name) for name in _SHOWN_FIELDS}
        shown |= fields.get("properties", {}) | fields.get("fields", {})
        for name, value in shown.items():
            # True says no more than the name
            if value is not None and value is not True:
                lines.append(f"> {one_line(name)}: {_short(value)}")
        return "\n".join(lines)

    def _cite_record(self, fields: Mapping[str, Any]) -> Citation:
        metadata = fields.get("metadata", {})
        lines = metadata.get("lines")
        pages = metadata.get("pages")
        return self._cite(
            fields["id"],
            id=fields["id"],
            schema=fields["schema"],
            name=fields["name"],
            uri=fields.get("uri", ""),
            lines=tuple(lines) if lines else None,
            pages=tuple(pages) if pages else None,
        )

    def _cite(self, key: str, **fields: Any) -> Citation:
        """The citation of a record or SELECT; a new one has the next number."""
        if key not in self._citations:
            number = len(self._citations) + 1
            self._citations[key] = Citation(number=number, **fields)
        return self._citations[key]

    def _row_lines(self, answer: Answer) -> Iterator[str]:
        number = self._cite(answer.statement, statement=answer.statement).number
        report = answer.report
        truncated = isinstance(report, SelectReport) and report.truncated
        yield f"[{number}] {len(answer.rows)} rows{', and there are more' if truncated else ''}"
        if answer.rows:
            yield "> " + " | ".join(map(one_line, answer.columns))
        for row in answer.rows:
            yield "> " + " | ".join(_short(value, _MAX_CELL) for value in row)

    def _edge_lines(self, answer: Answer) -> Iterator[str]:
        for node in answer.nodes:
            if citation := self._citations.get(node.id):
                self.connections.name_node(node, citation.number)
        if answer.edge_summary:
            yield "edges:"
        yield from (f"> {sentence}" for sentence in self.connections.add_answer(answer))
        report = answer.report
        is_plan = isinstance(report, TraverseReport) and report.is_plan
        if len(answer.edge_summary) > _MAX_EDGES and not is_plan:
            yield f"and {len(answer.edge_summary) - _MAX_EDGES} more edges"
        if isinstance(report, TraverseReport):
            if report.edge_counts:
                yield f"> counts: {', '.join(map(_count_text, report.edge_counts))}"
            if self.connections.lead_on(answer):
                yield f"hint: edges lead on from here: DEPTH {report.depth + 1} follows them"


def _count_text(count: TypeCount) -> str:
    return f"{one_line(count.rel_type)} {count.direction} {count.count}"


def _hint_lines(answer: Answer) -> Iterator[str]:
    report = answer.report
    is_empty = not answer.records and not answer.nodes
    if is_empty:
        yield "nothing found"
        yield _empty_hint(answer)
    if isinstance(report, TraverseReport):
        if not is_empty and report.depth == 0 and not answer.edge_summary:
            yield (
                "hint: no such edges, in neither direction; SELECT and SEARCH find what names it"
                if report.direction == "both"
                else "hint: no such edges leave it; DIRECTION in follows those that lead to it,"
                " DIRECTION both any"
            )
        if omitted := report.omitted_nodes:
            yield (
                f"hint: {omitted} more nodes were left out: LIMIT {report.limit + omitted}"
                " shows them"
            )
    if isinstance(report, LookupReport | TraverseReport) and report.written_later:
        yield (
            f"{report.written_later} of these were written after the time of AS OF: what they said"
            " then is not kept"
        )
    for united in answer.united:
        yield f"one thing, of several sources:\n> {one_line(united, 0)}"
    for key, some in answer.meanings.items():
        lines = "".join(f"\n> {one_line(meaning)}" for meaning in some)
        yield f"several things are called so:\n> {one_line(key)}{lines}"
    if not is_empty and isinstance(report, LookupReport) and report.missing:
        yield f"not found:\n> {', '.join(map(one_line, report.missing))}"


def _empty_hint(answer: Answer) -> str:
    names = ", ".join(quoted(hit.name) for hit in answer.suggestions)
    if names:
        return f"names like it, not the same:\n> {names}"
    if answer.query_type == "fuzzy":
        return "hint: a lower THRESHOLD, or SEARCH for what it is about"
    if answer.query_type == "search":
        return "hint: other words, a lower MIN, no WHERE, or another schema"
    return "hint: FUZZY finds a name that is not exactly known, SEARCH what a text is about"


def _excerpt(text: str, matched: str) -> str:
    """A text, or the part of a long one around the window ("start:end") that matched."""
    window_start, colon, _ = matched.partition(":")
    has_window = bool(colon) and window_start.isdigit() and len(text) > _MAX_PASSAGE
    start = int(window_start) if has_window else 0
    end = start + _MAX_PASSAGE
    before = "… " if start else ""
    after = " …" if end < len(text) else ""
    return f"{before}{text[start:end]}{after}"


def _short(value: object, longest: int = _MAX_VALUE) -> str:
    match value:
        case None:
            text = "null"
        case list() | tuple():
            text = ", ".join(map(_short, value))
        case {"name": name}:
            text = str(name)
        case dict():
            text = ", ".join(f"{name}: {_short(inner)}" for name, inner in value.items())
        case _:
            text = str(value)
    return one_line(text, longest)


class Connections:
    """The connections of one conversation, in the order in which they came up."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}  # key -> the record there, with its number
        # dictionaries that stand for ordered sets
        self._edges: dict[_Edge, None] = {}
        self._paths: dict[tuple[str, ...], None] = {}

    def name_node(self, node: Node, number: int) -> None:
        """Call a node by its name and number from now on."""
        numbered = f"{_plain(node.name)} [{number}]"
        # An edge may lead to any of its keys.
        self._names.setdefault(node.path[-1], numbered)
        for name in (node.name, *node.get("aliases", ())):
            self._names.setdefault(labels.key(name), numbered)

    def add_answer(self, answer: Answer) -> list[str]:
        """The sentences of one answer. Those of a PLAN, which follows no edges, are not kept, and
        are examples of each type."""
        edges = answer.edge_summary[:_MAX_EDGES]
        paths = [node.path for node in answer.nodes]
        report = answer.report
        if isinstance(report, TraverseReport) and report.is_plan:
            edges = _examples(answer)
        else:
            self._edges.update(dict.fromkeys(edges))
            self._paths.update(dict.fromkeys(paths))
        return [*self._edge_sentences(edges), *self._gap_sentences(paths)]

    def lead_on(self, answer: Answer) -> bool:
        """Whether edges of the types that a walk was to follow lead on from where it ended."""
        report = answer.report
        if not isinstance(report, TraverseReport) or not report.depth:
            return False
        # What LIMIT left out is no deeper; and of all types, some always lead on.
        if report.truncated or not report.edge_types:
            return False
        # an end without a name is a node that the walk did not reach
        ends = ((src, dst) for src, _, dst in answer.edge_summary[:_MAX_EDGES])
        return not all(map(self._all_named, ends))

    def sentences(self) -> tuple[str, ...]:
        return (*self._edge_sentences(self._edges), *self._gap_sentences(self._paths))

    def _edge_sentences(self, edges: Iterable[_Edge]) -> Iterator[str]:
        """One sentence for all edges of a type that leave the same record."""
        targets: dict[tuple[str, str], dict[str, None]] = {}
        for src, rel_type, dst in edges:
            names = targets.setdefault((self._name(src), rel_type), {})
            names[self._name(dst)] = None
        for (source, rel_type), names in targets.items():
            yield f"{source} {_plain(rel_type)} {', '.join(names)}"

    def _gap_sentences(self, paths: Iterable[Sequence[str]]) -> Iterator[str]:
        """The paths to named records over nodes that LIMIT left out, which no sentence has."""
        for path in paths:
            if path[-1] in self._names and not self._all_named(path):
                yield " → ".join(map(self._name, path))

    def _all_named(self, keys: Iterable[str]) -> bool:
        return all(key in self._names for key in keys)

    def _name(self, key: str) -> str:
        return self._names.get(key) or _plain(key)


def _examples(answer: Answer) -> list[_Edge]:
    """The first edges of each type and direction."""
    starts = set(answer.source_nodes)
    kinds: dict[tuple[str, bool], list[_Edge]] = {}
    for edge in answer.edge_summary:
        kinds.setdefault((edge[1], edge[0] in starts), []).append(edge)
    return [edge for edges in kinds.values() for edge in edges[:_MAX_EXAMPLES]]


def _plain(name: str) -> str:
    """A name in one line, in which nothing can pass for a citation."""
    line = one_line(name)
    return line.replace("[", "(").replace("]", ")")
