"""A store against a model of it: the same answers after any sequence of changes and reopenings.

`StoreMachine` is a Hypothesis state machine over `store.contract.Store`. A provider gives it a way
to open one tenant:

    class Machine(StoreMachine):
        def opening(self) -> Store:
            return MyStore(self.folder)

    TestMachine = Machine.TestCase
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import cast

import numpy as np
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from .. import labels
from ..model import Edge, Entity, Resource
from ..store.contract import Store
from ..store.rules import validation
from ..store.specs import EdgeOrder, NameSpec, SearchSpec, WalkSpec

DIMS = 4
NAMES = ["Ada", "Ben", "Cleo", "Dan", "Eva Lin", "Föhn", "G-7", "東京"]
WORDS = ["apple", "bridge", "candle", "desert", "engine", "forest"]

names = st.sampled_from(NAMES)
contents = st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join)
vectors = st.lists(st.integers(-3, 3), min_size=DIMS, max_size=DIMS).filter(any)


class StoreMachine(RuleBasedStateMachine):
    """Everything written is found in every way until it is deleted, and `check` finds no fault."""

    def opening(self) -> Store:
        """Open the tenant in `self.folder`, or any other that is this machine's own."""
        raise NotImplementedError("return the store under test")

    @initialize()
    def begin(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="remloom-stateful-"))
        self.store = self.opening()
        self.resources: dict[str, Resource] = {}  # by id
        self.entities: dict[str, str] = {}  # key -> id, of those written as entities
        self.edges: dict[tuple[str, str], float] = {}  # keys at the ends -> weight

    def teardown(self) -> None:
        self.store.close()
        shutil.rmtree(self.folder)

    # -- what may happen ---------------------------------------------------------------------------

    @rule(name=names, content=contents, vector=vectors, parent=st.integers(0, 9))
    def write_resource(self, name: str, content: str, vector: list[int], parent: int) -> None:
        parents = (list(self.resources)[parent],) if parent < len(self.resources) else ()
        resource = Resource(
            name=f"{name} on {content}",
            content=content,
            embedding=vector,
            parents=parents,
            generation=len(parents),
        )
        (id,) = self._write(resource)
        # the same text under the same name is one record, as written last
        self.resources[id] = resource

    @rule(name=names, summary=contents)
    def write_entity(self, name: str, summary: str) -> None:
        (id,) = self._write(Entity(name=name, type="thing", summary=summary))
        assert self.entities.setdefault(labels.key(name), id) == id, "an entity joins its namesake"

    @rule(src=names, dst=names, weight=st.sampled_from([0.25, 0.5, 1.0]))
    def write_edge(self, src: str, dst: str, weight: float) -> None:
        self._write(Edge(src=src, rel_type="knows", dst=dst, weight=weight))
        ends = labels.key(src), labels.key(dst)
        self.edges[ends] = max(weight, self.edges.get(ends, 0))

    @precondition(lambda self: self.resources)
    @rule(which=st.integers(0, 9))
    def delete_resource(self, which: int) -> None:
        id = list(self.resources)[which % len(self.resources)]
        deletion = self.store.delete([id])
        assert deletion.remaining == ()
        assert id in deletion.ids
        # resources derived from it go too; the deletion says which
        for gone in deletion.ids:
            del self.resources[gone]

    @precondition(lambda self: self.entities)
    @rule(which=st.integers(0, 9))
    def delete_entity(self, which: int) -> None:
        key = list(self.entities)[which % len(self.entities)]
        assert self.store.delete([self.entities.pop(key)]).remaining == ()
        # the edges of an entity go with it
        self.edges = {ends: weight for ends, weight in self.edges.items() if key not in ends}

    @precondition(lambda self: self.entities)
    @rule(which=st.integers(0, 9), name=names)
    def rename_entity(self, which: int, name: str) -> None:
        old = list(self.entities)[which % len(self.entities)]
        new = labels.key(name)
        # a name that another entity has would make the two one, which is not modelled here
        if new in self.entities and new != old:
            return
        id = self.entities.pop(old)
        self._write(Entity(id=id, name=name, type="thing"))
        self.entities[new] = id
        edges: dict[tuple[str, str], float] = {}
        for (src, dst), weight in self.edges.items():
            # two edges may become one, which has the greater weight
            ends = new if src == old else src, new if dst == old else dst
            edges[ends] = max(weight, edges.get(ends, 0))
        self.edges = edges

    @rule()
    def settle(self) -> None:
        self.store.admin.optimize()

    @rule()
    def reopen(self) -> None:
        self.store.close()
        self.store = self.opening()

    # -- what must hold ----------------------------------------------------------------------------

    @invariant()
    def every_label_is_found_with_its_edges(self) -> None:
        found = self.store.records.lookup([labels.key(name) for name in NAMES])
        ends = {key for pair in self.edges for key in pair}
        for key, records in found.items():
            assert bool(records) == (key in self.entities or key in ends)
            # a placeholder stands for a label that only edges have
            ids = [record.id for record in records if not getattr(record, "thin", False)]
            assert ids == ([self.entities[key]] if key in self.entities else [])
            leaving = [edge for record in records for edge in record.graph_paths]
            paths = {(key, edge.dst): edge.weight for edge in leaving}
            assert paths == {pair: weight for pair, weight in self.edges.items() if pair[0] == key}

    @invariant()
    def every_text_is_found_by_its_words(self) -> None:
        for word in WORDS:
            found = self.store.search.text(word, SearchSpec(schema="resources", limit=100))
            having = {id for id, resource in self.resources.items() if word in resource.content}
            assert {match.record.id for match in found} == having

    @invariant()
    def the_nearest_is_found(self) -> None:
        if not self.resources:
            return
        # the latest two: they are the ones that an index may not have yet
        for resource in list(self.resources.values())[-2:]:
            query = _vector_of(resource)
            (best,) = self.store.search.vector(query, SearchSpec(schema="resources", limit=1))
            cosines = [_cosine(query, _vector_of(other)) for other in self.resources.values()]
            assert abs(best.score - max(cosines)) < 2e-3, "vectors are kept in 16 bits"

    @invariant()
    def names_are_found_by_likeness(self) -> None:
        for key, id in list(self.entities.items())[-2:]:
            matches = self.store.search.names(key, NameSpec(type="thing", threshold=0.9, limit=3))
            assert (matches[0].record.id, matches[0].score) == (id, 1.0)

    @invariant()
    def a_walk_reaches_what_edges_reach(self) -> None:
        for start in sorted({src for src, _ in self.edges})[:2]:
            walk = self.store.graph.walk(
                WalkSpec([start], direction="out", depth=9, order=EdgeOrder())
            )
            reached, waiting = {start}, [start]
            while waiting:
                here = waiting.pop()
                new = {dst for src, dst in self.edges if src == here} - reached
                reached |= new
                waiting += new
            assert {step.key for step in walk.steps} == reached - {start}

    @invariant()
    def every_index_agrees_with_its_table(self) -> None:
        assert self.store.admin.check() == []

    def _write(self, item: Resource | Entity | Edge) -> tuple[str, ...]:
        return self.store.write(validation.build([item], tenant="stateful", model="")).ids


def _vector_of(resource: Resource) -> list[float]:
    return cast("list[float]", list(resource.embedding or ()))


def _cosine(one: Sequence[float], other: Sequence[float]) -> float:
    return float(np.dot(one, other) / (np.linalg.norm(one) * np.linalg.norm(other)))
