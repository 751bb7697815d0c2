"""Reading documents as a person does: an outline, a search, the lines that matter, an answer."""

from .check.evidence import Coverage
from .lines.documents import DocumentStats
from .lines.lines import Passage
from .lines.outline import Outline, Section
from .loop.events import EventType, ReadEvent
from .loop.session import Session
from .loop.strategy import ReadingStrategy
from .result import Cited, Reading, ReadStep, Rows, Sentence

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
