"""`reader`: read long documents with a question in mind; an answer has the lines it rests on."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from click.exceptions import Exit

from ....errors import InvalidInputError, ModelNotConfiguredError, RemloomError
from ..frame.call import Invocation
from ..frame.failures import report
from ..frame.results import draw, fields_of
from ..frame.terminal import console, echo, to_json

if TYPE_CHECKING:
    from ....reader import ReadEvent, Reading
    from ....reader.reader import Reader


COMMANDS = {
    "outline": "the sections, and where they are",
    "search: WORDS": "lines with these words",
    "find: QUESTION": "the lines to read for a question; needs no model",
    "lines 120-160": "these lines; `lines NAME 120-160` of one of several documents",
    "sql: SELECT …": "SQL over the lines: table documents, and sections",
    "schema": "the columns of the table",
    "stats": "what has been asked and read",
    "coverage": "which lines have been read",
    "documents": "what is open",
    "open FILE": "read one more document",
    "sessions": "the sessions that are kept; `--session NAME` goes on with one",
    "delete-session: NAME": "delete a session, and what is kept of a question open in it",
    "help": "this list",
    "quit": "leave (so do exit, q and Ctrl-D)",
}
_LEAVING = ("quit", "exit", "q")
_NO_MODEL = "no language model is set that would answer from them (REMLOOM_LLM_MODEL, or --llm)"
_LINES = re.compile(
    r"lines\s+(?:(?P<document>.+?)\s+)?(?P<first>\d+)(?:\s*[-–]\s*(?P<last>\d+))?", re.IGNORECASE
)
# a command that lacks something, and no question
_UNFINISHED = re.compile(
    r"(open|search|find|sql|delete-session|lines|lines\s+\S+|lines\s+\d.*)", re.IGNORECASE
)
_LIKE = 0.8  # how much like a command a name before a colon must be to be taken for a slip


def reader(
    call: Invocation,
    files: tuple[str, ...],
    *,
    questions: Sequence[str] = (),
    turns: int = 6,
    budget: int = 30_000,
    seconds: float | None = None,
    words: int = 1000,
    session: str | None = None,
    events: bool = False,
    quiet: bool = False,
) -> None:
    """Read long documents as a person does: outline, search, the lines that matter, an answer.

    FILE is a path, or the name of a document that was read before. Without --question it asks for
    questions and commands until `quit`; what is piped in is read a line at a time. Without a model
    a question shows the lines to read.

    Without FILE it lists the sessions; with --session it goes on with the documents of that one.

    The exit code is that of the first line that failed.

    Args:
        questions: ask, and leave.
        turns: turns of the model at most.
        budget: tokens of all calls for a question at most.
        seconds: for a question at most.
        words: that `find:` shows at most.
        session: go on with what was asked and read under this name.
        events: print each event as a line of JSON.
        quiet: only answers: not how they are found.
    """
    if questions and not (files or session):
        raise InvalidInputError(
            "there is no document to ask", remedy="give a FILE, or `--session NAME`"
        )
    with call.open(create=bool(files)) as memory:
        asking = {"turns": turns, "budget_tokens": budget, "seconds": seconds, "session": session}
        shown = _Events(call, events=events, quiet=quiet)
        with memory.reader(*files, told=shown.event) as opened:
            desk = Desk(call, opened, shown, words=words, asking=asking)
            if not files and not session:
                desk.run("sessions")
                return
            if session and not files:
                for uri in opened.session(session).documents:
                    opened.open(uri)
            desk.greet()
            desk.serve(questions)
    if desk.exit_code:
        raise Exit(desk.exit_code)


class _Events:
    """Shows the events of a reading: as JSON, as a live picture, or not at all."""

    def __init__(self, call: Invocation, *, events: bool, quiet: bool) -> None:
        self._events = events
        self._is_live = not (events or quiet or call.json) and sys.stderr.isatty()
        self._show: Callable[[ReadEvent], None] | None = None  # while a picture is drawn

    def event(self, event: ReadEvent) -> None:
        if self._events:
            # one event a line, as programs read them
            lines = to_json(event.as_dict()).splitlines()
            echo(" ".join(line.strip() for line in lines))
        elif self._show is not None:
            self._show(event)

    def watch(self, reader: Reader, work: Callable[[], Reading]) -> Reading:
        if not self._is_live:
            return work()
        from ..views.reader import reading_picture

        with reading_picture(reader) as self._show:
            try:
                return work()
            finally:
                self._show = None


class Desk:
    """Documents that are open, and what is asked about them at the prompt."""

    def __init__(
        self,
        call: Invocation,
        reader: Reader,
        shown: _Events,
        *,
        words: int,
        asking: dict[str, Any],
    ) -> None:
        self.call = call
        self.reader = reader
        self.exit_code = 0  # of the first line that failed
        self.done = False
        self._shown = shown
        self._words = words
        self._asking = asking

    def greet(self) -> None:
        if sys.stdout.isatty() and not self.call.json:
            console().print(draw(self.reader.documents, view="reader.draw_documents"))

    # -- one line ----------------------------------------------------------------------------------

    def run(self, text: str) -> None:
        """Run a command, or put a question; an error is printed, and the next line can come."""
        text = text.strip()
        if not text:
            return
        try:
            self._run(text)
        except RemloomError as error:
            sys.stdout.flush()
            report(error, json=self.call.json)
            self.exit_code = self.exit_code or error.exit_code

    def _run(self, text: str) -> None:
        plain: dict[str, Callable[[], None]] = {
            "outline": self._outline,
            "schema": lambda: self._show(self.reader.schema(), "reader.draw_schema"),
            "stats": lambda: self._show(self.reader.stats(), "reader.draw_stats"),
            "coverage": self._coverage,
            "documents": lambda: self._show(self.reader.documents, "reader.draw_documents"),
            "sessions": lambda: self._show(self.reader.sessions(), "lists.draw_sessions"),
            "help": lambda: self._show(COMMANDS, "tables.draw_words"),
            "?": lambda: self._show(COMMANDS, "tables.draw_words"),
        }
        if text.casefold() in _LEAVING:
            self.done = True
        elif text.casefold() in plain:
            plain[text.casefold()]()
        elif match := _LINES.fullmatch(text):
            self._lines(match)
        elif _UNFINISHED.fullmatch(text):
            raise _unfinished(text.split()[0].casefold())
        elif text.casefold().startswith("open "):
            self._open(text[len("open ") :].strip())
        else:
            self._run_prefixed(text)

    def _run_prefixed(self, text: str) -> None:
        """Run `sql: …` and the like; all else is a question."""
        name, colon, argument = text.partition(":")
        prefixed: dict[str, Callable[[str], object]] = {
            "search": lambda words: self._show(self.reader.search(words), "reader.draw_passages"),
            "find": self._find,
            "sql": lambda text: self._show(self.reader.sql(text), "reader.draw_rows"),
            "delete-session": self._delete_session,
        }
        name = name.strip().casefold()
        act = prefixed.get(name) if colon else None
        if act is None:
            meant = get_close_matches(name, prefixed, 1, _LIKE) if colon else []
            if meant:
                raise InvalidInputError(
                    f"there is no command `{name}:`", remedy=f"did you mean `{meant[0]}:`?"
                )
            self._ask(text)
            return
        if not argument.strip():
            raise _unfinished(name)
        act(argument.strip())

    def _show(self, result: Any, view: str, **options: Any) -> None:
        self.call.show(fields_of(result), lambda: draw(result, options, view=view))

    def _ask(self, question: str) -> None:
        try:
            reading = self._shown.watch(
                self.reader, lambda: self.reader.ask(question, **self._asking)
            )
        except ModelNotConfiguredError:
            # what it has found so far is what a person can go on with
            found = self._find(question)
            echo(f"these are the lines to read: {_NO_MODEL}" if found else _NO_MODEL, err=True)
            return
        self._show(reading, "reader.draw_reading")

    def _find(self, question: str) -> bool:
        """Show what to read for a question; whether there is something."""
        passages = self.reader.find(question, words=self._words)
        self._show(passages, "reader.draw_found")
        return bool(passages)

    def _lines(self, match: re.Match[str]) -> None:
        first = int(match["first"])
        last = int(match["last"] or first)
        names = [stats.doc_name for stats in self.reader.documents]
        if len(names) > 1 and not match["document"]:
            raise InvalidInputError(
                f"{len(names)} documents are open",
                remedy=f"say which: `lines {names[0]} {match['first']}`",
            )
        passage = self.reader.lines(first, last, document=match["document"])
        self._show([passage], "reader.draw_passages")

    def _open(self, path: str) -> None:
        before = set(self.reader.documents)
        stats = self.reader.open(path)
        # a folder has several
        opened = [one for one in self.reader.documents if one not in before] or [stats]
        self.call.show(fields_of(stats), lambda: draw(opened, view="reader.draw_documents"))

    def _outline(self) -> None:
        outline = self.reader.outline()
        shown = fields_of(outline.sections)
        self.call.show(shown, lambda: draw(outline, view="reader.draw_outline"))

    def _coverage(self) -> None:
        ranges = self.reader.ranges_read()
        self._show(ranges, "reader.draw_coverage", documents=self.reader.documents)

    def _delete_session(self, name: str) -> None:
        self.reader.delete_session(name)
        self.call.show({"deleted": name}, f"deleted {name!r}")

    # -- where lines come from ---------------------------------------------------------------------

    def serve(self, questions: Sequence[str] = ()) -> None:
        """Answer these questions; without any, run lines from the terminal or what is piped in."""
        if questions:
            for question in questions:
                self.run(question)
        elif sys.stdin.isatty() and sys.stdout.isatty():
            self.from_terminal()
        else:
            self.from_stdin()

    def from_stdin(self) -> None:
        for line in sys.stdin:
            self.run(line)
            sys.stdout.flush()
            if self.done:
                return

    def from_terminal(self) -> None:
        """Prompt until `quit` or Ctrl-D; Ctrl-C leaves the line, or stops the question."""
        from prompt_toolkit import PromptSession
        from prompt_toolkit.completion import WordCompleter

        names = [name.split(" ")[0] for name in COMMANDS]
        prompt: PromptSession[str] = PromptSession(
            "ask> ", completer=WordCompleter(names, sentence=True)
        )
        while not self.done:
            try:
                self.run(prompt.prompt())
            except KeyboardInterrupt:
                echo("interrupted", err=True)
            except EOFError:
                return


def _unfinished(name: str) -> InvalidInputError:
    usage = next(usage for usage in COMMANDS if usage.startswith(name))
    return InvalidInputError(f"{name} needs something after it", remedy=f"write `{usage}`")
