"""Measures whether memories find the evidence: `remloom bench`. No language model is called."""

from .compare import Comparison, MemoryResult, compare
from .data import Dataset, Document, Question, load

__all__ = ["Comparison", "Dataset", "Document", "MemoryResult", "Question", "compare", "load"]
