"""Recall: the parts of the search put together, in four ways, and the hits cut to a budget.

Sources: seed 2, "Search strategies" and "Retrieval patterns"; DESIGN section 5.
docs/recall-quality.md has what each part is worth, measured.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from ..deadline import Deadline
from ..embed.model_card import ModelCard
from ..errors import EmbedderError, EmbedderTimeoutError, UnknownNameError
from ..model import Episode, Recall, RecallHit
from ..query.late_interaction import with_missing
from ..store.contract import Store
from ..store.premises import FindStale, finder_of
from .abstention import drop_far, heeded, misattributed, nothing_found, unrelated
from .boosts import BOOSTS, raise_newer_turns
from .candidates import Candidate, Candidates, RankedRecord, Ranking, ranking_beside
from .connections import (
    follow,
    with_amendments,
    with_expansion,
    with_neighbours,
    with_questions,
    with_united,
)
from .dependencies import PART as DEPENDENCIES
from .dependencies import bring_changes
from .episodes import find_episodes
from .guidance import raise_guidance, replies
from .learned_order import MOST, correct_order
from .learned_order import PART as LEARNED
from .options import RecallOptions
from .overview import raise_overview
from .prompt_context import told_within_budget, with_hits, within_budget
from .question import ORDER, OVERVIEWS, REQUEST, Embed, Paraphrase, RecallQuestion, asks_present
from .reranking import LOOKED_AT, Reranker, rerank
from .scores import blend
from .signals import SIGNALS
from .stale import StaleRecords, stale_last
from .time_expressions import Window
from .timeline import nearest_days, timeline

if TYPE_CHECKING:
    from ..query.late_interaction import LateInteraction, TokenQuestion
    from .past.store import PastStore


# the most that each part adds to a score
WEIGHTS = {part.part: part.weight for part in (*SIGNALS, *BOOSTS)} | {
    "late": 1.0,
    "rerank": 0.5,
    "hops": 0.5,
    "overview": 3.0,
    # the lead of an older turn that a newer one may overtake
    "newer": 0.2,
    "guidance": 1.5,
    LEARNED: MOST,
    DEPENDENCIES: 0.0,  # to a place, not by a weight
}
PARTS = tuple(WEIGHTS)
RRF_SCALE = 0.2  # range of the reciprocal ranks of a list, where scores have a range of 1
# factor for vectors where late interaction has a list as well: both measure much the same
WITH_LATE_FACTOR = 0.5
# the same in a chat with an assistant, whose long replies have a token for everything
WITH_LATE_FACTOR_OF_REPLIES = 0.75
# factor for vectors, for a question in a language that the embedder does not know
UNKNOWN_LANGUAGE_FACTOR = 0.3
# factor for words and the reranker, for a request in a chat with an assistant: the turns that
# matter have other words, and do not answer it
REQUEST_FACTOR = 0.3
SURE_REQUEST = 0.5  # probability from which on late interaction is left out
_BY_LIKENESS = ("text", "rerank")
POOL = 60  # records that each signal brings, at least
REQUEST_POOL = 100  # the same for a request, which the turns that matter hardly resemble
_SPARE = 40  # beyond the limit, if that is more
_PROPOSING_LATE = ("text", "vector")
# Share of candidates that must have token vectors: a list of half of them is worse than vectors.
_MADE = 0.75

_DEFAULTS = RecallOptions()


class Recaller:
    """Recalls from one tenant's store.

    Args:
        embed: gives the unit vector of a text, or None when there is no embedder.
        card: the model card of the embedder, where there is one.
        late: scores what was found by token vectors; None: nobody does.
        deadline: gives that of a question which is about to be put to the embedder and the token
            encoder; default none.
        has_learned_order: whether the order of turns is corrected by what was learned.
        find_stale: gives which of some records are stale; default all that the store knows.
        past: the store, where it is one of a time.
    """

    def __init__(
        self,
        store: Store,
        embed: Embed,
        card: ModelCard | None,
        late: LateInteraction | None = None,
        *,
        deadline: Callable[[], Deadline] = Deadline,
        has_learned_order: bool = True,
        find_stale: FindStale | None = None,
        past: PastStore | None = None,
    ) -> None:
        self._store = store
        self._past = past
        self._find_stale = find_stale or finder_of(store.records)
        self._embed = embed
        self._card = card
        self._late = late
        self._deadline = deadline
        self._has_learned_order = has_learned_order

    def recall(
        self,
        question: str,
        options: RecallOptions = _DEFAULTS,
        *,
        reranker: Reranker | None = None,
        paraphrase: Paraphrase | None = None,
    ) -> Recall:
        """Recall what answers the question.

        Args:
            question: what is asked.
            options: how; their `rerank` is for the caller to open.
            reranker: gives the best candidates a second look.
            paraphrase: gives other ways to ask the question, to search for as well.

        Raises:
            InvalidInputError: the question is empty or too long, or names no time in mode temporal.
            UnknownNameError: a part to exclude that does not exist.
            EmbedderError: the embedder does not work, or a token encoder that was asked for. One
                that takes too long is no error: what it would have found is left out, and
                `Recall.note` says so.
        """
        began = time.perf_counter()
        for part in options.exclude:
            if part not in PARTS:
                raise UnknownNameError("part", str(part), PARTS)
        resolved = RecallQuestion(self._store, question, options, self._embed, paraphrase)
        if resolved.only_window is not None and options.unit == "record":
            recall = self._timeline(resolved, resolved.only_window)
            if recall is not None:
                return recall
        return self._search(resolved, reranker, began)

    def _timeline(self, question: RecallQuestion, window: Window) -> Recall | None:
        """Recall what happened in a time; None if nothing did, in mode auto without abstaining."""
        options = question.options
        stale = StaleRecords(self._find_stale, options.stale)
        found = timeline(self._store, window, options.predicate, options.limit, stale.kept)
        found = stale.marked(found, self._store.records)
        hits, tokens = _within_budget(options, found, question.text)
        if not hits and options.mode == "auto" and not options.abstain:
            return None
        reason = _over_budget(options, found)
        if not found:
            nearest = nearest_days(self._store, window, options.predicate)
            reason = f"nothing is remembered of {window}{nearest}"
        return Recall(
            question=question.original,
            asked=question.text,
            mode="temporal",
            hits=hits,
            abstained=not hits,
            reason="" if hits else reason,
            window=window.span,
            tokens=tokens,
            explained={"window": str(window)} if options.explain else {},
        )

    def _search(self, question: RecallQuestion, reranker: Reranker | None, began: float) -> Recall:
        options = question.options
        # first: a language model has a time limit of its own
        _ = question.reworded
        deadline = self._deadline()
        late = self._late_question(question, deadline)
        question.embed(deadline)
        pending = self._begin(question)
        if late is not None and late.is_begun:
            # waited for here: while a snapshot lasts, nothing that is forgotten leaves the disk
            with suppress(EmbedderError):
                late.vectors()
        with self._store.snapshot():
            candidates, weights = self._find(question, pending, late)
            self._boost(candidates, question)
            candidates.hold_summaries(question.summarized_schemas, options.limit)
            doubts = options.abstain and not (question.kind == REQUEST and heeded(candidates))
            # of episodes it is judged later, by whole sessions
            doubts = doubts and options.unit == "record"
            reason = (
                unrelated(self._store, candidates, question.subject, self._card) if doubts else ""
            )
            if doubts and not reason:
                reason = misattributed(self._store, candidates, question)
        if self._late is not None:
            self._late.repair()
        if reranker is not None and not reason and question.uses("rerank"):
            # a budget holds few of many hits
            count = LOOKED_AT if options.budget_tokens else max(LOOKED_AT, options.limit)
            reranking_note = rerank(
                candidates,
                reranker,
                question.text,
                count=count,
                weight=weights["rerank"],
                seconds=options.rerank_seconds,
            )
            question.notes += [reranking_note] if reranking_note else []
        # after the reranker, which judges how much each passage is like the question
        if not reason and question.kind in OVERVIEWS and question.uses("overview"):
            with self._store.snapshot():
                raise_overview(self._store, candidates, question, WEIGHTS["overview"])
        if not reason and self._corrects(question):
            with self._store.snapshot():
                correct_order(self._store, candidates, question)
        if not reason and question.uses("newer") and asks_present(question.text):
            with self._store.snapshot():
                scale = RRF_SCALE if options.fusion == "rrf" else 1.0
                raise_newer_turns(self._store, candidates, question, scale * WEIGHTS["newer"])
        if options.abstain:
            drop_far(candidates, self._card)
        if not reason and question.uses(DEPENDENCIES) and options.unit == "record":
            with self._store.snapshot():
                bring_changes(self._store, candidates, question, self._late)
        episodes: list[Episode] = []
        if options.unit == "episode":
            all_hits, episodes, reason = self._episodes(candidates, question)
        else:
            all_hits = [] if reason else self._hits(candidates, question)
        hits, tokens = _within_budget(options, all_hits, question.text, episodes)
        if not hits and not reason:
            reason = _over_budget(options, all_hits) or nothing_found(self._store)
        return Recall(
            question=question.original,
            asked=question.text,
            mode=question.mode,
            hits=hits if episodes else stale_last(hits),
            episodes=with_hits(episodes, hits),
            abstained=not hits,
            reason=reason,
            note="; ".join(self._notes(question)),
            as_of=options.as_of,
            window=question.window.span if question.window else None,
            tokens=tokens,
            explained=_explained(candidates, question, weights, began) if options.explain else {},
        )

    def _notes(self, question: RecallQuestion) -> list[str]:
        of_past = self._past.note if self._past is not None else ""
        return [*question.notes, *filter(None, [of_past])]

    def _corrects(self, question: RecallQuestion) -> bool:
        """Whether the order of turns is corrected: not that of ranks, of which nothing was learned,
        nor what was chosen to be told in order."""
        return (
            self._has_learned_order
            and question.uses(LEARNED)
            and question.options.fusion == "blend"
            and question.kind != ORDER
        )

    def _hits(self, candidates: Candidates, question: RecallQuestion) -> list[RecallHit]:
        with self._store.snapshot():
            stale = StaleRecords(self._find_stale, question.options.stale)
            best = self._best(candidates, question, stale)
            hits = with_united(self._store, [candidate.as_hit() for candidate in best])
            hits = hits[: max(question.options.limit, len(best))]
            hits = with_amendments(self._store.records, hits, question.options.limit)
            hits = stale.marked(hits, self._store.records)
            reach = question.options.neighbours
            if reach is None:
                hits = with_questions(self._store, hits)
            else:
                hits = with_neighbours(self._store, hits, reach)
            return hits if self._past is None else self._past.told(hits)

    def _episodes(
        self, candidates: Candidates, question: RecallQuestion
    ) -> tuple[list[RecallHit], list[Episode], str]:
        """The episodes, all of their hits, and why there are none."""
        with self._store.snapshot():
            stale = StaleRecords(self._find_stale, question.options.stale)
            episodes, reason = find_episodes(self._store, candidates, question)
            hits = [hit for episode in episodes for hit in episode.hits]
            kept = stale.kept(hit.record for hit in hits)
            hits = [hit for hit in hits if hit.id in kept]
            return stale.marked(hits, self._store.records), episodes, reason

    def _begin(self, question: RecallQuestion) -> dict[str, Callable[[], Ranking | None]]:
        pool = REQUEST_POOL if question.kind in (REQUEST, *OVERVIEWS) else POOL
        count = max(pool, question.options.limit + _SPARE)
        return {
            signal.part: signal.begin(self._store, question, count)
            for signal in SIGNALS
            if question.uses(signal.part) and (signal.takes_filter or question.predicate is None)
        }

    def _find(
        self,
        question: RecallQuestion,
        pending: Mapping[str, Callable[[], Ranking | None]],
        late: TokenQuestion | None,
    ) -> tuple[Candidates, dict[str, float]]:
        """Fuse the lists of all signals; returns their weights as well."""
        candidates = Candidates()
        for part, rank in pending.items():
            ranking = rank()
            if ranking is not None:
                candidates.add(part, ranking)
        self._add_late(candidates, question, late)
        weights = self._weights(candidates, question)
        candidates.fuse(question.options.fusion, weights)
        return candidates, weights

    def _late_question(self, question: RecallQuestion, deadline: Deadline) -> TokenQuestion | None:
        late = self._late
        if late is None or not question.uses("late") or not late.knows_language_of(question.text):
            return None
        # what governs a request shares no words with it: half of the CPU time for nothing
        if question.request_probability >= SURE_REQUEST:
            return None
        return late.question(question.compared_text, deadline)

    def _add_late(
        self, candidates: Candidates, question: RecallQuestion, token_question: TokenQuestion | None
    ) -> None:
        late = self._late
        if late is None or token_question is None:
            return
        try:
            ranking = _rank_late(late, candidates, token_question, question.summarized_schemas)
        except EmbedderError as error:
            if late.is_requested and not isinstance(error, EmbedderTimeoutError):
                raise
            question.notes.append(f"no late interaction: {error.message}")
            return
        if ranking is not None:
            candidates.add("late", ranking)

    def _weights(self, candidates: Candidates, question: RecallQuestion) -> dict[str, float]:
        weights = dict(WEIGHTS)
        has_replies = bool(replies(candidates))
        if "late" in candidates.parts:
            factor = WITH_LATE_FACTOR_OF_REPLIES if has_replies else WITH_LATE_FACTOR
            weights["vector"] *= factor
        if self._card is not None and not self._card.knows_language_of(question.text):
            # The embedder goes by resemblance of letters then.
            weights["vector"] *= UNKNOWN_LANGUAGE_FACTOR
        if has_replies and question.kind == REQUEST:
            for part in _BY_LIKENESS:
                weights[part] *= REQUEST_FACTOR
        return weights

    def _boost(self, candidates: Candidates, question: RecallQuestion) -> None:
        scale = RRF_SCALE if question.options.fusion == "rrf" else 1.0
        if question.uses("guidance"):
            raise_guidance(self._store, candidates, question, scale * WEIGHTS["guidance"])
        for boost in BOOSTS:
            if question.uses(boost.part):
                boost.apply(candidates, question, scale * WEIGHTS[boost.part])

    def _best(
        self, candidates: Candidates, question: RecallQuestion, stale: StaleRecords
    ) -> list[Candidate]:
        """The best candidates, with what hops from them find, if hops are followed."""
        options = question.options
        kept = stale.kept(one.record for one in candidates)
        for one in [one for one in candidates if one.record.id not in kept]:
            candidates.drop(one.record.id)
        best = candidates.best(options.limit)
        if not (question.uses("hops") and question.follows):
            return best
        expansion = follow(self._store, best, question, hops=options.hops, weight=WEIGHTS["hops"])
        kept = stale.kept(one.record for one in expansion)
        expansion = [one for one in expansion if one.record.id in kept]
        return with_expansion(best, expansion, options.limit)


def _rank_late(
    late: LateInteraction,
    candidates: Candidates,
    question: TokenQuestion,
    summarized: Sequence[str],
) -> Ranking | None:
    """Rank what words and vectors propose; None where too few have token vectors yet."""
    ids = [*dict.fromkeys(id for part in _PROPOSING_LATE for id in candidates.scores(part))]
    scores = late.scores(question, ids)
    texts = [id for id in ids if candidates[id].record.schema not in summarized] or ids
    found = [scores[id] for id in texts if id in scores]
    # one without tokens says nothing, and must not draw the scale down to it
    low = min((score for score in found if score > -1), default=None)
    if low is None or len(found) < _MADE * len(texts):
        return None
    scores = with_missing(scores, ids, blend(candidates.scores("vector")))
    ordered = sorted(ids, key=lambda id: -scores[id])
    ranked = [RankedRecord(candidates[id].record, scores[id]) for id in ordered]
    return ranking_beside(ranked, summarized, low)


def _within_budget(
    options: RecallOptions,
    hits: list[RecallHit],
    asked: str,
    episodes: Sequence[Episode] = (),
) -> tuple[list[RecallHit], int]:
    """The hits that fit the budget, and their tokens; 0 where nobody asks, as counting is slow."""
    if options.budget_tokens is None and not options.explain:
        return hits, 0
    if episodes:
        return told_within_budget(hits, episodes, options.budget_tokens, options.count_tokens)
    budget, counter = options.budget_tokens, options.count_tokens
    return within_budget(hits, budget, counter, asked, options.as_of)


def _over_budget(options: RecallOptions, hits: Sequence[RecallHit]) -> str:
    """Why the budget holds no hit: what the shortest needs. Empty if there are no hits."""
    if not hits:
        return ""
    alone = (replace(hit, before=(), after=()) for hit in hits)
    needed = min(
        within_budget([hit], None, options.count_tokens, as_of=options.as_of)[1] for hit in alone
    )
    return (
        f"a budget of {options.budget_tokens} tokens holds none of what was found: "
        f"the shortest needs {needed}"
    )


def _explained(
    candidates: Candidates, question: RecallQuestion, weights: dict[str, float], began: float
) -> dict[str, Any]:
    names = [{"name": named.record.name, "speaks": named.speaks} for named in question.names]
    return {
        "names": names,
        "found": {part: len(candidates.scores(part)) for part in candidates.parts},
        "weights": {part: weights[part] for part in candidates.parts},
        "history": question.conversation.topics,
        "vector": question.vector is not None,
        "ms": round((time.perf_counter() - began) * 1000, 2),
    }
