"""The terminal: all output of the command line goes through here, and no other module prints.

Texts that were read may hold characters that steer a terminal, hide text, or reverse its direction:
escapes, the other controls, zero-width and bidirectional marks, TAG characters, variation
selectors. None of them comes out of here. Results that programs read (`--json`) keep them, spelled
as JSON escapes.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING, Any

import click

from ....text.quoting import escaped, visible

if TYPE_CHECKING:
    from rich.console import Console


PIPE_WIDTH = 120  # columns of output that goes to no terminal


def to_json(data: Any) -> str:
    """Encode data as one JSON document, keys sorted, two spaces deep, with a newline at its end.

    Characters that `visible` would take out are escaped.
    """
    import msgspec

    encoded = msgspec.json.encode(data, enc_hook=str, order="sorted")
    text = msgspec.json.format(encoded, indent=2).decode()
    # line by line: most lines are plain
    return "\n".join(map(escaped, text.split("\n"))) + "\n"


def echo(text: object = "", *, err: bool = False, nl: bool = True) -> None:
    click.echo(visible(text), err=err, nl=nl)


def warn(message: Warning | str, *_: object, **__: object) -> None:
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
                shown = visible(segment.text) if segment.control is None else segment.text
                yield segment if shown == segment.text else Segment(shown, segment.style)

    return Visible
