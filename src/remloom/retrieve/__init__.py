"""Finding what answers a question, in several ways at once, and saying why, or that there is
nothing."""

from .options import MODES, RecallOptions
from .recall import PARTS, Recaller
from .reranking import Passage, Reranker

__all__ = ["MODES", "PARTS", "Passage", "RecallOptions", "Recaller", "Reranker"]
