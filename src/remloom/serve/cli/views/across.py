"""What other tenants answered, and who did not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from ..frame.text_formats import one_line
from .hit_list import draw_hits

if TYPE_CHECKING:
    from ....federation import FederatedAnswer


def draw_across(answer: FederatedAnswer) -> RenderableType:
    """Draw what others answered, and who did not."""
    parts: list[RenderableType] = []
    if answer.hits:
        parts.append(draw_hits(answer.hits))
    else:
        parts.append(Text(f"not answered: {one_line(answer.reason)}", "yellow"))
    if answer.note:
        parts.append(Text(one_line(answer.note), "yellow"))
    if answer.suggestions:
        parts += [Text("did you mean"), draw_hits(answer.suggestions)]
    parts += [
        Text(f"{tenant}: {one_line(why)}", "yellow") for tenant, why in answer.unanswered.items()
    ]
    return Group(*parts)
