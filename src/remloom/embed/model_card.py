"""The model card of an embedder: what cosines of its vectors mean, which languages it knows, and
which prefixes of documents and queries it was trained with."""

from __future__ import annotations

import re

from msgspec import Struct

from ..text.language import is_english

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


class ModelCard(Struct, frozen=True, kw_only=True):
    """Measured figures, by which recall and dreaming judge an embedder's vectors.

    An embedder may have one as its attribute `model_card`. Without one every question is taken
    to be in a language that it knows, and nothing is concluded from a cosine alone.
    """

    # cosine below which the best window is hardly about the question
    near: float
    # cosine below which a record is about something else than the question
    far: float
    # mean and standard deviation of the cosine of any two texts
    mean: float
    deviation: float
    languages: tuple[str, ...] = ()  # ISO 639-1; none: all languages

    def knows_language_of(self, text: str) -> bool:
        """Whether it may know the language of a text, as far as script and common words tell.

        This tells only English from the others, so an embedder of several is taken to know it.
        """
        return set(self.languages) != {"en"} or is_english(text)


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
