"""The interactive shell: statements in, rendered answers out. Without a terminal it reads
statements from stdin."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from click.exceptions import Exit

from ....errors import InvalidInputError, RemloomError, UnknownNameError
from ..frame.call import Invocation
from ..frame.failures import report
from ..frame.results import draw
from ..frame.terminal import console, echo
from .statements import from_lines, is_open, split

if TYPE_CHECKING:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.history import History
    from prompt_toolkit.input import Input
    from prompt_toolkit.output import Output

    from ....memory import Memory, MemoryStats
    from ....model import Answer


COMMANDS = {
    "\\help": "this list",
    "\\stats": "what the memory holds",
    "\\json": "on or off: answers as JSON",
    "\\tenant": "show the tenants, or change to one",
    "\\quit": "leave (so does Ctrl-D)",
}

# as people try first
_PLAIN = {"help": "\\help", "?": "\\help", "quit": "\\quit", "exit": "\\quit"}

EXAMPLES = """\
LOOKUP "Sarah Chen"                                     records by name or alias
FUZZY "sara chn" TYPE person                            names like this one
SEARCH "why did the price change" LIMIT 3               by meaning
SELECT name, category FROM resources LIMIT 5            read-only SQL over \
resources, entities, moments
TRAVERSE PLAN WITH LOOKUP "Sarah Chen"                  which edges there are
TRAVERSE mentions WITH "Sarah Chen" DIRECTION in        follow them

A statement ends with its line or with ;. It goes on after a comma and inside quotes."""


def shell(call: Invocation) -> None:
    """Ask interactively, with history and completion.

    Without a terminal, statements are read from stdin, one a line or ended by ;. The exit code is
    then that of the first one that failed.
    """
    session = Shell(call)
    try:
        if sys.stdin.isatty() and sys.stdout.isatty():
            session.from_terminal()
            return
        session.from_stdin()
    finally:
        session.memory.close()
    raise Exit(session.exit_code)


class Shell:
    """One session: the memory of a tenant, and the form in which answers are printed."""

    def __init__(self, call: Invocation) -> None:
        # with its name, also where it is the default one, for the prompt
        self.call = replace(call, tenant=call.settings().tenant)
        self.memory: Memory = self.call.open()
        self.exit_code = 0  # of the first statement that failed
        self.done = False

    # -- one line ----------------------------------------------------------------------------------

    def run(self, text: str) -> None:
        try:
            if text.lstrip().startswith("\\"):
                self._command(text.strip())
            elif (plain := text.strip().lower()) in _PLAIN:
                self._command(_PLAIN[plain])
            else:
                for statement in split(text):
                    self._show(self.memory.query(statement))
        except RemloomError as error:
            # answers printed before the error stand before it, also where both go to one file
            sys.stdout.flush()
            report(error, json=self.call.json)
            self.exit_code = self.exit_code or error.exit_code

    def _command(self, text: str) -> None:
        name, _, argument = text.partition(" ")
        commands: dict[str, Callable[[str], None]] = {
            "\\help": self._help,
            "\\stats": self._stats,
            "\\json": self._json,
            "\\tenant": self._tenant,
            "\\quit": self._quit,
        }
        if name not in commands:
            raise UnknownNameError("command", name, tuple(COMMANDS))
        commands[name](argument.strip())

    def _help(self, _: str) -> None:
        from rich.console import Group
        from rich.text import Text

        from ..views.tables import draw_words

        console().print(Group(Text(EXAMPLES), Text(""), draw_words(COMMANDS)))

    def _stats(self, _: str) -> None:
        self._show(self.memory.admin.stats())

    def _show(self, result: Answer | MemoryStats) -> None:
        self.call.show(result.as_dict(), lambda: draw(result))

    def _json(self, argument: str) -> None:
        if argument not in ("on", "off"):
            raise InvalidInputError(f"\\json takes on or off, not {argument!r}", remedy="\\json on")
        self.call = replace(self.call, json=argument == "on")

    def _tenant(self, argument: str) -> None:
        if not argument:
            for tenant in self._tenants():
                echo(f"{'*' if tenant == self.call.tenant else ' '} {tenant}")
            return
        call = replace(self.call, tenant=argument)
        # first, so that a mistyped name leaves this session as it is
        memory = call.open()
        self.memory.close()
        self.call, self.memory = call, memory

    def _quit(self, _: str) -> None:
        self.done = True

    def _tenants(self) -> dict[str, bool]:
        from ....memory import Home

        return {
            tenant.name: tenant.encrypted for tenant in Home(self.call.settings().home).tenants()
        }

    # -- where lines come from ---------------------------------------------------------------------

    def from_stdin(self) -> None:
        for statement in from_lines(sys.stdin):
            self.run(statement)
            sys.stdout.flush()
            if self.done:
                return

    def from_terminal(self, *, input: Input | None = None, output: Output | None = None) -> None:
        """Prompt until `\\quit` or Ctrl-D; Ctrl-C leaves the line, or stops the statement, and
        nothing more."""
        tenant = None
        while not self.done:
            # `\tenant` may have changed it: history and completions are of one tenant
            if self.call.tenant != tenant:
                session, tenant = self._session(input, output), self.call.tenant
            try:
                line = session.prompt()
            except KeyboardInterrupt:
                continue
            except EOFError:
                return
            started = time.monotonic()
            try:
                self.run(line)
            except KeyboardInterrupt:
                echo("interrupted", err=True)
                continue
            if line.strip() and not line.lstrip().startswith("\\") and not self.call.json:
                console().print(f"{(time.monotonic() - started) * 1000:,.1f} ms", style="dim")

    def _session(self, input: Input | None, output: Output | None) -> PromptSession[str]:
        from prompt_toolkit import PromptSession
        from prompt_toolkit.application import get_app
        from prompt_toolkit.filters import Condition

        from .completion import StatementCompleter

        @Condition
        def unfinished() -> bool:
            """Enter begins a new line; on an empty line it ends the statement whatever is open."""
            typed = get_app().current_buffer.text
            return is_open(typed) and not typed.endswith("\n")

        return PromptSession(
            f"{self.call.tenant}> ",
            completer=StatementCompleter(lambda: self.memory, COMMANDS),
            complete_while_typing=True,
            history=self._history(),
            multiline=unfinished,
            prompt_continuation="... ".rjust(len(self.call.tenant or "") + 2),
            input=input,
            output=output,
        )

    def _history(self) -> History:
        """Open the history: a file in the tenant's folder, deleted with it.

        That of an encrypted tenant is in memory only, since the file would be plain.
        """
        from prompt_toolkit.history import FileHistory, InMemoryHistory

        tenant = self.call.tenant or ""
        folder = Path(self.call.settings().home) / "tenants" / tenant
        if self._tenants().get(tenant, True) or not os.access(folder, os.W_OK):
            return InMemoryHistory()
        file = folder / "shell_history"
        # a link could lead the history, with what was asked, out of the tenant's folder
        if file.is_symlink():
            return InMemoryHistory()
        file.touch(mode=0o600)
        return FileHistory(str(file))
