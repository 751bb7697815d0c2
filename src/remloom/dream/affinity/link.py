"""Affinity: edges between resources that are about the same, by their vectors and by the names they
share.

Source: seed 5, "Second-Order Dreaming: Resource Affinity". What the thresholds were chosen by is in
docs/moments.md.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import datetime
from math import log, log1p
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from ... import labels
from ...model import SHARES, Edge, Resource
from ...runs.writer import Writer
from ...store.contract import Store
from ...store.specs import EdgeSpec
from ...text.analysis import term_set
from ..vectors import matrix, typical
from .siblings import occasions

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ...llm import LLM
    from ..vectors import Floats

__all__ = ["ENTITY", "NEIGHBOURS", "RELATED", "Affinities", "Options", "find", "link"]

RELATED, ENTITY = "related", "entity"  # edge types: seed 5's two path forms
NEIGHBOURS = 5  # edges of each type from one resource, at most
# standard deviations above the mean cosine of two resources, from which they are related
DEVIATIONS = 3.0
SHARED = 0.4  # weight from which the names two resources share make an edge
_NAME = 0.6  # what a name that only two resources share adds, of what is missing to certainty
# words of its own that a text needs: "Thanks, that means a lot!" is like any other thanks
_TELLING = 5
_COMMON = 0.03  # share of the short texts from which a word is nobody's own
_FEW_TEXTS = 10  # that may have a word before it is common
_SHORT = 60  # words; a longer text always has words of its own
# rarity below which a name tells nothing of any two resources: about a tenth of 1,000 name it
_RARE = 0.3
_FEW = 100  # resources: in a smaller memory a name tells as much as in one of this size
_HUB = 500  # resources above which it does not either
_BLOCK = 512  # resources compared with all others at once: 20 MB for 10,000
_GAIN = 0.01  # of weight, below which an edge that is there is left as it is


class Options(Struct, frozen=True, kw_only=True):
    """How affinity is found.

    Args:
        since: edges only from what was remembered or happened since then, to whatever it is like.
        neighbours: edges of each type from one resource.
        min_score: cosine from which two are related; None: found from the memory itself (see
            `threshold`).
    """

    since: datetime | None = None
    neighbours: int = NEIGHBOURS
    min_score: float | None = None


class Affinities(Struct, frozen=True, kw_only=True):
    """What some resources are like: edges to write, those that are there already left out."""

    edges: tuple[Edge, ...]
    fresh: int  # resources looked at for these
    compared: int  # so far
    total: int
    threshold: float
    ambiguous: int  # resources passed over because others bear their name


def link(
    store: Store,
    writer: Writer,
    options: Options,
    *,
    llm: LLM | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> None:
    """Write the edges that `find` finds, block by block; with a model, of those by vectors only the
    ones it agrees to.

    Edges are merged into what is there: nothing that anybody wrote is lost (seed 5). Again, it
    writes nothing.

    Raises:
        BudgetError: the run's budget is spent; what was judged until then is written.
    """
    for found in find(store, options, progress=progress):
        edges = found.edges
        if llm:
            from .judge import judged

            edges = judged(store, writer, llm, edges)
        writer.count(
            related=sum(edge.rel_type == RELATED for edge in edges),
            entity=sum(edge.rel_type == ENTITY for edge in edges),
            resources=found.fresh,
            ambiguous=found.ambiguous if found.fresh == found.compared else 0,
        )
        writer.write((), edges)


def find(
    store: Store, options: Options, *, progress: Callable[[int, int], None] | None = None
) -> Iterator[Affinities]:
    """Edges between resources, block by block: what is yielded can be written before the next is
    asked for.

    Every resource as read (generation 0) is compared with every other, but those of its own
    document or session; it gets edges to the most similar ones, `related`, and to those it shares
    the most telling names with, `entity`. Resources whose name several bear are passed over, for an
    edge goes from label to label. Deterministic.
    """
    pool = _Pool(store)
    cosine = options.min_score if options.min_score is not None else pool.threshold()
    wanted = [place for place in range(len(pool)) if _recent(pool.resources[place], options.since)]
    for low in range(0, len(wanted), _BLOCK):
        rows = wanted[low : low + _BLOCK]
        found = [
            *pool.related(rows, cosine, options.neighbours),
            *pool.sharing(rows, options.neighbours),
        ]
        edges = tuple(_unknown(store, found))
        done = low + len(rows)
        yield Affinities(
            edges=edges, fresh=len(rows), compared=done, total=len(wanted), threshold=round(cosine, 3),
            ambiguous=pool.ambiguous,
        )  # fmt: skip
        if progress:
            progress(done, len(wanted))


def _recent(resource: Resource, since: datetime | None) -> bool:
    return since is None or any(
        at is not None and at >= since for at in (resource.starts_at, resource.created_at)
    )


class _Pool:
    """The resources of a memory that can have affinities, with what they are compared by."""

    def __init__(self, store: Store) -> None:
        import numpy as np

        read = [
            record
            for record in store.records.all("resources")
            if isinstance(record, Resource) and not record.generation and record.content.strip()
        ]
        bearers = Counter(labels.key(resource.name) for resource in read)
        self.resources = [resource for resource in read if bearers[labels.key(resource.name)] == 1]
        self.ambiguous = len(read) - len(self.resources)
        self.keys = [labels.key(resource.name) for resource in self.resources]
        self._vectors = matrix(store, [resource.id for resource in self.resources])
        self._telling = np.array(_telling(self.resources), bool) & self._vectors.any(axis=1)
        self._occasion = np.array(occasions(self.resources), np.int64)
        self._model = (store.vectors.model() or ("", 0))[0]
        self._names = _names(store, self.resources, self.keys)
        self._named: dict[str, list[int]] = {}
        for place, names in enumerate(self._names):
            for name in names:
                self._named.setdefault(name, []).append(place)

    def __len__(self) -> int:
        return len(self.resources)

    def threshold(self) -> float:
        """The cosine from which two resources are related: so far above what any two of them have."""
        mean, deviation = typical(self._vectors, self._model)
        return min(0.99, mean + DEVIATIONS * deviation)

    def related(self, rows: Sequence[int], threshold: float, count: int) -> Iterator[Edge]:
        """Edges from these resources to those most like them."""
        import numpy as np

        scores = self._vectors[rows] @ self._vectors.T
        scores[self._apart(rows) | ~self._telling[None, :]] = -1.0
        scores[~self._telling[np.asarray(rows)]] = -1.0
        for place, row in zip(rows, scores, strict=True):
            for other in _best(row, threshold, count):
                similarity = round(min(1.0, float(row[other])), 3)
                yield self._edge(
                    place,
                    other,
                    RELATED,
                    similarity,
                    {"match_type": "semantic", "semantic_similarity": similarity},
                )

    def sharing(self, rows: Sequence[int], count: int) -> Iterator[Edge]:
        """Edges from these resources to those that name the same: the fewer others do, the more it
        tells."""
        import numpy as np

        size = len(self)
        # the logarithm of what is missing to certainty
        missing = np.zeros((len(rows), size), np.float32)
        for row, place in zip(missing, rows, strict=True):
            for name in self._names[place]:
                if rarity := self._rarity(name):
                    row[self._named[name]] += log1p(-_NAME * rarity)
        scores = 1 - np.exp(missing)
        scores[self._apart(rows)] = 0.0
        # of those that share as much, the most similar
        scores += 1e-3 * (self._vectors[rows] @ self._vectors.T)
        for place, row in zip(rows, scores, strict=True):
            for other in _best(row, SHARED, count):
                shared = self._names[place].keys() & self._names[other].keys()
                told = sorted(shared, key=lambda name: (-self._rarity(name), name))
                weight = round(1 - float(np.exp(missing[rows.index(place), other])), 3)
                properties = {
                    SHARES + name: self._names[place][name] for name in told if self._rarity(name)
                }
                yield self._edge(
                    place, other, ENTITY, weight, {"match_type": "entity", **properties}
                )

    def _rarity(self, name: str) -> float:
        """1 for what only one resource names, towards 0 for what all do."""
        count = len(self._named[name])
        size = max(len(self), _FEW)
        rarity = log(1 + size / count) / log(1 + size) if 1 < count <= _HUB else 0.0
        return rarity if rarity >= _RARE else 0.0

    def _apart(self, rows: Sequence[int]) -> NDArray[np.bool_]:
        """Pairs that are no news: of one document or session, a resource and itself."""
        import numpy as np

        of_rows = self._occasion[np.asarray(rows)]
        return np.asarray(of_rows[:, None] == self._occasion[None, :])

    def _edge(
        self, src: int, dst: int, rel_type: str, weight: float, properties: dict[str, Any]
    ) -> Edge:
        target = self.resources[dst]
        about = {"dst_name": target.name, "dst_entity_type": f"resource/{target.kind}"}
        return Edge(
            src=self.resources[src].name, rel_type=rel_type, dst=target.name, weight=weight,
            properties={**about, **properties},
        )  # fmt: skip


def _telling(resources: Sequence[Resource]) -> list[bool]:
    """Whether each text says something of its own; long ones do."""
    words = {
        place: term_set(resource.content)
        for place, resource in enumerate(resources)
        if len(resource.content.split(None, _SHORT)) < _SHORT
    }
    spread = Counter(word for found in words.values() for word in found)
    common = max(_FEW_TEXTS, _COMMON * len(words))
    return [
        place not in words or sum(spread[word] <= common for word in words[place]) >= _TELLING
        for place in range(len(resources))
    ]


def _best(row: Floats, threshold: float, count: int) -> list[int]:
    """The places of the `count` highest scores from the threshold on, the highest first."""
    import numpy as np

    above = np.flatnonzero(row >= threshold)
    if len(above) > count:
        above = above[np.argpartition(-row[above], count - 1)[:count]]
    return sorted(above.tolist(), key=lambda place: (-float(row[place]), place))


def _names(
    store: Store, resources: Sequence[Resource], keys: Sequence[str]
) -> list[dict[str, str]]:
    """What each resource names, key to name. Who speaks in its source does not count: everybody
    there is spoken to."""
    speakers: dict[str, set[str]] = {}
    for resource in resources:
        if isinstance(speaker := resource.metadata.get("speaker"), str) and speaker.strip():
            speakers.setdefault(resource.uri, set()).add(labels.key(speaker))
    mentioned: dict[str, dict[str, str]] = {}
    if "mentions" in store.graph.edge_types():
        for low in range(0, len(keys), _BLOCK):
            for edge in store.graph.edges(
                EdgeSpec(keys[low : low + _BLOCK], direction="out", rel_types=["mentions"])
            ):
                mentioned.setdefault(edge.src, {})[edge.dst] = str(
                    edge.properties.get("dst_name") or edge.dst
                )
    found = []
    for resource, key in zip(resources, keys, strict=True):
        names = {
            labels.key(name): name for name in resource.related_entities if name.strip()
        } | mentioned.get(key, {})
        silent: Collection[str] = speakers.get(resource.uri, ())
        found.append(
            {
                name: shown
                for name, shown in sorted(names.items())
                if name != key and not _addresses(name, silent)
            }
        )
    return found


def _addresses(name: str, speakers: Collection[str]) -> bool:
    """Whether a name is that of somebody who speaks, or short for it ("Mel")."""
    return any(
        speaker == name or (len(name) > 2 and speaker.startswith(name)) for speaker in speakers
    )


def _unknown(store: Store, edges: Sequence[Edge]) -> Iterator[Edge]:
    """The edges that say more than what is there: a new one, a higher weight, another shared name."""
    types = [name for name in (RELATED, ENTITY) if name in store.graph.edge_types()]
    keys = list(dict.fromkeys(labels.key(edge.src) for edge in edges))
    stored = (
        store.graph.edges(EdgeSpec(keys, direction="out", rel_types=types))
        if types and keys
        else []
    )
    known = {(edge.src, edge.rel_type, edge.dst): edge for edge in stored}
    for edge in edges:
        there = known.get((labels.key(edge.src), edge.rel_type, labels.key(edge.dst)))
        if there is None or edge.weight >= there.weight + _GAIN or _shared(edge) - _shared(there):
            yield edge


def _shared(edge: Edge) -> set[str]:
    return {name for name in edge.properties if name.startswith(SHARES)}
