"""`profile`: what is known of the user and of other people, since when, and why."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import click
import msgspec
from click.core import ParameterSource

from ....errors import ConflictError, InvalidInputError, NotFoundError, UnknownNameError
from ..frame.call import Invocation
from ..frame.command import Report
from ..frame.terminal import echo
from ..frame.text_formats import SHORTEST_ID, short_id, short_ids

if TYPE_CHECKING:
    from ....memory import Memory
    from ....model import Receipt
    from ....profile.beliefs.belief import Belief
    from ....profile.beliefs.profile import Explanation, Profile
    from ....profile.evidence.claim import Value
    from ....profile.slots.slot import Slot

_MOST_NAMES = 9  # in a remedy


class NamedBelief(NamedTuple):
    """What a command is about: a slot, and of it a value in a scope."""

    slot: str
    value: Value | None
    scope: str | None


def named(memory: Memory, arguments: dict[str, Any]) -> dict[str, Any]:
    """Give the arguments of a command on a belief with its slot, where they have its id."""
    item = "was" if "was" in arguments else "value"
    names = ("slot", item, "subject", "scope")
    which = find_belief(memory, *(arguments[name] for name in names))
    return {**arguments, "slot": which.slot, item: which.value, "scope": which.scope}


def find_belief(
    memory: Memory, id: str, value: str | None, subject: str, scope: str | None
) -> NamedBelief:
    """Find what is known under an id that the profile shows; else a slot is called so.

    Raises:
        ConflictError: several beliefs have this id.
        InvalidInputError: the belief is of another scope than the one that was asked for.
    """
    end = id.casefold()
    if value is not None or len(end) < SHORTEST_ID or _is_slot(memory, id):
        return NamedBelief(id, value, scope)
    found = [one for one in memory.profile.show(subject).beliefs if one.id.endswith(end)]
    if len(found) > 1:
        ids = short_ids([one.id for one in found])
        beliefs = ", ".join(f"{ids[one.id]} ({one.label}: {one.value})" for one in found)
        raise ConflictError(
            f"{len(found)} beliefs have the id {id}: {beliefs}", remedy="give more of it"
        )
    for one in found:
        _check_scope(id, one, scope)
        # of a slot with one value at a time, those before are known under the same id
        is_item = memory.profile.slot(one.slot).kind == "list"
        return NamedBelief(one.slot, one.value if is_item else None, one.scope)
    return NamedBelief(id, value, scope)


def _is_slot(memory: Memory, name: str) -> bool:
    try:
        memory.profile.slot(name)
    except UnknownNameError:
        return False
    return True


def _check_scope(id: str, belief: Belief, scope: str | None) -> None:
    from ....profile.evidence.claim import check_scope

    source = click.get_current_context().get_parameter_source("scope")
    if source is ParameterSource.DEFAULT or check_scope(scope or "") == belief.scope:
        return
    where = f"in {belief.scope}" if belief.scope else "what holds everywhere"
    raise InvalidInputError(
        f"{id} is {belief.label} {where}, not {f'in {scope}' if scope else 'everywhere'}",
        remedy="leave --scope away, or name the slot",
    )


def known(memory: Memory, arguments: dict[str, Any]) -> dict[str, Any]:
    """Refuse a name of which nothing is known: a mistyped one must not look like an empty profile.

    Raises:
        NotFoundError: nobody of that name is known, now or formerly.
    """
    subject = arguments["subject"]
    if not subject or memory.profile.show(subject).beliefs:
        return arguments
    names = memory.profile.subjects()
    person = memory.profile.show(subject).subject
    if person == "me" or person in names:
        return arguments
    listed = ", ".join(names[:_MOST_NAMES])
    raise NotFoundError(
        f"nobody named {subject!r} is known",
        remedy=f"there is {listed}" if listed else "`remloom profile scan` finds who is",
        id=subject,
    )


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
        memory.profile.why(id, value, subject=subject, scope=where, as_of=as_of)
        for value, where in named
    ]


def forget(
    call: Invocation,
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
    call: Invocation,
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
    typed: dict[str, Any],
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
    slot = memory.profile.define_slot(typed)
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
    from ..views.profile import draw_edited

    hint = _undo(memory)
    return Report(belief, lambda: draw_edited(belief, hint))


def _undo(memory: Memory) -> str:
    run = memory.runs.list("profile", limit=1)[0]
    return f"`remloom dream rollback {short_id(run.id)}` takes it back"
