"""Readings: the answer to a question about documents, and what it rests on."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import Struct

from ..errors import InvalidInputError
from .lines.lines import cite_lines

# where a quote was found: in the lines that are cited, word for word or nearly; in other lines
# that were read, which are cited now; nowhere
Found: TypeAlias = Literal["verbatim", "close", "moved", "unfounded"]


class Cited(Struct, frozen=True, kw_only=True):
    """Lines that are cited, and the quote that was looked for in them."""

    uri: str
    document: str  # its name
    first: int  # lines, from 1, both included
    last: int
    quote: str = ""
    found: Found = "unfounded"
    page: int = 0  # from 1; 0 where there are no pages
    # false: the lines are not those of the source, but of the text that was taken from it
    lined: bool = True

    @property
    def source(self) -> str:
        """`uri:first-last`, `uri#page=n` where the document has pages, or the `uri` alone."""
        return cite_lines(self.uri, (self.first, self.last), self.page, lined=self.lined)

    def as_dict(self) -> dict[str, Any]:
        shown: dict[str, Any] = msgspec.to_builtins(self)
        return shown | {"source": self.source}


class Sentence(Struct, frozen=True, kw_only=True):
    """A sentence of an answer with what it rests on."""

    text: str
    citations: tuple[Cited, ...] = ()
    # why it should not be trusted; empty: it is quoted, and nothing that is checked differs
    doubt: str = ""


class Reading(Struct, frozen=True, kw_only=True):
    """The answer to a question about documents. Source: seed 3.

    Without an answer in what was read, `found` is False and `answer` says what was searched.
    """

    question: str
    answer: str = ""
    found: bool = False
    iterations: int = 0
    unique_lines: int = 0  # that were read
    total_words: int = 0  # in them
    elapsed_time: float = 0.0  # seconds
    sentences: tuple[Sentence, ...] = ()
    doubts: tuple[str, ...] = ()  # reasons not to trust the answer, or parts of it
    steps: tuple[ReadStep, ...] = ()
    # share of each document's words that was read, 0 to 1, by its name
    coverage: dict[str, float] = {}
    tokens: int = 0  # in and out, of all calls
    calls: int = 0  # of the model
    session: str = ""

    @property
    def history(self) -> tuple[ReadStep, ...]:
        """The steps, under the name of seed 3."""
        return self.steps

    @property
    def citations(self) -> tuple[Cited, ...]:
        """All that is cited, in the order of the sentences, each once."""
        every = (citation for sentence in self.sentences for citation in sentence.citations)
        return tuple(dict.fromkeys(every))

    def as_dict(self) -> dict[str, Any]:
        """The reading as JSON has it, with what is cited and where it stands."""
        shown: dict[str, Any] = msgspec.to_builtins(self)
        shown["history"] = shown.pop("steps")
        return shown | {"citations": [citation.as_dict() for citation in self.citations]}


class ReadStep(Struct, frozen=True, kw_only=True):
    """A turn of a reading. Source: seed 3."""

    iteration: int  # from 0
    thought: str = ""
    reading_mode: str = ""
    goal: str = ""
    sql: str = ""  # as it ran
    row_count: int = 0
    word_count: int = 0
    satisfied: bool = False
    next_move: str = ""
    sample_lines: tuple[str, ...] = ()
    original_sql: str = ""  # as the model wrote it
    fixes: tuple[str, ...] = ()  # what was changed in it
    error: str = ""  # why it did not run
    notes: str = ""  # what the model noted of the lines it had seen
    # document and lines, from 1, both included, that were shown
    lines: tuple[tuple[str, int, int], ...] = ()
    tokens: int = 0  # in and out


class Rows(Struct, frozen=True, kw_only=True):
    """The rows of a query over the lines of documents."""

    sql: str  # as it ran
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[Any, ...], ...] = ()
    fixes: tuple[str, ...] = ()  # what was changed in the query, in words
    truncated: bool = False  # there were more rows

    @property
    def row_count(self) -> int:
        return len(self.rows)

    @property
    def word_count(self) -> int:
        """The sum of the column `word_count`; 0 where there is none."""
        if "word_count" not in self.columns:
            return 0
        at = self.columns.index("word_count")
        return sum(row[at] for row in self.rows if isinstance(row[at], int))

    @property
    def is_empty(self) -> bool:
        return not self.rows

    def as_dicts(self) -> list[dict[str, Any]]:
        """Each row as a dictionary."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]

    def dataframe(self) -> Any:
        """The rows as a DataFrame of pandas.

        Raises:
            InvalidInputError: pandas is not installed.
        """
        try:
            pandas = import_module("pandas")
        except ImportError as error:
            raise InvalidInputError(
                "a DataFrame needs pandas", remedy="pip install pandas, or use `as_dicts()`"
            ) from error
        return pandas.DataFrame.from_records(self.rows, columns=self.columns)
