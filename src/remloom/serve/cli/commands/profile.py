"""`profile`: what is known of the user and of other people, since when, and why."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from ..frame.call import Call
from ..frame.command import Report
from ..frame.terminal import echo
from ..frame.text_formats import short_id
from .beliefs import find_belief

if TYPE_CHECKING:
    from ....memory import Memory
    from ....model import Receipt
    from ....profile.beliefs.belief import Belief
    from ....profile.beliefs.profile import Explanation, Profile
    from ....profile.slots.slot import Slot


def show_user(memory: Memory) -> Profile:
    """What is known of the user, since when, and why: see, edit and forget it.

    SLOT is what can be known: its id, a label or the end of its path, such as diet or
    location_region; `remloom profile slots` lists them. What is known may also be given by the id
    that is shown beside it, such as 3f0a, without VALUE. Without a command, the profile is shown.
    """
    return memory.profile.show()


def show(
    memory: Memory,
    *,
    scopes: Sequence[str] = (),
    ended: bool = False,
    subject: str = "",
    as_of: datetime | None = None,
) -> Profile:
    """Show what is known of a person: each belief, how sure it is, since when, and its source.

    Args:
        ended: also what is no longer so.
    """
    shown = memory.profile.show(subject, as_of=as_of)
    if scopes:
        beliefs = tuple(memory.profile.beliefs(subject, scope=scopes, as_of=as_of))
        shown = msgspec.structs.replace(shown, beliefs=beliefs)
    return shown


def why(
    memory: Memory,
    slot: str,
    value: str | None = None,
    *,
    scope: str | None = None,
    subject: str = "",
    as_of: datetime | None = None,
) -> list[Explanation]:
    """Explain what is believed: its values by time, and who said what, where and when.

    Of a list, VALUE is the item; without it, each item is explained.

    Args:
        scope: only in this one; '' is everywhere. [default: in each]
    """
    which = find_belief(memory, slot, value, subject, scope)
    id = memory.profile.slot(which.slot).id
    beliefs = [
        belief
        for belief in memory.profile.show(subject, as_of=as_of).beliefs
        if belief.slot == id and which.scope in (None, belief.scope)
    ]
    if which.value is not None or not beliefs:
        # what is not there is told by the error
        named = [(which.value, which.scope or "")]
    else:
        named = [(belief.value, belief.scope) for belief in beliefs]
    return [
        memory.profile.why(id, value, subject=subject, scope=place, as_of=as_of)
        for value, place in named
    ]


def forget(
    call: Call,
    memory: Memory,
    slot: str,
    value: str | None = None,
    *,
    dry_run: bool = False,
    yes: bool = False,
    **options: Any,
) -> Receipt:
    """Forget a belief with all its evidence; what said it stays.

    Scanning that again does not bring it back, saying it again does. Afterwards it is verified that
    nothing of the evidence is left.

    Args:
        dry_run: say what would go, and keep it.
    """
    forget = partial(memory.profile.forget, slot, value, **options)
    # first: a mistyped name stops the command before it asks
    receipt = forget(dry_run=True)
    if dry_run:
        return receipt
    label = memory.profile.slot(slot).label
    what = f"{label}: {value}" if value is not None else label
    call.confirm(f"forget {what}, with its evidence?", yes=yes)
    return forget()


def export(
    call: Call,
    memory: Memory,
    file: str = "-",
    *,
    markdown: bool = False,
    **options: Any,
) -> Report | None:
    """Write what is known of a person to FILE; - is stdout.

    JSON, which `remloom profile import` takes, has all evidence with its quotes. Markdown is to be
    read. --json writes JSON to stdout. Neither is encrypted.

    Args:
        markdown: to be read. [default: if FILE ends in .md, or is -]
    """
    is_shown = file == "-"
    form: Literal["", "markdown"] = "markdown" if markdown or (is_shown and not call.json) else ""
    text = memory.profile.export(None if is_shown else file, format=form, **options)
    if not is_shown:
        return Report({"exported": file}, f"exported to {file}")
    echo(text, nl=False)
    return None


def slots(memory: Memory, name: str | None = None) -> list[Slot]:
    """List what can be known; with NAME, describe one slot."""
    return [memory.profile.slot(name)] if name else memory.profile.slots()


def define(
    memory: Memory,
    id: str,
    *,
    label: str,
    hub: Literal["preferences", "operating_context", "soft_identity"] = "soft_identity",
    kind: Literal["text", "choice", "list", "flag", "number"] = "text",
    values: Sequence[str] = (),
    open: bool = False,
    aliases: Sequence[str] = (),
    half_life: float = 365.0,
    sensitive: bool = False,
    user_only: bool = False,
    standing: bool = False,
    usage: Literal["behaviour", "context", "soft"] = "context",
    question: str = "",
) -> Report:
    """Add a slot of this memory's own, such as work.desk, or define it anew.

    Makes the tenant if need be.

    Args:
        label: what people read.
        hub: the hub that it is part of.
        kind: of its values.
        values: one that it can have; repeat.
        open: it can have others than --value, too.
        aliases: what else it is called; repeat.
        half_life: of what is known.
        sensitive: about health, religion and the like: only as the user said.
        user_only: what is read never sets it.
        standing: given to every agent without a question.
        usage: for what it may be used.
        question: what to ask the user when it is not sure.
    """
    fields = {name: value for name, value in locals().items() if name != "memory"}
    slot = memory.profile.define_slot(fields)
    return Report(slot, f"{slot.id} can be known now; {_undo(memory)}")


def undefine(memory: Memory, id: str) -> Report:
    """Remove a slot of this memory's own, of which nothing is known."""
    memory.profile.remove_slot(id)
    return Report({"removed": id}, f"{id} is no slot any more; {_undo(memory)}")


def promote(
    memory: Memory,
    extra: str,
    *,
    kind: Literal["text", "list", "flag", "number"] = "text",
    **options: str,
) -> Report:
    """Make a slot of EXTRA, such as extras.blood_type; what is believed of it stays.

    Args:
        kind: of its values.
    """
    slot = memory.profile.promote(extra, kind=kind, **options)
    return Report(slot, f"{extra} is {slot.id} now; {_undo(memory)}")


def edited(memory: Memory, belief: Belief) -> Report:
    """Show a belief after an edit, and how to take that back."""
    from ..views.profile import draw_edited

    hint = _undo(memory)
    return Report(belief, lambda: draw_edited(belief, hint))


def _undo(memory: Memory) -> str:
    """How to take back what was just done."""
    run = memory.runs.list("profile", limit=1)[0]
    return f"`remloom dream rollback {short_id(run.id)}` takes it back"
