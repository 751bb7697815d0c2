"""The group `profile`, and the options that its commands share."""

from __future__ import annotations

import click
from click import argument, option

from .app import program
from .times import Time

__all__ = [
    "AS_OF",
    "as_of_option",
    "note_option",
    "optional_value",
    "profile",
    "scope_option",
    "slot_argument",
    "subject_option",
]

AS_OF = Time(needs_zone=True)

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
