"""What becomes of texts that a model cannot take: they are parked, unless it is the model that is
broken."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..errors import EmbedderError, EmbedderTimeoutError, RemloomError, VectorError
from ..store.results import Pending

__all__ = ["store_or_park"]


def store_or_park(
    batch: Sequence[Pending],
    store: Callable[[Sequence[Pending]], object],
    park: Callable[[str, str], None],
) -> None:
    """Store what a model makes of a batch of texts; where that fails, of each by itself, and park
    those that fail alone.

    Args:
        store: makes and stores it.
        park: counts a failed attempt of a text, by its id, with the reason.

    Raises:
        EmbedderError, VectorError: the model fails with every text, or with the only one at its
            first attempt.
        EmbedderTimeoutError: it takes too long. That says nothing of the texts.
    """
    try:
        store(batch)
        return
    except EmbedderTimeoutError:
        raise
    except (EmbedderError, VectorError) as error:
        if len(batch) == 1 and not batch[0].attempts:
            park(batch[0].id, str(error))
            raise
        batch_error = error
    failures: dict[str, RemloomError] = {}
    for item in batch:
        try:
            store([item])
        except EmbedderTimeoutError:
            raise
        except (EmbedderError, VectorError) as error:
            failures[item.id] = error
    # all of several texts: the model is broken, not the texts
    if len(failures) == len(batch) > 1:
        raise batch_error
    for id, reason in failures.items():
        park(id, str(reason))
