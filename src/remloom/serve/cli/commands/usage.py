"""`usage`: calls of the language model, and their cost, by task and by run."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ....llm import UsageReport
    from ....memory import Memory


def usage(memory: Memory, *, days: float | None = None, **options: Any) -> UsageReport:
    """Show what the language model was used for, and what it cost.

    Calls, tokens, cost and time, by task and by run.

    Args:
        days: of the last so many days only.
    """
    since = None if days is None else datetime.now(UTC) - timedelta(days=days)
    return memory.admin.usage(since=since, **options)
