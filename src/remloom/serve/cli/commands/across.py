"""`--across`: questions to other tenants, as far as they let this one ask."""

from __future__ import annotations

from typing import TYPE_CHECKING

from click import option

from ..app import Call

if TYPE_CHECKING:
    from rich.console import RenderableType

    from ....federation import FederatedAnswer, Federation


across_option = option(
    "--across",
    metavar="TENANTS",
    help='Ask other tenants instead, as far as they grant it: "all", or their names, with commas.',
)


def open_across(call: Call, across: str) -> Federation:
    """Open what other tenants let the one of this call find."""
    from ....federation import Federation
    from ....settings import split_list

    settings = call.settings()
    tenants = None if across.strip() == "all" else split_list(across)
    return Federation.open(as_tenant=settings.tenant, tenants=tenants, settings=settings)


def show_across(call: Call, answer: FederatedAnswer) -> None:
    """Print what others answered, and who did not."""

    def view() -> RenderableType:
        from rich.console import Group
        from rich.text import Text

        from ..frame.text_formats import one_line
        from ..views.hit_list import draw_hits

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
            Text(f"{tenant}: {one_line(why)}", "yellow")
            for tenant, why in answer.unanswered.items()
        ]
        return Group(*parts)

    call.show(answer.as_dict(), view)
