"""Which belief a command is about: the slot that is named, or the id that the profile shows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import click
from click.core import ParameterSource

from ....errors import ConflictError, InvalidInputError, NotFoundError, UnknownNameError
from ..frame.text_formats import SHORTEST_ID, short_ids

if TYPE_CHECKING:
    from ....memory import Memory
    from ....profile.beliefs.belief import Belief
    from ....profile.evidence.claim import Value


_MOST_NAMES = 9  # in a remedy


class Named(NamedTuple):
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
) -> Named:
    """Find what is known under an id that the profile shows; else a slot is called so.

    Raises:
        ConflictError: several beliefs have this id.
        InvalidInputError: the belief is of another scope than the one that was asked for.
    """
    end = id.casefold()
    if value is not None or len(end) < SHORTEST_ID or _is_slot(memory, id):
        return Named(id, value, scope)
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
        return Named(one.slot, one.value if is_item else None, one.scope)
    return Named(id, value, scope)


def _is_slot(memory: Memory, name: str) -> bool:
    try:
        memory.profile.slot(name)
    except UnknownNameError:
        return False
    return True


def _check_scope(id: str, belief: Belief, scope: str | None) -> None:
    """Refuse a scope that was asked for and is not that of the belief."""
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
