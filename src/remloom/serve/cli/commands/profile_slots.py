"""What can be known: `profile slots`, `define`, `undefine`, `candidates` and `promote`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from click import Choice, FloatRange, argument, option

from ..app import Call, command
from .profile_group import profile

if TYPE_CHECKING:
    from rich.console import RenderableType

    from ....memory import Memory


@command("slots", to=profile)
@argument("name", required=False)
def slots(call: Call, name: str | None) -> None:
    """List what can be known; with NAME, describe one slot."""
    with call.open() as memory:
        listed = [memory.profile.slot(name)] if name else memory.profile.slots()

    def view() -> RenderableType:
        from ..views.profile import draw_slot, draw_slots

        return draw_slot(listed[0]) if name else draw_slots(listed)

    call.show(msgspec.to_builtins(listed), view)


@command("define", to=profile)
@argument("id")
@option("--label", required=True, metavar="TEXT", help="What people read.")
@option(
    "--hub",
    type=Choice(["preferences", "operating_context", "soft_identity"]),
    default="soft_identity",
    show_default=True,
    help="The hub that it is part of.",
)
@option(
    "--kind",
    type=Choice(["text", "choice", "list", "flag", "number"]),
    default="text",
    show_default=True,
    help="Of its values.",
)
@option("--value", "values", multiple=True, metavar="VALUE", help="One that it can have; repeat.")
@option("--open", "open_", is_flag=True, help="It can have others than --value, too.")
@option("--alias", "aliases", multiple=True, metavar="NAME", help="What else it is called; repeat.")
@option("--half-life", type=FloatRange(0, min_open=True), metavar="DAYS", help="[default: 365]")
@option("--sensitive", is_flag=True, help="Health, religion and the like: only as the user said.")
@option("--user-only", is_flag=True, help="What is read never sets it.")
@option("--standing", is_flag=True, help="Given to every agent without a question.")
@option(
    "--usage",
    type=Choice(["behaviour", "context", "soft"]),
    default="context",
    show_default=True,
    help="For what it may be used.",
)
@option("--question", default="", metavar="TEXT", help="What to ask the user when it is not sure.")
def define(call: Call, id: str, open_: bool, half_life: float | None, **fields: Any) -> None:
    """Add a slot of this memory's own, such as work.desk, or define it anew.

    Makes the tenant if need be.
    """
    given = {**fields, "id": id, "open": open_}
    if half_life is not None:
        given["half_life"] = half_life
    with call.open(create=True) as memory:
        slot = memory.profile.define_slot(given)
        undo = _undo(memory)
    call.show(msgspec.to_builtins(slot), lambda: f"{slot.id} can be known now; {undo}")


@command("undefine", to=profile)
@argument("id")
def undefine(call: Call, id: str) -> None:
    """Remove a slot of this memory's own, of which nothing is known."""
    with call.open() as memory:
        memory.profile.remove_slot(id)
        undo = _undo(memory)
    call.show({"removed": id}, lambda: f"{id} is no slot any more; {undo}")


@command("candidates", to=profile)
def candidates(call: Call) -> None:
    """List the extras that enough speaks for to be slots; `profile promote` makes one."""
    with call.open() as memory:
        listed = memory.profile.candidates()

    def view() -> RenderableType:
        from ..views.profile import draw_candidates

        return draw_candidates(listed)

    call.show(msgspec.to_builtins(listed), view)


@command("promote", to=profile)
@argument("extra")
@option("--id", default="", metavar="ID", help="Of the slot. [default: own.NAME]")
@option("--label", default="", metavar="TEXT", help="What people read.")
@option(
    "--kind",
    type=Choice(["text", "list", "flag", "number"]),
    default="text",
    help="Of its values.",
)
def promote(call: Call, extra: str, id: str, label: str, kind: str) -> None:
    """Make a slot of EXTRA, such as extras.blood_type; what is believed of it stays."""
    with call.open() as memory:
        slot = memory.profile.promote(extra, id=id, label=label, kind=kind)
        undo = _undo(memory)
    call.show(msgspec.to_builtins(slot), lambda: f"{extra} is {slot.id} now; {undo}")


def _undo(memory: Memory) -> str:
    """How to take back what was just done."""
    from ..frame.text_formats import short_id

    run = memory.runs.list("profile", limit=1)[0]
    return f"`remloom dream rollback {short_id(run.id)}` takes it back"
