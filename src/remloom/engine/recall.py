"""Recall with what the engine has: its embedder, its language model, rerankers by their names."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, TypedDict, Unpack, cast

from msgspec import Struct
from msgspec.structs import replace

from ..errors import EmbedderError
from ..model import Recall
from .engine import Engine

if TYPE_CHECKING:
    from ..embed.contract import Floats
    from ..llm import LLM
    from ..query.late_interaction import LateInteraction
    from ..retrieve import Recaller, Reranker
    from ..retrieve.options import RecallChanges, RecallOptions
    from ..retrieve.past.store import PastStore
    from ..store.contract import Store
    from ..store.premises import FindStale
    from .hooks import Preferences


class _OfPast(TypedDict, total=False):
    find_stale: FindStale
    past: PastStore


_MOST_PARAPHRASES = 3
_LONGEST_PARAPHRASE = 300  # characters


class Recalling:
    """Answers questions from one tenant's store."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._rerankers: dict[str, Reranker] = {}  # by name
        self._recallers: dict[str, Recaller] = {}  # by the name of the embedder, which may change

    def recall(
        self, question: str, options: RecallOptions | None, changes: RecallChanges
    ) -> Recall:
        """Recall; see `Memory.recall`."""
        from ..retrieve.options import with_changes

        options = with_changes(options, changes)
        return self._recall(question, options, self._preferences(options))

    def _preferences(self, options: RecallOptions) -> Preferences | None:
        """What is known of the user, if it is wanted: it takes time to load."""
        preferences = self._engine.hooks.preferences
        if preferences is None or not options.profile:
            return None
        return preferences(self._engine)

    def _recall(
        self, question: str, options: RecallOptions, preferences: Preferences | None
    ) -> Recall:
        if preferences is not None:
            likes = preferences.preferences(question, options.purpose, options.as_of)
            options = replace(options, preferences={**likes, **options.preferences})
        reranker = self._load_reranker(options.rerank)
        reword = partial(paraphrase, self._engine.required_llm) if options.expand else None

        def answer() -> Recall:
            recaller = self._open_recaller()
            if options.as_of is not None:
                recaller = self._recaller_at(question, options.as_of)
            return recaller.recall(question, options, reranker=reranker, paraphrase=reword)

        return self._engine.ask(answer)

    def context(self, question: str, options: RecallOptions | None, changes: RecallChanges) -> str:
        """Recall as text for a prompt; see `Memory.context`."""
        from ..retrieve.options import for_context
        from ..retrieve.prompt_context import count_tokens, text_of

        options = for_context(options, changes)
        preferences = self._preferences(options)
        if preferences is None:
            return text_of(self._recall(question, options, preferences))
        profile = preferences.known(question, options)
        known = profile.text
        if options.budget_tokens is not None:
            # what is known of the user is a part of the budget, what is recalled has the rest;
            # nothing is recalled in the place of what could hurt
            rest = options.budget_tokens - count_tokens(known, options.count_tokens)
            rest = 1 if profile.safety_left_out else rest
            options = replace(options, budget_tokens=max(rest, 1))
        recalled = text_of(self._recall(question, options, preferences))
        return f"{known}\n{recalled}" if known else recalled

    def _open_recaller(self) -> Recaller:
        engine = self._engine
        name = engine.embedder_name
        if name not in self._recallers:
            self._recallers[name] = self._make_recaller(engine.store, engine.late_interaction)
        return self._recallers[name]

    def _recaller_at(self, question: str, at: datetime) -> Recaller:
        """Make what recalls what was remembered at a time, for one question."""
        from ..retrieve.past.store import PastStore

        engine = self._engine
        vectors_of = self._vectors_of_former if engine.embedder is not None else None
        past = PastStore(engine.store, at, str(question), vectors_of)
        store = cast("Store", past)
        late = None
        if engine.token_encoder is not None:
            from ..query.late_interaction import LateInteraction

            late = LateInteraction(store, engine.token_encoder, is_requested=False)
        return self._make_recaller(store, late, find_stale=past.find_stale, past=past)

    def _vectors_of_former(self, texts: Sequence[str]) -> dict[str, Floats]:
        """Make the vectors of former texts; without, their words are all there is to go by."""
        try:
            return self._engine.sentence_vectors.of(texts, self._engine.deadline())
        except EmbedderError:
            return {}

    def _make_recaller(
        self, store: Store, late: LateInteraction | None, **more: Unpack[_OfPast]
    ) -> Recaller:
        from ..embed.bundled.sentence_embedder import model_card_of
        from ..retrieve import Recaller

        engine = self._engine
        return Recaller(
            store,
            engine.try_embed_query,
            model_card_of(engine.embedder) if engine.embedder is not None else None,
            late,
            deadline=engine.deadline,
            has_learned_order=engine.settings.recall_order == "learned",
            **more,
        )

    def _load_reranker(self, reranker: Reranker | str | None) -> Reranker | None:
        """Give the reranker itself: by default that of the settings; by name it is loaded once."""
        name = self._engine.settings.reranker if reranker is None else reranker
        if not isinstance(name, str):
            return name
        if name == "none":
            return None
        if name not in self._rerankers:
            from ..retrieve.rerankers import load_reranker

            engine = self._engine
            # binds the engine alone: a reference to `self` would be a cycle
            self._rerankers[name] = load_reranker(
                name, engine.settings, lambda: engine.required_llm
            )
        return self._rerankers[name]


class Paraphrased(Struct, frozen=True):
    """Other ways to ask the same."""

    questions: list[str]


def paraphrase(llm: LLM, question: str) -> list[str]:
    """Ask the model, in one call, for other ways to ask a question; at most three.

    Source: seed 2, "Query expansion".

    Raises:
        ModelError: the model cannot be asked, or does not reply as it should.
    """
    from ..llm.prompts import Quote

    reply = llm.ask("expand", {"question": Quote(question, trust="told")}, returns=Paraphrased)
    texts = (" ".join(text.split())[:_LONGEST_PARAPHRASE] for text in reply.questions)
    return [text for text in dict.fromkeys(texts) if text and text != question][:_MOST_PARAPHRASES]
