"""`moments`, `affinity`, `metrics`, `usage`: what dreams are ordered by, and what they cost."""

from __future__ import annotations

import os
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ....errors import InvalidInputError
from ..frame.command import Report

if TYPE_CHECKING:
    from ....dream.context import MaintenanceResult
    from ....llm import UsageReport
    from ....memory import Memory


_AGE = re.compile(r"(\d+(?:\.\d+)?)\s*([hdw])", re.IGNORECASE)
_HOURS = {"h": 1, "d": 24, "w": 168}


def moments(
    memory: Memory, *, since: str = "24h", everything: bool = False, **options: Any
) -> MaintenanceResult:
    """Tell what happened, as moments: sessions, their topics, who was there.

    Args:
        since: 24h, 7d, 2w, or a date such as 2025-03-01.
        everything: look at everything that is remembered.
    """
    return memory.dreams.moments(**{"hours": None} if everything else window(since), **options)


def affinity(
    memory: Memory, *, since: str | None = None, neighbours: int = 5, **options: Any
) -> MaintenanceResult:
    """Connect resources that are about the same, or name the same. Needs a model only with --judge.

    Args:
        since: only from what is newer: 24h, 7d, 2025-03-01. [default: everything]
    """
    if neighbours < 1:
        raise click.BadParameter("it is 1 or more", param_hint="--neighbours")
    return memory.dreams.affinity(
        **(window(since) if since else {}), neighbours=neighbours, **options
    )


def window(since: str) -> dict[str, Any]:
    """Parse `--since` into arguments of a method of `memory.dreams`.

    Raises:
        InvalidInputError: it is neither an age nor a date.
    """
    age = _AGE.fullmatch(since.strip())
    if age:
        return {"hours": float(age[1]) * _HOURS[age[2].lower()]}
    try:
        at = datetime.fromisoformat(since.strip())
    except ValueError:
        raise InvalidInputError(
            f"{since!r} is not an age or date", remedy="--since 24h, 7d, 2w, or 2025-03-01"
        ) from None
    return {"hours": None, "since": at if at.tzinfo else at.replace(tzinfo=UTC)}


def metrics(memory: Memory, *, held_out: str | None = None, html: str | None = None) -> Report:
    """Measure what was dreamt: coherence, coverage, novelty, depth, cost.

    Args:
        held_out: texts that were not read: how much of them was foreseen?
        html: write a page with plots, which needs nothing else.
    """
    from ..views.metrics import draw_metrics

    measured = memory.dreams.metrics(held_out)
    if html:
        Path(html).write_text(measured.page(), encoding="utf-8")
    note = f"wrote {os.path.abspath(html)}" if html else ""
    return Report(measured, lambda: draw_metrics(measured, note))


def usage(memory: Memory, *, days: float | None = None, **options: Any) -> UsageReport:
    """Show what the language model was used for, and what it cost.

    Calls, tokens, cost and time, by task and by run.

    Args:
        days: of the last so many days only.
    """
    since = None if days is None else datetime.now(UTC) - timedelta(days=days)
    return memory.admin.usage(since=since, **options)
