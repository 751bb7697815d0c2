"""The terminal: all output of the command line goes through here, and no other module prints.

Texts that were read may hold characters that steer a terminal, hide text, or reverse its direction:
escapes, the other controls, zero-width and bidirectional marks, TAG characters, variation
selectors. None of them comes out of here. Results that programs read (`--json`) keep them, spelled
as JSON escapes.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["PIPE_WIDTH", "console", "echo", "to_json", "visible", "warn"]

PIPE_WIDTH = 120  # columns of output that goes to no terminal

_CONTROLS = r"\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029"
# Without a width or a meaning of their own: they join or part letters, or say how one is drawn. Of
# several selectors in a row the last one stays: one makes an emoji of a sign, many spell a hidden
# text.
_NOTHING = (
    r"\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200d\u2060-\u2065\u3164\ufeff\uffa0"
)
# These reverse the direction of a text, or hide one: a replacement character shows that they were
# there.
_HIDING = (
    r"\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u200e\u200f\u202a-\u202e\u2066-\u206f"
    r"\ufff9-\ufffb\U000110bd\U000110cd\U00013430-\U0001345f\U0001bca0-\U0001bca3"
    r"\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_SELECTORS = r"[\ufe00-\ufe0f](?=[\ufe00-\ufe0f])"

_unshown = re.compile(f"[{_CONTROLS}{_NOTHING}{_HIDING}]|{_SELECTORS}")
_controls = re.compile(f"[{_CONTROLS}]")
_nothing = re.compile(f"[{_NOTHING}]|{_SELECTORS}")
_hiding = re.compile(f"[{_HIDING}]+")


def visible(value: object) -> str:
    """Make a value text that is safe to show.

    Line breaks stay; characters without width, or that would steer the terminal, go.
    """
    text = str(value)
    # most texts are plain ASCII, which needs no search
    if (text.isascii() and text.isprintable()) or not _unshown.search(text):
        return text
    text = _controls.sub(" ", text)
    text = _nothing.sub("", text)
    return _hiding.sub("\N{REPLACEMENT CHARACTER}", text)


def to_json(data: Any) -> str:
    """Encode data as one JSON document, keys sorted, two spaces deep, with a newline at its end.

    Characters that `visible` would take out are escaped.
    """
    import msgspec

    encoded = msgspec.json.encode(data, enc_hook=str, order="sorted")
    text = msgspec.json.format(encoded, indent=2).decode()
    lines = []
    # line by line: the line breaks of the document itself are not to be escaped
    for line in text.split("\n"):
        is_plain = line.isascii() and line.isprintable()
        lines.append(line if is_plain else _unshown.sub(_escape, line))
    return "\n".join(lines) + "\n"


def echo(text: object = "", *, err: bool = False, nl: bool = True) -> None:
    """Print a text."""
    click.echo(visible(text), err=err, nl=nl)


def warn(message: Warning | str, *_: object, **__: object) -> None:
    """Print a warning, as `warnings.showwarning` does."""
    echo(f"warning: {message}", err=True)


def console(*, stderr: bool = False) -> Console:
    """Make a console: colours on a terminal without NO_COLOR, `PIPE_WIDTH` columns elsewhere."""
    terminal = (sys.stderr if stderr else sys.stdout).isatty()
    width = None if terminal else PIPE_WIDTH
    made: Console = _consoles()(
        stderr=stderr, width=width, highlight=False, emoji=False, markup=False
    )
    return made


@cache
def _consoles() -> type[Console]:
    from rich.console import Console
    from rich.segment import Segment

    class Visible(Console):
        """Draws nothing but visible text; control codes of rich's own pass."""

        def render(self, renderable: Any, options: Any = None) -> Iterable[Segment]:
            for segment in super().render(renderable, options):
                if segment.control is None and _unshown.search(segment.text):
                    yield Segment(visible(segment.text), segment.style)
                else:
                    yield segment

    return Visible


def _escape(match: re.Match[str]) -> str:
    """Spell characters as JSON escapes."""
    # JSON escapes are UTF-16: a character beyond U+FFFF takes two
    encoded = match[0].encode("utf-16-be")
    units = [int.from_bytes(encoded[at : at + 2]) for at in range(0, len(encoded), 2)]
    return "".join(f"\\u{unit:04x}" for unit in units)
