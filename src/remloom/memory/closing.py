"""What an open memory holds, and its release: by `close`, or, when it was dropped without, by a
thread of its own.

A memory that nobody can reach any more is found by the garbage collector, in whichever thread runs
then and whatever locks that holds. So nothing is closed there: it is handed to a thread that is
there while any memory is open. The same thread looks, every second, whether somebody else deleted
what is open.
"""

from __future__ import annotations

import threading
import warnings
import weakref
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, TypeVar

from ..errors import StoreClosedError

if TYPE_CHECKING:
    from ..ingest.embedding_worker import EmbeddingQueue
    from ..llm import LLM
    from ..store.contract import Store

__all__ = ["Held", "abandoned", "opened", "released", "weakly"]

_Result = TypeVar("_Result")
_LOOK = 1.0  # seconds between looks whether somebody deleted the tenants that are open
_TIDY = 5.0  # seconds that the last `close` waits for the thread to end


def weakly(method: Callable[..., _Result]) -> Callable[..., _Result]:
    """A method of a memory, for a part that the memory itself holds: the part does not keep the
    memory alive."""
    found = weakref.WeakMethod(method)

    def call(*given: Any) -> _Result:
        if (bound := found()) is None:
            raise StoreClosedError("the memory is closed", remedy="open it again")
        return bound(*given)

    return call


class Held:
    """What one memory holds: it outlives the memory, and does not know it.

    Attributes:
        queue, llm: once they were needed.
    """

    def __init__(self, store: Store, shown: str) -> None:
        self.store = store
        self.shown = shown
        self.queue: EmbeddingQueue | None = None
        self.llm: LLM | None = None

    def close(self) -> None:
        """Finish what is being written and release threads and files."""
        if self.queue is not None:
            self.queue.close()
        if self.llm is not None:
            self.llm.close()
        self.store.close()


_dropped: SimpleQueue[Held | None] = (
    SimpleQueue()
)  # which can be put into from within itself; None: look whether to end
_lock = threading.Lock()  # guards _open and _closer
_open: set[Held] = set()  # of this process
_closer: threading.Thread | None = None


def opened(held: Held) -> None:
    """A memory more."""
    global _closer
    with _lock:
        _open.add(held)
        if _closer is None or not _closer.is_alive():
            _closer = threading.Thread(target=_close_dropped, name="remloom-closing", daemon=True)
            _closer.start()


def released(held: Held) -> None:
    """A memory fewer: it was closed. With the last one the thread ends."""
    with _lock:
        _open.discard(held)
        closer = _closer if not _open else None
    if closer is not None:
        _dropped.put(None)
        closer.join(_TIDY)


def abandoned(held: Held) -> None:
    """A memory was dropped without `close`. May run anywhere, and so takes no lock and waits for
    nothing."""
    _dropped.put(held)
    warnings.warn(
        f"{held.shown} was not closed: use `with`, or call close()", ResourceWarning, stacklevel=2
    )


def _close_dropped() -> None:
    global _closer
    while True:
        try:
            held = _dropped.get(timeout=_LOOK)
        except Empty:
            with _lock:
                looked = list(_open)
            for other in looked:
                other.store.admin.detect_deletion()
            continue
        if held is not None:
            try:
                held.close()
            except Exception as error:  # there is nobody to raise it to
                warnings.warn(
                    f"{held.shown} could not be closed: {error}", ResourceWarning, stacklevel=1
                )
        with _lock:
            if held is not None:
                _open.discard(held)
            if not _open and _dropped.empty():
                _closer = None
                return
