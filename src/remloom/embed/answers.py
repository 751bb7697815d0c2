"""Asking a model, and checking what it answers: one of somebody else's may raise anything, hang, or
answer what would poison an index. And a cache of recent questions: agents ask the same again."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from ..deadline import NEVER, Deadline, Overdue, begin, within
from ..errors import EmbedderError, EmbedderTimeoutError, RemloomError
from .contract import Embedder, TokenEncoder
from .model_card import ModelCard

if TYPE_CHECKING:
    from .contract import Bytes, Embedder, Floats


def question_vector(embedder: Embedder, text: str) -> Floats:
    """The vector of a question: float32, shape (dims,), unit length."""
    made = [embedder.embed_query(text)]
    row: Floats = unit_rows(made, count=1, dims=embedder.dims, model=embedder)[0]
    return row


def text_vectors(embedder: Embedder, texts: Sequence[str]) -> Floats:
    """The vectors of texts: float32, shape (len(texts), dims), unit length."""
    made: Any = embedder.embed_documents(texts)
    return unit_rows(made, count=len(texts), dims=embedder.dims, model=embedder)


def question_tokens(encoder: TokenEncoder, text: str) -> Floats:
    """The token vectors of a question: float32, shape (tokens, dims), at least one."""
    import numpy as np

    dims = encoder.dims
    made: Floats = np.asarray(encoder.encode_query(text), np.float32)
    if made.ndim != 2 or not len(made) or made.shape[1] != dims:
        raise EmbedderError(
            f"{encoder.name} answered {made.shape} for a question, not rows of {dims}",
            remedy="check the token encoder",
        )
    if not np.isfinite(made).all():
        raise EmbedderError(
            f"{encoder.name} answered a vector with NaN or infinity",
            remedy="check the token encoder",
        )
    return made


def text_tokens(encoder: TokenEncoder, texts: Sequence[str]) -> list[Bytes]:
    """The token vectors of each text: int8, shape (tokens, dims), of one number of dimensions."""
    import numpy as np

    dims = encoder.dims
    arrays = list(encoder.encode_documents(texts))
    fit = [
        isinstance(array, np.ndarray)
        and array.dtype == np.int8
        and array.ndim == 2
        and array.shape[1] == dims
        for array in arrays
    ]
    if len(arrays) != len(texts) or not all(fit):
        raise EmbedderError(
            f"{encoder.name} answered {sum(fit)} arrays of bytes of {dims} dimensions a token to "
            f"{len(texts)} texts",
            remedy="check the token encoder",
        )
    return arrays


def unit_rows(values: Sequence[Any], *, count: int, dims: int | None, model: Embedder) -> Floats:
    """Make float32 rows of unit length, shape (count, dims), of a model's answer, or refuse it."""
    import numpy as np

    def wrong(answer: str, remedy: str = "") -> EmbedderError:
        return EmbedderError(f"{model.name} answered {answer}", remedy=remedy, model=model.name)

    try:
        rows = np.asarray(values, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise wrong("with something that is not a list of vectors") from error
    if rows.ndim != 2:
        raise wrong(f"an array of shape {rows.shape}, not a list of vectors")
    if len(rows) != count:
        raise wrong(f"{len(rows)} vectors to {count} texts")
    if dims is not None and rows.shape[1] != dims:
        raise wrong(
            f"vectors of {rows.shape[1]} dimensions, not {dims}",
            "the endpoint serves another model than before: check its name, "
            "or run `remloom reembed`",
        )
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    if not np.isfinite(lengths).all() or not lengths.all():
        raise wrong("a vector of zeros, NaN or infinity")
    return np.asarray(rows / lengths, dtype=np.float32)


_T = TypeVar("_T")
_Model: TypeAlias = Embedder | TokenEncoder


def answered_by(model: _Model, work: Callable[[], _T], deadline: Deadline = NEVER) -> _T:
    """Return what a model answers that `work` asks. Whatever it raises becomes an EmbedderError,
    and so does that it is late, but for our own errors."""
    with _translated(model):
        return within(deadline, _uncached(model), work)


def ask(model: _Model, work: Callable[[], _T], deadline: Deadline = NEVER) -> Callable[[], _T]:
    """Begin to ask a model; what is returned waits for its answer, as `answered_by` does. Any
    thread may wait, and several may."""
    with _translated(model):
        wait = begin(deadline, _uncached(model), work)

    def answer() -> _T:
        with _translated(model):
            return wait()

    return answer


def _uncached(model: _Model) -> object:
    """The model behind a cache of questions: several memories may have it, each with its own."""

    return model.model if isinstance(model, CachedQueries | CachedTokenQueries) else model


@contextmanager
def _translated(model: _Model) -> Iterator[None]:
    try:
        yield
    except (RemloomError, KeyboardInterrupt, SystemExit):
        raise
    except Overdue as overdue:
        raise _timeout(f"{model.name} {overdue}") from None
    # asyncio's CancelledError, too, is no Exception
    except BaseException as error:
        raise EmbedderError(f"{model.name} failed: {type(error).__name__}: {error}") from error


@contextmanager
def turn_of(lock: threading.Lock, model: _Model, deadline: Deadline) -> Iterator[None]:
    """Hold the lock of who asks a model; raises EmbedderTimeoutError when it is not free by the
    deadline."""
    left = deadline.left
    if not lock.acquire(timeout=-1 if left is None else left):
        raise _timeout(f"{model.name} was busy for longer than {deadline.seconds:g} seconds")
    try:
        yield
    finally:
        lock.release()


def _timeout(message: str) -> EmbedderTimeoutError:
    remedy = "ask again later; the setting `embedder_timeout` says how long is waited"
    return EmbedderTimeoutError(message, remedy=remedy)


class _Recent:
    """What was made of the last `size` different texts, by any thread."""

    def __init__(self, make: Callable[[str], Floats], size: int) -> None:
        self._make = make
        self._size = size
        self._made: OrderedDict[str, Floats] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, text: str) -> Floats:
        with self._lock:
            if text in self._made:
                self._made.move_to_end(text)
                return self._made[text]
        # outside the lock: another thread may ask for another text meanwhile
        made = self._make(text)
        # It is handed out again, so nobody may change it.
        made.setflags(write=False)
        with self._lock:
            self._made[text] = made
            if len(self._made) > self._size:
                self._made.popitem(last=False)
        return made


class CachedQueries:
    """An embedder that keeps the vectors of its last `size` different questions."""

    def __init__(self, embedder: Embedder, size: int = 512) -> None:
        self.model = embedder
        self.name = embedder.name
        self.max_tokens = embedder.max_tokens
        self.embed_documents = embedder.embed_documents
        self.embed_query = _Recent(embedder.embed_query, size).of
        self.windows = embedder.windows

    @property
    def dims(self) -> int:
        return self.model.dims

    @property
    def model_card(self) -> ModelCard | None:
        from .bundled.sentence_embedder import model_card_of

        return model_card_of(self.model)


class CachedTokenQueries:
    """A token encoder that keeps the vectors of its last `size` different questions."""

    def __init__(self, encoder: TokenEncoder, size: int = 512) -> None:
        self.model = encoder
        self.name = encoder.name
        self.dims = encoder.dims
        self.languages: tuple[str, ...] = tuple(getattr(encoder, "languages", ()))
        self.encode_documents = encoder.encode_documents
        self.encode_query = _Recent(encoder.encode_query, size).of
