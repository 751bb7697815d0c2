"""The vectors and token vectors of a question, made once for all tenants that are asked it."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import TYPE_CHECKING, Any

from ..deadline import Deadline
from ..embed.answers import question_tokens, question_vector
from ..embed.contract import Embedder, TokenEncoder
from ..embed.failures import ask
from ..errors import EmbedderMismatchError
from ..retrieve.question import Embed
from ..store.contract import Store

if TYPE_CHECKING:
    from ..embed.contract import Floats

__all__ = ["QueryTokens", "QueryVectors"]


class _Asked:
    """What a model is asked: each text once, whoever waits for it."""

    def __init__(self) -> None:
        self._answers: dict[tuple[str, str], Callable[[], Any]] = {}
        self._lock = Lock()

    def answer(self, key: tuple[str, str], begin: Callable[[], Callable[[], Any]]) -> Any:
        """Return what waits for an answer, which the first to ask begins."""
        with self._lock:
            if key not in self._answers:
                self._answers[key] = begin()
            return self._answers[key]


class QueryVectors:
    """Embeds one question, and what is left of it without its time and names.

    Args:
        embedder: gives the embedder for vectors of a name, or None when there is none.
        deadline: gives that of the question, for all tenants together.
    """

    def __init__(
        self, embedder: Callable[[str], Embedder | None], deadline: Callable[[], Deadline]
    ) -> None:
        self._embedder = embedder
        self._deadline = deadline
        self._asked = _Asked()

    def for_store(self, store: Store) -> Embed:
        """Return what embeds a text for a store: None where it has no vectors, or there is no
        embedder.

        Raises:
            EmbedderMismatchError: its vectors were made by another embedder.
        """
        stored = store.vectors.model()
        embedder = self._embedder(stored[0] if stored else "")
        if embedder is None or stored is None:
            return lambda text, deadline=None: None
        if stored[0] and stored[0] != embedder.name:
            raise EmbedderMismatchError(
                f"its vectors were made by {stored[0]}, not by {embedder.name}",
                remedy="run `remloom reembed` there",
                stored=stored[0],
                given=embedder.name,
            )
        asked = embedder

        def embed(text: str, deadline: Deadline | None = None, /) -> Any:
            def begin() -> Callable[[], Floats]:
                by = deadline or self._deadline()
                return ask(asked, lambda: question_vector(asked, text), by)

            return self._asked.answer((asked.name, text), begin)()

        return embed


class QueryTokens:
    """Encodes the texts of one question."""

    def __init__(self, encoder: TokenEncoder) -> None:
        self._encoder = encoder
        self._asked = _Asked()

    def begin(self, text: str, deadline: Deadline) -> Callable[[], Floats]:
        """Begin to encode a text; what is returned waits for its token vectors."""
        encoder = self._encoder

        def begin() -> Callable[[], Floats]:
            return ask(encoder, lambda: question_tokens(encoder, text), deadline)

        waits: Callable[[], Floats] = self._asked.answer((encoder.name, text), begin)
        return waits
