"""Sites: where a page is, without its address, and whether that may be told."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from importlib.resources import files
from ipaddress import ip_address
from urllib.parse import SplitResult, parse_qsl, urlsplit

import msgspec
from msgspec import Struct

from ...text.secrets import find_secrets

_LONGEST = 253  # characters of a host's name
_COUNT = re.compile(r"\(\d[\d,.]*\+?\)\s*")  # of unread messages, before a title
# addresses, e-mail addresses, parameters, and long runs of letters and digits as keys are
_REVEALING = re.compile(
    r"\w://|\S@\S+\.\w|[?&]\w+=|\b(?=[\w-]*\d)(?=[\w-]*[A-Za-z])[\w-]{20,}",
)


class Page(Struct, frozen=True):
    """A page that somebody visited, told by its site alone."""

    site: str  # the name of the host, without "www."
    is_search: bool = False  # its title repeats the words that were searched for


class _Hosts(Struct, frozen=True, forbid_unknown_fields=True):
    ends: tuple[str, ...]
    parts: frozenset[str]
    words: tuple[str, ...]
    sites: frozenset[str]


class _Pages(Struct, frozen=True, forbid_unknown_fields=True):
    parts: frozenset[str]
    titles: tuple[str, ...]


class _Searches(Struct, frozen=True, forbid_unknown_fields=True):
    parameters: frozenset[str]
    parts: frozenset[str]


class _Rules(Struct, frozen=True, forbid_unknown_fields=True):
    """The tables of `private_sites.toml`."""

    hosts: _Hosts
    pages: _Pages
    searches: _Searches


def page(url: str) -> Page | None:
    """Tell the page at an address by its site; None for what is private or not of the web.

    >>> page("https://www.example.com/bread?token=x"), page("https://accounts.example.com/")
    (Page(site='example.com', is_search=False), None)
    """
    try:
        parts = urlsplit(url)
        name = site(parts.hostname or "")
    except ValueError:
        return None
    if parts.scheme not in ("http", "https") or not name:
        return None
    # what is compared is whole parts, so that /blog/login-screens is not a page to sign in
    steps = {step.partition(".")[0] for step in parts.path.lower().split("/")}
    if steps & _rules().pages.parts:
        return None
    return Page(name, _is_search(parts, steps))


@lru_cache(8192)
def site(host: str) -> str:
    """Name the site of a host; empty when it looks private.

    >>> site("WWW.Example.com"), site("localhost"), site("10.0.0.1"), site("mybank.example")
    ('example.com', '', '', '')
    """
    # a dot at the end is another way to write the same name
    name = host.lower().rstrip(".").removeprefix("www.")
    if "." not in name or len(name) > _LONGEST or _is_address(name):
        return ""
    hosts = _rules().hosts
    labels = name.split(".")
    # the site's own name and whatever it belongs to, but not the last part alone
    owners = {".".join(labels[start:]) for start in range(len(labels) - 1)}
    private = (
        name.endswith(hosts.ends)
        # the last two are left out: my.example.org is private, example.my is in Malaysia
        or not hosts.parts.isdisjoint(labels[:-2])
        or not hosts.sites.isdisjoint(owners)
        or any(word in name for word in hosts.words)
    )
    return "" if private else name


def site_of(url: str) -> str:
    """Name the site of an address; empty when it looks private, or is not an address."""
    try:
        return site(urlsplit(url.strip()).hostname or "")
    except ValueError:
        return ""


# one page is visited again and again
@lru_cache(8192)
def informative_title(title: str) -> str:
    """Return a page's title without counts of unread messages; empty when it is not to be told.

    >>> [informative_title(title) for title in ("(3) Rye bread", "Sign in - Example", "a@b.org")]
    ['Rye bread', '', '']
    """
    title = _COUNT.sub("", title, count=1) if title.startswith("(") else title
    if _REVEALING.search(title) or title.lower().startswith(_rules().pages.titles):
        return ""
    return "" if find_secrets(title) else title


def _is_address(name: str) -> bool:
    try:
        ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True


def _is_search(parts: SplitResult, steps: set[str]) -> bool:
    searches = _rules().searches
    if not steps.isdisjoint(searches.parts):
        return True
    if not parts.query:
        return False
    return any(name.lower() in searches.parameters for name, _ in parse_qsl(parts.query))


@cache
def _rules() -> _Rules:
    text = files(__package__).joinpath("private_sites.toml").read_text("utf-8")
    return msgspec.toml.decode(text, type=_Rules)
