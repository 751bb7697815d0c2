"""Options that mean the same in every command: one name, one spelling, one help."""

from __future__ import annotations

import click

from .command import Option

COMMON = (
    click.Option(
        ["--home"],
        metavar="PLACE",
        help="Folder or postgresql:// URL of the tenants (REMLOOM_HOME).",
    ),
    click.Option(["--tenant"], metavar="NAME", help="Whose memory (REMLOOM_TENANT)."),
    click.Option(["--json"], is_flag=True, help="Print one JSON document instead of text."),
)
# of commands that call a language model
LLM = click.Option(
    ["--llm"], metavar="MODEL", help="Language model, for example openai:gpt-5-mini."
)
# in the place of a parameter `budget`
BUDGET = (
    click.Option(
        ["--budget-tokens"],
        type=click.IntRange(1),
        metavar="N",
        help="Stop cleanly before this many tokens are used.",
    ),
    click.Option(
        ["--budget-cost"],
        type=float,
        metavar="DOLLARS",
        help="Stop cleanly before this much is spent.",
    ),
)

_SCOPES = "domain:NAME, project:NAME or session:NAME."
# by the name of a parameter
SHARED = {
    "across": Option(
        help='Ask other tenants instead, as far as they grant it: "all", or names with commas.',
        metavar="TENANTS",
    ),
    "as_of": Option(help="As it was then, such as 2025-01-15.", metavar="TIME"),
    "dry_run": Option(help="Write nothing, and print what would be written."),
    "exclude": Option(
        help="In folders, no folders and files like this; repeat it for several.", metavar="PATTERN"
    ),
    "glob": Option(help="In folders, only files like this, such as '*.md'.", metavar="PATTERN"),
    "limit": Option(help="At most so many.", metavar="N"),
    "model": Option(help="Ask the model. [default: if there is one]"),
    "note": Option(help="Why, for `profile why`.", metavar="TEXT"),
    "scope": Option(help=f"{_SCOPES} [default: everywhere]", metavar="SCOPE"),
    "scopes": Option(names="--scope", help=f"Only what counts there: {_SCOPES}", metavar="SCOPE"),
    "subject": Option(help="Of whom. [default: the user]", metavar="NAME"),
    "url": Option(
        help="Where the database is now. [default: as in its plan, with REMLOOM_SOURCE_<NAME>]",
        metavar="URL",
    ),
    "where": Option(
        help="Only where this holds, such as \"category = 'note'\".", metavar="CONDITION"
    ),
    "yes": Option(names="--yes -y", help="Do not ask."),
}
