"""Connections: what walks along edges found, in sentences that name each record as it is cited.

However little a model makes of a walk, these are all of it: "Ada [1] manages Bob [2], Eve [3]".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeAlias

from .. import labels
from ..model import Answer

__all__ = ["EDGES", "Connections"]

EDGES = 100  # of an edge summary

_Edge: TypeAlias = tuple[str, str, str]


class Connections:
    """Those of one conversation, in the order in which they were come to."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}  # key -> the record there, with its number
        self._edges: dict[_Edge, None] = {}
        self._paths: dict[tuple[str, ...], None] = {}

    def name(self, node: dict[str, Any], number: int) -> None:
        """Call a node of a walk by its name and number from now on, whichever of its keys an edge
        leads to."""
        for key in (
            node["_traverse_path"][-1],
            *map(labels.key, (node["name"], *node.get("aliases", ()))),
        ):
            self._names.setdefault(key, f"{_plain(node['name'])} [{number}]")

    def of(self, answer: Answer) -> list[str]:
        """The connections of an answer. Those of a PLAN, which follows none, are not kept."""
        edges = answer.edge_summary[:EDGES]
        paths = [tuple(node["_traverse_path"]) for node in answer.nodes]
        if "edge_counts" not in answer.metadata:
            self._edges.update(dict.fromkeys(edges))
            self._paths.update(dict.fromkeys(paths))
        return [*self._sentences(edges), *self._gaps(paths)]

    def lead_on(self, answer: Answer) -> bool:
        """Whether edges of the types that a walk was to follow lead on from where it ended."""
        told = answer.metadata
        if not told.get("max_depth_reached") or told["truncated"] or told["edge_filter"] == ["*"]:
            return False
        return not self._known(
            end for src, _, dst in answer.edge_summary[:EDGES] for end in (src, dst)
        )

    def all(self) -> tuple[str, ...]:
        """Everything that was walked along."""
        return (*self._sentences(self._edges), *self._gaps(self._paths))

    def _sentences(self, edges: Iterable[_Edge]) -> Iterator[str]:
        """One for all edges of a type that leave the same record."""
        found: dict[tuple[str, str], dict[str, None]] = {}
        for src, rel_type, dst in edges:
            found.setdefault((self._named(src), rel_type), {})[self._named(dst)] = None
        for (src, rel_type), ends in found.items():
            yield f"{src} {_plain(rel_type)} {', '.join(ends)}"

    def _gaps(self, paths: Iterable[Sequence[str]]) -> Iterator[str]:
        """The paths to what is known over what is not, as LIMIT left it out: no edge tells of
        these."""
        for path in paths:
            if path[-1] in self._names and not self._known(path):
                yield " → ".join(map(self._named, path))

    def _known(self, keys: Iterable[str]) -> bool:
        return all(key in self._names for key in keys)

    def _named(self, key: str) -> str:
        return self._names.get(key) or _plain(key)


def _plain(name: str) -> str:
    """A name in one line, in which nothing can pass for a citation."""
    return " ".join(name.split()).replace("[", "(").replace("]", ")")
