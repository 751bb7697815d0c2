"""`remloom demo`: the commands a newcomer would type, run one after the other on a small company's documents.

The demo has no code of its own for what it shows: each step is a command line, and is run as one.
"""

from __future__ import annotations

import os
import shlex
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import NamedTuple

import click
import msgspec
from click.exceptions import Exit

from ...errors import SourceError
from .app import Call, command, console, program

__all__ = ["STEPS", "documents"]

TENANT = "demo"
QUOTED_LINES = 6  # of a cited file, shown at most


class Step(NamedTuple):
    """A command of the demo and why one would type it. `{documents}` is the folder of the documents."""

    why: str
    command: str


STEPS = (
    Step("Read a folder: notes, a web page, a table, a chat.", "read {documents}"),
    Step("LOOKUP finds a record by its name, of whatever kind it is.", 'lookup "Sarah Chen"'),
    Step("FUZZY forgives the spelling.", 'fuzzy "tomas olivera"'),
    Step("SEARCH goes by meaning: none of these words need be in the text.", 'search "why did we stop charging for each user" --limit 3'),
    Step("With --text it goes by words, and needs no model.", 'search --text "duplicate invoices" --limit 2'),
    Step("SQL over one kind of record, read-only.", 'query "SELECT name, starts_at FROM moments ORDER BY starts_at"'),
    Step("PLAN looks before it leaps: which edges are there?", 'query "TRAVERSE PLAN WITH LOOKUP \'Project Alpha\' DIRECTION in"'),
    Step("TRAVERSE follows them: where is Tomás mentioned, and what else is said there?", 'traverse "Tomás Oliveira" --edges mentions --direction both --depth 2 --limit 12'),
)


@command("demo")
def demo(call: Call) -> None:
    """Read a small company's documents, and ask about them in five ways.

    What it reads is kept only when --home says where; the tenant is called demo unless --tenant says otherwise.
    """
    folder = documents()
    with _home(call) as where:
        if call.json:
            click.echo(_as_json(where, folder), nl=False)
        else:
            _perform(where, folder)
            _farewell(call, where)


def documents() -> Path:
    """The folder of the demo's documents: inside the package, or in a checkout under `examples/`."""
    here = Path(__file__).resolve()
    for folder in (here.parent / "demo_data", here.parents[4] / "examples" / "demo"):
        if folder.is_dir():
            return folder
    raise SourceError("the demo's documents are not installed", remedy="read documents of your own: remloom read PATH")
