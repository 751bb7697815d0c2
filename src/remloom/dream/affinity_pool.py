"""The resources of a memory that can have affinities, with what they are compared by."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise
from math import log, log1p
from typing import TYPE_CHECKING, Any

from .. import labels
from ..model import SESSION_GAP, SHARES, Edge, Resource
from ..model.edge_types import MENTIONS
from ..store.contract import Store
from ..store.specs import EdgeSpec
from ..text.analysis import term_set
from .vectors import matrix, typical_cosine

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from .vectors import Floats

BLOCK = 512  # resources compared with all others at once: 20 MB for 10,000
# standard deviations above the mean cosine of two resources, from which they are related
_DEVIATIONS = 3.0
_HIGHEST_THRESHOLD = 0.99  # cosine
_SHARED_WEIGHT = 0.4  # from which the names that two resources share make an edge
# what a name that only two resources share adds, of what is missing to certainty
_NAME_WEIGHT = 0.6
# words of its own that a text needs: "Thanks, that means a lot!" is like any other thanks
_OWN_WORDS = 5
_COMMON = 0.03  # share of the short texts from which a word is nobody's own
_FEW_TEXTS = 10  # that may have a word before it is common
_SHORT = 60  # words; a longer text always has words of its own
# rarity below which a name says nothing of any two resources: about a tenth of 1,000 name it
_RARE = 0.3
_FEW = 100  # resources: in a smaller memory a name tells as much as in one of this size
_HUB = 500  # resources that name something, above which it tells nothing either
_TIE_BREAK = 1e-3  # of a cosine, in a score by names
RELATED = "related"  # by their vectors
ENTITY = "entity"  # by the names that both share


class AffinityPool:
    """Every resource that was read and whose name is its own, to be compared with all others."""

    def __init__(self, store: Store) -> None:
        import numpy as np

        read = [
            record
            for record in store.records.all("resources")
            if isinstance(record, Resource) and not record.generation and record.content.strip()
        ]
        # an edge goes from label to label: of two resources of one name it would mean both
        namesakes = Counter(labels.key(resource.name) for resource in read)
        self.resources = [one for one in read if namesakes[labels.key(one.name)] == 1]
        self.ambiguous = len(read) - len(self.resources)
        keys = [labels.key(resource.name) for resource in self.resources]
        self.ids = {key: resource.id for key, resource in zip(keys, self.resources, strict=True)}
        self._vectors = matrix(store, [resource.id for resource in self.resources])
        has_vector = self._vectors.any(axis=1)
        self._comparable = np.array(_have_own_words(self.resources), bool) & has_vector
        self._occasions = np.array(_number_occasions(self.resources), np.int64)
        self._model = (store.vectors.model() or ("", 0))[0]
        self._names = _names_by_resource(store, self.resources, keys)
        self._naming: dict[str, list[int]] = {}
        for position, names in enumerate(self._names):
            for name in names:
                self._naming.setdefault(name, []).append(position)

    def threshold(self) -> float:
        """The cosine from which two resources are related: far above that of any two of them."""
        mean, deviation = typical_cosine(self._vectors, self._model)
        return min(_HIGHEST_THRESHOLD, mean + _DEVIATIONS * deviation)

    def related(self, positions: Sequence[int], threshold: float, count: int) -> Iterator[Edge]:
        """Edges from these resources to up to `count` that are most like each."""
        import numpy as np

        scores = self._vectors[positions] @ self._vectors.T
        scores[self._are_together(positions) | ~self._comparable[None, :]] = -1.0
        scores[~self._comparable[np.asarray(positions)]] = -1.0
        for position, row in zip(positions, scores, strict=True):
            for other in _best(row, threshold, count):
                similarity = round(min(1.0, float(row[other])), 3)
                properties = {"match_type": "semantic", "semantic_similarity": similarity}
                yield self._edge(position, other, RELATED, similarity, properties)

    def sharing(self, positions: Sequence[int], count: int) -> Iterator[Edge]:
        """Edges from these resources to up to `count` that name the same: rare names weigh most."""
        import numpy as np

        # the logarithm of what is missing to certainty
        missing = np.zeros((len(positions), len(self.resources)), np.float32)
        for row, position in zip(missing, positions, strict=True):
            for name in self._names[position]:
                rarity = self._rarity(name)
                if rarity:
                    row[self._naming[name]] += log1p(-_NAME_WEIGHT * rarity)
        scores = 1 - np.exp(missing)
        scores[self._are_together(positions)] = 0.0
        # of those that share as much, the most similar
        scores += _TIE_BREAK * (self._vectors[positions] @ self._vectors.T)
        for number, position in enumerate(positions):
            for other in _best(scores[number], _SHARED_WEIGHT, count):
                weight = round(1 - float(np.exp(missing[number, other])), 3)
                properties = {"match_type": "entity", **self._shared_names(position, other)}
                yield self._edge(position, other, ENTITY, weight, properties)

    def _shared_names(self, position: int, other: int) -> dict[str, str]:
        """The names that two resources share, as properties, the most telling first."""
        names = self._names[position]
        shared = names.keys() & self._names[other].keys()
        ranked = sorted(shared, key=lambda name: (-self._rarity(name), name))
        return {SHARES + name: names[name] for name in ranked if self._rarity(name)}

    def _rarity(self, name: str) -> float:
        """1 for what two resources name, towards 0 for what all do; 0 for what tells nothing."""
        count = len(self._naming[name])
        if not 1 < count <= _HUB:
            return 0.0
        size = max(len(self.resources), _FEW)
        rarity = log(1 + size / count) / log(1 + size)
        return rarity if rarity >= _RARE else 0.0

    def _are_together(self, positions: Sequence[int]) -> NDArray[np.bool_]:
        """Pairs that are not news: of one document or session, and a resource and itself."""
        import numpy as np

        own = self._occasions[np.asarray(positions)]
        return np.asarray(own[:, None] == self._occasions[None, :])

    def _edge(
        self,
        position: int,
        other: int,
        rel_type: str,
        weight: float,
        properties: dict[str, Any],
    ) -> Edge:
        target = self.resources[other]
        about = {"dst_name": target.name, "dst_entity_type": f"resource/{target.kind}"}
        return Edge(
            src=self.resources[position].name,
            rel_type=rel_type,
            dst=target.name,
            weight=weight,
            properties={**about, **properties},
        )


def _have_own_words(resources: Sequence[Resource]) -> list[bool]:
    """Whether each text has enough words that few others have; long texts do."""
    words = {
        position: term_set(resource.content)
        for position, resource in enumerate(resources)
        if len(resource.content.split(None, _SHORT)) < _SHORT
    }
    spread = Counter(word for own in words.values() for word in own)
    common = max(_FEW_TEXTS, _COMMON * len(words))

    def has_own_words(position: int) -> bool:
        if position not in words:
            return True
        return sum(spread[word] <= common for word in words[position]) >= _OWN_WORDS

    return [has_own_words(position) for position in range(len(resources))]


def _number_occasions(resources: Sequence[Resource]) -> list[int]:
    """A number for each resource, one for those of one source and one occasion.

    A document is one occasion; a chat or diary is split by `SESSION_GAP` of silence. A resource
    without a source is alone.
    """
    by_source: dict[str, list[int]] = {}
    for position, resource in enumerate(resources):
        by_source.setdefault(resource.uri or f"\0{position}", []).append(position)
    numbers = [0] * len(resources)
    number = 0
    for positions in by_source.values():
        number += 1
        # what is undated is of the first occasion
        for position in positions:
            numbers[position] = number
        dated = sorted((at, one) for one in positions if (at := resources[one].starts_at))
        for (before, _), (at, position) in pairwise(dated):
            number += at - before > SESSION_GAP
            numbers[position] = number
    return numbers


def _best(row: Floats, threshold: float, count: int) -> list[int]:
    import numpy as np

    above = np.flatnonzero(row >= threshold)
    if len(above) > count:
        above = above[np.argpartition(-row[above], count - 1)[:count]]
    return sorted(above.tolist(), key=lambda position: (-float(row[position]), position))


def _names_by_resource(
    store: Store,
    resources: Sequence[Resource],
    keys: Sequence[str],
) -> list[dict[str, str]]:
    """What each resource names, key to name, without those who speak in its source."""
    speakers: dict[str, set[str]] = {}
    for resource in resources:
        if resource.speaker:
            speakers.setdefault(resource.uri, set()).add(labels.key(resource.speaker))
    mentions = _mentions(store, keys)
    names_by_resource = []
    for resource, key in zip(resources, keys, strict=True):
        related = {labels.key(name): name for name in resource.related_entities if name.strip()}
        names = related | mentions.get(key, {})
        present = speakers.get(resource.uri, ())
        names_by_resource.append(
            {
                name: shown
                for name, shown in sorted(names.items())
                if name != key and not _is_speaker(name, present)
            }
        )
    return names_by_resource


def _mentions(store: Store, keys: Sequence[str]) -> dict[str, dict[str, str]]:
    mentions: dict[str, dict[str, str]] = {}
    if MENTIONS.name not in store.graph.edge_types():
        return mentions
    for start in range(0, len(keys), BLOCK):
        edges = store.graph.edges(
            EdgeSpec(keys[start : start + BLOCK], direction="out", rel_types=[MENTIONS.name])
        )
        for edge in edges:
            shown = str(edge.properties.get("dst_name") or edge.dst)
            mentions.setdefault(edge.src, {})[edge.dst] = shown
    return mentions


def _is_speaker(name: str, speakers: Collection[str]) -> bool:
    """Whether a name is that of somebody who speaks, or short for it ("Mel")."""
    if name in speakers:
        return True
    return len(name) > 2 and any(speaker.startswith(name) for speaker in speakers)
