"""Reading documents as a person does: an outline, a search, the lines that matter, an answer."""

from .find.coverage import Coverage
from .lines.documents import DocumentStats
from .lines.outline import Outline, Section
from .lines.passage import Passage
from .loop.events import EventType, ReadEvent
from .loop.session import Session
from .loop.strategy import ReadingStrategy
from .result import Cited, Reading, Sentence
from .sql.rows import Rows
from .step import ReadStep

__all__ = [
    "Cited",
    "Coverage",
    "DocumentStats",
    "EventType",
    "Outline",
    "Passage",
    "ReadEvent",
    "ReadStep",
    "Reading",
    "ReadingStrategy",
    "Rows",
    "Section",
    "Sentence",
    "Session",
]
