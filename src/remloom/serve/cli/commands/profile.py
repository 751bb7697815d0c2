"""`profile`: what is known of the user and of other people, since when, and why."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Literal

import msgspec
from click import IntRange, argument, option

from ..app import Call, command
from ..frame.terminal import echo

# only for the commands that they register
from . import profile_edits, profile_scans, profile_slots  # noqa: F401 - they register their commands
from .profile_group import (
    AS_OF,
    as_of_option,
    check_known,
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
    from ....profile.beliefs.profile import Explanation
    from ....profile.evidence.claim import Value


_scopes = option(
    "--scope",
    "scopes",
    multiple=True,
    metavar="SCOPE",
    help="Only what counts there: domain:NAME, project:NAME or session:NAME; may be repeated.",
)


@command("show", to=profile)
@_scopes
@option("--ended", is_flag=True, help="Also what is no longer so.")
@subject_option
@as_of_option
def show(
    call: Call, scopes: tuple[str, ...], ended: bool, subject: str, as_of: datetime | None
) -> None:
    """Show what is known of a person: each belief, how sure it is, since when, and its source."""
    with call.open() as memory:
        check_known(memory, subject)
        shown = memory.profile.show(subject, as_of=as_of)
        if scopes:
            beliefs = tuple(memory.profile.beliefs(subject, scope=scopes, as_of=as_of))
            shown = msgspec.structs.replace(shown, beliefs=beliefs)

    def view() -> RenderableType:
        from ..views.profile import draw_profile

        return draw_profile(shown, ended=ended)

    call.show(msgspec.to_builtins(shown), view)


@command("why", to=profile)
@slot_argument
@optional_value
@option("--scope", metavar="SCOPE", help="Only in this one; '' is everywhere. [default: in each]")
@subject_option
@as_of_option
def why(
    call: Call,
    slot: str,
    value: str | None,
    scope: str | None,
    subject: str,
    as_of: datetime | None,
) -> None:
    """Explain what is believed: its values by time, and who said what, where and when.

    Of a list, VALUE is the item; without it, each item is explained.

    SLOT may be an id that `remloom profile` shows, too, such as 3f0a.
    """
    with call.open() as memory:
        which = of_id(memory, slot, value, subject, scope)
        if which is not None:
            explained = _explain(memory, *which, subject, as_of)
        else:
            explained = _explain(memory, slot, value, scope, subject, as_of)

    def view() -> RenderableType:
        from ..views.profile import draw_explanations

        return draw_explanations(explained, as_of)

    call.show(msgspec.to_builtins(explained), view)


@command("history", to=profile)
@slot_argument
@scope_option
@subject_option
def history(call: Call, slot: str, scope: str, subject: str) -> None:
    """List how what is believed in a slot has changed, the newest first."""
    with call.open() as memory:
        check_known(memory, subject)
        changes = memory.profile.history(slot, subject=subject, scope=scope)

    def view() -> RenderableType:
        from ..views.profile import draw_changes

        return draw_changes(changes)

    call.show(msgspec.to_builtins(changes), view)


@command("changes", to=profile)
@option("--since", type=AS_OF, metavar="TIME", help="Only since then. [default: all]")
@subject_option
def changes(call: Call, since: datetime | None, subject: str) -> None:
    """List how what is believed of a person has changed, the newest first."""
    with call.open() as memory:
        check_known(memory, subject)
        changes = memory.profile.changes(since, subject=subject)

    def view() -> RenderableType:
        from ..views.profile import draw_changes

        return draw_changes(changes)

    call.show(msgspec.to_builtins(changes), view)


@command("context", to=profile)
@argument("query", required=False)
@option("--agent", default="", metavar="NAME", help="Which agent asks, such as CoderAgent.")
@option("--purpose", default="", metavar="NAME", help="For what. [default: as QUERY tells]")
@option("--budget", type=IntRange(1), metavar="TOKENS", help="Of the text, at most. [default: 600]")
@_scopes
@subject_option
@as_of_option
def context(
    call: Call,
    query: str | None,
    agent: str,
    purpose: str,
    budget: int | None,
    scopes: tuple[str, ...],
    subject: str,
    as_of: datetime | None,
) -> None:
    """Print what an agent that is asked QUERY is given: cited lines for its prompt."""
    with call.open() as memory:
        check_known(memory, subject)
        given = memory.profile.context(
            query,
            subject=subject,
            agent=agent,
            scope=scopes,
            purpose=purpose,
            budget_tokens=budget,
            as_of=as_of,
        )

    def view() -> RenderableType:
        from ..views.profile import draw_context

        return draw_context(given)

    call.show(msgspec.to_builtins(given), view)


@command("export", to=profile)
@argument("file", default="-")
@option("--markdown", is_flag=True, help="To be read. [default: if FILE ends in .md, or is -]")
@subject_option
@as_of_option
def export(call: Call, file: str, markdown: bool, subject: str, as_of: datetime | None) -> None:
    """Write what is known of a person to FILE; - is stdout.

    JSON, which `remloom profile import` takes, has all evidence with its quotes. Markdown is to be
    read. --json writes JSON to stdout. Neither is encrypted.
    """
    is_shown = file == "-"
    form: Literal["", "markdown"] = "markdown" if markdown or (is_shown and not call.json) else ""
    with call.open() as memory:
        check_known(memory, subject)
        text = memory.profile.export(
            None if is_shown else file, format=form, subject=subject, as_of=as_of
        )
    if is_shown:
        echo(text, nl=False)
    else:
        call.show({"exported": file}, lambda: f"exported to {file}")


@command("import", to=profile)
@argument("file")
def import_(call: Call, file: str) -> None:
    """Take in FILE, the JSON of a profile: all of it, or nothing. Makes the tenant if need be.

    What is there already is not there twice, and what was forgotten stays forgotten.
    """
    with call.open(create=True) as memory:
        done = memory.profile.import_(file)

    def view() -> str:
        from ..frame.text_formats import plural

        took = f"took in {plural(done.evidence, 'piece')} of evidence on {done.subject}"
        return f"{took}, {done.known:,} were there already"

    call.show(msgspec.to_builtins(done), view)


@command("subjects", to=profile)
def subjects(call: Call) -> None:
    """List the people of whom something is known; me is the user."""
    with call.open() as memory:
        names = memory.profile.subjects()
    call.show(names, lambda: "\n".join(names) or "nobody is known yet: remloom profile scan")


@command("learned", to=profile)
def learned(call: Call) -> None:
    """List what answers have taught: how far what is trusted, how fast what changes."""
    with call.open() as memory:
        listed = memory.profile.learned()

    def view() -> RenderableType:
        from ..views.profile import draw_learned

        return draw_learned(listed)

    call.show(msgspec.to_builtins(listed), view)


def _explain(
    memory: Memory,
    slot: str,
    value: Value | None,
    scope: str | None,
    subject: str,
    as_of: datetime | None,
) -> list[Explanation]:
    """Explain one belief, or all in a slot where no value is given."""
    id = memory.profile.slot(slot).id
    beliefs = [
        belief
        for belief in memory.profile.show(subject, as_of=as_of).beliefs
        if belief.slot == id and scope in (None, belief.scope)
    ]
    if value is not None or not beliefs:
        # what is not there is told by the error
        return [memory.profile.why(id, value, subject=subject, scope=scope or "", as_of=as_of)]
    return [
        memory.profile.why(id, belief.value, subject=subject, scope=belief.scope, as_of=as_of)
        for belief in beliefs
    ]
