"""The vectors and token vectors of a question, made once for all tenants that are asked it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from threading import Event, Lock
from typing import TYPE_CHECKING, Any

from ..deadline import Deadline
from ..embed.answers import ask, question_tokens, question_vector
from ..embed.contract import Embedder, TokenEncoder
from ..errors import EmbedderMismatchError, RemloomError
from ..query.late_interaction import BeginTokens
from ..retrieve.question import Embed
from ..store.contract import Store

if TYPE_CHECKING:
    from ..embed.contract import Floats


_SOON = 0.5  # seconds that a model has while a snapshot lasts


class NotYet(Exception):
    """A model has not answered yet: to be waited for without a snapshot, in which nothing that its
    tenant forgets leaves the disk. Then what raised this is asked again."""

    def __init__(self, wait: Callable[[], None]) -> None:
        super().__init__()
        self.wait = wait


class _Answer:
    """What a model answers to one text."""

    def __init__(
        self, model: Embedder | TokenEncoder, make: Callable[[], Floats], deadline: Deadline
    ) -> None:
        self._is_there = Event()
        self._deadline = deadline

        def work() -> Floats:
            try:
                return make()
            finally:
                self._is_there.set()

        self._wait = ask(model, work, deadline)

    def get(self) -> Floats:
        """Return it, if it is there soon.

        Raises:
            NotYet: it is not.
            EmbedderError: the model does not work, or took too long.
        """
        left = self._deadline.left
        if not self._is_there.wait(_SOON if left is None else min(_SOON, left)):
            raise NotYet(self._wait_for)
        return self._wait()

    def _wait_for(self) -> None:
        # a caller that asks again hears what became of it
        with suppress(RemloomError):
            self._wait()
        self._is_there.set()


class _SharedAnswers:
    """What a model is asked: each text once, for all that wait for it."""

    def __init__(self) -> None:
        self._answers: dict[tuple[str, str], _Answer] = {}
        self._lock = Lock()

    def answer(
        self,
        model: Embedder | TokenEncoder,
        text: str,
        make: Callable[[], Floats],
        deadline: Deadline,
    ) -> _Answer:
        """Return the answer to a text, which the first to ask begins to make."""
        key = (model.name, text)
        with self._lock:
            if key not in self._answers:
                self._answers[key] = _Answer(model, make, deadline)
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
        self._answers = _SharedAnswers()

    def for_store(self, store: Store) -> Embed:
        """Return what embeds a text for a store: None where it has no vectors, or there is no
        embedder.

        Raises:
            EmbedderMismatchError: its vectors were made by another embedder. What is returned
                raises it where they have other dimensions.
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
        asked, dims = embedder, stored[1]

        def embed(text: str, deadline: Deadline | None = None, /) -> Any:
            by = deadline or self._deadline()
            make = partial(question_vector, asked, text)
            vector = self._answers.answer(asked, text, make, by).get()
            if len(vector) != dims:
                raise EmbedderMismatchError(
                    f"its vectors have {dims} dimensions, that of the question {len(vector)}",
                    remedy="run `remloom reembed` there",
                    stored=stored[0],
                    given=asked.name,
                )
            return vector

        return embed


def begin_once(encoder: TokenEncoder) -> BeginTokens:
    """Return what begins to encode a text for all who ask, and gives what waits for its vectors."""
    asked = _SharedAnswers()

    def begin(text: str, deadline: Deadline) -> Callable[[], Floats]:
        make = partial(question_tokens, encoder, text)
        return asked.answer(encoder, text, make, deadline).get

    return begin
