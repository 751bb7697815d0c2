"""Reading of transcripts while agents work: one thread, a session when it has been quiet."""

from __future__ import annotations

import logging
import time
from pathlib import Path
from threading import Condition, Thread
from typing import TYPE_CHECKING

from .events import Event
from .waiting import Waiting

if TYPE_CHECKING:
    from .answers import Answers

_QUIET = 2.0  # seconds without an event of a session, before it is read
_TRIES = 3

log = logging.getLogger(__name__)


class TranscriptReading:
    """Reads what is noted, each transcript once for all events that come meanwhile."""

    def __init__(self, folder: Path, answers: Answers) -> None:
        self.waiting = Waiting(folder)
        self._answers = answers
        self._due: dict[tuple[str, str], tuple[float, Event, int]] = {}
        self._changed = Condition()
        self._ended = False
        self._reads = False
        self._thread = Thread(target=self._run, daemon=True)

    @property
    def busy(self) -> bool:
        """Whether something is read, or is to be."""
        return self._reads or bool(self._due)

    def start(self) -> None:
        """Begin, with what was left when the process before ended."""
        for event in self.waiting.events():
            self._put(event, at=time.monotonic(), tries=0)
        self._thread.start()

    def end(self) -> None:
        """End behind the transcript that is being read; the others wait for the next process."""
        with self._changed:
            self._ended = True
            self._changed.notify()
        self._thread.join(timeout=30)

    def note(self, event: Event) -> None:
        """Have a session's transcript read soon."""
        self.waiting.put(event)
        # what ends is read at once: the next session may begin with it
        quiet = 0.0 if event.kind in ("end", "compact") else _QUIET
        self._put(event, at=time.monotonic() + quiet, tries=0)

    def _put(self, event: Event, *, at: float, tries: int) -> None:
        with self._changed:
            self._due[event.client, event.transcript] = (at, event, tries)
            self._changed.notify()

    def _next(self) -> tuple[Event, int] | None:
        """Wait for the next that is due; None at the end."""
        with self._changed:
            while not self._ended:
                if self._due:
                    key, (at, event, tries) = min(self._due.items(), key=lambda item: item[1][0])
                    left = at - time.monotonic()
                    if left <= 0:
                        del self._due[key]
                        self._reads = True
                        return event, tries
                    self._changed.wait(left)
                else:
                    self._changed.wait()
        return None

    def _run(self) -> None:
        while (found := self._next()) is not None:
            event, tries = found
            try:
                self._answers.read(event)
                self.waiting.done(event)
            except Exception:
                log.exception("reading %s", event.transcript)
                if tries + 1 < _TRIES:
                    self._put(event, at=time.monotonic() + 10.0 * (tries + 1), tries=tries + 1)
                # then it stays on disk, and is tried again by the next process
            finally:
                self._reads = False
