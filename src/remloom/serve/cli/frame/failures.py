"""Errors as messages on stderr and exit codes."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from errno import ENOSPC
from typing import NoReturn

import click

from ....errors import InvalidInputError, RemloomError, StoreFullError
from .terminal import console, echo, to_json

# exit codes beside those of `RemloomError.exit_code`
INTERRUPTED, BROKEN_PIPE, UNEXPECTED = 130, 141, 70


@contextmanager
def boundary(*, json: bool) -> Iterator[None]:
    """Turn whatever goes wrong inside into a message on stderr and an exit code; no traceback."""
    try:
        yield
        # here, where a full disk or a closed pipe can still be reported
        if sys.stdout is not None:  # some supervisors close it
            sys.stdout.flush()
    except (click.ClickException, click.exceptions.Exit, click.Abort):
        raise
    except KeyboardInterrupt:
        raise click.exceptions.Exit(INTERRUPTED) from None
    except BrokenPipeError:
        # The reader of our output has left. Python would flush, and fail, once more when it exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise click.exceptions.Exit(BROKEN_PIPE) from None
    except RemloomError as error:
        _fail(error, json=json)
    except UnicodeError as error:
        # arguments and standard input may hold bytes that are not text
        not_text = InvalidInputError(
            f"this is not UTF-8: {error}", remedy="convert it, for example with iconv"
        )
        _fail(not_text, json=json)
    except OSError as error:
        message = error.strerror or str(error)
        if error.filename:
            message = f"{error.filename}: {error.strerror}"
        kind = StoreFullError if error.errno == ENOSPC else RemloomError
        _fail(kind(message), json=json)
    except Exception as error:
        if _debugging():
            raise
        bug = RemloomError(
            f"unexpected {type(error).__name__}: {error}",
            remedy="this is a bug in Remloom: "
            "set REMLOOM_DEBUG=1 to see where, and please report it",
        )
        _fail(bug, json=json, code=UNEXPECTED)


def _debugging() -> bool:
    from ....settings import Settings

    try:
        return Settings.load().debug
    except RemloomError:
        # Wrong settings must not hide the error that is about to be reported.
        return False


def _fail(error: RemloomError, *, json: bool, code: int | None = None) -> NoReturn:
    report(error, json=json)
    raise click.exceptions.Exit(code or error.exit_code) from None


def report(error: RemloomError, *, json: bool) -> None:
    """Print an error on stderr: its message and remedy, or its fields as one JSON document."""
    if json:
        echo(to_json(error.as_dict()), nl=False, err=True)
    elif sys.stderr.isatty():
        from rich.text import Text

        console(stderr=True).print(
            Text.assemble(("error: ", "bold red"), str(error)), soft_wrap=True
        )
    else:
        echo(f"error: {error}", err=True)
