"""Lines of code in a text: what stands between fences, and what can only be a statement."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

_FENCE = re.compile(r"(`{3,}|~{3,})([^`]*)$")
_LONGEST = 400  # characters of a line that is looked at
_STATEMENT = re.compile(
    r"""
    (?:async[ ]+)?def[ ]+\w+[ ]*[(\[]
    | class[ ]+\w+[ ]*(?:\([^()]*\))?[ ]*[:{]$
    | (?:export[ ]+|default[ ]+|async[ ]+)*function\b[ *]*\w*[ ]*\(
    | import[ ]+[a-zA-Z_][\w.]*(?:[ ]+as[ ]+\w+)?;?$
    | import[ ]+(?:static[ ]+)?[\w.]+\.[\w*]+;?$
    | import[ ]+[\w{*].*[ ]from[ ]+["']
    | from[ ]+[\w.]+[ ]+import[ ]+[\w(*]
    | (?:const|let|var)[ ]+[\w{\[][^=]*=[ ]*\S
    | (?:public|private|protected|static)[ ].*[({;]
    | \#[ ]*(?:include[ ]*[<"]|define[ ]+\w|ifn?def[ ]+\w|endif\b|pragma[ ]+\w)
    | (?:return|throw|break|continue)\b[^.]*;$
    | (?:\}[ ]*)?(?:if|else[ ]if|for|while|switch|catch)[ ]*\(.*\)[ ]*\{$
    | (?:\}[ ]*)?(?:else|try|do|finally)[ ]*\{$
    | [\])}]+[;,]?$
    | [\w.\[\]"']+[ ]*(?:[-+*/|&]?=|:=)[ ]*\S.*;$
    | [a-z_][\w.]*\(.*\);$
    | print\(.*\)$
    | >>>[ ]
    | \$[ ][a-z][\w-]*(?:[ ]|$)
    | @\w[\w.]*(?:\(.*\))?$
    """,
    re.X,
)


def is_statement(text: str) -> bool:
    """Whether a line without blanks around it is code, whatever is beside it.

    >>> is_statement("import os"), is_statement("import duties rose"), is_statement("class service")
    (True, False, False)
    """
    return len(text) <= _LONGEST and _STATEMENT.match(text) is not None


def code_ranges(texts: Sequence[str], fences: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield the fenced blocks among lines: the positions of the first fence, and behind the last.

    A fence that is never closed encloses nothing.

    Args:
        fences: the positions of the lines that begin like one.
    """
    marks = [_FENCE.match(texts[position].strip()) for position in fences]
    longest = _longest_closers(marks)
    at = 0
    while at < len(fences):
        opener = marks[at]
        if opener is None or longest[at].get(opener[1][0], 0) < len(opener[1]):
            at += 1
            continue
        closer = next(
            later for later in range(at + 1, len(fences)) if _closes(marks[later], opener[1])
        )
        yield fences[at], fences[closer] + 1
        at = closer + 1


def _closes(mark: re.Match[str] | None, opener: str) -> bool:
    return mark is not None and not mark[2].strip() and mark[1].startswith(opener)


def _longest_closers(marks: Sequence[re.Match[str] | None]) -> list[dict[str, int]]:
    """For each fence, how long the longest that could close it are, by their character."""
    longest: dict[str, int] = {}
    behind: list[dict[str, int]] = []
    for mark in reversed(marks):
        behind.append(longest)
        if mark is not None and not mark[2].strip():
            character, length = mark[1][0], len(mark[1])
            if longest.get(character, 0) < length:
                longest = {**longest, character: length}
    return behind[::-1]
