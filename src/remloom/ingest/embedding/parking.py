"""Which texts a model cannot take, unless it is the model that is broken."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...errors import EmbedderError, EmbedderTimeoutError, RemloomError, VectorError
from ...store.results import Pending


def store_each(
    batch: Sequence[Pending],
    store: Callable[[Sequence[Pending]], object],
    *,
    probe: Callable[[], object],
) -> dict[str, RemloomError]:
    """Store what a model makes of a batch of texts; where that fails, of each by itself. Returns
    why, by the id of each text that fails alone.

    Args:
        store: makes and stores it.
        probe: asks the model for what it can do if it works at all, when every text has failed.

    Raises:
        EmbedderError, VectorError: every text fails, and so does the probe.
        EmbedderTimeoutError: it takes too long. That says nothing of the texts.
    """
    try:
        store(batch)
        return {}
    except EmbedderTimeoutError:
        raise
    except (EmbedderError, VectorError) as error:
        batch_error = error
    failures: dict[str, RemloomError] = {batch[0].id: batch_error} if len(batch) == 1 else {}
    for item in batch if len(batch) > 1 else ():
        try:
            store([item])
        except EmbedderTimeoutError:
            raise
        except (EmbedderError, VectorError) as error:
            failures[item.id] = error
    if len(failures) == len(batch):
        try:
            probe()
        except (EmbedderError, VectorError):
            raise batch_error from None
    return failures
