"""Where one statement ends and the next begins, in text typed or piped into the shell.

A `;` ends a statement. So does the end of a line, unless the statement is still open: inside
quotes, or after a comma. Quotes open only where a word could begin, so the apostrophe of O'Brien is
none; `--` starts a comment.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator


def split(text: str) -> list[str]:
    """Split a text into statements, without their `;`. The last may be open; empty ones go.

    >>> split("LOOKUP sally; FUZZY 'a; b' -- c; d")
    ['LOOKUP sally', "FUZZY 'a; b' -- c; d"]
    """
    return _scan(text)[0]


def is_open(text: str) -> bool:
    """Say whether the last statement goes on in the next line.

    >>> is_open("LOOKUP sally,"), is_open('FUZZY "sal'), is_open("LOOKUP O'Brien")
    (True, True, False)
    """
    return _scan(text)[1]


def from_lines(lines: Iterable[str]) -> Iterator[str]:
    """Yield the statements of a stream, each as soon as its line has come."""
    waiting = ""
    for line in lines:
        waiting += line if line.endswith("\n") else line + "\n"
        if not is_open(waiting):
            yield from split(waiting)
            waiting = ""
    yield from split(waiting)


def _scan(text: str) -> tuple[list[str], bool]:
    statements: list[str] = []
    start = at = 0
    # the last character that is neither white space nor comment
    last = ""
    while at < len(text):
        char = text[at]
        if char in "'\"" and not (text[at - 1 : at].isalnum()):
            end = _closing(text, at)
            if end < 0:
                return [*statements, text[start:].strip()], True
            # a whole string is passed over: a `;` or `--` in it is text
            at = end
            last = char
        elif text.startswith("--", at) and not text[at - 1 : at].strip():
            end = text.find("\n", at)
            at = len(text) if end < 0 else end
            continue
        elif char == ";":
            statements.append(text[start:at].strip())
            start = at + 1
            last = ""
        elif not char.isspace():
            last = char
        at += 1
    # comments alone are not a statement
    if last:
        statements.append(text[start:].strip())
    return [statement for statement in statements if statement], last == ","


def _closing(text: str, opening: int) -> int:
    """Find where the string that opens here closes, or -1.

    A doubled or backslashed quote does not close it.
    """
    quote = text[opening]
    at = opening + 1
    while at < len(text):
        if text[at] == "\\":
            at += 1
        elif text[at] == quote:
            if text[at + 1 : at + 2] != quote:
                return at
            at += 1
        at += 1
    return -1
