"""`usage`: calls of the language model, and their cost, by task and by run."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ....llm import UsageReport
    from ....memory import Memory


def usage(memory: Memory, *, run: str | None = None, days: float | None = None) -> UsageReport:
    """Show what the language model was used for, and what it cost.

    Calls, tokens, cost and time, by task and by run.

    Args:
        run: of one run only: its id, or one end of it.
        days: of the last so many days only.
    """
    since = None if days is None else datetime.now(UTC) - timedelta(days=days)
    return memory.admin.usage(run=run, since=since)
