"""The release of what an open memory holds: by `close`, or, when it was dropped, by a thread.

A memory that nobody can reach any more is found by the garbage collector, in whichever thread runs
then and whatever locks that holds. So nothing is closed there: it is handed to a thread that runs
while any memory is open. Every second the same thread also checks whether somebody else deleted
a tenant that is open.
"""

from __future__ import annotations

import threading
import warnings
from contextlib import ExitStack
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..ingest.embedding_worker import EmbeddingQueue
    from ..ingest.token_worker import TokenQueue
    from ..llm import LLM
    from ..store.contract import Store


CHECK_INTERVAL = 1.0  # seconds between checks whether an open tenant was deleted
JOIN_TIMEOUT = 5.0  # seconds that the last `close` waits for the thread to end


class OpenResources:
    """What one memory has open. It outlives the memory and holds no reference to it.

    Attributes:
        label: names the memory in warnings.
        queue, tokens, llm: None until they are first needed.
    """

    def __init__(self, store: Store, label: str) -> None:
        self.store = store
        self.label = label
        self.queue: EmbeddingQueue | None = None
        self.tokens: TokenQueue | None = None
        self.llm: LLM | None = None

    def close(self) -> None:
        """Finish what is being written and release threads and files: the rest too, where one of
        them fails."""
        with ExitStack() as closing:  # the last is closed first
            closing.callback(self.store.close)
            if self.llm is not None:
                closing.callback(self.llm.close)
            if self.queue is not None:
                closing.callback(self.queue.close)
            # the queue of vectors may be waiting for it
            if self.tokens is not None:
                closing.callback(self.tokens.close)


# A SimpleQueue may be put into by a finalizer that interrupts its own `put`. None wakes the thread.
_dropped: SimpleQueue[OpenResources | None] = SimpleQueue()
_lock = threading.Lock()  # guards _open and _closer
_open: set[OpenResources] = set()  # of this process
_closer: threading.Thread | None = None


def register(resources: OpenResources) -> None:
    """Add a memory that was opened. The first one starts the thread."""
    global _closer
    with _lock:
        _open.add(resources)
        if _closer is None or not _closer.is_alive():
            _closer = threading.Thread(target=_close_dropped, name="remloom-closing", daemon=True)
            _closer.start()


def unregister(resources: OpenResources) -> None:
    """Remove a memory that was closed. The last one ends the thread."""
    with _lock:
        _open.discard(resources)
        closer = _closer if not _open else None
    if closer is not None:
        _dropped.put(None)
        closer.join(JOIN_TIMEOUT)


def hand_over(resources: OpenResources) -> None:
    """Hand what a dropped memory held to the thread, and warn.

    May run anywhere, and so takes no lock and waits for nothing.
    """
    _dropped.put(resources)
    warnings.warn(
        f"{resources.label} was not closed: use `with`, or call close()",
        ResourceWarning,
        stacklevel=2,
    )


def _close_dropped() -> None:
    """Close what is handed over, until no memory is open."""
    global _closer
    while True:
        try:
            resources = _dropped.get(timeout=CHECK_INTERVAL)
        except Empty:
            _check_deleted()
            continue
        if resources is not None:
            _close(resources)
        with _lock:
            if resources is not None:
                _open.discard(resources)
            if not _open and _dropped.empty():
                _closer = None
                return


def _check_deleted() -> None:
    with _lock:
        open_now = list(_open)
    for resources in open_now:
        resources.store.admin.detect_deletion()


def _close(resources: OpenResources) -> None:
    try:
        resources.close()
    except Exception as error:  # there is nobody to raise it to
        warnings.warn(
            f"{resources.label} could not be closed: {error}", ResourceWarning, stacklevel=1
        )
