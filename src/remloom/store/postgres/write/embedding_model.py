"""Which embedder's vectors a tenant has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...embedding_model import choose_model
from ..statements import SQL

if TYPE_CHECKING:
    from .transaction import Transaction


def register_model(transaction: Transaction, name: str, dims: int, *, current: bool = True) -> int:
    """Return the number of an embedder, registered with its dimensions. See
    `store.embedding_model.choose_model`."""
    models = transaction.rows(SQL.models)
    number, is_new = choose_model(models, name, dims, current=current)
    if is_new:
        transaction.run(SQL.insert_model, model=number, name=name, dims=dims, current=current)
        if name and not models and current:
            # what was written while there was no embedder was not queued
            transaction.run(SQL.enqueue_unembedded)
    return number
