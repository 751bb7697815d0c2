"""The program: its commands, listed in sections and built when they are called."""

from __future__ import annotations

import io
import signal
import sys
import traceback
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import click

from ..._version import __version__
from ...errors import InvalidInputError
from .frame.call import Invocation
from .frame.command import Command
from .frame.failures import INTERRUPTED, boundary, report
from .frame.options import COMMON
from .frame.parameters import click_parameters
from .frame.running import build, help_of, run
from .frame.terminal import echo, warn
from .table import GROUPS, TABLE

EPILOG = """\b
Exit codes: 0 done, also when nothing is found; 1 something could not be done;
2 wrong input; 3 no such record or tenant; 4 already there; 5 a missing extra;
6 the embedder; 7 the store; 8 the language model; 130 interrupted.

\b
A key never stands on a command line: set REMLOOM_KEY to it, or to file:PATH
or keyring:NAME. `remloom tenant key FILE` makes one."""


class Commands(click.Group):
    """Commands that are built when they are called. A name that is near one of theirs is named."""

    rows: dict[str, dict[str, Command]]  # by the first word of their usage, then by the rest

    def list_commands(self, context: click.Context) -> list[str]:
        return list(self.rows)

    # what a command calls is imported here, and may be interrupted
    @boundary(json=False)
    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        rows = self.rows.get(name)
        if rows is None:
            return None
        if name in GROUPS or len(rows) > 1:
            return Group(name, rows)
        [(words, row)] = rows.items()
        return build(name, words.split(), row)

    def resolve_command(
        self, context: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(context, args)
        except click.UsageError as error:
            from difflib import get_close_matches  # only on the way to an error

            nearest = get_close_matches(args[0], self.list_commands(context), n=1)
            hint = f" Did you mean {nearest[0]!r}?" if nearest else ""
            raise click.UsageError(error.message + hint, context) from None


class Group(Commands):
    """Commands below one name. Options that every command has may stand before their names, too.

    A group that is a command itself, such as `dream`, runs where none of them is named.

    Args:
        rows: of the table, by what is typed behind the name: "", "runs", "rollback RUN".
    """

    def __init__(self, name: str, rows: dict[str, Command]) -> None:
        self.own = rows.get("")
        self.rows = _by_name({usage: row for usage, row in rows.items() if usage})
        super().__init__(
            name,
            callback=self._call,
            params=[*(click_parameters(self.own, []) if self.own else ()), *COMMON],
            help=help_of(self.own) if self.own else GROUPS[name],
            invoke_without_command=self.own is not None,
        )

    def _call(self, home: str | None, tenant: str | None, json: bool, **options: Any) -> None:
        context = click.get_current_context()
        if self.own is not None and context.invoked_subcommand is None:
            run(self.own, home=home, tenant=tenant, json=json, **options)
        else:
            context.obj = context.obj.with_options(home, tenant, json)


def _by_name(usages: Mapping[str, Command]) -> dict[str, dict[str, Command]]:
    rows: dict[str, dict[str, Command]] = {}
    for usage, row in usages.items():
        name, _, rest = usage.partition(" ")
        rows.setdefault(name, {})[rest] = row
    return rows


# of each section of the program's help
SECTIONS = {section: _by_name(rows) for section, rows in TABLE.items()}


class Program(Commands):
    """The commands in their sections."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.rows = {name: rows for section in SECTIONS.values() for name, rows in section.items()}

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        """Run a command, and report a wrong option or argument as any other error: with `--json`
        as JSON."""
        if not standalone_mode:
            return super().main(args, prog_name, complete_var, standalone_mode, **extra)
        # Looked for in the words as they are: they may be what click could not parse.
        json = "--json" in (sys.argv[1:] if args is None else args)
        try:
            sys.exit(super().main(args, prog_name, complete_var, False, **extra) or 0)
        except click.ClickException as error:
            if json:
                report(InvalidInputError(error.format_message(), remedy="see --help"), json=True)
            else:
                shown = io.StringIO()
                error.show(shown)
                echo(shown.getvalue(), err=True, nl=False)
            sys.exit(error.exit_code)
        except click.Abort:
            if not json:
                echo("Aborted!", err=True)
            sys.exit(1)

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        for section, names in SECTIONS.items():
            commands = {name: self.get_command(context, name) for name in names}
            with formatter.section(section):
                formatter.write_dl(
                    [
                        (name, command.get_short_help_str(80))
                        for name, command in commands.items()
                        if command
                    ]
                )


@click.group(
    cls=Program,
    params=list(COMMON),
    epilog=EPILOG,
    context_settings={
        "help_option_names": ["-h", "--help"],
        "max_content_width": 100,
        "show_default": True,
    },
)
@click.version_option(__version__, message="remloom %(version)s")
@click.pass_context
def program(context: click.Context, home: str | None, tenant: str | None, json: bool) -> None:
    """Memory for LLM agents: read documents and chats, remember them, answer in five ways."""
    context.obj = Invocation(home, tenant, json)


def start() -> None:
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            # a file name may hold what the terminal cannot show
            stream.reconfigure(errors="backslashreplace")
    warnings.showwarning = warn
    sys.excepthook = lambda *error: echo(
        "".join(traceback.format_exception(*error)), err=True, nl=False
    )
    try:
        program(prog_name="remloom")
    except SystemExit as done:
        # A second Ctrl-C, pressed out of impatience, must not cut the interpreter's clean-up short.
        if done.code == INTERRUPTED:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        raise
