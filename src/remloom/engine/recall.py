"""Recall with what the engine has: its embedder, and rerankers loaded by their names."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ..errors import UnknownNameError
from ..model import Recall
from .arguments import check_kind
from .engine import Engine

if TYPE_CHECKING:
    from ..retrieve import Recaller, Reranker
    from ..retrieve.options import RecallChanges, RecallOptions
    from ..retrieve.question.question import Paraphrase
    from .hooks import Preferences


CONTEXT_TOKENS = 1500  # budget of a context
CONTEXT_HITS = 20  # hits of a context, at most


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
        return self._recall(question, self._options(options, changes), self._preferences())

    def _preferences(self) -> Preferences | None:
        preferences = self._engine.hooks.preferences
        return preferences(self._engine) if preferences is not None else None

    def _recall(
        self, question: str, options: RecallOptions, preferences: Preferences | None
    ) -> Recall:
        if options.profile and preferences is not None:
            likes = preferences.preferences(question, options.purpose)
            options = replace(options, preferences={**likes, **options.preferences})
        reranker = self._load_reranker(options.rerank)
        paraphrase = self._paraphraser() if options.expand else None
        return self._engine.ask(
            lambda: self._open_recaller().recall(
                question, options, reranker=reranker, paraphrase=paraphrase
            )
        )

    def _options(self, options: RecallOptions | None, changes: RecallChanges) -> RecallOptions:
        """The options, given as a value, as keywords, or both."""
        from ..retrieve.options import RecallOptions

        for name in changes:
            if name not in RecallOptions.__struct_fields__:
                raise UnknownNameError("option", name, RecallOptions.__struct_fields__)
        if options is None:
            return RecallOptions(**changes)
        return replace(check_kind(options, RecallOptions), **changes)

    def context(self, question: str, options: RecallOptions | None, changes: RecallChanges) -> str:
        """Recall as text for a prompt; see `Memory.context`."""
        from ..retrieve.options import RecallOptions
        from ..retrieve.prompt_context import count_tokens, text_of

        if options is None:
            changes = {"limit": CONTEXT_HITS, "budget_tokens": CONTEXT_TOKENS, **changes}
        elif check_kind(options, RecallOptions).budget_tokens is None:
            # options made for `recall` have no budget, and a prompt always needs one
            changes = {"budget_tokens": CONTEXT_TOKENS, **changes}
        options = self._options(options, changes)
        preferences = self._preferences()
        if not options.profile or preferences is None:
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
            from ..embed.bundled.sentence_embedder import model_card_of
            from ..retrieve import Recaller

            card = model_card_of(engine.embedder) if engine.embedder is not None else None
            self._recallers[name] = Recaller(
                engine.store,
                engine.try_embed_query,
                card,
                engine.late_interaction,
                deadline=engine.deadline,
            )
        return self._recallers[name]

    def _paraphraser(self) -> Paraphrase:
        """Return what asks the language model for paraphrases."""
        from ..retrieve.paraphrases import paraphrase

        return partial(paraphrase, self._engine.required_llm)

    def _load_reranker(self, reranker: Reranker | str | None) -> Reranker | None:
        """Give the reranker itself: by default that of the settings; by name it is loaded once."""
        name = self._engine.settings.reranker if reranker is None else reranker
        if not isinstance(name, str):
            return name
        if name == "none":
            return None
        if name not in self._rerankers:
            from ..retrieve.rerankers.load import load_reranker

            engine = self._engine
            # binds the engine alone: a reference to `self` would be a cycle
            self._rerankers[name] = load_reranker(
                name, engine.settings, lambda: engine.required_llm
            )
        return self._rerankers[name]
