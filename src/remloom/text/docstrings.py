"""What functions say of themselves, read for those who call from outside."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable
from functools import cache
from importlib import import_module
from importlib.util import resolve_name
from inspect import cleandoc, getsource
from textwrap import dedent
from typing import Any

_SECTIONS = r"\n\n\s*(?:Args|Attributes|Example|Fields|Raises|Returns|Yields|>>>)"
# what is for readers of the code
_REFERENCES = r"\s*Source: [^.]*\.|\s*See docs/\S+\.(?=\s|$)"
_TYPING_BLOCK = re.compile(r"^if TYPE_CHECKING:\n((?:[ \t]+.*\n|\n)+)", re.MULTILINE)
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
    """Give what a docstring says of each argument or field; "hours, since: …" says it of two.

    >>> arguments_of("Walk.\\n\\n    Args:\\n        depth, limit: of `n`\\n            steps.")
    {'depth': 'of n steps.', 'limit': 'of n steps.'}
    """
    found: dict[str, str] = {}
    for rest in re.split(r"\n(?:Args|Attributes):\n", cleandoc(text))[1:]:
        section = re.split(r"\n(?=\S)", rest, maxsplit=1)[0]
        for names, meaning in _ARGUMENT.findall(section):
            found |= dict.fromkeys(names.split(", "), _plain(meaning))
    return found


def typing_names(module: str, annotations: Iterable[object]) -> dict[str, Any]:
    """Import what annotations name that their module imports for type checkers alone."""
    words = {word for text in annotations for word in re.findall(r"\w+", str(text))}
    origins = _typing_imports(module)
    return {
        word: getattr(import_module(origins[word][0]), origins[word][1])
        for word in words & origins.keys()
    }


@cache
def _typing_imports(module: str) -> dict[str, tuple[str, str]]:
    """Of each name that a module imports under TYPE_CHECKING: the module, and the name there."""
    found: dict[str, tuple[str, str]] = {}
    try:
        source = getsource(sys.modules[module])
    except (OSError, TypeError):
        # what is typed at a prompt has none
        return found
    for block in _TYPING_BLOCK.findall(source):
        for node in ast.parse(dedent(block)).body:
            if isinstance(node, ast.ImportFrom):
                relative = "." * node.level + (node.module or "")
                origin = resolve_name(relative, sys.modules[module].__package__)
                found |= {one.asname or one.name: (origin, one.name) for one in node.names}
    return found


def _plain(text: str) -> str:
    return re.sub(r"\s+", " ", text.replace("`", "")).strip()
