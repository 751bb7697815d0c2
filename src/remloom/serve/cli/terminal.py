"""The terminal: everything that the command line shows goes through here, and no other module
prints.

What was read may hold characters that steer a terminal, hide text, or turn its direction round:
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
# Without a width or a meaning of their own: they join or part letters, or say how one is drawn. The
# last one of several selectors is kept where it may be: one makes an emoji of a sign, many spell a
# hidden text.
_NOTHING = (
    r"\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200d\u2060-\u2065\u3164\ufeff\uffa0"
)
# These turn the direction of a text round, or hide one: that they were there is to be seen.
_HIDING = (
    r"\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u200e\u200f\u202a-\u202e\u2066-\u206f\ufff9-\ufffb"
    r"\U000110bd\U000110cd\U00013430-\U0001345f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_SELECTORS = r"[\ufe00-\ufe0f](?=[\ufe00-\ufe0f])"

_unshown = re.compile(f"[{_CONTROLS}{_NOTHING}{_HIDING}]|{_SELECTORS}")
_controls, _nothing = re.compile(f"[{_CONTROLS}]"), re.compile(f"[{_NOTHING}]|{_SELECTORS}")
_hiding = re.compile(f"[{_HIDING}]+")


def visible(value: object) -> str:
    """A value as text that is safe to show. Line breaks stay; what has no width, or would steer the
    terminal, goes."""
    text = str(value)
    if (text.isascii() and text.isprintable()) or not _unshown.search(text):
        return text
    return _hiding.sub("\N{REPLACEMENT CHARACTER}", _nothing.sub("", _controls.sub(" ", text)))


def to_json(data: Any) -> str:
    """One JSON document, keys sorted, two spaces deep, with a newline at its end; what is not
    visible is escaped."""
    import msgspec

    text = msgspec.json.format(
        msgspec.json.encode(data, enc_hook=str, order="sorted"), indent=2
    ).decode()
    lines = (
        line if line.isascii() and line.isprintable() else _unshown.sub(_escaped, line)
        for line in text.split("\n")
    )
    return "\n".join(lines) + "\n"


def echo(text: object = "", *, err: bool = False, nl: bool = True) -> None:
    """Print a text."""
    click.echo(visible(text), err=err, nl=nl)


def warn(message: Warning | str, *_: object, **__: object) -> None:
    """Print a warning, as `warnings.showwarning` does."""
    echo(f"warning: {message}", err=True)


def console(*, stderr: bool = False) -> Console:
    """A console that draws colours only on a terminal (and not with NO_COLOR), and has a steady
    width elsewhere."""
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
        """Draws nothing that is not visible; what it tells the terminal itself it may."""

        def render(self, renderable: Any, options: Any = None) -> Iterable[Segment]:
            for segment in super().render(renderable, options):
                if segment.control is None and _unshown.search(segment.text):
                    yield Segment(visible(segment.text), segment.style)
                else:
                    yield segment

    return Visible


def _escaped(found: re.Match[str]) -> str:
    """As JSON spells it: in two halves where it needs them."""
    halves = found[0].encode("utf-16-be")
    return "".join(
        f"\\u{int.from_bytes(halves[at : at + 2]):04x}" for at in range(0, len(halves), 2)
    )
