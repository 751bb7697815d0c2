"""The `key: value` block between `---` lines at the head of a Markdown file."""

from __future__ import annotations

import re
from typing import Any

_BLOCK = re.compile(r"---[ \t]*\n(.*?)^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.S | re.M)
_PAIR = re.compile(r"([A-Za-z][\w .-]*?)[ \t]*:(?:[ \t]+(.*)|[ \t]*)")
_ITEM = re.compile(r"[ \t]*-[ \t]+(.*)")
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)")


def split(text: str) -> tuple[dict[str, Any], int]:
    """Read the front matter; returns its values, keys in lower case, and where the body begins.

    It takes what front matter is made of in practice: text, whole numbers, true/false, and lists in
    either form; deeper structures are left out. A block that is not front matter, such as text
    between two rules, is body.

    >>> split("---\\ntitle: 'A: b'\\nyear: 1754\\ntags: [x, y]\\n---\\nBody")
    ({'title': 'A: b', 'year': 1754, 'tags': ['x', 'y']}, 46)
    """
    block = _BLOCK.match(text)
    if not block:
        return {}, 0
    values: dict[str, Any] = {}
    last = ""  # key, of which a list may follow
    for line in block[1].splitlines():
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        item = _ITEM.fullmatch(line)
        if item and last and isinstance(values.get(last, []), list):
            values.setdefault(last, []).append(_scalar(item[1]))
            continue
        pair = _PAIR.fullmatch(line)
        if pair:
            last = pair[1].lower()
            if pair[2]:
                values[last] = _value(pair[2].strip())
        elif not line[0].isspace():
            # prose between two rules
            return {}, 0
    return values, block.end()


def _value(text: str) -> Any:
    if text.startswith("[") and text.endswith("]"):
        return [_scalar(part) for part in text[1:-1].split(",") if part.strip()]
    return _scalar(text)


def _scalar(text: str) -> str | int | bool:
    text = text.strip()
    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'":
        return text[1:-1]
    # a comment behind the value
    text = re.sub(r"\s+#.*$", "", text)
    if text in ("true", "false"):
        return text == "true"
    return int(text) if _NUMBER.fullmatch(text) else text
