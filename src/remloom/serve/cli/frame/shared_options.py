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

# what stands for a value, with the parameters that have it
_PARAMETERS = {
    "A,B": "edge_types",
    "AGE|DATE": "since",
    "CLIENT": "print_config",
    "COLUMN=TYPE": "entities",
    "CONDITION": "where",
    "COSINE": "min_score",
    "DAYS": "half_life",
    "FIELD": "order_by",
    "FILE": "html output",
    "HOST:PORT": "bind",
    "ID": "id",
    "KIND": "kind kinds",
    "LABEL=NUMBER": "prefer",
    "LIST": "may schemas scopes tables",
    "N": "limit days",
    "N|N%": "dreams",
    "N|all": "breadth",
    "NAME": "agent aliases allow_host category embedder key purpose rerank session subject",
    "OLD=NEW": "mappings",
    "PATH": "held_out",
    "PATTERN": "exclude glob",
    "PERIOD": "period",
    "REF": "to_key",
    "ROWS": "sample",
    "RUN": "run",
    "SCHEMA": "schema",
    "SCOPE": "scope",
    "SECONDS": "lease",
    "TENANTS": "across",
    "TEXT": "label note plan_memo question questions said",
    "TIME": "as_of at expires now until",
    "TOKENS": "budget budget_tokens",
    "TYPE": "type",
    "URL": "allow_origin url",
    "VALUE": "values was",
    "WORD": "seed",
}
# the other way round: what stands for the value of a parameter, by its name
METAVARS = {name: metavar for metavar, names in _PARAMETERS.items() for name in names.split()}
if len(METAVARS) < len(" ".join(_PARAMETERS.values()).split()):
    raise ValueError("a parameter has two metavars")
SCOPES = "domain:NAME, project:NAME or session:NAME."
# by the name of a parameter
SHARED = {
    "across": Option(
        help='Ask other tenants instead, as far as they grant it: "all", or names with commas.'
    ),
    "as_of": Option(help="As it was then, such as 2025-01-15."),
    "dry_run": Option(help="Write nothing, and print what would be written."),
    "exclude": Option(help="In folders, no folders and files like this; repeat it for several."),
    "glob": Option(help="In folders, only files like this, such as '*.md'."),
    "limit": Option(help="At most so many."),
    "model": Option(help="Ask the model. [default: if there is one]"),
    "note": Option(help="Why, for `profile why`."),
    "scope": Option(help=f"{SCOPES} [default: everywhere]"),
    "subject": Option(help="Of whom. [default: the user]"),
    "url": Option(
        help="Where the database is now. [default: as in its plan, with REMLOOM_SOURCE_<NAME>]"
    ),
    "where": Option(help="Only where this holds, such as \"category = 'note'\"."),
    "yes": Option(names="--yes -y", help="Do not ask."),
}
