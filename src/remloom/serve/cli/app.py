"""The program: its commands, listed in sections and built when they are called."""

from __future__ import annotations

import io
import signal
import sys
import traceback
import warnings
from collections.abc import Sequence
from typing import Any

import click

from ..._version import __version__
from ...errors import InvalidInputError
from .frame.call import Call
from .frame.command import Command
from .frame.failures import INTERRUPTED, boundary, report
from .frame.running import build, help_of, own_parameters, run
from .frame.shared_options import COMMON
from .frame.terminal import echo, warn
from .table import GROUPS, TABLE

EPILOG = """\b
Exit codes: 0 done, also when nothing is found; 1 something could not be done;
2 wrong input; 3 no such record or tenant; 4 already there; 5 a missing extra;
6 the embedder; 7 the store; 8 the language model; 130 interrupted.

\b
A key never stands on a command line: set REMLOOM_KEY to it, or to file:PATH
or keyring:NAME. `remloom tenant key FILE` makes one."""


class _Suggesting(click.Group):
    """A group that knows what was meant by a name that it does not have."""

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


class Group(_Suggesting):
    """Commands below one name. Options that every command has may stand before their names, too.

    A group that is a command itself, such as `dream`, runs where none of them is named.

    Args:
        rows: of the table, by what is typed behind the name: "", "runs", "rollback RUN".
    """

    def __init__(self, name: str, rows: dict[str, Command]) -> None:
        self.rows = {usage.partition(" ")[0]: (usage, row) for usage, row in rows.items() if usage}
        self.own = rows.get("")
        super().__init__(
            name,
            callback=self._call,
            params=[*(own_parameters(self.own, []) if self.own else ()), *COMMON],
            help=help_of(self.own) if self.own else GROUPS[name],
            invoke_without_command=self.own is not None,
        )

    def list_commands(self, context: click.Context) -> list[str]:
        return list(self.rows)

    # what a command calls is imported here, and may be interrupted
    @boundary(json=False)
    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in self.rows:
            return None
        usage, row = self.rows[name]
        return build(name, usage.split()[1:], row)

    def _call(self, home: str | None, tenant: str | None, json: bool, **options: Any) -> None:
        context = click.get_current_context()
        if self.own is not None and context.invoked_subcommand is None:
            run(self.own, home=home, tenant=tenant, json=json, **options)
        else:
            context.obj = context.obj.with_options(home, tenant, json)


class Program(_Suggesting):
    """A group whose commands are listed in sections, and built when they are called."""

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

    def list_commands(self, context: click.Context) -> list[str]:
        return [name for names in SECTIONS.values() for name in names]

    # what a command calls is imported here, and may be interrupted
    @boundary(json=False)
    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        rows = {
            usage.partition(" ")[2]: row
            for section in TABLE.values()
            for usage, row in section.items()
            if usage.partition(" ")[0] == name
        }
        if not rows:
            return None
        words, row = next(iter(rows.items()))
        is_group = name in GROUPS or len(rows) > 1
        return Group(name, rows) if is_group else build(name, words.split(), row)

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


# the names of commands by section
SECTIONS = {
    section: list(dict.fromkeys(usage.partition(" ")[0] for usage in rows))
    for section, rows in TABLE.items()
}


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
    context.obj = Call(home, tenant, json)


def start() -> None:
    """The `remloom` program; exits with its code."""
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
