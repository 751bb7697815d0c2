"""Finding what answers a question, in several ways at once, and saying why, or that there is
nothing."""

from .recall import MODES, PARTS, Recaller
from .rerankers.load import Passage, Reranker

__all__ = ["MODES", "PARTS", "Passage", "Recaller", "Reranker"]
