"""What a stretch of time was about, told without a model: who spoke, of what, and in whose words it
is best said."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from math import log
from typing import TYPE_CHECKING

from ... import labels
from ...ingest.chats import WORDS_PER_MINUTE
from ...ingest.names.lists import STOP_WORDS
from ...model import Person, Resource, Speaker
from ...text.analysis import term_set
from ...text.sentences import count_words

if TYPE_CHECKING:
    from ..vectors import Floats

__all__ = ["Background", "names", "people", "speakers", "summary", "topics"]

TOPICS = 5
_QUOTED = 2  # of the most central texts make the summary
_LONG = 200  # characters of one that are quoted
_WORD = re.compile(r"[^\W\d_]\w*(?:['’](?!s\b)\w+)?(?:-\w+)*")
_OWN = 1.5  # what a name is worth of what a word is


class Background:
    """How common each word is in what is looked at: a topic is what is said here more than
    elsewhere."""

    def __init__(self, resources: Sequence[Resource]) -> None:
        self._size = len(resources)
        self._spread = Counter(
            stem for resource in resources for stem in term_set(resource.content)
        )

    def worth(self, stem: str) -> float:
        """From 0 for what everything has."""
        return log((1 + self._size) / (1 + self._spread[stem]))


def people(resources: Sequence[Resource]) -> tuple[Person, ...]:
    """Who spoke."""
    return tuple(
        Person(id=labels.key(name), name=name)
        for name in dict.fromkeys(filter(None, map(_speaker, resources)))
    )


def speakers(resources: Sequence[Resource]) -> tuple[Speaker, ...]:
    """Who spoke, and for how long at a usual pace."""
    seconds: dict[str, float] = {}
    for resource in resources:
        if name := _speaker(resource):
            spoken = count_words(resource.content) / WORDS_PER_MINUTE * 60
            seconds[name] = seconds.get(name, 0.0) + spoken
    return tuple(Speaker(name=name, speaking_time=round(time, 1)) for name, time in seconds.items())


def names(resources: Sequence[Resource]) -> tuple[str, ...]:
    """Everybody and everything named, the most often first."""
    counts: Counter[str] = Counter()
    shown: dict[str, str] = {}
    for resource in resources:
        for name in resource.related_entities:
            counts[key := labels.key(name)] += 1
            shown.setdefault(key, name)
    return tuple(shown[key] for key in sorted(counts, key=lambda key: -counts[key]))


def topics(resources: Sequence[Resource], background: Background) -> tuple[str, ...]:
    """What it is about, the most telling first: names, words, and pairs of words that recur
    together."""
    spoken = {
        part for name in map(_speaker, resources) if name for part in labels.key(name).split("-")
    }
    scores: dict[str, float] = {}  # of what is shown
    shown: dict[str, Counter[str]] = {}
    pairs: Counter[tuple[str, str]] = Counter()
    for resource in resources:
        words = [
            (word.group().lower(), _stem(word.group())) for word in _WORD.finditer(resource.content)
        ]
        for word, stem in words:
            if len(stem) > 2 and not any(part.startswith(stem) for part in spoken):
                shown.setdefault(stem, Counter())[word] += 1
        beside = pairwise(words)
        pairs.update(
            (first, second)
            for (first, one), (second, other) in beside
            if one in shown and other in shown
        )
    for stem, forms in shown.items():
        scores[max(sorted(forms), key=forms.__getitem__)] = forms.total() * background.worth(stem)
    for first, second in sorted(pairs, key=lambda pair: (-pairs[pair], pair)):
        if pairs[first, second] > 1 and first in scores and second in scores and first != second:
            scores[f"{first} {second}"] = (scores.pop(first) + scores.pop(second)) / 2
    for name in names(resources):
        stems = list(filter(None, map(_stem, name.split())))
        if stems and not any(part.startswith(labels.key(name)) for part in spoken):
            here = sum(name in resource.related_entities for resource in resources)
            for part in (name.lower(), *name.lower().split()):
                scores.pop(part, None)
            scores[name] = _OWN * here * max(map(background.worth, stems))
    return tuple(sorted(scores, key=lambda topic: (-scores[topic], topic))[:TOPICS])


def summary(resources: Sequence[Resource], vectors: Floats) -> str:
    """The texts nearest to what all are about, quoted in their order."""
    import numpy as np

    centre = vectors.mean(axis=0)
    weights = [
        float(vector @ centre) * min(1.0, len(term_set(resource.content)) / 6)
        for resource, vector in zip(resources, vectors, strict=True)
    ]
    if not np.any(weights):
        weights = [float(len(term_set(resource.content))) for resource in resources]
    best = sorted(range(len(resources)), key=lambda place: (-weights[place], place))[:_QUOTED]
    return " … ".join(_quoted(resources[place]) for place in sorted(best))


def _quoted(resource: Resource) -> str:
    text = " ".join(resource.content.split())
    if len(text) > _LONG:
        text = text[:_LONG].rpartition(" ")[0] + " …"
    speaker = _speaker(resource)
    return f"{speaker}: “{text}”" if speaker else f"“{text}”"


def _speaker(resource: Resource) -> str:
    found = resource.metadata.get("speaker")
    return found.strip() if isinstance(found, str) else ""


@cache
def _stem(word: str) -> str:
    """The one stem of a word; empty for a stop word."""
    found = term_set(word) if word.lower().replace("’", "'") not in STOP_WORDS else ()
    return next(iter(found)) if len(found) == 1 else ""
