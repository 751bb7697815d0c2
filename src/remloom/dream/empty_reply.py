"""Whether a model's reply means NOTHING: that a text adds nothing to what is known."""

from __future__ import annotations

import re
from itertools import pairwise

from ..heads.features import LONGEST
from ..heads.head import head
from ..text.sentences import sentence_ends

_LITERAL = "NOTHING"  # what the prompts ask for
_MARKS = re.compile(r"\A[\W_]+|[\W_]+\Z")
# The head takes both to be equally frequent, but most replies other than the word itself are
# insights; and an insight that is lost is worse than a remark that is kept.
_SURE = 0.96
_LIKELY = 0.5
_FEW = 1  # word, which is no insight


def is_nothing(reply: str) -> bool:
    """Whether a reply means NOTHING: it is the word itself, or begins with it in capitals, or is
    surely of that meaning as a whole and without a sentence that says something.

    >>> shouted = ("NOTHING", "**Nothing.**", "NOTHING\\n\\nIt repeats what is said above.")
    >>> [is_nothing(text) for text in shouted]
    [True, True, True]
    >>> is_nothing("Der Text wiederholt nur, was wir schon wissen.")
    True
    >>> is_nothing("It repeats what we know. But the toll doubled in 1934.")
    False
    """
    sentences = [text for text in _sentences(reply) if _bare(text)]
    if not sentences or _LITERAL in (_bare(sentences[0]), _bare(reply).upper()):
        return True
    # of a longer one the head sees the beginning alone
    if max(map(len, sentences)) > LONGEST:
        return False
    sure = _LIKELY if len(reply.split()) <= _FEW else _SURE
    return _share(reply) >= sure and all(_share(text) >= _LIKELY for text in sentences)


def is_word_nothing(reply: str) -> bool:
    """Whether a reply is empty, or NOTHING in any case and no other word: of short facts a head
    would lose some.

    >>> is_word_nothing("Nothing."), is_word_nothing("He repeats himself often.")
    (True, False)
    """
    return _bare(reply).upper() in ("", _LITERAL)


def _sentences(reply: str) -> list[str]:
    return [
        line[start:end]
        for line in reply.splitlines()
        for start, end in pairwise((0, *sentence_ends(line)))
    ]


def _bare(text: str) -> str:
    return _MARKS.sub("", text)


def _share(text: str) -> float:
    """How probable it is that a text says nothing."""
    return head("reply").decide(text).probabilities["nothing"]
