"""Terms as numbers: an index knows each by a hash of 40 bits.

So a term and a row of a segment fit into one number of 64 bits, and sort as one.
"""

from __future__ import annotations

from functools import cache
from hashlib import blake2b

from ...text.analysis import terms_of_word, words

HASH_BITS = 40

_CACHED_WORDS = 100_000
_CODE_BYTES = 8  # a hash and three zeros, so that numpy reads codes as 64-bit numbers


class TermHasher(dict[str | bytes, bytes]):
    """A cache from words to the codes of their terms, 8 bytes each."""

    def __missing__(self, word: str | bytes) -> bytes:
        # Emptied whole: to know the word that was used least lately would cost every lookup.
        if len(self) >= _CACHED_WORDS:
            self.clear()
        codes = b"".join([_hash(term) for term in terms_of_word(word)])
        self[word] = codes
        return codes

    def hash_terms(self, text: str) -> bytes:
        """Hash the terms of a text, as `text.analysis.terms` gives them, into 8 bytes each."""
        return b"".join(map(self.__getitem__, words(text)))


def hash_terms(text: str) -> bytes:
    """Hash the terms of a text like `TermHasher`, by a cache that the whole process shares."""
    return _shared_hasher().hash_terms(text)


@cache
def _shared_hasher() -> TermHasher:
    return TermHasher()


def _hash(term: str) -> bytes:
    data = term.encode("utf-8", "surrogatepass")
    return blake2b(data, digest_size=HASH_BITS // 8).digest().ljust(_CODE_BYTES, b"\0")
