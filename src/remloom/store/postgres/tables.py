"""The tables that have rows of tenants."""

from __future__ import annotations

# each before what it refers to
TABLES = (
    "journal_subjects",
    "journal",
    "postings",
    "runs",
    "vectors",
    "token_vectors",
    "token_failures",
    "token_models",
    "pending",
    "parents",
    "name_pages",
    "name_runs",
    "names",
    "edges",
    "degrees",
    "rels",
    "models",
    "records",
    "tenants",
)
