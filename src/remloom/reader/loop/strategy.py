"""Strategies: how a reading goes about it (seed 3, "ReadingStrategy"), and what is read without a
model, so that a weak one begins with what fits best."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Protocol

from msgspec import Struct

from ...errors import InvalidInputError
from ...llm.prompts import hint
from ..check.evidence import ShownLines, number_lines
from ..lines.documents import Notice
from ..lines.lines import Lines, Passage
from ..result import ReadStep
from .calls import count_tokens
from .transcript import Range, show_lines

if TYPE_CHECKING:
    from ..sql.queries import LineQueries

_FIRST_LINES = 30  # of each document, in the first look
_FOUND_WORDS = 1_000  # that the search of the first look brings
_MODES = ("overview", "search", "read", "deep_read")
# value of lines when evidence is packed, down from FOUND: what fits the question best comes before
# all that a model chooses, what else fits behind
FOUND = 3.0
OPENING = 0.3
_FILLING = 0.1
_FILLING_WORDS = 2_500


# The descriptions and limits are part of what the model is asked: a change of them is one of its
# prompt. What a model leaves out is taken as empty, but it is asked for all: a small one that is
# held to a schema writes no more than it must.
class Step(Struct, frozen=True, kw_only=True):
    """A turn: what to read next, or that enough was read, or that every part has to be."""

    thought: Annotated[str, hint(maxLength=300)] = ""
    notes: Annotated[str, hint(maxLength=800)] = ""
    reading_mode: Annotated[str, hint(enum=_MODES)] = ""
    goal: Annotated[str, hint(maxLength=120)] = ""
    list_all: bool = False
    sql_query: Annotated[str, hint(maxLength=500)] | None
    satisfied: bool
    next_move: Annotated[str, hint(maxLength=120)] = ""

    @property
    def mode(self) -> str:
        """One of the four modes; empty: the model named none of them."""
        mode = "_".join(self.reading_mode.lower().replace("-", " ").replace("_", " ").split())
        return mode if mode in _MODES else ""

    @property
    def query(self) -> str:
        """The query without blanks around it; empty: there is none."""
        return (self.sql_query or "").strip()


# a step, as it is asked for
RequestedStep = Annotated[Step, hint(required=list(Step.__struct_fields__))]


class ReadTools(Struct, frozen=True, kw_only=True):
    """What a reading does with the documents that are open."""

    documents: Mapping[str, Lines]  # by their names
    # the outline in so many tokens, and the lines of the headings that it shows
    outline: Callable[[int], tuple[str, Sequence[Range]]]
    find: Callable[[str, int], Sequence[Passage]]  # question and words -> passages
    queries: LineQueries | None  # None: there is no engine for SQL
    # the documents that were changed or forgotten since the question came
    refresh: Callable[[], Sequence[Notice]] = list
    note_shown: Callable[[Range], object] = bool  # called with the lines that were shown


class FirstLook(Struct, frozen=True):
    """What a reading begins with: lines to be shown in this order, the best of them by value."""

    opening: tuple[Range, ...] = ()  # how the documents begin
    found: tuple[Range, ...] = ()  # what fits the question, the best first


class Strategy(Protocol):
    """How a reading goes about it; given to `memory.reader(…, strategy=…)`.

    It must do the same for the same arguments, or else a reading that is resumed pays again.
    """

    def look_first(self, question: str, tools: ReadTools) -> FirstLook:
        """Choose what is read before the model is asked."""
        ...

    def guide(self, iteration: int, steps: Sequence[ReadStep]) -> str:
        """Say in words for the model what this turn is for.

        Args:
            iteration: from 0.
            steps: the turns so far.
        """
        ...


def checked_strategy(strategy: Strategy | None) -> Strategy | None:
    """Return a strategy, or None, as it is.

    Raises:
        InvalidInputError: it has not the methods of one.
    """
    methods = ("look_first", "guide")
    has_methods = all(callable(getattr(strategy, name, None)) for name in methods)
    if strategy is None or (has_methods and not isinstance(strategy, type)):
        return strategy
    raise InvalidInputError(
        f"strategy={strategy!r:.100} is no strategy for reading",
        remedy="derive one from remloom.reader.ReadingStrategy, and give an object of it",
    )


class ReadingStrategy:
    """Seed 3's: an overview, a search, then reading closely around what was found."""

    def look_first(self, question: str, tools: ReadTools) -> FirstLook:
        """See `Strategy`."""
        opening = [
            (name, 1, min(_FIRST_LINES, len(lines)))
            for name, lines in tools.documents.items()
            if len(lines)
        ]
        found = [
            (passage.document, passage.first, passage.last)
            for passage in tools.find(question, _FOUND_WORDS)
        ]
        return FirstLook(tuple(opening), tuple(found))

    def guide(self, iteration: int, steps: Sequence[ReadStep]) -> str:
        """See `Strategy`."""
        if iteration == 0:
            return (
                "This was the overview: how the documents begin, and what a search for the "
                "question found. Read on where the answer seems to be, or search in other words."
            )
        if steps and (steps[-1].error or not steps[-1].row_count):
            return "That brought nothing. Search in words that the text itself would use."
        if iteration == 1:
            return "Search for what is still missing, or read around what was found."
        return (
            "Read closely, 50-100 lines, around what was found and not read yet; "
            "be satisfied when the notes answer the whole question."
        )


def read_whole(tools: ReadTools, evidence: ShownLines, tokens: int) -> bool:
    """Read the documents whole if they have at most so many tokens; returns whether they have."""
    left = tokens
    for lines in tools.documents.values():
        # counting takes time, and no token has so many characters
        if sum(map(len, lines.texts)) > 8 * left:
            return False
        left -= count_tokens(number_lines(lines, 1, len(lines)))
        if left < 0:
            return False
    for name, lines in tools.documents.items():
        evidence.add(name, 1, len(lines), value=FOUND)
    return True


def fill_evidence(question: str, tools: ReadTools, evidence: ShownLines, tokens: int) -> None:
    """Read what else fits the question, as far as there is room in a pack of so many tokens."""
    packed = evidence.pack(tokens)
    room = tokens - packed.tokens
    if packed.left_out or room <= 0:
        return
    unread = [
        (passage.document, *gap)
        for passage in tools.find(question, _FILLING_WORDS)
        for gap in evidence.coverage(passage.document).unread(passage.first, passage.last)
    ]
    for range in show_lines(tools.documents, unread, room).ranges:
        evidence.add(*range, value=_FILLING)
