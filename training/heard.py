"""The languages that are heard: those in which the head "statement" decides well enough of turns
that it was not trained on. Training that head writes them into a file, and the head "language"
names all others."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from remloom.heads.head import LASTING_BY_WORDS

__all__ = ["LASTING", "Heard", "heard_languages", "judge", "write_heard"]

FILE = Path(__file__).with_name("heard.txt")
LASTING = "lasting"  # the label of what is heard
# of the held-out turns in a language: how many say something lasting, the share of these that is
# heard, and the share of what is believed that is right
LEAST_LASTING, LEAST_HEARD, LEAST_RIGHT = 80, 0.7, 0.8


class Heard(NamedTuple):
    """How held-out turns in a language are heard, by words alone.

    Args:
        lasting: how many say something lasting.
        heard: how many of these are heard.
        others: how many say nothing lasting.
        believed: how many of these are believed wrongly.
    """

    lasting: int
    heard: int
    others: int
    believed: int

    @property
    def is_enough(self) -> bool:
        """Whether the language counts as heard."""
        return (
            self.lasting >= LEAST_LASTING
            and self.heard >= LEAST_HEARD * self.lasting
            and self.heard >= LEAST_RIGHT * (self.heard + self.believed)
        )


def judge(
    languages: Sequence[str], labels: Sequence[str], lasting: NDArray[np.float64]
) -> dict[str, Heard]:
    """How turns are heard, by language.

    Args:
        languages: of the turns.
        labels: that are right.
        lasting: probability of each that it says something lasting, shape (turns,).
    """
    is_lasting, believed = np.asarray(labels) == LASTING, lasting >= LASTING_BY_WORDS
    found = {}
    for language in sorted(set(languages)):
        own = np.asarray(languages) == language
        parts = (is_lasting, is_lasting & believed, ~is_lasting, ~is_lasting & believed)
        found[language] = Heard(*(int((own & part).sum()) for part in parts))
    return found


def write_heard(found: dict[str, Heard], path: Path = FILE) -> None:
    """Write the languages that are heard, one a line."""
    heard = (f"{language}\n" for language, one in found.items() if one.is_enough)
    path.write_text("".join(heard), encoding="utf-8")
    heard_languages.cache_clear()


@cache
def heard_languages(path: Path = FILE) -> frozenset[str]:
    """The languages that are heard, by their codes."""
    return frozenset(path.read_text(encoding="utf-8").split())
