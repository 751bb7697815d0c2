"""The tools of a reading, made of what a reader has open."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING

from .documents import Documents, Notice
from .outline import Outline
from .passage import Passage
from .queries import LineQueries
from .strategy import ReadTools
from .transcript import Range

if TYPE_CHECKING:
    from .search import LineSearch

__all__ = ["make_tools"]


def make_tools(
    current: Callable[[], Documents],
    search: Callable[[], LineSearch],
    queries: LineQueries,
    note_shown: Callable[[Range], object],
) -> ReadTools:
    """Make the tools of a reading of the documents as they are now.

    Args:
        current: gives the documents as the memory has them at the time.
        search: gives the search, which takes a moment to load.
        queries: SQL over lines; without an engine for it no model can use it.
    """
    documents = {lines.name: lines for lines in current()}
    opened = list(documents.values())

    def outline(tokens: int) -> tuple[str, Sequence[Range]]:
        sections = [section for lines in opened for section in lines.sections]
        headings = [(section.document, section.first, section.first) for section in sections]
        return str(Outline(tuple(sections), tokens)), headings

    def find(question: str, words: int) -> list[Passage]:
        return search().find(question, opened, words=words)

    def refresh() -> list[Notice]:
        now = {lines.name: lines for lines in current()}
        return [
            Notice(name, lines.uri, forgotten=name not in now)
            for name, lines in documents.items()
            if now.get(name) is not lines
        ]

    return ReadTools(
        documents=documents,
        outline=outline,
        find=find,
        queries=queries if find_spec("duckdb") else None,
        refresh=refresh,
        note_shown=note_shown,
    )
