"""Recall: the parts of the search put together, in four ways, and what is found cut to what was
asked for.

Sources: seed 2, "Search strategies" and "Retrieval patterns"; DESIGN section 5. docs/retrieval.md
has what each part is worth, measured.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from msgspec import Struct

from .. import labels
from ..errors import InvalidInputError, UnknownNameError
from ..model import Recall, RecallHit
from ..predicates import MOST_RESULTS, Predicate
from ..store.contract import Store
from . import signals
from .abstention import drop_far, misattributed, unrelated
from .candidates import Pool, hit
from .conversation import HALF_LIFE, Conversation, Said, recency
from .expansion import follow, made_room
from .fusion import Fusion
from .languages import foreign
from .neighbours import beside
from .prompt_context import Tokens, cut
from .question import Named, bare, checked, names_in, subjects
from .rerankers.load import LOOKED_AT, Reranker, rerank
from .time_expressions import Window, find_window
from .timeline import timeline

__all__ = ["MODES", "PARTS", "Ask", "Recaller"]

MODES = ("auto", "hybrid", "temporal", "contextual", "iterated")
WEIGHTS = {
    "text": 1.0,
    "vector": 1.0,
    "entity": 2.0,
    "graph": 2.0,
    "speaker": 0.5,
    "asks": -0.15,
    "answers": 0.5,
    "time": 0.8,
    "history": 0.3,
    "recency": 0.2,
    "preferences": 0.3,
    "rerank": 2.0,
    "hops": 0.5,
}  # of a list's best record, or of what weighs, in the score
PARTS = tuple(WEIGHTS)
RANKS_APART = 0.2  # how far reciprocal ranks of a list lie apart, where scores lie 1 apart
# of the weight of vectors, for a question in a language that the embedder does not know
FOREIGN = 0.3
POOL = 60  # records that each list brings, at least
_DEEP = 3  # times the limit, if that is more


class Ask(Struct, frozen=True, kw_only=True):
    """A question with everything that goes with it; see `Memory.recall`."""

    question: str
    limit: int = 10
    budget_tokens: int | None = None
    mode: str = "auto"
    history: Sequence[Said] = ()
    now: datetime | None = None
    where: Predicate | None = None
    vector: Sequence[float] | None = None
    fusion: Fusion = "blend"
    without: Collection[str] = ()
    hops: int = 2
    neighbours: int = 1
    preferences: Mapping[str, float] = {}
    half_life: float | None = None
    reranker: Reranker | None = None
    abstain: bool = True
    explain: bool = False
    tokens: Tokens | None = None


class Recaller:
    """Recalls from one tenant's store.

    Args:
        embed: gives the unit vector of a text, or None when there is no embedder.
        model: the embedder's name.
    """

    def __init__(
        self, store: Store, embed: Callable[[str], Sequence[float] | None], model: str
    ) -> None:
        self._store = store
        self._embed = embed
        self._model = model

    def recall(self, ask: Ask) -> Recall:
        """What the store has for the question."""
        began = time.perf_counter()
        _check(ask)
        conversation = Conversation(self._store, ask.history)
        text = conversation.resolved(checked(ask.question))
        window = find_window(text, ask.now) if ask.mode != "hybrid" else None
        if ask.mode == "temporal" and window is None:
            raise InvalidInputError(
                "the question names no time that is understood",
                remedy='say for example "last week", "in March 2021", "since 5 May 2023", or use another mode',
            )
        mode = _mode(ask, window)
        alone = window is not None and window.alone and ask.mode in ("auto", "temporal")
        found = self._timeline(ask, text, window) if alone and window else None
        return found or self._search(ask, text, mode, window, conversation, began)

    def _timeline(self, ask: Ask, text: str, window: Window) -> Recall | None:
        """What happened in a time, when that is all that was asked. None when nothing did, in mode
        auto."""
        hits = timeline(self._store, window, ask.where, ask.limit)
        hits, tokens = _cut(ask, hits)
        if not hits and ask.mode == "auto" and not ask.abstain:
            return None
        reason = "" if hits else f"nothing is remembered of {window}"
        return Recall(
            question=ask.question, asked=text, mode="temporal", hits=hits, abstained=not hits, reason=reason,
            window=window.span, tokens=tokens, explained={"window": str(window)} if ask.explain else {},
        )  # fmt: skip

    def _search(
        self,
        ask: Ask,
        text: str,
        mode: str,
        window: Window | None,
        conversation: Conversation,
        began: float,
    ) -> Recall:
        store, on = self._store, _parts(ask)
        words = window.rest if window and not window.alone else text
        where = (
            window.predicate(ask.where)
            if window and mode == "temporal" and ask.mode == "temporal"
            else ask.where
        )
        names = names_in(store, text)
        pool = Pool()
        count = max(POOL, _DEEP * ask.limit)
        if "text" in on:
            signals.by_text(store, pool, text, where, count)
        vector = ask.vector
        if "vector" in on and vector is None:
            vector = self._embed(
                bare(words, names_in(store, words) if words is not text else names)
            )
        if "vector" in on and vector is not None:
            signals.by_vector(store, pool, vector, where, count)
        if where is None:  # edges know no filter
            if "entity" in on:
                signals.by_names(store, pool, names)
            if "graph" in on:
                signals.by_relations(store, pool, names)
        lost = FOREIGN if foreign(text, self._model) else 1.0
        pool.fuse(ask.fusion, WEIGHTS | {"vector": lost * WEIGHTS["vector"]})
        self._weigh(ask, on, pool, text, names, window, conversation)
        doubt = self._doubt(pool, names, text, vector) if ask.abstain else ""
        if ask.reranker is not None and not doubt and "rerank" in on:
            rerank(
                pool, ask.reranker, text, count=max(LOOKED_AT, ask.limit), weight=WEIGHTS["rerank"]
            )
        if ask.abstain:
            drop_far(pool, self._model)
        best = [] if doubt else pool.best(ask.limit)
        if mode == "iterated" and "hops" in on:
            brought = follow(store, best, names, hops=ask.hops, weight=WEIGHTS["hops"])
            best = made_room(best, brought, ask.limit)
        hits = [hit(candidate) for candidate in best]
        if ask.neighbours and hits:
            hits = beside(store, hits, ask.neighbours)
        found, (hits, tokens) = bool(hits), _cut(ask, hits)
        if not found and not doubt:
            doubt = "nothing was found"
        elif not hits and not doubt:
            doubt = f"a budget of {ask.budget_tokens} tokens holds none of what was found"
        return Recall(
            question=ask.question, asked=text, mode=mode, hits=hits, abstained=not hits, reason=doubt,
            window=window.span if window else None, tokens=tokens,
            explained=_explained(pool, names, conversation, vector, began) if ask.explain else {},
        )  # fmt: skip

    def _weigh(
        self, ask: Ask, on: Collection[str], pool: Pool, text: str, names: Sequence[Named], window: Window | None,
        conversation: Conversation,
    ) -> None:  # fmt: skip
        weights = {
            part: WEIGHTS[part] * (RANKS_APART if ask.fusion == "rrf" else 1.0) for part in on
        }
        if "speaker" in on:
            signals.spoken_by(pool, subjects(text, names), weights["speaker"])
        if "asks" in on:
            signals.asks(pool, weights["asks"])
        if "answers" in on:
            signals.answers(pool, weights["answers"])
        if window and "time" in on:
            window.weigh(pool, weights["time"])
        if conversation and "history" in on:
            signals.about(pool, conversation.wanted, "history", weights["history"])
        if "preferences" in on:
            wanted = {labels.key(label): worth for label, worth in ask.preferences.items()}
            signals.about(pool, wanted, "preferences", weights["preferences"])
        if (ask.half_life is not None or ask.mode == "contextual") and "recency" in on:
            recency(pool, ask.now, weights["recency"], ask.half_life or HALF_LIFE)

    def _doubt(
        self, pool: Pool, names: Sequence[Named], text: str, vector: Sequence[float] | None
    ) -> str:
        found = unrelated(pool, pool.best(3), text, self._model)
        return found or misattributed(self._store, pool, names, vector)


def _check(ask: Ask) -> None:
    if ask.mode not in MODES:
        raise UnknownNameError("mode", str(ask.mode), MODES)
    if ask.fusion not in ("blend", "rrf"):
        raise UnknownNameError("fusion", str(ask.fusion), ("blend", "rrf"))
    for part in ask.without:
        if part not in PARTS:
            raise UnknownNameError("part", str(part), PARTS)
    if not isinstance(ask.limit, int) or not 1 <= ask.limit <= MOST_RESULTS:
        raise InvalidInputError(
            f"a limit is a whole number from 1 to {MOST_RESULTS:,}, not {ask.limit!r}"
        )
    for name, count in (("hops", ask.hops), ("neighbours", ask.neighbours)):
        if isinstance(count, bool) or not isinstance(count, int) or count < 0:
            raise InvalidInputError(f"{name} takes a whole number from 0, not {count!r}")
    if ask.budget_tokens is not None and (
        not isinstance(ask.budget_tokens, int) or ask.budget_tokens < 1
    ):
        raise InvalidInputError(
            f"a budget is a whole number of tokens from 1, not {ask.budget_tokens!r}",
            remedy="leave it out for no budget",
        )
    if ask.half_life is not None and not ask.half_life > 0:
        raise InvalidInputError(f"a half-life is a number of days above 0, not {ask.half_life!r}")
    for label, worth in ask.preferences.items():
        if not isinstance(worth, int | float) or not -1 <= worth <= 1:
            raise InvalidInputError(
                f"a preference is a number from -1 to 1, not {worth!r} as for {label!r}"
            )
    if ask.now is not None and ask.now.tzinfo is None:
        raise InvalidInputError(
            f"now {ask.now.isoformat()} has no time zone", remedy="use datetime.now(UTC)"
        )


def _cut(ask: Ask, hits: list[RecallHit]) -> tuple[list[RecallHit], int]:
    """The hits that fit the budget, and their tokens: counting takes a while, and is left out when
    nobody asked."""
    if ask.budget_tokens is None and not ask.explain:
        return hits, 0
    return cut(hits, ask.budget_tokens, ask.tokens)


def _parts(ask: Ask) -> set[str]:
    return set(PARTS) - set(ask.without)


def _mode(ask: Ask, window: Window | None) -> str:
    if ask.mode != "auto":
        return ask.mode
    if ask.history:
        return "contextual"
    return "temporal" if window else "hybrid"


def _explained(
    pool: Pool,
    names: Sequence[Named],
    conversation: Conversation,
    vector: Sequence[float] | None,
    began: float,
) -> dict[str, Any]:
    return {
        "names": [{"name": named.record.name, "speaks": named.speaks} for named in names],
        "found": {part: len(scores) for part, scores in pool.lists.items()},
        "weights": {part: WEIGHTS[part] for part in pool.lists},
        "history": conversation.wanted,
        "vector": vector is not None,
        "ms": round((time.perf_counter() - began) * 1000, 2),
    }
