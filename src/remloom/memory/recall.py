"""Recall: the one call that most agents need."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ..model import Message, Recall
from ..predicates import Predicate
from .closing import weakly
from .engine import Opened

if TYPE_CHECKING:
    from ..llm import LLM
    from ..retrieve import Recaller, Reranker
    from ..retrieve.options import RecallOptions

__all__ = ["Recalling"]


class Recalling(Opened):
    """`recall`, and the same as text for a prompt."""

    def recall(
        self,
        question: str,
        *,
        limit: int = 10,
        budget_tokens: int | None = None,
        mode: str = "auto",
        history: Sequence[Message | Mapping[str, Any] | str] = (),
        now: datetime | None = None,
        where: Predicate | str | None = None,
        vector: Sequence[float] | None = None,
        fusion: str = "blend",
        without: Collection[str] = (),
        hops: int = 2,
        neighbours: int = 1,
        preferences: Mapping[str, float] = {},
        half_life: float | None = None,
        rerank: Reranker | str | None = None,
        abstain: bool = True,
        count_tokens: Callable[[str], int] | None = None,
        explain: bool = False,
    ) -> Recall:
        """What answers a question, best first, each with why; nothing, and the reason, when nothing
        does.

        Args:
            budget_tokens: of the hits together, as `context` writes them.
            mode: "hybrid" (words, meaning, names, relations); "temporal" (only the time that the
                question names); "contextual" (what the conversation was about, and what is recent,
                counts more); "iterated" (also what is `hops` away, a third of the hits at most);
                "auto": hybrid, minding the time that the question names and the history, if there
                are any.
            history: the conversation so far, oldest first: Messages, `{"role": …, "content": …}`,
                or texts.
            now: what "last week" counts from, with a time zone; default the present.
            where: only resources for which this holds.
            vector: of the question, instead of the embedder's.
            fusion: "blend" (of scores) or "rrf" (of ranks).
            without: parts of the search to leave out, of "text", "vector", "entity", "graph",
                "speaker", "asks", "answers", "time", "history", "recency", "preferences", "rerank",
                "hops".
            neighbours: resources before and after each hit to return with it.
            preferences: label -> -1..1: what names a thing the user cares for counts more, or less.
            half_life: days after which a record's recency counts half; default: 30 in mode
                "contextual", else age does not count.
            rerank: gives the best candidates a second look: "onnx:<folder>", "fastembed:<model>",
                "llm", a `remloom.retrieve.Reranker`, or "none"; default the setting `reranker`.
            abstain: false: never; the best there is comes back, fitting or not.
            count_tokens: of the model that will read it; default an estimate that errs towards too
                many.
            explain: fill `Recall.explained`.

        Raises:
            InvalidInputError: an empty or overlong question, a limit or budget below 1, a time that
                ends before it starts, in mode temporal no time at all.
            UnknownNameError: a mode, fusion, part, field or reranker that does not exist.
            RerankerError, ModelError, MissingExtraError: the reranker cannot be had, or did not
                answer.
        """
        from ..retrieve.options import RecallOptions

        options = RecallOptions(
            limit=limit, budget_tokens=budget_tokens, mode=mode, history=history, now=now, where=where,
            vector=vector, fusion=fusion, exclude=without, hops=hops, neighbours=neighbours, preferences=preferences,
            half_life=half_life, rerank=rerank, abstain=abstain, count_tokens=count_tokens, explain=explain,
        )  # fmt: skip
        return self._recall(question, options)

    def context(
        self,
        question: str,
        *,
        budget_tokens: int = 1500,
        limit: int = 20,
        mode: str = "auto",
        history: Sequence[Message | Mapping[str, Any] | str] = (),
        now: datetime | None = None,
        where: Predicate | str | None = None,
        preferences: Mapping[str, float] = {},
        half_life: float | None = None,
        rerank: Reranker | str | None = None,
        count_tokens: Callable[[str], int] | None = None,
    ) -> str:
        """What answers a question as text for a prompt: quoted passages with source, date and
        trust, within a budget.

        See `recall` for the arguments and errors.
        """
        from ..retrieve.options import RecallOptions
        from ..retrieve.prompt_context import text_of

        options = RecallOptions(
            limit=limit, budget_tokens=budget_tokens, mode=mode, history=history, now=now, where=where,
            preferences=preferences, half_life=half_life, rerank=rerank, count_tokens=count_tokens,
        )  # fmt: skip
        return text_of(self._recall(question, options))

    def _recall(self, question: str, options: RecallOptions) -> Recall:
        reranker = self._reranker(options.rerank)
        return self._recaller.recall(question, options, reranker=reranker)

    def _reranker(self, given: Reranker | str | None) -> Reranker | None:
        """The reranker given, or that of the settings; loaded once by its name."""
        name = self._settings.reranker if given is None else given
        if not isinstance(name, str):
            return name
        if name == "none":
            return None
        if name not in self._rerankers:
            from ..retrieve.rerankers.load import load_reranker

            self._rerankers[name] = load_reranker(name, self._settings, weakly(self._open_llm))
        return self._rerankers[name]

    def _open_llm(self) -> LLM:
        return self._llm

    @cached_property
    def _rerankers(self) -> dict[str, Reranker]:
        return {}

    @cached_property
    def _recaller(self) -> Recaller:
        from ..embed.known_profiles import profile_of
        from ..retrieve import Recaller

        profile = profile_of(self._embedder) if self._embedder is not None else None
        return Recaller(self._store, weakly(self._embed_question), profile)

    def _embed_question(self, text: str) -> Any:
        return self._embed_query(text) if self._embedder else None
