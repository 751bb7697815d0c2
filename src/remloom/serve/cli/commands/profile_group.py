"""The group `profile`, and the options that its commands share."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import click
from click import argument, option
from click.core import ParameterSource

from ....errors import ConflictError, InvalidInputError, NotFoundError, UnknownNameError
from ..app import program
from ..frame.text_formats import SHORTEST_ID, short_ids
from ..frame.times import Time

if TYPE_CHECKING:
    from ....memory import Memory
    from ....profile.beliefs.belief import Belief
    from ....profile.evidence.claim import Value


AS_OF = Time(needs_zone=True)
_MOST_NAMES = 9  # in a remedy

slot_argument = argument("slot")
optional_value = argument("value", required=False)
subject_option = option(
    "--subject", default="", metavar="NAME", help="Of whom. [default: the user]"
)
scope_option = option(
    "--scope",
    default="",
    metavar="SCOPE",
    help="domain:NAME, project:NAME or session:NAME. [default: everywhere]",
)
as_of_option = option(
    "--as-of", type=AS_OF, metavar="TIME", help="As it was believed then, such as 2025-01-15."
)
note_option = option("--note", default="", metavar="TEXT", help="Why, for `profile why`.")


@program.group("profile", invoke_without_command=True)
@click.pass_context
def profile(context: click.Context) -> None:
    """What is known of the user, since when, and why: see, edit and forget it.

    SLOT is what can be known: its id, a label or the end of its path, such as diet or
    location_region; `remloom profile slots` lists them. What is known may also be given by the id
    that is shown beside it, such as 3f0a, without VALUE. Without a command, the profile is shown.
    """
    if context.invoked_subcommand is None:
        context.invoke(profile.commands["show"])


class Named(NamedTuple):
    """What a command is about: a slot, and of it a value in a scope."""

    slot: str
    value: Value | None
    scope: str


def of_id(
    memory: Memory, id: str, value: str | None, subject: str, scope: str | None
) -> Named | None:
    """What is known under an id that the profile shows; None if it is none, a slot is called so, or
    a value is named.

    Raises:
        ConflictError: several beliefs have this id.
        InvalidInputError: the belief is of another scope than the one that was asked for.
    """
    end = id.casefold()
    if value is not None or len(end) < SHORTEST_ID or _is_slot(memory, id):
        return None
    found = [one for one in memory.profile.show(subject).beliefs if one.id.endswith(end)]
    if len(found) > 1:
        ids = short_ids([one.id for one in found])
        named = ", ".join(f"{ids[one.id]} ({one.label}: {one.value})" for one in found)
        raise ConflictError(
            f"{len(found)} beliefs have the id {id}: {named}", remedy="give more of it"
        )
    for one in found:
        _check_scope(id, one, scope)
        # of a slot with one value at a time, those before are known under the same id
        is_item = memory.profile.slot(one.slot).kind == "list"
        return Named(one.slot, one.value if is_item else None, one.scope)
    return None


def _is_slot(memory: Memory, name: str) -> bool:
    try:
        memory.profile.slot(name)
    except UnknownNameError:
        return False
    return True


def _check_scope(id: str, belief: Belief, scope: str | None) -> None:
    """Refuse a scope that was asked for and is not that of the belief."""
    from ....profile.slots.scopes import check_scope

    source = click.get_current_context().get_parameter_source("scope")
    if source is ParameterSource.DEFAULT or check_scope(scope or "") == belief.scope:
        return
    where = f"in {belief.scope}" if belief.scope else "what holds everywhere"
    raise InvalidInputError(
        f"{id} is {belief.label} {where}, not {f'in {scope}' if scope else 'everywhere'}",
        remedy="leave --scope away, or name the slot",
    )


def check_known(memory: Memory, subject: str) -> None:
    """Refuse a name of which nothing is known: a mistyped one must not look like an empty profile.

    Raises:
        NotFoundError: nobody of that name is known, now or formerly.
    """
    if not subject or memory.profile.show(subject).beliefs:
        return
    names = memory.profile.subjects()
    person = memory.profile.show(subject).subject
    if person == "me" or person in names:
        return
    known = ", ".join(names[:_MOST_NAMES])
    raise NotFoundError(
        f"nobody named {subject!r} is known",
        remedy=f"there is {known}" if known else "`remloom profile scan` finds who is",
        id=subject,
    )
