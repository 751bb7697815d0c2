"""Addresses of items: namespace and key as one text, from which the id of the record comes.

An address is a path: `langgraph:/users/123//prefs` is the item "prefs" of ("users", "123"). A slash
or percent sign inside a label or key is escaped, so no two items have one address, and the items of
a namespace and of all below it are one range of addresses in the order of code points.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from ...errors import InvalidInputError
from ...labels import join_path, storable
from ...predicates import And, Gte, Lt, Predicate
from ..ids import record_id

Namespace = tuple[str, ...]

MARK = "//"  # ends the namespace in an address: no label is empty
_SCHEME = "langgraph:"  # no other record has a name that begins so
_END = "0"  # follows the slash in the order of code points


class AddressRange(NamedTuple):
    """All addresses from `first` up to, but without, `end`."""

    first: str
    end: str

    @property
    def predicate(self) -> Predicate:
        """The condition that a record's name is in it: one range of an index."""
        return And((Gte("name", self.first), Lt("name", self.end)))

    def behind(self, name: str) -> AddressRange:
        """What of it follows the items that are in the namespace of this one."""
        path, mark, _ = name.partition(MARK)
        return AddressRange(f"{path}/{_END}" if mark else f"{name}\x01", self.end)


def address_of(namespace: Namespace, key: str) -> str:
    """The address of an item.

    Raises:
        InvalidInputError: the key or a label cannot be stored.

    >>> address_of(("users", "a/b"), "prefs"), address_of(("users",), "a/b/prefs")
    ('langgraph:/users/a%2Fb//prefs', 'langgraph:/users//a%2Fb%2Fprefs')
    """
    for text in (*namespace, key):
        if not isinstance(text, str) or not storable(text):
            raise InvalidInputError(
                f"{text!r:.80} is no key of an item",
                remedy="keys and labels of namespaces are text, without NUL characters and halves "
                "of characters",
            )
    return f"{_path_of(namespace)}/{join_path(key)}"


@lru_cache(maxsize=16_384)
def id_of(address: str) -> str:
    """The id of the record at an address: the same in every memory, and exact to the letter."""
    return record_id(address)


def namespace_range(prefix: Namespace) -> AddressRange:
    """The addresses of all items whose namespace begins so."""
    path = _path_of(prefix)
    return AddressRange(f"{path}/", f"{path}{_END}")


def items_range(namespace: Namespace) -> AddressRange:
    """The addresses of the items of a namespace, and of none below it."""
    path = _path_of(namespace)
    return AddressRange(f"{path}{MARK}", f"{path}/{_END}")


@lru_cache(maxsize=16_384)
def namespace_of(address: str) -> Namespace | None:
    """The namespace of an address; None if it is none.

    >>> namespace_of(address_of(("users", "a/b"), "prefs"))
    ('users', 'a/b')
    """
    path, mark, _ = address.removeprefix(f"{_SCHEME}/").partition(MARK)
    if not mark:
        return None
    return tuple(label.replace("%2F", "/").replace("%25", "%") for label in path.split("/"))


def _path_of(namespace: Namespace) -> str:
    return f"{_SCHEME}{join_path(*namespace)}"
