"""Connections: the edges that were walked along, in sentences that name each record as it is cited.

However little a model makes of a walk, these are all of it: "Ada [1] manages Bob [2], Eve [3]".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

from .. import labels
from ..model import Answer, Node, TraverseReport
from ..text.quoting import one_line

MAX_EDGES = 100  # of an edge summary

_Edge: TypeAlias = tuple[str, str, str]  # source key, edge type, target key


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
        """The sentences of one answer. Those of a PLAN, which follows no edges, are not kept."""
        edges = answer.edge_summary[:MAX_EDGES]
        paths = [node.path for node in answer.nodes]
        report = answer.report
        is_plan = isinstance(report, TraverseReport) and report.is_plan
        if not is_plan:
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
        edges = answer.edge_summary[:MAX_EDGES]
        # an end without a name is a node that the walk did not reach
        ends = [(src, dst) for src, _, dst in edges]
        return not all(map(self._all_named, ends))

    def sentences(self) -> tuple[str, ...]:
        """Everything that was walked along."""
        sentences = [*self._edge_sentences(self._edges)]
        sentences += self._gap_sentences(self._paths)
        return tuple(sentences)

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


def _plain(name: str) -> str:
    """A name in one line, in which nothing can pass for a citation."""
    line = one_line(name)
    return line.replace("[", "(").replace("]", ")")
