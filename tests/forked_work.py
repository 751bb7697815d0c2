"""Work in a process of its own, which may kill itself right before or right after one of its
transactions. Processes are forked, so that importing is paid for once.
"""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

from remloom import Memory

__all__ = ["Transactions", "forked"]


class Transactions:
    """Counts the transactions of a memory from here on, and kills the process at one of them.

    Args:
        kill_at: which; 0: none.
        after: right after it, else right before.
    """

    def __init__(self, memory: Memory, *, kill_at: int = 0, after: bool = False) -> None:
        self.count = 0
        self._kill_at = kill_at
        self._after = after
        store: Any = memory.admin.store
        for holder, name in ((store, "write"), (store.kv, "put"), (store, "update")):
            setattr(holder, name, self._counted(getattr(holder, name)))

    def _counted(self, transaction: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **given: Any) -> Any:
            self.count += 1
            is_last = self.count == self._kill_at
            if is_last and not self._after:
                os.kill(os.getpid(), signal.SIGKILL)
            done = transaction(*args, **given)
            if is_last:
                os.kill(os.getpid(), signal.SIGKILL)
            return done

        return call


def forked(work: Callable[[], Any], result: Path) -> Any:
    """What `work` returns in a process of its own; None if that was killed."""
    result.unlink(missing_ok=True)
    child = os.fork()
    if not child:
        try:
            result.write_text(json.dumps(work()))
        finally:
            os._exit(0 if result.exists() else 1)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return None
    if os.WEXITSTATUS(status):
        raise RuntimeError("a process of the test failed; see its traceback")
    return json.loads(result.read_text())
