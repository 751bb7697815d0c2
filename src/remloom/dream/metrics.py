"""How good what was dreamt is, by the vectors alone (seed 1, "Evaluation Metrics"). See
docs/metrics.md."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from .. import labels
from ..ingest.chunker import chunk_text
from ..llm.ledger import Spent, sum_lines
from ..model import Resource
from ..sources import Document, Skipped
from ..store.batch import Vector
from ..store.contract import Store
from .consolidate import current_insights
from .report import Coherence, Cost, Coverage, Generation, Metrics, Novelty
from .vectors import matrix, typical_cosine, vector_of_text

if TYPE_CHECKING:
    from .vectors import Floats

_FALLEN = 0.8  # of the first generation's quality, below which quality has degraded
# standard deviations above the mean cosine of two texts, from which one predicts the other
_DEVIATIONS = 2.5
_BLOCK = 1_024  # rows compared with all others at once

Embed = Callable[[Sequence[str]], list[tuple[Vector, ...]]]  # the windows of each text


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
    dreamt = current_insights(store)
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
        self._novelties = self._dreamt_novelties()

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

        parents = self._parent_vectors(position)
        if not len(parents):
            return 0.0
        middle = parents.sum(axis=0)
        length = np.linalg.norm(middle)
        return float(middle @ self._dreamt_vectors[position] / (length or 1.0))

    def _parent_vectors(self, position: int) -> Floats:
        return matrix(self._store, self._store.records.parents(self._dreamt[position].id))

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
            (names[key], len(positions), round(_mean_cosine(self._dreamt_vectors[positions]), 4))
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
        every = [position for positions in groups for position in positions]
        inside = sum(_sum_of_cosines(self._dreamt_vectors[positions]) for positions in groups)
        total = _sum_of_cosines(self._dreamt_vectors[every])
        pairs = _pairs(len(every)) - sum(_pairs(len(positions)) for positions in groups)
        return round((total - inside) / pairs, 4) if pairs else None

    def novelty(self) -> Novelty:
        dreams = [
            position for position, record in enumerate(self._dreamt) if record.kind == "rem_dream"
        ]
        own = [self._novelties[position] for position in dreams]
        parents = (self._parent_vectors(position) for position in dreams)
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

    def coverage(self, vectors: Sequence[Floats]) -> Coverage | None:
        """How much of texts with these vectors is foreseen; None when there are none."""
        import numpy as np

        if not vectors:
            return None
        texts = np.stack(vectors)
        mean, deviation = typical_cosine(self._read_vectors, self._model)
        threshold = mean + _DEVIATIONS * deviation
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
    import numpy as np

    if not len(others):
        return np.full(len(texts), -1.0, np.float32)
    return np.asarray((texts @ others.T).max(axis=1), np.float32)


def _mean_cosine(vectors: Floats) -> float:
    return _sum_of_cosines(vectors) / _pairs(len(vectors))


def _sum_of_cosines(vectors: Floats) -> float:
    """Of each with each other, without that of each with itself."""
    import numpy as np

    every = np.square(vectors.sum(axis=0, dtype=np.float64)).sum()
    return float(every) - len(vectors)


def _pairs(count: int) -> int:
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
