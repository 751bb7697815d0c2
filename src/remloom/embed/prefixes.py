"""What models want to be told before a text: some were trained with a prefix for documents and one
for queries."""

from __future__ import annotations

import re

__all__ = ["identity", "prefixes"]

_RETRIEVE = "Represent this sentence for searching relevant passages: "
_KNOWN: tuple[tuple[str, tuple[str, str]], ...] = (  # a part of the model's name: (document, query)
    (r"nomic-embed-text", ("search_document: ", "search_query: ")),
    (r"e5-(?!.*instruct)", ("passage: ", "query: ")),
    (
        r"bge-(?:small|base|large)-en|mxbai-embed-large|snowflake-arctic-embed(?!.*v2)",
        ("", _RETRIEVE),
    ),
    (r"snowflake-arctic-embed.*v2", ("", "query: ")),
)


def prefixes(model: str) -> tuple[str, str]:
    """The prefix for documents and that for queries; empty for models that want none.

    >>> prefixes("nomic-embed-text-v1.5")
    ('search_document: ', 'search_query: ')
    """
    found = (pair for pattern, pair in _KNOWN if re.search(pattern, model.lower()))
    return next(found, ("", ""))


def identity(model: str) -> str:
    """The name recorded with vectors: that of the model, and that it is used with prefixes.

    >>> identity("intfloat/multilingual-e5-small"), identity("text-embedding-3-small")
    ('multilingual-e5-small+prefixes', 'text-embedding-3-small')
    """
    name = model.rpartition("/")[2]
    return f"{name}+prefixes" if any(prefixes(model)) else name
