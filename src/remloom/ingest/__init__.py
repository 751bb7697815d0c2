"""From a document to records: chunks, names, moments, and the edges between them."""

from __future__ import annotations

from .pipeline import ingest

__all__ = ["ingest"]
