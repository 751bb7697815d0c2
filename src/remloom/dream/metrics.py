"""How good what was dreamt is: coherence, coverage, novelty, depth, and what it cost.

Defined in docs/metrics.md. Source: seed 1, "Evaluation Metrics". Everything is measured with the
vectors there are; no model is asked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from .. import labels
from ..ingest.chunker import chunk_text
from ..llm.ledger import Spent, sum_lines
from ..model import Resource
from ..sources import Document, Skipped
from ..store.batch import Vector
from ..store.contract import Store
from .consolidate import standing_insights
from .vectors import matrix, typical_cosine, vector_of_text

if TYPE_CHECKING:
    from .vectors import Floats


_FALLEN = 0.8  # of the first generation's quality, below which quality has degraded
# standard deviations above the mean cosine of two texts, from which one predicts the other
_NEAR = 2.5
_BLOCK = 1_024  # rows compared with all others at once

Embed = Callable[[Sequence[str]], list[tuple[Vector, ...]]]  # the windows of each text


class Coherence(Struct, frozen=True, kw_only=True):
    """Whether what is understood of an entity stays of one piece."""

    # mean cosine of two insights of one entity, over entities; None: none has two
    score: float | None
    across: float | None  # of two insights of different entities, for comparison
    # name, insights, mean cosine; the least coherent first
    entities: tuple[tuple[str, int, float], ...] = ()


class Novelty(Struct, frozen=True, kw_only=True):
    """Whether dreams say what nothing they could read says."""

    # mean over dreams of 1 - cosine with the nearest record of a lower generation
    score: float | None
    sources: float | None  # the same for what was read: a chunk against those of other sources
    # mean over dreams of how far apart their parents are: 1 - mean cosine of two of them
    reach: float | None
    dreams: tuple[float, ...] = ()  # novelty of each
    read: tuple[float, ...] = ()  # of each chunk


class Generation(Struct, frozen=True, kw_only=True):
    """One generation of insights."""

    generation: int
    records: int
    kinds: Mapping[str, int]
    support: float  # mean cosine of an insight with the middle of its parents
    novelty: float  # mean of 1 - cosine with the nearest record of a lower generation
    quality: float  # mean of the geometric mean of both


class Coverage(Struct, frozen=True, kw_only=True):
    """How much of texts that were held out is foreseen."""

    texts: int
    score: float  # share of them to which some insight comes near
    sources: float  # share to which something that was read comes near
    gained: float  # share to which an insight comes near and nothing that was read does
    threshold: float  # cosine that counts as near


class Cost(Struct, frozen=True, kw_only=True):
    """What the model took, for each insight that stands."""

    insights: int
    calls: int
    tokens: int
    dollars: float | None  # None: the price of some calls is not known
    per_insight_tokens: float | None
    per_insight_dollars: float | None
    tasks: Mapping[str, int] = {}  # tokens by task


class Metrics(Struct, frozen=True, kw_only=True):
    """What was measured. Where there is nothing to measure it by, a part or its score is None."""

    sources: int
    insights: int
    coherence: Coherence
    novelty: Novelty
    # the last generation before quality falls below four fifths of the first one's; 0: none
    depth: int
    generations: tuple[Generation, ...]
    cost: Cost
    coverage: Coverage | None = None

    def page(self) -> str:
        """The metrics as one HTML page with plots, which needs no other file.

        Raises:
            MissingExtraError: the extra `report` is not installed.
        """
        from .report import page

        return page(self)


def measure(
    store: Store,
    usage: Sequence[Spent] = (),
    *,
    held_out: Sequence[str] = (),
    embed: Embed | None = None,
) -> Metrics:
    """Measure what a memory dreamt.

    Args:
        usage: the ledger; what was asked outside of runs does not count.
        held_out: texts that were not read: by them, with `embed`, coverage is measured.
    """
    read = [
        record
        for record in store.records.all("resources")
        if isinstance(record, Resource) and not record.generation and record.content.strip()
    ]
    dreamt = standing_insights(store)
    measured = _Measured(store, read, dreamt)
    generations = measured.generations()
    windows = embed(held_out) if embed else []
    return Metrics(
        sources=len(read),
        insights=len(dreamt),
        coherence=measured.coherence(),
        novelty=measured.novelty(),
        depth=_depth(generations),
        generations=generations,
        cost=_cost(usage, len(dreamt)),
        coverage=measured.coverage([vector_of_text(one) for one in windows if one]),
    )


def passages(documents: Iterable[Document | Skipped]) -> list[str]:
    """The texts of documents, in the pieces in which they would be remembered."""
    texts: list[str] = []
    for document in documents:
        if not isinstance(document, Document):
            continue
        if document.turns:
            texts += [turn.message.text for turn in document.turns]
        else:
            chunks = chunk_text(document.text, start=document.body)
            texts += [chunk.text for chunk in chunks]
    return [text for text in texts if text.strip()]


class _Measured:
    """The vectors of what was read and of what was dreamt, and what follows from them."""

    def __init__(self, store: Store, read: Sequence[Resource], dreamt: Sequence[Resource]) -> None:
        self._store = store
        self._model = (store.vectors.model() or ("", 0))[0]
        self._read, self._read_vectors = _with_vectors(store, read)
        self._dreamt, self._dreamt_vectors = _with_vectors(store, dreamt)
        self._parents = {record.id: store.records.parents(record.id) for record in self._dreamt}
        self._novelties = self._dreamt_novelties()

    # -- depth ---------------------------------------------------------------------------------

    def generations(self) -> tuple[Generation, ...]:
        by_number: dict[int, list[int]] = {}
        for position, record in enumerate(self._dreamt):
            by_number.setdefault(record.generation, []).append(position)
        return tuple(
            self._generation(number, positions) for number, positions in sorted(by_number.items())
        )

    def _generation(self, number: int, positions: Sequence[int]) -> Generation:
        support = [self._support(position) for position in positions]
        novelty = [self._novelties[position] for position in positions]
        # the geometric mean of both
        quality = [
            (max(0.0, one) * max(0.0, other)) ** 0.5
            for one, other in zip(support, novelty, strict=True)
        ]
        kinds = Counter(self._dreamt[position].kind for position in positions)
        return Generation(
            generation=number,
            records=len(positions),
            kinds=dict(kinds),
            support=_mean(support) or 0.0,
            novelty=_mean(novelty) or 0.0,
            quality=_mean(quality) or 0.0,
        )

    def _support(self, position: int) -> float:
        """How near an insight is to the middle of its parents, as a cosine."""
        import numpy as np

        parents = matrix(self._store, self._parents[self._dreamt[position].id])
        if not len(parents):
            return 0.0
        middle = parents.sum(axis=0)
        length = np.linalg.norm(middle)
        return float(middle @ self._dreamt_vectors[position] / (length or 1.0))

    # -- coherence -----------------------------------------------------------------------------

    def coherence(self) -> Coherence:
        by_entity: dict[str, list[int]] = {}
        names: dict[str, str] = {}
        for position, record in enumerate(self._dreamt):
            entity = record.metadata.get("entity")
            if isinstance(entity, str) and entity.strip():
                key = labels.key(entity)
                by_entity.setdefault(key, []).append(position)
                names.setdefault(key, entity)
        scored = [
            (names[key], len(positions), round(self._mean_cosine(positions), 4))
            for key, positions in by_entity.items()
            if len(positions) > 1
        ]
        if not scored:
            return Coherence(score=None, across=None)
        return Coherence(
            score=_mean([score for _, _, score in scored]),
            across=self._across(list(by_entity.values())),
            entities=tuple(sorted(scored, key=lambda item: (item[2], item[0]))),
        )

    def _across(self, groups: Sequence[Sequence[int]]) -> float | None:
        """The mean cosine of two insights of different groups."""
        every = [position for positions in groups for position in positions]
        inside = sum(self._sum_of_cosines(positions) for positions in groups)
        total = self._sum_of_cosines(every)
        pairs = _pairs(len(every)) - sum(_pairs(len(positions)) for positions in groups)
        return round((total - inside) / pairs, 4) if pairs else None

    def _sum_of_cosines(self, positions: Sequence[int]) -> float:
        if len(positions) < 2:
            return 0.0
        return _pairs(len(positions)) * self._mean_cosine(positions)

    def _mean_cosine(self, positions: Sequence[int]) -> float:
        return _mean_cosine(self._dreamt_vectors[positions])

    # -- novelty -------------------------------------------------------------------------------

    def novelty(self) -> Novelty:
        dreams = [
            position for position, record in enumerate(self._dreamt) if record.kind == "rem_dream"
        ]
        own = [self._novelties[position] for position in dreams]
        parents = [
            matrix(self._store, self._parents[self._dreamt[position].id]) for position in dreams
        ]
        reach = [1 - _mean_cosine(vectors) for vectors in parents if len(vectors) > 1]
        read = self._read_novelties()
        return Novelty(
            score=_mean(own),
            sources=_mean(read),
            reach=_mean(reach),
            dreams=tuple(round(value, 4) for value in own),
            read=tuple(round(value, 4) for value in read),
        )

    def _dreamt_novelties(self) -> list[float]:
        """Of each insight, 1 - cosine with the nearest record of a lower generation."""
        import numpy as np

        generations = np.array([record.generation for record in self._dreamt], np.int64)
        nearest = np.zeros(len(generations), np.float32)
        for generation in np.unique(generations):
            positions = np.flatnonzero(generations == generation)
            below = self._dreamt_vectors[generations < generation]
            lower = np.concatenate([self._read_vectors, below])
            for start in range(0, len(positions), _BLOCK):
                block = positions[start : start + _BLOCK]
                cosines = _nearest(self._dreamt_vectors[block], lower)
                nearest[block] = np.maximum(0.0, cosines)
        return [1 - float(value) for value in nearest]

    def _read_novelties(self) -> list[float]:
        """Of each chunk, 1 - cosine with the nearest of another source; none of one source only."""
        import numpy as np

        sources: dict[str, int] = {}
        numbers = np.array(
            [sources.setdefault(record.uri or record.id, len(sources)) for record in self._read]
        )
        novelties: list[float] = []
        if len(sources) < 2:
            return novelties
        for start in range(0, len(numbers), _BLOCK):
            block = slice(start, start + _BLOCK)
            scores = self._read_vectors[block] @ self._read_vectors.T
            scores[numbers[block, None] == numbers[None, :]] = -1.0
            novelties += (1 - scores.max(axis=1)).tolist()
        return novelties

    # -- coverage ------------------------------------------------------------------------------

    def coverage(self, vectors: Sequence[Floats]) -> Coverage | None:
        """How much of texts with these vectors is foreseen; None when there are none."""
        import numpy as np

        if not vectors:
            return None
        texts = np.stack(vectors)
        mean, deviation = typical_cosine(self._read_vectors, self._model)
        threshold = mean + _NEAR * deviation
        by_insights = _nearest(texts, self._dreamt_vectors) >= threshold
        by_read = _nearest(texts, self._read_vectors) >= threshold
        return Coverage(
            texts=len(texts),
            score=round(float(by_insights.mean()), 4),
            sources=round(float(by_read.mean()), 4),
            gained=round(float((by_insights & ~by_read).mean()), 4),
            threshold=round(threshold, 3),
        )


def _with_vectors(store: Store, records: Sequence[Resource]) -> tuple[list[Resource], Floats]:
    """The records that have vectors, and these as one matrix."""
    import numpy as np

    vectors = matrix(store, [record.id for record in records])
    positions = np.flatnonzero(vectors.any(axis=1))
    return [records[int(position)] for position in positions], vectors[positions]


def _nearest(texts: Floats, others: Floats) -> Floats:
    """The highest cosine of each text with any of the others; -1 when there are none."""
    import numpy as np

    if not len(others):
        return np.full(len(texts), -1.0, np.float32)
    return np.asarray((texts @ others.T).max(axis=1), np.float32)


def _mean_cosine(vectors: Floats) -> float:
    """The mean cosine of two of them."""
    import numpy as np

    count = len(vectors)
    every = np.square(vectors.sum(axis=0, dtype=np.float64)).sum()
    # without the cosine of each with itself
    return float(every - count) / _pairs(count)


def _pairs(count: int) -> int:
    """The number of ordered pairs of different things."""
    return count * (count - 1)


def _depth(generations: Sequence[Generation]) -> int:
    reached = 0
    for generation in generations:
        if generation.quality < _FALLEN * generations[0].quality:
            break
        reached = generation.generation
    return reached


def _cost(usage: Sequence[Spent], insights: int) -> Cost:
    paid = [one for one in usage if one.run]
    total = sum_lines("", (one.line for one in paid))
    tokens = total.input_tokens + total.output_tokens
    dollars = None if total.unpriced or not paid else total.cost
    tasks: Counter[str] = Counter()
    for one in paid:
        tasks[one.task] += one.line.input_tokens + one.line.output_tokens
    return Cost(
        insights=insights,
        calls=total.calls,
        tokens=tokens,
        dollars=dollars,
        per_insight_tokens=round(tokens / insights, 1) if insights and paid else None,
        per_insight_dollars=dollars / insights if insights and dollars is not None else None,
        tasks=dict(tasks.most_common()),
    )


def _mean(values: Sequence[float]) -> float | None:
    return round(sum(values) / len(values), 4) if values else None
