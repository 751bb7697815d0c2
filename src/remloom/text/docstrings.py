"""Docstrings, read for those who call from outside: what a function does, and what it takes."""

from __future__ import annotations

import re
from inspect import cleandoc

_SECTIONS = r"\n\n\s*(?:Args|Attributes|Example|Fields|Raises|Returns|Yields|>>>)"
# what is for readers of the code
_REFERENCES = r"\s*Source: [^.]*\.|\s*See docs/\S+\.(?=\s|$)"
_ARGUMENT = re.compile(r"^    (\w+(?:, \w+)*): (.*(?:\n {5,}.*)*)", re.MULTILINE)


def head_of(text: str) -> str:
    """Give what a docstring says before its sections, on one line.

    >>> head_of("A key. Source: RFC 1.\\n\\n    Attributes:\\n        id: `a`.")
    'A key.'
    """
    return _plain(re.sub(_REFERENCES, "", re.split(_SECTIONS, text, maxsplit=1)[0]))


def first_paragraph(text: str) -> str:
    """Give the first paragraph of a docstring, on one line."""
    return head_of(cleandoc(text).partition("\n\n")[0])


def arguments_of(text: str) -> dict[str, str]:
    """Give what a docstring says of each argument; "hours, since: …" says it of two.

    >>> arguments_of("Walk.\\n\\n    Args:\\n        depth, limit: of `n`\\n            steps.")
    {'depth': 'of n steps.', 'limit': 'of n steps.'}
    """
    _, _, rest = cleandoc(text).partition("\nArgs:\n")
    section = re.split(r"\n(?=\S)", rest, maxsplit=1)[0]
    return {
        name: _plain(description)
        for names, description in _ARGUMENT.findall(section)
        for name in names.split(", ")
    }


def _plain(text: str) -> str:
    return re.sub(r"\s+", " ", text.replace("`", "")).strip()
