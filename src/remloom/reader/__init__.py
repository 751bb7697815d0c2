"""Reading documents as a person does: an outline, a search, the lines that matter, an answer."""

from .coverage import Coverage
from .documents import DocumentStats
from .events import EventType, ReadEvent
from .outline import Outline, Section
from .passage import Passage
from .result import Cited, Reading, Sentence
from .rows import Rows
from .session import Session
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
    "Rows",
    "Section",
    "Sentence",
    "Session",
]
