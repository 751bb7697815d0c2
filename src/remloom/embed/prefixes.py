"""Prefixes of texts: some models were trained with one for documents and one for queries."""

from __future__ import annotations

import re

_RETRIEVE = "Represent this sentence for searching relevant passages: "
# a part of the model's name: (document, query)
_KNOWN: tuple[tuple[str, tuple[str, str]], ...] = (
    (r"nomic-embed-text", ("search_document: ", "search_query: ")),
    (r"e5-(?!.*instruct)", ("passage: ", "query: ")),
    (
        r"bge-(?:small|base|large)-en|mxbai-embed-large|snowflake-arctic-embed(?!.*v2)",
        ("", _RETRIEVE),
    ),
    (r"snowflake-arctic-embed.*v2", ("", "query: ")),
)


def prefixes(model: str) -> tuple[str, str]:
    """The prefixes for documents and for queries; empty for models that were trained without.

    >>> prefixes("nomic-embed-text-v1.5")
    ('search_document: ', 'search_query: ')
    """
    matching = (pair for pattern, pair in _KNOWN if re.search(pattern, model.lower()))
    return next(matching, ("", ""))


def identity(model: str) -> str:
    """Name the vectors of a model: its own name, and whether it is used with prefixes.

    >>> identity("intfloat/multilingual-e5-small"), identity("text-embedding-3-small")
    ('multilingual-e5-small+prefixes', 'text-embedding-3-small')
    """
    name = model.rpartition("/")[2]
    return f"{name}+prefixes" if any(prefixes(model)) else name
