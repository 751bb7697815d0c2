"""AsyncMemory: `Memory` for asyncio. Every call runs in a thread; there is no second
implementation.

Each method is derived from its namesake on `Memory` (`threads.py`): same name, same signature, same
docstring. What takes microseconds costs a thread's round trip here (about a tenth of a
millisecond), so a program that only does lookups is better served by `Memory` itself. Properties
are read here and now, not in a thread; the methods of what they give block.

    async with AsyncMemory.open("~/notes", tenant="acme") as memory:
        answer = await memory.lookup("Sarah Chen")
        stats = await memory.admin.stats()

**Cancelling** a call stops the waiting, not the work: a write that has begun is finished in its
thread, wholly or not at all, and `close` waits for it. A call that has not begun never begins.
A `progress` callback is called from the worker's thread.
"""

from .memory import AsyncHome, AsyncMemory
from .nouns import (
    AsyncAdmin,
    AsyncDreams,
    AsyncJobs,
    AsyncProfiles,
    AsyncReader,
    AsyncRuns,
    AsyncSchemas,
)

__all__ = [
    "AsyncAdmin",
    "AsyncDreams",
    "AsyncHome",
    "AsyncJobs",
    "AsyncMemory",
    "AsyncProfiles",
    "AsyncReader",
    "AsyncRuns",
    "AsyncSchemas",
]
