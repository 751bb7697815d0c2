"""`remloom demo`: the commands a newcomer would type, run one after the other on a small company's
documents.

The demo has no code of its own for what it shows: each step is a command line, and is run as one.
"""

from __future__ import annotations

import os
import shlex
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from click.exceptions import Exit

from ....errors import SourceError
from ..frame.call import Invocation
from ..frame.terminal import console, echo, to_json

TENANT = "demo"
QUOTED_LINES = 5  # of a cited passage, shown at most
CITED = "per-berth price"  # the query that finds the cited passage


class DemoStep(NamedTuple):
    """A command of the demo, and the point it makes; `{documents}` stands for their folder."""

    what: str
    command: str


STEPS = (
    DemoStep("Read a folder: notes, a web page, a table, a chat.", "read {documents}"),
    DemoStep(
        "LOOKUP finds a thing by its name, whatever kind of thing it is.", "lookup 'Sarah Chen'"
    ),
    DemoStep("FUZZY forgives the spelling.", "fuzzy 'tomas olivera'"),
    DemoStep(
        "SEARCH goes by meaning, not by words.",
        "search 'charging customers in a fairer way' --limit 3",
    ),
    DemoStep(
        "With --text it goes by words, and needs no model.",
        "search --text 'duplicate invoices' --limit 2",
    ),
    DemoStep(
        "SQL, read-only, over one kind of record.",
        "query 'SELECT starts_at, name FROM moments ORDER BY starts_at'",
    ),
    DemoStep(
        "PLAN looks at the edges before following any.",
        "traverse 'Project Alpha' --direction in --plan",
    ),
    DemoStep(
        "TRAVERSE follows them: who decided, on what grounds, and what came of it?",
        "traverse 'Pricing Decision 2025' --edges authored_by,references,part_of "
        "--direction both --depth 2 --limit 12",
    ),
    DemoStep(
        "A profile: what is known of you, since when, and why.", "profile set allergies peanuts"
    ),
    DemoStep(
        "An agent that you ask is given of it what the question needs, and no more.",
        "profile context 'What should I order for lunch?'",
    ),
)


def demo(call: Invocation) -> None:
    """Read a few documents, and ask about them in every way.

    What it reads is kept only when --home says where; the tenant is called demo unless --tenant
    says otherwise.
    """
    folder = documents()
    with _home(call) as where:
        if call.json:
            echo(to_json([_json_of(step, where, folder) for step in STEPS]), nl=False)
            return
        console().print(
            "Nine files of Harborlight, a small company that plans the berths of ports."
        )
        for number, step in enumerate(STEPS, 1):
            _heading(f"{number}. {step.what}")
            console().print(f"$ remloom {_line(step, folder)}", style="bold")
            _run(step, where, folder)
        _heading("Every answer says where it was read, down to the line.")
        _cite(where)
        _heading("Next")
        _show_next_commands(where, saved=call.home is not None)


def documents() -> Path:
    """Find the demo's documents: inside the package, or under `examples/` in a checkout.

    Raises:
        SourceError: it is in neither.
    """
    here = Path(__file__).resolve()
    for folder in (here.parent / "demo_data", here.parents[5] / "examples" / "demo"):
        if folder.is_dir():
            return folder
    raise SourceError(
        "the demo's documents are not installed",
        remedy="read documents of your own: remloom read PATH",
    )


@contextmanager
def _home(call: Invocation) -> Iterator[Invocation]:
    where = replace(call, tenant=call.tenant or TENANT)
    if call.home is not None:
        yield where
        return
    # without --home nothing of the demo stays
    with tempfile.TemporaryDirectory(prefix="remloom-demo-") as folder:
        yield replace(where, home=folder)


def _line(step: DemoStep, folder: Path) -> str:
    shown = os.path.relpath(folder)
    return step.command.format(
        documents=shlex.quote(str(folder) if shown.startswith("..") else shown)
    )


def _run(step: DemoStep, where: Invocation, folder: Path) -> None:
    options = ["--home", where.home or "", "--tenant", where.tenant or ""]
    if where.json:
        options.append("--json")
    from ..app import program

    # Through the program itself, so that the demo shows what a user would see.
    code = program.main([*options, *shlex.split(_line(step, folder))], standalone_mode=False)
    if code:
        raise Exit(code)


def _json_of(step: DemoStep, where: Invocation, folder: Path) -> dict[str, Any]:
    with redirect_stdout(StringIO()) as printed:
        _run(step, where, folder)
    return {
        "what": step.what,
        "command": f"remloom {_line(step, folder)}",
        "answer": msgspec.json.decode(printed.getvalue()),
    }


def _heading(text: str) -> None:
    console().print(f"\n{text}", style="cyan")


def _cite(where: Invocation) -> None:
    from ..frame.text_formats import short_source

    documents_only = "category = 'document'"
    with where.open() as memory:
        answer = memory.search_text(CITED, schema="resources", where=documents_only, limit=1)
    hit = answer.records[0]
    # from the file, not from the memory: the citation holds where the text was read
    first, last = hit.lines or (1, QUOTED_LINES)
    lines = Path(hit.uri).read_text(encoding="utf-8").splitlines()
    quoted = lines[first - 1 : last][:QUOTED_LINES]
    console().print(short_source(hit.source), style="blue")
    for number, text in enumerate(quoted, first):
        console().print(f"{number:4}  {text}")


def _show_next_commands(where: Invocation, *, saved: bool) -> None:
    if saved:
        options = f"--home {shlex.quote(where.home or '')} --tenant {where.tenant}"
        again = (f"remloom shell {options}", "ask this memory more")
    else:
        again = ("remloom demo --home ./demo", "the same, and keep it")
    lines = (
        again,
        ("remloom read PATH", "read documents of your own"),
        ("remloom shell", "ask about them; remloom --help lists every command"),
    )
    for line, why in lines:
        console().print(f"  {line:28}  {why}")
