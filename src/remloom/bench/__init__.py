"""Measures whether memories find the evidence: `remloom bench`. No language model is called."""

from .compare import BenchResult, MemoryResult, compare
from .data import BenchDocument, BenchQuestion, Dataset, load

__all__ = [
    "BenchDocument",
    "BenchQuestion",
    "BenchResult",
    "Dataset",
    "MemoryResult",
    "compare",
    "load",
]
