"""Items that a failed call of a model left undone, as lines under the report of a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import RenderableType
from rich.text import Text

from ....text.quoting import visible
from ..frame.text_formats import one_line, plural

if TYPE_CHECKING:
    from ....runs.failures import FailedItem


SHOWN = 10  # items; --json has them all, with what the model replied
NAME = 60  # characters
REMEDY = "remedy: "


def parked_view(items: Sequence[FailedItem]) -> list[RenderableType]:
    """Draw each item with its error, then the remedies; no line when nothing is parked."""
    lines: list[RenderableType] = []
    # items fail for few reasons: each remedy is shown once, in the order of the items
    remedies: dict[str, None] = {}
    for item in items[:SHOWN]:
        name = one_line(item.name or item.item)
        name = name if len(name) <= NAME else name[: NAME - 1] + "…"
        # an error's first line is its message, the second one its remedy
        reason = [visible(part).strip() for part in item.reason.splitlines()] or [""]
        lines.append(Text.assemble(("parked  ", "yellow"), name, (f"  {reason[0]}", "dim")))
        remedies |= dict.fromkeys(part for part in reason[1:2] if part.startswith(REMEDY))
    lines += [Text(f"  {remedy}", "dim") for remedy in remedies]
    if items:
        count = plural(len(items), "item")
        note = f"{count} parked: the next run tries again; --json has the replies"
        lines.append(Text(note, "yellow"))
    return lines
