"""From the beginning of a run's work to its end, however it ends."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ..errors import BudgetError, RemloomError
from .heartbeat import heartbeat
from .writer import Writer

__all__ = ["run_to_end"]


@contextmanager
def run_to_end(writer: Writer) -> Iterator[None]:
    """Keep a run alive while the work inside is done, then end it.

    It ends as done, or as stopped with the reason; then the same call resumes it. A budget that is
    used up stops it without an error. Any other error of ours gets the run as its field `run`.
    """
    try:
        with heartbeat(writer):
            yield
    except BudgetError as error:
        writer.finish("stopped", str(error))
    except BaseException as error:
        run = writer.finish("stopped", _describe(error))
        if isinstance(error, RemloomError):
            error.fields["run"] = run
        raise
    else:
        writer.finish()


def _describe(error: BaseException) -> str:
    if isinstance(error, RemloomError):
        return str(error)
    if isinstance(error, KeyboardInterrupt):
        return "interrupted"
    return f"{type(error).__name__}: {error}"
