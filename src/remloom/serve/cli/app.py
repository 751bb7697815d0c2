"""The command line's frame: the program, the options every command has, output, and errors as exit
codes.

A command is a function decorated with `command`: its first parameter is a `Call`, and it is given
`--home`, `--tenant` and `--json` besides its own options. They may stand before or after the
command's name.
"""

from __future__ import annotations

import importlib
import inspect
import io
import os
import signal
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from errno import ENOSPC
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import click

from ..._version import __version__
from ...errors import InvalidInputError, RemloomError, StoreFullError
from ...text.quoting import visible
from .frame.terminal import console, echo, to_json, warn

if TYPE_CHECKING:
    from rich.console import RenderableType

    from ...memory import Memory
    from ...settings import Settings


# exit codes beside those of `RemloomError.exit_code`
INTERRUPTED, BROKEN_PIPE, UNEXPECTED = 130, 141, 70

# Call first, then the command's own parameters
Function = TypeVar("Function", bound=Callable[..., None])

# Where each command is defined: its module is imported when the command is called, or when help
# lists them all.
SECTIONS: dict[str, dict[str, str]] = {
    "Start here": {"demo": "interactive.demo", "shell": "interactive.shell"},
    "Remember": {
        "read": "commands.reading",
        "import": "commands.records",
        "forget": "commands.records",
    },
    "Ask": {
        "ask": "commands.ask",
        "recall": "commands.recall",
        "reader": "interactive.reader",
        "lookup": "commands.queries",
        "fuzzy": "commands.queries",
        "search": "commands.queries",
        "traverse": "commands.queries",
        "query": "commands.queries",
        "show": "commands.records",
    },
    "Share": {"grant": "commands.grants", "grants": "commands.grants", "revoke": "commands.grants"},
    "Follow databases": {
        "discover": "commands.databases",
        "register": "commands.schemas",
        "sync": "commands.databases",
        "drift": "commands.databases",
        "schemas": "commands.schemas",
        "schema": "commands.schemas",
    },
    "Dream": {
        "learn": "commands.dream",
        "dream": "commands.dream",
        "moments": "commands.maintenance",
        "affinity": "commands.maintenance",
        "consolidate": "commands.maintenance",
        "metrics": "commands.metrics",
    },
    "Know the user": {"profile": "commands.profile"},
    "Serve": {
        "mcp": "commands.mcp",
        "serve": "commands.serving",
        "openapi": "commands.serving",
        "keys": "commands.keys",
        "audit": "commands.audit",
    },
    "Care": {
        "stats": "commands.records",
        "usage": "commands.usage",
        "jobs": "commands.jobs",
        "schedule": "commands.schedule",
        "doctor": "interactive.doctor",
        "tenant": "commands.tenants",
        "migrate": "commands.migrate",
        "copy": "commands.copy",
        "export": "commands.records",
        "backup": "commands.records",
        "reembed": "commands.reading",
        "sweep": "commands.records",
    },
}

EPILOG = """\b
Exit codes: 0 done, also when nothing is found; 1 something could not be done;
2 wrong input; 3 no such record or tenant; 4 already there; 5 a missing extra;
6 the embedder; 7 the store; 8 the language model; 130 interrupted.

\b
A key never stands on a command line: set REMLOOM_KEY to it, or to file:PATH
or keyring:NAME. `remloom tenant key FILE` makes one."""


@dataclass(frozen=True)
class Call:
    """One call of the command line: the memory it is about, and the form of its output."""

    home: str | None = None
    tenant: str | None = None
    json: bool = False
    llm: str | None = None

    def with_options(
        self, home: str | None, tenant: str | None, json: bool, llm: str | None = None
    ) -> Call:
        """The same call with the options that stand further behind: they win."""
        return Call(
            self.home if home is None else home,
            self.tenant if tenant is None else tenant,
            json or self.json,
            llm,
        )

    def settings(self) -> Settings:
        from ...settings import Settings

        return Settings.load(home=self.home, tenant=self.tenant, llm_model=self.llm)

    def open(self, *, create: bool = False) -> Memory:
        """Open the memory of this call. A missing tenant is made only when `create` is set."""
        from ...memory import Memory

        return Memory.open(settings=self.settings(), create=create)

    def show(self, data: Any, view: Callable[[], RenderableType]) -> None:
        """Print a result: `data` as JSON, or the drawing of it that `view` returns."""
        if self.json:
            echo(to_json(data), nl=False)
            return
        drawn = view()
        if isinstance(drawn, str):
            echo(drawn)
        elif sys.stdout.isatty():
            console().print(drawn, crop=False)
        else:
            # rich pads lines to the width of the console; a pipe gets them without that
            plain = console()
            with plain.capture() as captured:
                plain.print(drawn, crop=False)
            echo("\n".join(line.rstrip() for line in captured.get().splitlines()))

    def confirm(self, question: str, *, yes: bool) -> None:
        """Ask before something that cannot be undone.

        Raises:
            InvalidInputError: there is no terminal to ask at, and `yes` is not set.
        """
        if yes:
            return
        if not sys.stdin.isatty():
            raise InvalidInputError(f"not done without being sure: {question}", remedy="add --yes")
        click.confirm(visible(question), abort=True, err=True)


class Program(click.Group):
    """A group whose commands are listed in sections and imported when they are called."""

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

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        for names in SECTIONS.values():
            if name in names and name not in self.commands:
                importlib.import_module(f".{names[name]}", __package__)
        return self.commands.get(name)

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

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        for section, names in SECTIONS.items():
            rows = []
            for name in names:
                command = self.get_command(context, name)
                if command:
                    rows.append((name, command.get_short_help_str(80)))
            with formatter.section(section):
                formatter.write_dl(rows)


class Group(click.Group):
    """A group of commands below the program. Options that every command has may stand before the
    command's name here, too."""

    def __init__(self, *args: Any, params: Sequence[click.Parameter] = (), **settings: Any) -> None:
        super().__init__(*args, params=[*params, *COMMON], **settings)

    def invoke(self, context: click.Context) -> Any:
        home, tenant, json = (context.params.pop(option.name) for option in COMMON)
        context.obj = context.obj.with_options(home, tenant, json)
        return super().invoke(context)


Program.group_class = Group

COMMON = (
    click.Option(
        ["--home"],
        metavar="PLACE",
        help="Folder or postgresql:// URL of the tenants (REMLOOM_HOME).",
    ),
    click.Option(["--tenant"], metavar="NAME", help="Whose memory (REMLOOM_TENANT)."),
    click.Option(["--json"], is_flag=True, help="Print one JSON document instead of text."),
)


# For commands that call a language model; the value is in their `Call`.
model_option = click.option(
    "--llm", metavar="MODEL", help="Language model, for example openai:gpt-5-mini."
)
_budget_tokens_option = click.option(
    "--budget-tokens",
    type=click.IntRange(1),
    metavar="N",
    help="Stop cleanly before this many tokens are used.",
)
_budget_cost_option = click.option(
    "--budget-cost", type=float, metavar="DOLLARS", help="Stop cleanly before this much is spent."
)


def budget_options(function: Function) -> Function:
    """Give a command `--budget-tokens` and `--budget-cost`; its parameter is `budget`."""
    return _budget_tokens_option(_budget_cost_option(function))


def take_budget(given: dict[str, Any]) -> None:
    """Put a `Budget` in place of the values of `budget_options`, where a command has them."""
    if "budget_tokens" not in given:
        return
    from ...llm import Budget

    tokens, cost = given.pop("budget_tokens"), given.pop("budget_cost")
    given["budget"] = Budget(tokens=tokens, cost=cost)


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


def command(name: str, *, to: click.Group = program) -> Callable[[Function], Function]:
    """Register a function as a command; its first parameter, a `Call`, is made from the common
    options."""

    def register(function: Function) -> Function:
        def invoke(home: str | None, tenant: str | None, json: bool, **given: Any) -> None:
            # each common option may stand before the command's name or after it
            before: Call = click.get_current_context().obj
            call = before.with_options(home, tenant, json, given.pop("llm", None))
            with boundary(json=call.json):
                take_budget(given)
                function(call, **given)

        # click's decorators collect the options on the function, the last one first
        own = list(reversed(getattr(function, "__click_params__", ())))
        for option in own:
            # an empty default says nothing in the help
            if option.default == "" and isinstance(option, click.Option):
                option.show_default = False
        to.add_command(
            click.Command(
                name, callback=invoke, params=[*own, *COMMON], help=inspect.getdoc(function)
            )
        )
        return function

    return register


@contextmanager
def boundary(*, json: bool) -> Iterator[None]:
    """Turn whatever goes wrong inside into a message on stderr and an exit code; no traceback."""
    try:
        yield
        # here, where a full disk or a closed pipe can still be reported
        sys.stdout.flush()
    except (click.ClickException, click.exceptions.Exit, click.Abort):
        raise
    except KeyboardInterrupt:
        raise click.exceptions.Exit(INTERRUPTED) from None
    except BrokenPipeError:
        # The reader of our output has left. Python would flush, and fail, once more when it exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise click.exceptions.Exit(BROKEN_PIPE) from None
    except RemloomError as error:
        _fail(error, json=json)
    except UnicodeError as error:
        # arguments and standard input may hold bytes that are not text
        not_text = InvalidInputError(
            f"this is not UTF-8: {error}", remedy="convert it, for example with iconv"
        )
        _fail(not_text, json=json)
    except OSError as error:
        message = error.strerror or str(error)
        if error.filename:
            message = f"{error.filename}: {error.strerror}"
        kind = StoreFullError if error.errno == ENOSPC else RemloomError
        _fail(kind(message), json=json)
    except Exception as error:
        if _debugging():
            raise
        bug = RemloomError(
            f"unexpected {type(error).__name__}: {error}",
            remedy="this is a bug in Remloom: "
            "set REMLOOM_DEBUG=1 to see where, and please report it",
        )
        _fail(bug, json=json, code=UNEXPECTED)


def _debugging() -> bool:
    from ...settings import Settings

    try:
        return Settings.load().debug
    except RemloomError:
        # Wrong settings must not hide the error that is about to be reported.
        return False


def _fail(error: RemloomError, *, json: bool, code: int | None = None) -> NoReturn:
    report(error, json=json)
    raise click.exceptions.Exit(code or error.exit_code) from None


def report(error: RemloomError, *, json: bool) -> None:
    """Print an error on stderr: its message and remedy, or its fields as one JSON document."""
    if json:
        echo(to_json(error.as_dict()), nl=False, err=True)
    elif sys.stderr.isatty():
        from rich.text import Text

        console(stderr=True).print(
            Text.assemble(("error: ", "bold red"), str(error)), soft_wrap=True
        )
    else:
        echo(f"error: {error}", err=True)


def run() -> None:
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
