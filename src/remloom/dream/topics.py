"""What some texts are about: the names and words that they use more than other texts do."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from functools import cache
from itertools import pairwise
from math import log

from .. import labels
from ..ingest.names.word_lists import english
from ..model import Resource
from ..text.analysis import term_set

_TOPICS = 5
_WORD = re.compile(r"[^\W\d_]\w*(?:['’](?!s\b)\w+)?(?:-\w+)*")
_NAME_WEIGHT = 1.5  # of a name, compared with a word


class Background:
    """How common each word is in all texts: a topic is more common in its own."""

    def __init__(self, resources: Sequence[Resource]) -> None:
        self._size = len(resources)
        self._spread = Counter(
            stem for resource in resources for stem in term_set(resource.content)
        )

    def weight(self, stem: str) -> float:
        """How telling a word is: 0 if it is in every text."""
        return log((1 + self._size) / (1 + self._spread[stem]))


def find_topics(resources: Sequence[Resource], background: Background) -> tuple[str, ...]:
    """Up to five topics of texts, the most telling first: names, words, and pairs that recur
    together."""
    speaker_parts = {
        part
        for resource in resources
        if resource.speaker
        for part in labels.key(resource.speaker).split("-")
    }
    # who speaks is addressed all the time, which is not a topic
    forms, pairs = _count_words(resources, speaker_parts)
    scores: dict[str, float] = {}
    for stem, counts in forms.items():
        # shown as it is written most often
        shown = max(sorted(counts), key=counts.__getitem__)
        scores[shown] = counts.total() * background.weight(stem)
    _join_pairs(scores, pairs)
    _score_names(scores, resources, speaker_parts, background)
    return tuple(sorted(scores, key=lambda topic: (-scores[topic], topic))[:_TOPICS])


def common_names(resources: Sequence[Resource]) -> tuple[str, ...]:
    """Everybody and everything that texts name, the most often named first."""
    counts: Counter[str] = Counter()
    shown: dict[str, str] = {}
    for resource in resources:
        for name in resource.related_entities:
            key = labels.key(name)
            counts[key] += 1
            shown.setdefault(key, name)
    return tuple(shown[key] for key in sorted(counts, key=lambda key: -counts[key]))


def _count_words(
    resources: Sequence[Resource],
    speaker_parts: Collection[str],
) -> tuple[dict[str, Counter[str]], Counter[tuple[str, str]]]:
    """How often each word is used, by stem and form, but for speakers' names; and each pair."""
    forms: dict[str, Counter[str]] = {}
    pairs: Counter[tuple[str, str]] = Counter()
    for resource in resources:
        written = [match.group() for match in _WORD.finditer(resource.content)]
        words = [(word.lower(), _stem(word)) for word in written]
        for word, stem in words:
            if len(stem) > 2 and not _begins_any(stem, speaker_parts):
                forms.setdefault(stem, Counter())[word] += 1
        for (first, first_stem), (second, second_stem) in pairwise(words):
            if first_stem in forms and second_stem in forms:
                pairs[first, second] += 1
    return forms, pairs


def _join_pairs(scores: dict[str, float], pairs: Counter[tuple[str, str]]) -> None:
    """Replace two words that recur together by both as one topic, the most frequent pair first."""
    for first, second in sorted(pairs, key=lambda pair: (-pairs[pair], pair)):
        recurs = pairs[first, second] > 1 and first != second
        if recurs and first in scores and second in scores:
            scores[f"{first} {second}"] = (scores.pop(first) + scores.pop(second)) / 2


def _score_names(
    scores: dict[str, float],
    resources: Sequence[Resource],
    speaker_parts: Collection[str],
    background: Background,
) -> None:
    """Add names, in place of the words that they are made of."""
    for name in common_names(resources):
        stems = [stem for stem in map(_stem, name.split()) if stem]
        if not stems or _begins_any(labels.key(name), speaker_parts):
            continue
        # "New York" is not also "york"
        for part in (name.lower(), *name.lower().split()):
            scores.pop(part, None)
        mentions = sum(name in resource.related_entities for resource in resources)
        scores[name] = _NAME_WEIGHT * mentions * max(map(background.weight, stems))


def _begins_any(text: str, words: Collection[str]) -> bool:
    return any(word.startswith(text) for word in words)


@cache
def _stem(word: str) -> str:
    """The one stem of a word; empty for a stop word."""
    if word.lower().replace("’", "'") in english().stop_words:
        return ""
    stems = term_set(word)
    return next(iter(stems)) if len(stems) == 1 else ""
