"""The name index: keys like "sarah-chen" found by trigrams and ranked by edit similarity.

Names stand in order of their length, so the names that two edits can reach are one range of rows, and one range of
each trigram's postings. A query reads the rarest of its trigrams there, counts, and compares the names that
have most of them. A second index of the same kind over the words of names finds a name by some of its words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .arrays import Array, Ids
from .segments import Mask, Segment, SegmentedIndex

__all__ = ["NameIndex"]

Accept = Callable[[int], bool]
Rows = NDArray[np.int32]

EDITS = 2  # lengths differ by at most this much when whole names are compared
RAREST = 7  # trigrams read of each name
CANDIDATES = 64  # names compared of each segment, before `accept` asks for more
GOOD = 0.8  # a result this good is taken for what was meant
PARTIAL = 0.95  # what a name is worth that has all the words, but is not the text; less for what it has besides

_LONGEST = 64  # characters of a name that are indexed
_WORD = re.compile(r"[^\W_]+")
_CJK = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]{2,}")
_BLOCK = 100_000  # names at a time while building
