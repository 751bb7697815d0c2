"""Texts: the title, date and authors that one has, by its front matter, a heading or its file's
name.

Front matter is the `key: value` block between `---` lines at the head of a Markdown file.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

from msgspec.structs import replace

from ..text import dates
from .document import Document

_BLOCK = re.compile(r"---[ \t]*\n(.*?)^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.S | re.M)
_PAIR = re.compile(r"([A-Za-z][\w .-]*?)[ \t]*:(?:[ \t]+(.*)|[ \t]*)")
_ITEM = re.compile(r"[ \t]*-[ \t]+(.*)")
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)")
_DATE_KEYS = ("date", "created", "published", "year", "period")
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
# a day, alone or before words: `2026-03-02`, `2026_03_02`, `2026-03-02 Monday`
_DAY_OF_NOTE = re.compile(r"(\d{4})([-_])(\d\d)\2(\d\d)(?![\d])")
_TITLE_LINES = 40  # of a text in which its title is looked for


def markdown(whole: Document) -> Document:
    """A text in Markdown with what its front matter and its name say of it."""
    facts, body = split_front_matter(whole.text)
    authors = facts.get("authors", facts.get("author", ()))
    if isinstance(authors, str):
        authors = [name.strip() for name in authors.split(",")]
    times = [dates.parse(_first_year(facts.get(name))) for name in _DATE_KEYS]
    # a daily note is of its day, whenever it was created
    times.insert(1, day_of(whole.uri))
    return replace(
        whole,
        title=str(facts.get("title") or heading(whole.text[body:]) or whole.title),
        body=body,
        media_type="text/markdown",
        at=next((time for time in times if time), None),
        authors=tuple(str(name) for name in authors if str(name).strip()),
        metadata={**whole.metadata, "front_matter": facts} if facts else whole.metadata,
    )


def title_of(uri: str) -> str:
    """Make a title of a file name: `q1-retrospective.md` is "q1 retrospective"; a day stays one."""
    name = _file_name(uri.rstrip("/\\"))
    stem = name.rpartition(".")[0] or name
    if _DAY.fullmatch(stem):
        return stem
    return " ".join(stem.replace("_", " ").replace("-", " ").split()) or uri


def heading(text: str) -> str:
    """Find the first heading: `# Title`, or a line underlined with `===`, `---` and the like."""
    lines = text.split("\n", _TITLE_LINES)[:_TITLE_LINES]
    for line, below in zip(lines, [*lines[1:], ""], strict=True):
        if line.startswith("# "):
            return line[2:].strip().strip("#").strip()
        title, underline = line.strip(), below.strip()
        long_enough = len(underline) >= max(3, len(title))
        if title and long_enough and len(set(underline)) == 1 and underline[0] in "=-*~#":
            return title
    return ""


def day_of(uri: str) -> datetime | None:
    """The day that a note is of by its name, as daily notes are named; None for others.

    >>> day_of("/vault/2026-03-02.md").isoformat(), day_of("2026-13-02.md"), day_of("q1.md")
    ('2026-03-02T00:00:00+00:00', None, None)
    """
    day = _DAY_OF_NOTE.match(_file_name(uri))
    if not day:
        return None
    try:
        return datetime(int(day[1]), int(day[3]), int(day[4]), tzinfo=UTC)
    except ValueError:
        return None


def _file_name(uri: str) -> str:
    return uri.replace("\\", "/").rpartition("/")[2]


def _first_year(value: Any) -> Any:
    """The start of a period such as "1750-1775"; any other value as it is."""
    if isinstance(value, str) and len(value) == 9 and value[:4].isdigit() and value[5:].isdigit():
        return value[:4]
    return value


def split_front_matter(text: str) -> tuple[dict[str, Any], int]:
    """Read the front matter; returns its values, keys in lower case, and where the body begins.

    It takes what front matter is made of in practice: text, whole numbers, true/false, and lists in
    either form; deeper structures are left out. A block that is not front matter, such as text
    between two rules, is body.

    >>> split_front_matter("---\\ntitle: 'A: b'\\nyear: 1754\\ntags: [x, y]\\n---\\nBody")
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
