"""What may come next in a statement: keywords, edge types, schemas, types, and the labels the
memory knows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from ....query.render import quote, render_label
from ....query.statements import DIRECTIONS, KEYWORDS, ORDER_FIELDS, SEARCH_MODES
from ....text.quoting import visible
from .statements import split

if TYPE_CHECKING:
    from ....memory import Memory, MemoryStats


LABELS = 12  # labels offered at most
SCHEMAS = ("resources", "entities", "moments")
# what a statement, or the WITH of a TRAVERSE, begins with
STARTS = ("LOOKUP", "FUZZY", "SEARCH", "SELECT")
WALK = ("DEPTH", "DIRECTION", "BREADTH", "ORDER BY", "LIMIT", "MEMO", "AS OF")
CLAUSES = {  # of each kind of query, in their order
    "LOOKUP": WALK,
    "FUZZY": ("TYPE", "THRESHOLD", "LIMIT"),
    "SEARCH": ("IN", "WHERE", "MODE", "MIN", "LIMIT"),
    "SELECT": ("FROM", "WHERE", "ORDER BY", "LIMIT"),
}
NEED_NO_OPERAND = ("TRAVERSE", "PLAN", "ALL", "ASC", "DESC")


class StatementCompleter(Completer):
    """Completes what is typed in the shell.

    Args:
        memory: gives the memory of the moment, which `\\tenant` may change.
        commands: the shell's own commands, each with its meaning.
    """

    def __init__(self, memory: Callable[[], Memory], commands: dict[str, str]) -> None:
        self._memory = memory
        self._commands = commands
        self._counted: tuple[Memory, MemoryStats] | None = None

    def get_completions(
        self, document: Document, complete_event: CompleteEvent
    ) -> Iterator[Completion]:
        typed = document.text_before_cursor.lstrip()
        if typed.startswith("\\"):
            for name, meaning in self._commands.items():
                if name.startswith(typed):
                    yield Completion(name, -len(typed), display_meta=meaning)
            return
        statements = split(typed)
        # The statement at the cursor, with the space at its end that `split` takes off: a space
        # says that the last word is whole.
        current = ""
        if statements and not typed.rstrip().endswith(";"):
            current = typed[typed.rindex(statements[-1]) :]
        seen = set()
        for completion in self._of_statement(current):
            if completion.text not in seen:
                seen.add(completion.text)
                yield completion

    def _of_statement(self, text: str) -> Iterator[Completion]:
        word = "" if not text or text[-1].isspace() else text.split()[-1]
        words = text[: len(text) - len(word)].split()
        positions = []
        for position, whole in enumerate(words):
            if whole.upper() in KEYWORDS or whole.upper() in ("BY", "OF"):
                positions.append(position)
        keywords = [words[position].upper() for position in positions]
        if not keywords:
            yield from _starting((*STARTS, "TRAVERSE", "EXPLAIN"), word)
            return
        if keywords == ["EXPLAIN"]:
            yield from _starting((*STARTS, "TRAVERSE"), word)
            return
        # Behind the last keyword stands its operand, of which the part after a comma is typed now.
        behind = positions[-1] + 1
        operand = text.split(maxsplit=behind)[behind:]
        latest = operand[0].rpartition(",")[2].lstrip() if operand else ""
        yield from self._operands(keywords[-1], latest)
        # A clause may follow once the operand has a whole word.
        if latest != word or keywords[-1] in NEED_NO_OPERAND:
            unused = [name for name in _clauses(keywords) if name.split()[0] not in keywords]
            yield from _starting(unused, word)

    def _operands(self, keyword: str, typed: str) -> Iterator[Completion]:
        match keyword:
            case "LOOKUP" | "FUZZY":
                yield from self._labels(typed)
            case "WITH":
                yield from _starting(STARTS, typed)
                yield from self._labels(typed)
            case "TRAVERSE":
                yield from _starting(self._stats().edge_types, typed)
            case "TYPE":
                types: set[str] = set()
                for counts in self._stats().types.values():
                    types.update(counts)
                # records without a type are counted under ""
                yield from _starting(sorted(types - {""}), typed)
            case "IN" | "FROM":
                yield from _starting(SCHEMAS, typed)
            case "MODE":
                yield from _starting(SEARCH_MODES, typed)
            case "DIRECTION":
                yield from _starting(DIRECTIONS, typed)
            case "BREADTH":
                yield from _starting(("ALL",), typed)
            case "BY":
                yield from _starting(ORDER_FIELDS, typed)

    def _labels(self, typed: str) -> Iterator[Completion]:
        prefix = typed.strip("'\"")
        if not prefix.strip():
            return
        for name in self._memory().admin.complete(prefix, limit=LABELS):
            if name.casefold() != prefix.strip().casefold():
                shown = quote(name) if typed[0] in "'\"" else render_label(name)
                yield Completion(shown, -len(typed), display=visible(name))

    def _stats(self) -> MemoryStats:
        """Count the memory's types, once for each memory: completion runs at every key."""
        memory = self._memory()
        if self._counted is None or self._counted[0] is not memory:
            self._counted = (memory, memory.admin.stats())
        return self._counted[1]


def _clauses(keywords: Sequence[str]) -> Sequence[str]:
    starts = [keyword for keyword in keywords if keyword in CLAUSES]
    if "TRAVERSE" not in keywords:
        return CLAUSES[starts[0]]
    if "WITH" not in keywords:
        return ("PLAN", "WITH")
    # The start of a traversal is itself a statement, whose clauses come before those of the walk.
    own = CLAUSES[starts[0]] if starts else ()
    return tuple(dict.fromkeys((*own, *WALK)))


def _starting(options: Iterable[str], typed: str) -> Iterator[Completion]:
    for option in options:
        if option.lower().startswith(typed.lower()):
            yield Completion(option.lower() if typed.islower() else option, -len(typed))
