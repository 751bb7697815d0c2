"""Options that mean the same in every command, and types that click has not."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

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
    "FILE": "html output report",
    "HOST:PORT": "bind",
    "ID": "id",
    "KIND": "kind kinds",
    "LABEL=NUMBER": "prefer",
    "LIST": "may schemas scopes tables",
    "N": "limit days k",
    "N|N%": "dreams",
    "N|all": "breadth",
    "MEMORY": "memories",
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
    "SECONDS": "deadline lease",
    "TENANTS": "across",
    "TEXT": "label history note plan_memo question questions",
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


if TYPE_CHECKING:
    _Times = click.ParamType[datetime]
    _Names = click.ParamType[list[str]]
    _Numbers = click.ParamType[int | str]
else:
    # which is not generic in the oldest click that we take
    _Times = _Names = _Numbers = click.ParamType

_DATE = len("2025-01-15")


class Time(_Times):
    """A time such as 2025-01-15 or 2025-01-15T02:00+02:00; a bare date starts its day in UTC.

    Args:
        needs_zone: a time of day without a zone stays without, which `Memory` refuses; else it is
            one in UTC.
    """

    name = "time"

    def __init__(self, *, needs_zone: bool = False) -> None:
        self._needs_zone = needs_zone

    def convert(
        self, value: Any, param: click.Parameter | None, context: click.Context | None
    ) -> datetime:
        if isinstance(value, datetime):
            return value
        try:
            at = datetime.fromisoformat(value)
        except ValueError:
            # raises, so that `at` is bound below
            self.fail(f"{value!r} is not a time; write it like 2025-01-15", param, context)
        if at.tzinfo is not None or (self._needs_zone and len(value) > _DATE):
            return at
        return at.replace(tzinfo=UTC)


class NameList(_Names):
    """Names with commas between them: "A,B"."""

    name = "names"

    def convert(
        self, value: Any, param: click.Parameter | None, context: click.Context | None
    ) -> list[str]:
        from ....settings import split_list

        return list(split_list(value)) if isinstance(value, str) else list(value)


class NumberOrAll(_Numbers):
    """A whole number, or "all"."""

    name = "number"

    def convert(
        self, value: Any, param: click.Parameter | None, context: click.Context | None
    ) -> int | str:
        if str(value).lower() == "all":
            return "all"
        try:
            return int(value)
        except ValueError:
            self.fail(f"{value!r} is neither a number nor all", param, context)
