"""Answers as a model gets to read them: numbered, so that it can cite them, quoted line by line,
and kept short.

Whatever is from the memory stands behind `>`, so nothing that was read can pass for a number, a
hint or an error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from ..model import Answer, Hit, Resource, record_dict
from .paths import EDGES, Connections
from .result import Citation

__all__ = ["TURN", "Quoted", "one_line"]

_T = TypeVar("_T")

PASSAGE = 600  # characters of a record's text
TURN = 6_000  # bytes of all the records that one turn brought back
CELL = 200  # characters of a value in a row
KEPT = ("aliases", "role", "starts_at", "present_persons", "topic_tags", "emotion_tags")


class Quoted:
    """The answers of a conversation, with one number for each record however often it came back."""

    def __init__(self) -> None:
        self._cited: dict[str, Citation] = {}
        self._connections = Connections()

    def citation(self, number: int) -> Citation | None:
        """What a number stands for."""
        return next(
            (citation for citation in self._cited.values() if citation.number == number), None
        )

    def text(self, answer: Answer) -> str:
        """An answer as text; what did not fit is counted in its last line."""
        if answer.query_type in ("sql", "explain"):
            return "\n".join(self._fitting(list(self._rows(answer)), str))
        found = (
            self._fitting(answer.nodes, self._node)
            if answer.nodes
            else self._fitting(answer.records, self._hit)
        )
        return "\n".join([*found, *self._edges(answer), *_hints(answer)])

    def connections(self) -> tuple[str, ...]:
        """Everything that was walked along; see `connections`."""
        return self._connections.all()

    def _fitting(self, items: Sequence[_T], shown: Callable[[_T], str]) -> Iterator[str]:
        """The first items that fit into a turn. What is not shown gets no number: it cannot be
        cited."""
        left = TURN
        for at, item in enumerate(items):
            numbered = dict(self._cited)
            text = shown(item)
            left -= len(text.encode("utf-8", "surrogatepass")) + 1
            if left < 0:
                self._cited = numbered
                yield f"and {len(items) - at} more that are not shown: narrow the statement with LIMIT or WHERE"
                return
            yield text

    def _hit(self, hit: Hit) -> str:
        record = hit.record
        trust = record.trust if isinstance(record, Resource) else "derived"
        return self._passage(record_dict(record), hit.content, hit.matched, trust)

    def _node(self, node: dict[str, Any]) -> str:
        text = node.get("content") or node.get("summary") or ""
        trust = node.get("trust", "read") if node["schema"] == "resources" else "derived"
        return self._passage(node, text, "", trust)

    def _passage(self, record: dict[str, Any], text: str, matched: str, trust: str) -> str:
        places = {
            name: tuple(found)
            for name in ("lines", "pages")
            if (found := record.get("metadata", {}).get(name))
        }
        citation = self._cite(
            record["id"],
            schema=record["schema"],
            name=record["name"],
            uri=record.get("uri", ""),
            **places,
        )
        kind = record.get("category") or record.get("type") or ""
        head = [
            f"[{citation.number}] {record['schema']} (trust: {trust})",
            f"> {one_line(record['name'])}{f' ({one_line(kind)})' if kind else ''}",
        ]
        if record.get("uri"):
            head.append(f"> from {one_line(citation.source)}")
        said = [f"> {line}" for line in _excerpt(text, matched).splitlines() if line.strip()]
        known = {field: record.get(field) for field in KEPT} | record.get("properties", {})
        facts = [
            f"> {one_line(name)}: {_short(value)}"
            for name, value in known.items()
            if value is not None and value is not True
        ]
        return "\n".join([*head, *said, *facts])

    def _rows(self, answer: Answer) -> Iterator[str]:
        number = self._cite(answer.statement, statement=answer.statement).number
        more = ", and there are more" if answer.metadata.get("truncated") else ""
        yield f"[{number}] {len(answer.rows)} rows{more}"
        if answer.rows:
            yield "> " + " | ".join(map(one_line, answer.columns))
        for row in answer.rows:
            yield "> " + " | ".join(map(_short, row))

    def _edges(self, answer: Answer) -> Iterator[str]:
        for node in answer.nodes:
            if citation := self._cited.get(node["id"]):
                self._connections.name(node, citation.number)
        if answer.edge_summary:
            yield "edges:"
        yield from (f"> {connection}" for connection in self._connections.of(answer))
        if len(answer.edge_summary) > EDGES:
            yield f"and {len(answer.edge_summary) - EDGES} more edges"
        if counts := answer.metadata.get("edge_counts"):
            told = (
                f"{one_line(count['rel_type'])} {count['direction']} {count['count']}"
                for count in counts
            )
            yield f"> counts: {', '.join(told)}"
        if self._connections.lead_on(answer):
            yield f"hint: edges lead on from here: DEPTH {answer.metadata['max_depth_reached'] + 1} follows them"

    def _cite(self, at: str, **given: Any) -> Citation:
        """The citation of a record (`at` is its id) or a SELECT (its text); a new one has the next
        number."""
        if at not in self._cited:
            id = "" if "statement" in given else at
            self._cited[at] = Citation(number=len(self._cited) + 1, id=id, **given)
        return self._cited[at]


def _hints(answer: Answer) -> Iterator[str]:
    """What an empty or cut answer calls for."""
    found = answer.records or answer.nodes
    if not found:
        yield "nothing found"
        names = ", ".join(f'"{one_line(hit.name)}"' for hit in answer.suggestions)
        if names:
            yield f"names like it, not the same:\n> {names}"
        elif answer.query_type == "fuzzy":
            yield "hint: a lower THRESHOLD, or SEARCH for what it is about"
        elif answer.query_type == "search":
            yield "hint: other words, a lower MIN, no WHERE, or another schema"
        else:
            yield "hint: FUZZY finds a name that is not exactly known, SEARCH what a text is about"
    elif (
        answer.query_type == "traverse"
        and answer.metadata.get("max_depth_reached") == 0
        and not answer.edge_summary
    ):
        yield "hint: no such edges leave it; DIRECTION in follows those that lead to it, DIRECTION both any"
    if omitted := answer.metadata.get("nodes_omitted"):
        yield f"hint: {omitted} more nodes were left out: LIMIT {answer.metadata['limit_applied'] + omitted} shows them"
    if missing := found and answer.metadata.get("missing"):
        yield f"not found:\n> {', '.join(map(one_line, missing))}"


def _excerpt(text: str, matched: str) -> str:
    """A text, or, of a long one, what is around the window that matched."""
    start, colon, _ = matched.partition(":")
    at = int(start) if colon and start.isdigit() and len(text) > PASSAGE else 0
    cut = text[at : at + PASSAGE]
    return f"{'… ' if at else ''}{cut}{' …' if at + PASSAGE < len(text) else ''}"


def _short(value: object) -> str:
    """A value of a field or a column in one line."""
    match value:
        case None:
            text = "null"
        case list() | tuple():
            text = ", ".join(map(_short, value))
        case {"name": name}:
            text = str(name)
        case dict():
            text = ", ".join(f"{name}: {_short(one)}" for name, one in value.items())
        case _:
            text = str(value)
    text = one_line(text)
    return text if len(text) <= CELL else text[: CELL - 1] + "…"


def one_line(text: str) -> str:
    """A text in one line: nothing in it can pass for a line of its own."""
    return " ".join(str(text).split())
