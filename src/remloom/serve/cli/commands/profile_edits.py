"""What the user says of their profile by hand: `profile set`, `confirm`, `reject` and the like."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

import msgspec
from click import argument, option
from click.exceptions import Exit

from ..app import Call, command
from .profile_group import (
    AS_OF,
    Named,
    note_option,
    of_id,
    optional_value,
    profile,
    scope_option,
    slot_argument,
    subject_option,
)

if TYPE_CHECKING:
    from rich.console import RenderableType

    from ....memory import Memory
    from ....profile.beliefs.belief import Belief


@command("set", to=profile)
@slot_argument
@argument("value")
@option("--hard", is_flag=True, help="Only another edit ends it, and it does not fade.")
@note_option
@scope_option
@subject_option
def set_value(
    call: Call, slot: str, value: str, hard: bool, note: str, scope: str, subject: str
) -> None:
    """Say what holds: SLOT is VALUE; of a list it is one more item.

    Nothing that is read ends it. What no slot is for goes under extras.NAME.
    """
    with call.open(create=True) as memory:
        belief = memory.profile.set(slot, value, hard=hard, note=note, scope=scope, subject=subject)
        _show_edited(call, memory, belief)


@command("confirm", to=profile)
@slot_argument
@optional_value
@scope_option
@subject_option
def confirm(call: Call, slot: str, value: str | None, scope: str, subject: str) -> None:
    """Say that what is believed is so. What said it first is trusted more from then on.

    SLOT may be an id that `remloom profile` shows, too, such as 3f0a.
    """
    with call.open() as memory:
        which = of_id(memory, slot, value, subject, scope) or Named(slot, value, scope)
        belief = memory.profile.confirm(which.slot, which.value, scope=which.scope, subject=subject)
        _show_edited(call, memory, belief)


@command("reject", to=profile)
@slot_argument
@optional_value
@note_option
@scope_option
@subject_option
def reject(call: Call, slot: str, value: str | None, note: str, scope: str, subject: str) -> None:
    """Say that what is believed is not so, and end it. What said it is trusted less.

    SLOT may be an id that `remloom profile` shows, too, such as 3f0a.
    """
    with call.open() as memory:
        which = of_id(memory, slot, value, subject, scope) or Named(slot, value, scope)
        belief = memory.profile.reject(
            which.slot, which.value, note=note, scope=which.scope, subject=subject
        )
        _show_edited(call, memory, belief)


@command("correct", to=profile)
@slot_argument
@argument("value")
@option("--was", metavar="VALUE", help="Of a list, the item that is wrong.")
@option("--changed", is_flag=True, help="It was right, and has changed now.")
@note_option
@scope_option
@subject_option
def correct(
    call: Call,
    slot: str,
    value: str,
    was: str | None,
    changed: bool,
    note: str,
    scope: str,
    subject: str,
) -> None:
    """Say that VALUE holds in place of what is believed.

    SLOT may be an id that `remloom profile` shows, too, such as 3f0a.
    """
    with call.open() as memory:
        which = of_id(memory, slot, was, subject, scope) or Named(slot, was, scope)
        belief = memory.profile.correct(
            which.slot,
            value,
            was=which.value,
            changed=changed,
            note=note,
            scope=which.scope,
            subject=subject,
        )
        _show_edited(call, memory, belief)


@command("retire", to=profile)
@slot_argument
@optional_value
@option("--at", type=AS_OF, metavar="TIME", help="When it ended. [default: now]")
@note_option
@scope_option
@subject_option
def retire(
    call: Call,
    slot: str,
    value: str | None,
    at: datetime | None,
    note: str,
    scope: str,
    subject: str,
) -> None:
    """End what is believed: it was so until now, or until --at.

    SLOT may be an id that `remloom profile` shows, too, such as 3f0a.
    """
    with call.open() as memory:
        which = of_id(memory, slot, value, subject, scope) or Named(slot, value, scope)
        belief = memory.profile.retire(
            which.slot, which.value, at=at, note=note, scope=which.scope, subject=subject
        )
        _show_edited(call, memory, belief)


@command("pin", to=profile)
@slot_argument
@optional_value
@option("--undo", is_flag=True, help="Pin it no longer.")
@scope_option
@subject_option
def pin(call: Call, slot: str, value: str | None, undo: bool, scope: str, subject: str) -> None:
    """Give a belief to every agent, whatever it is asked.

    SLOT may be an id that `remloom profile` shows, too, such as 3f0a.
    """
    with call.open() as memory:
        which = of_id(memory, slot, value, subject, scope) or Named(slot, value, scope)
        belief = memory.profile.pin(
            which.slot, which.value, pinned=not undo, scope=which.scope, subject=subject
        )
    _show_belief(call, belief)


@command("hide", to=profile)
@slot_argument
@optional_value
@option("--undo", is_flag=True, help="Hide it no longer.")
@scope_option
@subject_option
def hide(call: Call, slot: str, value: str | None, undo: bool, scope: str, subject: str) -> None:
    """Give a belief to no agent any more, without forgetting it.

    SLOT may be an id that `remloom profile` shows, too, such as 3f0a.
    """
    with call.open() as memory:
        which = of_id(memory, slot, value, subject, scope) or Named(slot, value, scope)
        belief = memory.profile.hide(
            which.slot, which.value, hidden=not undo, scope=which.scope, subject=subject
        )
    _show_belief(call, belief)


@command("forget", to=profile)
@slot_argument
@optional_value
@option("--dry-run", is_flag=True, help="Say what would go, and keep it.")
@option("--yes", "-y", is_flag=True, help="Do not ask.")
@scope_option
@subject_option
def forget(
    call: Call,
    slot: str,
    value: str | None,
    dry_run: bool,
    yes: bool,
    scope: str,
    subject: str,
) -> None:
    """Forget a belief with all its evidence; what said it stays.

    Scanning that again does not bring it back, saying it again does. Afterwards it is verified that
    nothing of the evidence is left.

    SLOT may be an id that `remloom profile` shows, too, such as 3f0a.
    """
    with call.open() as memory:
        # first: a mistyped name stops the command before it asks
        which = of_id(memory, slot, value, subject, scope) or Named(slot, value, scope)
        forget = partial(
            memory.profile.forget, which.slot, which.value, scope=which.scope, subject=subject
        )
        receipt = forget(dry_run=True)
        if not dry_run:
            label = memory.profile.slot(which.slot).label
            what = f"{label}: {which.value}" if which.value is not None else label
            call.confirm(f"forget {what}, with its evidence?", yes=yes)
            receipt = forget()

    def view() -> RenderableType:
        from ..views.answers import draw_receipt

        return draw_receipt(receipt, dry_run=dry_run)

    call.show(msgspec.to_builtins(receipt), view)
    if receipt.remaining:
        raise Exit(1)


def _show_edited(call: Call, memory: Memory, belief: Belief) -> None:
    """Print a belief after an edit, and how to take that back."""
    from ..frame.text_formats import short_id

    run = memory.runs.list("profile", limit=1)[0]
    _show_belief(call, belief, f"`remloom dream rollback {short_id(run.id)}` takes it back")


def _show_belief(call: Call, belief: Belief, hint: str = "") -> None:
    def view() -> RenderableType:
        from rich.console import Group
        from rich.text import Text

        from ..views.profile import belief_line

        return Group(belief_line(belief), *([Text(hint, "dim")] if hint else []))

    call.show(msgspec.to_builtins(belief), view)
