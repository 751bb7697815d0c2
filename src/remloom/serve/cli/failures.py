"""What a failed call of a model kept from being done, as lines under the report of a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import RenderableType
from rich.text import Text

from .terminal import visible
from .text_formats import one_line, plural

if TYPE_CHECKING:
    from ...runs.failures import FailedItem

__all__ = ["parked_view"]

SHOWN = 10  # items; --json has them all, with what the model replied
NAME = 60  # characters
REMEDY = "remedy: "


def parked_view(items: Sequence[FailedItem]) -> list[RenderableType]:
    """Each item with what went wrong, then what can be done about it; nothing when nothing is
    parked."""
    lines: list[RenderableType] = []
    remedies: dict[str, None] = {}
    for item in items[:SHOWN]:
        name = one_line(item.name or item.item)
        name = name if len(name) <= NAME else name[: NAME - 1] + "…"
        said = [visible(part).strip() for part in item.reason.splitlines()] or [""]
        lines.append(Text.assemble(("parked  ", "yellow"), name, (f"  {said[0]}", "dim")))
        remedies |= dict.fromkeys(part for part in said[1:2] if part.startswith(REMEDY))
    lines += [Text(f"  {remedy}", "dim") for remedy in remedies]
    if items:
        told = (
            f"{plural(len(items), 'item')} parked: the next run tries again; --json has the replies"
        )
        lines.append(Text(told, "yellow"))
    return lines
