"""The group `profile`, and the options that its commands share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from click import argument, option

from ...errors import NotFoundError
from .app import program
from .times import Time

if TYPE_CHECKING:
    from ...memory import Memory

__all__ = [
    "AS_OF",
    "as_of_option",
    "check_known",
    "note_option",
    "optional_value",
    "profile",
    "scope_option",
    "slot_argument",
    "subject_option",
]

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
    location_region; `remloom profile slots` lists them. Without a command, the profile is shown.
    """
    if context.invoked_subcommand is None:
        context.invoke(profile.commands["show"])


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
