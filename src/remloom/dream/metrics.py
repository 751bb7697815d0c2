"""How good what was dreamt is: coherence, coverage, novelty, depth, and what it cost. Definitions:
docs/metrics.md.

Source: seed 1, "Evaluation Metrics". Everything is measured with the vectors there are; no model is
asked.
"""

from __future__ import annotations

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
from .vectors import matrix, typical, whole

if TYPE_CHECKING:
    from .vectors import Floats

__all__ = [
    "Coherence",
    "Cost",
    "Coverage",
    "Generation",
    "Metrics",
    "Novelty",
    "measure",
    "passages",
]

FALLEN = 0.8  # of the first generation's quality, below which quality has degraded
# standard deviations above the mean cosine of two texts, from which one predicts the other
NEAR = 2.5
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
    """What was measured. A part is None, or its score is, where there is nothing to measure it by."""

    sources: int
    insights: int
    coherence: Coherence
    novelty: Novelty
    # the last generation before quality falls below `FALLEN` of the first one's; 0: there is none
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
    pool = _Pool(store, read, dreamt)
    generations = pool.generations()
    return Metrics(
        sources=len(read),
        insights=len(dreamt),
        coherence=pool.coherence(),
        novelty=pool.novelties(),
        depth=_depth(generations),
        generations=generations,
        cost=_cost(usage, len(dreamt)),
        coverage=pool.coverage([whole(windows) for windows in embed(held_out) if windows])
        if embed
        else None,
    )


def passages(documents: Iterable[Document | Skipped]) -> list[str]:
    """The texts of documents, in the pieces in which they would be remembered."""
    found: list[str] = []
    for document in documents:
        if isinstance(document, Document):
            turns = [turn.message.text for turn in document.turns]
            found += turns or [
                chunk.text for chunk in chunk_text(document.text, start=document.body)
            ]
    return [text for text in found if text.strip()]


class _Pool:
    """Vectors of what was read and of what was dreamt."""

    def __init__(self, store: Store, read: Sequence[Resource], dreamt: Sequence[Resource]) -> None:
        read_vectors = matrix(store, [record.id for record in read])
        vectors = matrix(store, [record.id for record in dreamt])
        self._store = store
        self._model = (store.vectors.model() or ("", 0))[0]
        self._read = [
            record for record, vector in zip(read, read_vectors, strict=True) if vector.any()
        ]
        self._of_read = read_vectors[read_vectors.any(axis=1)]
        self._dreamt = [
            record for record, vector in zip(dreamt, vectors, strict=True) if vector.any()
        ]
        self._of_dreamt = vectors[vectors.any(axis=1)]
        self._parents = {record.id: store.records.parents(record.id) for record in self._dreamt}
        self._novelty = self._novelties()

    def _novelties(self) -> list[float]:
        """Of each insight, 1 - cosine with the nearest record of a lower generation."""
        import numpy as np

        generations = np.array([record.generation for record in self._dreamt], np.int64)
        nearest = np.zeros(len(generations), np.float32)
        for generation in np.unique(generations):
            rows = np.flatnonzero(generations == generation)
            lower = np.concatenate([self._of_read, self._of_dreamt[generations < generation]])
            for low in range(0, len(rows), _BLOCK):
                some = rows[low : low + _BLOCK]
                nearest[some] = np.maximum(0.0, _nearest(self._of_dreamt[some], lower))
        return [1 - float(value) for value in nearest]

    def generations(self) -> tuple[Generation, ...]:
        by_number: dict[int, list[int]] = {}
        for number, record in enumerate(self._dreamt):
            by_number.setdefault(record.generation, []).append(number)
        found = []
        for generation, numbers in sorted(by_number.items()):
            support = [self._support(number) for number in numbers]
            novelty = [self._novelty[number] for number in numbers]
            kinds: dict[str, int] = {}
            for number in numbers:
                kinds[self._dreamt[number].kind] = kinds.get(self._dreamt[number].kind, 0) + 1
            quality = [
                (max(0.0, s) * max(0.0, n)) ** 0.5 for s, n in zip(support, novelty, strict=True)
            ]
            found.append(
                Generation(
                    generation=generation,
                    records=len(numbers),
                    kinds=kinds,
                    support=_mean(support) or 0.0,
                    novelty=_mean(novelty) or 0.0,
                    quality=_mean(quality) or 0.0,
                )
            )
        return tuple(found)

    def _support(self, number: int) -> float:
        import numpy as np

        parents = matrix(self._store, self._parents[self._dreamt[number].id])
        middle = parents.sum(axis=0)
        return (
            float(middle @ self._of_dreamt[number] / (np.linalg.norm(middle) or 1.0))
            if len(parents)
            else 0.0
        )

    def coherence(self) -> Coherence:
        groups: dict[str, list[int]] = {}
        names: dict[str, str] = {}
        for number, record in enumerate(self._dreamt):
            entity = record.metadata.get("entity")
            if isinstance(entity, str) and entity.strip():
                groups.setdefault(labels.key(entity), []).append(number)
                names.setdefault(labels.key(entity), entity)
        scored = [
            (names[key], len(numbers), round(_pairwise(self._of_dreamt[numbers]), 4))
            for key, numbers in groups.items()
            if len(numbers) > 1
        ]
        if not scored:
            return Coherence(score=None, across=None)
        every = [number for numbers in groups.values() for number in numbers]
        inside = sum(
            len(n) * (len(n) - 1) * _pairwise(self._of_dreamt[n])
            for n in groups.values()
            if len(n) > 1
        )
        pairs_inside = sum(len(n) * (len(n) - 1) for n in groups.values())
        pairs = len(every) * (len(every) - 1) - pairs_inside
        total = len(every) * (len(every) - 1) * _pairwise(self._of_dreamt[every])
        return Coherence(
            score=_mean([score for _, _, score in scored]),
            across=round((total - inside) / pairs, 4) if pairs else None,
            entities=tuple(sorted(scored, key=lambda item: (item[2], item[0]))),
        )

    def novelties(self) -> Novelty:
        dreams = [
            number for number, record in enumerate(self._dreamt) if record.kind == "rem_dream"
        ]
        reach = [
            1 - _pairwise(parents)
            for number in dreams
            if len(parents := matrix(self._store, self._parents[self._dreamt[number].id])) > 1
        ]
        return Novelty(
            score=_mean([self._novelty[number] for number in dreams]),
            sources=_mean(read := self._read_novelty()),
            reach=_mean(reach),
            dreams=tuple(round(self._novelty[number], 4) for number in dreams),
            read=tuple(round(value, 4) for value in read),
        )

    def _read_novelty(self) -> list[float]:
        import numpy as np

        sources: dict[str, int] = {}
        numbers = np.array(
            [sources.setdefault(record.uri or record.id, len(sources)) for record in self._read]
        )
        found: list[float] = []
        if len(sources) < 2:
            return found
        for low in range(0, len(numbers), _BLOCK):
            scores = self._of_read[low : low + _BLOCK] @ self._of_read.T
            scores[numbers[low : low + _BLOCK, None] == numbers[None, :]] = -1.0
            found += (1 - scores.max(axis=1)).tolist()
        return found

    def coverage(self, vectors: Sequence[Floats]) -> Coverage | None:
        import numpy as np

        if not vectors:
            return None
        texts = np.stack(vectors)
        mean, deviation = typical(self._of_read, self._model)
        threshold = mean + NEAR * deviation
        by_insights, by_read = (
            _nearest(texts, some) >= threshold for some in (self._of_dreamt, self._of_read)
        )
        return Coverage(
            texts=len(texts),
            score=round(float(by_insights.mean()), 4),
            sources=round(float(by_read.mean()), 4),
            gained=round(float((by_insights & ~by_read).mean()), 4),
            threshold=round(threshold, 3),
        )


def _nearest(texts: Floats, some: Floats) -> Floats:
    """The highest cosine of each text with any of these."""
    import numpy as np

    return np.asarray(
        (texts @ some.T).max(axis=1) if len(some) else np.full(len(texts), -1.0), np.float32
    )


def _pairwise(vectors: Floats) -> float:
    """The mean cosine of two of them."""
    import numpy as np

    count = len(vectors)
    return float(np.square(vectors.sum(axis=0, dtype=np.float64)).sum() - count) / (
        count * (count - 1)
    )


def _depth(generations: Sequence[Generation]) -> int:
    reached = 0
    for generation in generations:
        if generation.quality < FALLEN * generations[0].quality:
            break
        reached = generation.generation
    return reached


def _cost(usage: Sequence[Spent], count: int) -> Cost:
    paid = [one for one in usage if one.run]
    whole = sum_lines("", (one.line for one in paid))
    tokens = whole.input_tokens + whole.output_tokens
    dollars = None if whole.unpriced or not paid else whole.cost
    tasks: dict[str, int] = {}
    for one in paid:
        tasks[one.task] = tasks.get(one.task, 0) + one.line.input_tokens + one.line.output_tokens
    return Cost(
        insights=count,
        calls=whole.calls,
        tokens=tokens,
        dollars=dollars,
        per_insight_tokens=round(tokens / count, 1) if count and paid else None,
        per_insight_dollars=dollars / count if count and dollars is not None else None,
        tasks=dict(sorted(tasks.items(), key=lambda item: -item[1])),
    )


def _mean(values: Sequence[float]) -> float | None:
    return round(sum(values) / len(values), 4) if values else None
