"""What may come next in a statement: keywords, edge types, schemas, types, and the labels the memory knows."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from ...query.plan import DIRECTIONS, KEYWORDS, ORDER_FIELDS, label_text, quoted
from .statements import split

if TYPE_CHECKING:
    from ...memory import Memory

__all__ = ["StatementCompleter"]

STARTERS = ("LOOKUP", "FUZZY", "SEARCH", "TRAVERSE", "SELECT", "EXPLAIN")
SCHEMAS = ("resources", "entities", "moments")
WALK = ("DEPTH", "DIRECTION", "BREADTH", "ORDER BY", "LIMIT", "MEMO", "AS OF")
FOLLOWING = {  # the clauses each kind of query may have, in their order
    "LOOKUP": WALK,
    "FUZZY": ("TYPE", "THRESHOLD", "LIMIT"),
    "SEARCH": ("IN", "WHERE", "MIN", "LIMIT"),
    "TRAVERSE": ("PLAN", "WITH", *WALK),
    "SELECT": ("FROM", "WHERE", "ORDER BY", "LIMIT"),
}
LABELS = 12  # labels offered at most

_WORD = re.compile(r"\S+")


class StatementCompleter(Completer):
    """Completes what is typed in the shell.

    Args:
        memory: gives the memory of the moment, which `\\tenant` may change.
        commands: the shell's own commands and what they mean.
    """

    def __init__(self, memory: Callable[[], Memory], commands: dict[str, str]) -> None:
        self._memory = memory
        self._commands = commands
        self._known: tuple[Memory, dict[str, Any]] | None = None

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterator[Completion]:
        before = document.text_before_cursor
        if before.lstrip().startswith("\\"):
            yield from self._of_command(before.lstrip())
            return
        statements = split(before)
        text = "" if before.rstrip().endswith(";") or not statements else before[before.rindex(statements[-1]) :]
        yield from _unique(self._of_statement(text))

    def _of_command(self, text: str) -> Iterator[Completion]:
        if " " not in text:
            for name, meaning in self._commands.items():
                if name.startswith(text):
                    yield Completion(name, -len(text), display_meta=meaning)

    def _of_statement(self, text: str) -> Iterator[Completion]:
        *done, word = _words(text)
        keywords = [w.upper() for w in done if w.upper() in KEYWORDS or w.upper() in ("BY", "OF")]
        if not keywords or keywords[-1] == "EXPLAIN":
            yield from _starting(STARTERS, word)
            return
        latest = keywords[-1]
        at = max(i for i, w in enumerate(done) if w.upper() == latest)
        operand = _after(text, at + 1)
        yield from self._operands(latest, operand, word)
        if len(done) > at + 1 or latest in ("ALL", "ASC", "DESC", "PLAN", "TRAVERSE"):
            kinds = [k for k in keywords if k in FOLLOWING]
            clauses = FOLLOWING[kinds[0]] if kinds else ()
            if kinds[1:] and kinds[0] == "TRAVERSE":  # within its WITH, the clauses of the start may come too
                clauses = tuple(dict.fromkeys((*FOLLOWING[kinds[1]], *WALK)))
            if latest == "WITH":
                clauses = WALK
            yield from _starting([c for c in clauses if c.split()[0] not in keywords], word)

    def _operands(self, keyword: str, operand: str, word: str) -> Iterator[Completion]:
        """What the keyword takes."""
        last = operand.rpartition(",")[2].lstrip()
        if keyword in ("LOOKUP", "FUZZY", "WITH"):
            if keyword == "WITH":
                yield from _starting(("LOOKUP", "FUZZY", "SEARCH", "SELECT"), word if word == operand else " ")
            yield from self._labels(last)
        elif keyword == "TRAVERSE":
            yield from _starting(self._in_use()["edge_types"], last)
        elif keyword == "TYPE":
            types = {type for counts in self._in_use()["types"].values() for type in counts if type}
            yield from _starting(sorted(types), word)
        elif keyword in ("IN", "FROM"):
            yield from _starting(SCHEMAS, word)
        elif keyword == "DIRECTION":
            yield from _starting(DIRECTIONS, word)
        elif keyword == "BREADTH":
            yield from _starting(("ALL",), word)
        elif keyword == "BY":
            yield from _starting(ORDER_FIELDS, word)

    def _labels(self, typed: str) -> Iterator[Completion]:
        prefix = typed.strip("'\"")
        if not prefix.strip():
            return
        for name in self._memory().complete(prefix, limit=LABELS):
            yield Completion(quoted(name) if typed[0] in "'\"" else label_text(name), -len(typed), display=name)

    def _in_use(self) -> dict[str, Any]:
        """What `Memory.stats` says, counted once for each memory: it is asked for at every key."""
        memory = self._memory()
        if self._known is None or self._known[0] is not memory:
            self._known = (memory, memory.stats())
        return self._known[1]


def _words(text: str) -> list[str]:
    """The words before the cursor; the last is the one being typed, perhaps empty."""
    words = _WORD.findall(text)
    return words if text and not text[-1].isspace() else [*words, ""]


def _after(text: str, count: int) -> str:
    """What follows the first `count` words."""
    for word in list(_WORD.finditer(text))[count - 1 : count]:
        return text[word.end() :].lstrip()
    return ""


def _starting(options: Iterable[str], typed: str) -> Iterator[Completion]:
    """The options that start with what is typed, in the case it is typed in."""
    for option in options:
        if option.lower().startswith(typed.lower()):
            shown = option.lower() if typed and typed.islower() else option
            yield Completion(shown, -len(typed))


def _unique(completions: Iterable[Completion]) -> Iterator[Completion]:
    seen = set()
    for completion in completions:
        if completion.text not in seen:
            seen.add(completion.text)
            yield completion
