"""Endings: what people say in their own words that ends what they said before.

"My favourite colour is green now" ends "my favourite colour is blue", and "I no longer play tennis"
that they do. A head decides, of what has half of the earlier words that say something. What could
hurt, and what is nobody else's business, is ended by hand alone.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from typing import NamedTuple

from ...errors import ChangedError, GoneError
from ...heads.differences import content_words, transition
from ...heads.head import CHANGE, head
from ...model import Resource
from ...model.premises import premises_of
from ...runs.writer import Writer
from ...store.contract import Store
from ..beliefs.belief_store import BeliefStore
from ..beliefs.recorder import Recorder
from ..evidence.claim import Claim
from ..evidence.evidence import Evidence, from_claim
from ..slots.slot import OWN_WORDS
from .hearing import HEADS

_SLOTS = tuple(f"{OWN_WORDS}{name}" for name in ("likes", "dislikes", "facts", "answers"))
_ENDS = 0.7  # probability from which on the later ends the earlier


class _Pair(NamedTuple):
    earlier: Evidence
    later: Evidence


class Endings:
    """Ends what was said earlier, where a run has heard either of two such sentences."""

    def __init__(
        self, store: Store, beliefs: BeliefStore, writer: Writer, recorder: Recorder, tenant: str
    ) -> None:
        self._store = store
        self._beliefs = beliefs
        self._writer = writer
        self._recorder = recorder
        self._tenant = tenant

    def run(self) -> None:
        """End what this run has heard to be over; the run counts it as evidence."""
        if not self._writer.run.counts.get("evidence"):
            return
        ended = 0
        for subject in self._beliefs.subjects():
            pairs = _same_matter(self._said(subject))
            some = (one for one in pairs if self._writer.id in (one.earlier.run, one.later.run))
            ended += sum(self._end(one) for one in some if _ends(one))
        self._writer.count(**({"evidence": ended} if ended else {}))

    def _said(self, subject: str) -> Iterator[Evidence]:
        """What last said each sentence that holds."""
        for belief in self._beliefs.all(subject):
            if belief.slot in _SLOTS and belief.holds:
                said = [one for one in self._beliefs.evidence(belief.id) if one.polarity == "for"]
                yield from said[-1:]

    def _end(self, pair: _Pair) -> int:
        """Write that the later sentence ends the earlier one; returns how many pieces are new."""
        earlier, later = pair
        passage = self._store.records.get("resources", later.passage)
        if not isinstance(passage, Resource):
            return 0
        claim = Claim(
            key=earlier.slot,
            value=earlier.value,
            polarity="retire",
            quote=later.quote,
            span=later.span,
            confident=later.confident,
        )
        evidence = from_claim(
            claim,
            passage,
            tenant=self._tenant,
            subject=later.subject,
            slot=earlier.slot,
            authority=later.authority,
            extractor=HEADS,
            now=datetime.now(UTC),
        )
        # what was changed or forgotten meanwhile is looked at again, or ends nothing
        with suppress(ChangedError, GoneError):
            return len(
                self._recorder.record(
                    [earlier.id, later.id],
                    [evidence],
                    passages={passage.id: passage.revision},
                    premises=premises_of([passage]),
                )
            )
        return 0


def _same_matter(said: Iterable[Evidence]) -> Iterator[_Pair]:
    """The pairs of what was said earlier and later, in different passages, that may be of one
    matter: the later has half of the words of the earlier that say something."""
    by_time = sorted(said, key=lambda one: (one.at, one.order, one.id))
    words = [content_words(str(one.value)).keys() for one in by_time]
    places: defaultdict[str, list[int]] = defaultdict(list)
    for place, later in enumerate(by_time):
        shared = Counter(earlier for word in words[place] for earlier in places[word])
        for number, count in shared.items():
            earlier = by_time[number]
            if 2 * count >= len(words[number]) and earlier.passage != later.passage:
                yield _Pair(earlier, later)
        for word in words[place]:
            places[word].append(place)


def _ends(pair: _Pair) -> bool:
    seen = transition(str(pair.later.value), str(pair.earlier.value))
    return head(CHANGE).decide_by(seen).probabilities["ends"] >= _ENDS
