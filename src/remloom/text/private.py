"""What is kept nowhere: `<private>…</private>`, as somebody marked it, and
`<remloom-memory>…</remloom-memory>`, as what a memory gave is marked, which would come back in.
"""

from __future__ import annotations

import re

from .edits import Edit, Edited, apply

_TAG = re.compile(r"<(?P<closes>/?)(?P<name>private|remloom-memory)(?:\s[^<>]*)?>", re.IGNORECASE)


def find_private(text: str) -> list[tuple[int, int]]:
    """Where such parts of a text begin and end, tags and all. One that is not closed goes to the
    end. A tag alone in backticks is spoken of, and begins nothing.

    >>> find_private("tea <private>and <PRIVATE>gin</Private> too</private>, `<private>`")
    [(4, 53)]
    """
    parts: list[tuple[int, int]] = []
    outer = ""  # the name of the tag that is open
    start = depth = 0
    for tag in _TAG.finditer(text):
        name = tag["name"].lower()
        if not depth and not tag["closes"] and not _is_quoted(text, tag):
            outer, start, depth = name, tag.start(), 1
        elif depth and name == outer:
            depth += -1 if tag["closes"] else 1
            if not depth:
                parts.append((start, tag.end()))
    return [*parts, (start, len(text))] if depth else parts


def without_private(text: str) -> Edited:
    """Take the private parts out of a text; of each its line ends stay.

    >>> without_private("one\\n<private>two\\nthree</private>\\nfour").text
    'one\\n\\n\\nfour'
    """
    parts = find_private(text)
    return apply(text, (Edit(s, e, "\n" * text.count("\n", s, e)) for s, e in parts))


def _is_quoted(text: str, tag: re.Match[str]) -> bool:
    return text.startswith("`", tag.start() - 1) and text.startswith("`", tag.end())
