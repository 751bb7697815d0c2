"""Words of the names of tables and columns: "CustDeptIDs" -> cust, dept, id.

Names come in camel case, with underscores, in capitals, with words joined without a sign; with
prefixes that all columns of a table share, and with short forms.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from importlib.resources import files

import msgspec
from msgspec import Struct

_CAMEL = re.compile(
    r"[A-ZÄÖÜ]{2,}s(?=[A-Z_]|$)|[A-ZÄÖÜ]+(?=[A-ZÄÖÜ][a-zà-ÿ])|[A-ZÄÖÜ]?[a-zà-ÿ]+|[A-ZÄÖÜ]+|\d+|[^\W\d_]+"
)
_SHORTEST_PART = 3  # letters, of a word among others that are written as one
_SHORTEST_PREFIX = 3  # letters of a word that stand for all of it
_FEW_TABLES = 3  # whose names may begin with one word by chance
_LONGEST_OWN_PREFIX = 4  # letters of what all columns of a table begin with
# short forms of several words
_FUSED = frozenset({"fname", "lname", "mname", "dob"})
_VOWELS = re.compile("(?<!^)[aeiou]")


class Role(Struct, frozen=True):
    """Parts that somebody plays ("manager"), and the kinds of tables that have who plays them."""

    words: frozenset[str]
    kinds: tuple[str, ...]


class NameWords(Struct, frozen=True):
    """What is known of words (words.toml)."""

    identifiers: frozenset[str]
    opaque: frozenset[str]
    natural: frozenset[str]
    table_words: frozenset[str]
    little: frozenset[str]
    singulars: dict[str, str]
    abbreviations: dict[str, tuple[str, ...]]
    parts: tuple[Role, ...]
    same_table: dict[str, tuple[str, ...]]
    vocabulary: frozenset[str]
    whole: frozenset[str]


@cache
def word_lists() -> NameWords:
    data = files(__package__).joinpath("words.toml").read_bytes()
    return msgspec.toml.decode(data, type=NameWords)


@lru_cache(maxsize=4096)
def singular(word: str) -> str:
    """Make the singular of an English word.

    >>> [singular(word) for word in ("categories", "addresses", "statuses", "people", "class")]
    ['category', 'address', 'status', 'person', 'class']
    """
    known = word_lists().singulars.get(word)
    if known:
        return known
    if len(word) < 4 or not word.endswith("s") or word.endswith(("ss", "us", "is", "os")):
        return word
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "ches", "shes", "xes", "zzes")):
        return word[:-2]
    return word[:-1]


@lru_cache(maxsize=4096)
def split_name(name: str) -> tuple[str, ...]:
    """Split a name where its letters or signs say so, in lower case and in the singular.

    >>> split_name("SupportRepID"), split_name("ORDER_ITEMS"), split_name("order details")
    (('support', 'rep', 'id'), ('order', 'item'), ('order', 'detail'))
    """
    # a name of signs alone is a word
    return tuple(singular(word.lower()) for word in _CAMEL.findall(name)) or (name.lower(),)


@lru_cache(maxsize=4096)
def snake(name: str) -> str:
    """Write a name in small letters with underscores, as a field is called.

    >>> snake("BillingAddress"), snake("Order Details"), snake("2nd%")
    ('billing_address', 'order_details', 'n_2_nd')
    """
    words = [word.lower() for word in _CAMEL.findall(name)]
    ascii_only = [re.sub(r"[^a-z0-9]", "", word) for word in words]
    joined = "_".join(word for word in ascii_only if word) or "column"
    return joined if joined[0].isalpha() else f"n_{joined}"


class Vocabulary:
    """The words of one database: splits names that are written as one by them.

    >>> words = Vocabulary(["orders", "suppliers", "car_makers"])
    >>> words.of_column("o_orderkey", ["o_orderkey", "o_total"]), words.of_column("suppkey")
    (('order', 'key'), ('supp', 'key'))
    """

    def __init__(self, tables: Iterable[str]) -> None:
        tables = list(tables)
        self._own = {word for name in tables for word in split_name(name) if len(word) > 2}
        self._known = self._own | word_lists().vocabulary
        self._split = cache(self._find_split)
        bare = tuple(name.rpartition(".")[2] for name in tables)
        self._prefix = self._own_prefix(bare) if len(bare) > _FEW_TABLES else ""
        self._tables = {name: self._without_table_words(name) for name in tables}
        same = Counter(self._tables.values())
        # customers and customer_info are two
        for name, words in self._tables.items():
            if same[words] > 1:
                self._tables[name] = self._split_all(split_name(name.rpartition(".")[2]))

    def of_table(self, name: str) -> tuple[str, ...]:
        """The words of a table's name: without its schema, and what says only that it is one."""
        return self._tables[name]

    def of_column(self, name: str, others: Sequence[str] = ()) -> tuple[str, ...]:
        """The words of a column's name, without the prefix that it shares with all `others`."""
        found = split_name(name)
        if len(found) > 1 and found[0] == self._own_prefix(tuple(others)):
            found = found[1:]
        return self._split_all(found)

    def _own_prefix(self, names: tuple[str, ...]) -> str:
        """A short word that nearly all these names begin with: l_orderkey, l_partkey; or ""."""
        if len(names) < 2:
            return ""
        first = Counter(split[0] for split in map(split_name, names) if len(split) > 1)
        if not first:
            return ""
        word, times = first.most_common(1)[0]
        is_short = len(word) <= _LONGEST_OWN_PREFIX
        return word if is_short and times >= max(2, 0.8 * len(names)) else ""

    def _without_table_words(self, name: str) -> tuple[str, ...]:
        found = self._split_all(split_name(name.rpartition(".")[2]))
        if len(found) > 1 and found[0] == self._prefix:
            found = found[1:]
        kept = tuple(word for word in found if word not in word_lists().table_words)
        return kept or found

    def _split_all(self, words: Sequence[str]) -> tuple[str, ...]:
        return tuple(part for word in words for part in self._split(word))

    def _find_split(self, word: str) -> tuple[str, ...]:
        lists = word_lists()
        if word in _FUSED:
            return tuple(" ".join(lists.abbreviations[word]).split())
        is_known = word in lists.vocabulary or word in lists.abbreviations
        if is_known or word in lists.whole or len(word) < 4:
            return (word,)
        # a table may itself be called by words that are written as one
        if word in self._own:
            return self._halves(word) or (word,)
        for ending in sorted(lists.identifiers, key=len, reverse=True):
            front = word.removesuffix(ending)
            if front != word and self._begins_word(front):
                return (*self._split(front), ending)
        return self._halves(word) or (word,)

    def _halves(self, word: str) -> tuple[str, ...]:
        """Two or more known words that are written as this one; none if it is none."""
        for end in range(len(word) - _SHORTEST_PART, _SHORTEST_PART - 1, -1):
            front, rest = singular(word[:end]), singular(word[end:])
            if front not in self._known:
                continue
            if rest in self._known:
                return (front, rest)
            if further := self._halves(rest):
                return (front, *further)
        return ()

    def _begins_word(self, front: str) -> bool:
        """Whether it is a word, several, or what one of this database's own begins with."""
        if front in self._known or front in word_lists().abbreviations:
            return True
        if len(front) < _SHORTEST_PREFIX:
            return False
        return any(word.startswith(front) for word in self._own) or bool(self._halves(front))


def is_identifier(words: Sequence[str]) -> bool:
    """Whether the name of a column says that it identifies something.

    >>> is_identifier(("customer", "id")), is_identifier(("ship", "via")), is_identifier(("total",))
    (True, True, False)
    """
    lists = word_lists()
    known = (lists.identifiers, lists.natural, ("via", "by", "to"))
    return bool(words) and any(words[-1] in each for each in known)


def content_words(words: Sequence[str]) -> tuple[str, ...]:
    """The words that say what is identified: without "id", without little ones at its end.

    >>> content_words(("billing", "address", "id")), content_words(("ship", "via"))
    (('billing', 'address'), ('ship',))
    """
    lists = word_lists()
    kept = list(words)
    while kept and (kept[-1] in lists.identifiers or kept[-1] in lists.little):
        kept.pop()
    # the SKU of a product says of which; a SKU alone does too
    if len(kept) > 1 and kept[-1] in lists.natural:
        kept.pop()
    return tuple(kept)


@lru_cache(maxsize=65_536)
def likeness(short: str, word: str) -> float:
    """How surely a word of a column stands for one of a table, from 0 to 1.

    >>> likeness("dept", "department"), likeness("cust", "customer"), likeness("city", "county")
    (0.95, 0.95, 0.0)
    """
    if short == word:
        return 1.0
    expanded = word_lists().abbreviations
    if word in expanded.get(short, ()) or short in expanded.get(word, ()):
        return 0.95
    less, more = sorted((short, word), key=len)
    # "employ" and "employee"; but "orders" are no "orderpriority"
    if len(less) >= _SHORTEST_PREFIX and more.startswith(less):
        is_same = less == short or len(more) - len(less) <= 3
        # what was ordered is not an order
        return 0.9 if is_same and not more.endswith("ed") else 0.0
    # without its vowels: "cntr" of "center"
    if len(less) >= _SHORTEST_PREFIX and _VOWELS.sub("", more) == less:
        return 0.85
    return 0.8 if _is_typing_error(less, more) else 0.0


def _is_typing_error(one: str, other: str) -> bool:
    if min(len(one), len(other)) < 6:
        return False
    from rapidfuzz.distance import DamerauLevenshtein

    return DamerauLevenshtein.distance(one, other, score_cutoff=1) <= 1
