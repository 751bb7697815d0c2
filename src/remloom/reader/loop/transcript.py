"""What a move of a reading brought, as the model reads it: numbered lines, quoted, kept short.

Lines are shown as in their document, whatever a query made of them; other values as a table.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from msgspec import Struct

from ...llm import Quote
from ...text.quoting import one_line
from ..check.evidence import ShownLines, fit_lines, number_lines
from ..lines.lines import Lines
from ..result import ReadStep, Rows
from .calls import count_tokens

# document, first and last line, from 1, both included
Range: TypeAlias = tuple[str, int, int]

_LONGEST_CELL = 200  # characters of a value in a table
_LINE = "line_num"
_TOKENS = 1_200  # of all turns
_MOST_RANGES = 12
_SEARCHED = re.compile(r"(?i)\bsearch\(\s*'((?:[^']|'')+)'|\bi?like\s+'((?:[^']|'')+)'")


class ShownText(Struct, frozen=True):
    """What was shown to a model."""

    text: str = ""
    ranges: tuple[Range, ...] = ()
    left: str = ""  # what was not shown, and how to get at it; empty: nothing

    @property
    def quote(self) -> Quote:
        return Quote("\n\n".join(filter(None, (self.text, self.left))), trust="read")


def show_lines(documents: Mapping[str, Lines], ranges: Iterable[Range], tokens: int) -> ShownText:
    """Show lines in this order, each once, as many as fit."""
    shown: list[Range] = []
    blocks = []
    requested = list(ranges)
    for name, first, last in requested:
        lines = documents[name]
        fitting, used = fit_lines(lines, first, last, tokens)
        if fitting < first:
            break
        tokens -= used
        prefix = f"{one_line(name, 0)}: " if len(documents) > 1 else ""
        shown.append((name, first, fitting))
        blocks.append(f"[{prefix}Lines {first}-{fitting}]\n{number_lines(lines, first, fitting)}")
        if fitting < last:
            break
    hidden = _count(requested) - _count(shown)
    left = f"and {hidden:,} more lines that did not fit: ask for fewer" if hidden else ""
    return ShownText("\n\n".join(blocks), tuple(shown), left)


def show_rows(documents: Mapping[str, Lines], rows: Rows, tokens: int) -> ShownText:
    """Show the rows of a query: the lines that they are, or else a table."""
    if rows.is_empty:
        return ShownText("", (), "no lines: other words, or another range")
    ranges = line_ranges(documents, rows)
    if ranges:
        return show_lines(documents, ranges, tokens)
    shown = []
    for values in (rows.columns, *rows.rows):
        line = " | ".join(map(_cell, values))
        tokens -= count_tokens(line) + 1
        if tokens < 0:
            break
        shown.append(line)
    hidden = rows.row_count + 1 - len(shown)
    left = f"and {hidden:,} more rows that did not fit: ask for fewer" if hidden else ""
    return ShownText("\n".join(shown), (), left)


def line_ranges(documents: Mapping[str, Lines], rows: Rows) -> list[Range]:
    """The lines that rows are, in their order; neighbours that follow each other are one range.

    Without a column `doc`, a row is a line of the only document, or of those with its text at that
    line.
    """
    ranges: list[Range] = []
    seen: set[tuple[str, int]] = set()
    for name, number in _numbers(documents, rows):
        if (name, number) in seen:
            continue
        seen.add((name, number))
        if ranges and ranges[-1][0] == name and ranges[-1][2] == number - 1:
            ranges[-1] = (name, ranges[-1][1], number)
        else:
            ranges.append((name, number, number))
    return ranges


def _numbers(documents: Mapping[str, Lines], rows: Rows) -> Iterator[tuple[str, int]]:
    if _LINE not in rows.columns:
        return
    for row in rows.as_dicts():
        number = row[_LINE]
        if not isinstance(number, int):
            continue
        for name in _documents_of(documents, row, number):
            if 1 <= number <= len(documents[name]):
                yield name, number


def _documents_of(
    documents: Mapping[str, Lines], row: Mapping[str, Any], number: int
) -> Sequence[str]:
    if row.get("doc") in documents:
        return [str(row["doc"])]
    if len(documents) == 1:
        return list(documents)
    return [
        name
        for name, lines in documents.items()
        if number <= len(lines) and lines.texts[number - 1] == row.get("text")
    ]


def _count(ranges: Iterable[Range]) -> int:
    return sum(last - first + 1 for _, first, last in ranges)


def _cell(value: object) -> str:
    text = " ".join(str(value).split())
    return text if len(text) <= _LONGEST_CELL else text[: _LONGEST_CELL - 1] + "…"


def describe_steps(steps: Sequence[ReadStep]) -> str:
    """Describe the turns with their notes; of many, the last ones."""
    texts: list[str] = []
    left = _TOKENS
    for step in reversed(steps):
        text = _describe_step(step)
        left -= count_tokens(text)
        if left < 0 and texts:
            texts.append("(earlier turns are left out)")
            break
        texts.append(text)
    return "\n".join(reversed(texts))


def describe_documents(documents: Mapping[str, Lines]) -> str:
    return "\n".join(
        f"doc '{' '.join(name.split())}': lines 1-{len(lines)}, {lines.total_words} words"
        for name, lines in documents.items()
    )


def describe_coverage(evidence: ShownLines) -> str:
    """Describe which lines of each document were read."""
    parts = []
    for number, (name, lines) in enumerate(evidence.documents.items(), 1):
        spans = _spans(list(evidence.coverage(name)))
        # a name is what a document says of itself, so it is none of our words
        which = f"document {number}: " if len(evidence.documents) > 1 else ""
        parts.append(f"{which}{spans} of {len(lines)}")
    return "; ".join(parts)


def searched_words(steps: Iterable[ReadStep]) -> list[str]:
    found: dict[str, None] = {}
    for step in steps:
        for ranked, like in _SEARCHED.findall(step.sql):
            words = (ranked or like.strip("%_")).replace("''", "'").strip()
            if words:
                found[words] = None
    return list(found)


def _describe_step(step: ReadStep) -> str:
    brought = f"error: {step.error}" if step.error else f"{step.row_count} rows"
    if step.lines:
        brought += f", {_spans([(first, last) for _, first, last in step.lines])}"
    query = " ".join(step.original_sql.split()) or "no query"
    lines = [f"turn {step.iteration + 1}, {step.reading_mode or 'read'}: {query}", brought]
    if step.notes:
        # of what was shown before the query of the turn ran
        lines.insert(0, f"notes: {' '.join(step.notes.split())}")
    return "\n".join(lines)


def _spans(ranges: Sequence[tuple[int, int]]) -> str:
    if not ranges:
        return "no line"
    spans = ", ".join(f"{first}-{last}" for first, last in ranges[:_MOST_RANGES])
    more = len(ranges) - _MOST_RANGES
    return f"lines {spans}" + (f" and {more} more places" if more > 0 else "")
