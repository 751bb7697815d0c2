"""Words of a stranger as one line of plain text: titles, tags, notes."""

from __future__ import annotations

import html
import re
import unicodedata
from functools import cache, lru_cache
from html.parser import HTMLParser
from importlib.resources import files
from ipaddress import ip_address
from urllib.parse import SplitResult, parse_qsl, urlsplit

import msgspec
from msgspec import Struct

from ...text.secrets import find_secrets

# most titles have no need to be looked at character by character
_USUAL = re.compile(r"[\x20-\x7e\u00a1-\u00ac\u00ae-\u02ff]*")
# control characters, invisible ones (which turn the direction of a line), and halves of pairs
_UNSEEN = ("Cc", "Cf", "Cs", "Co", "Cn")
# invisible too, but scripts and emoji are written with them
_JOINERS = "\u200c\u200d"
# elements whose content is not for people, or not to be kept
_CODE = frozenset(("script", "style", "template", "private"))


def one_line(text: str, most: int = 0) -> str:
    """Write a text as one line: entities of HTML resolved, without characters that nobody sees.

    >>> one_line("Bread &amp; butter\\n\\x00 at home"), one_line("a long title", 8)
    ('Bread & butter at home', 'a long…')

    Args:
        text: of any origin.
        most: characters of the line; 0: as many as there are.
    """
    text = html.unescape(text)
    if not _USUAL.fullmatch(text):
        text = "".join(map(_seen, text))
    line = " ".join(text.split())
    if most and len(line) > most:
        line = line[: most - 1].rstrip() + "…"
    return line


def from_html(source: str) -> str:
    """Take the words out of a piece of HTML; what is not HTML stays as it is.

    >>> from_html("<p>Rye<br>bread</p><script>x()</script> &amp; butter").split()
    ['Rye', 'bread', '&', 'butter']
    """
    if "<" not in source:
        return html.unescape(source)
    words = _Words()
    words.feed(source)
    words.close()
    return "".join(words.parts)


class _Words(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self._code = 0

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.parts.append(" ")
        self._code += tag in _CODE

    def handle_endtag(self, tag: str) -> None:
        self.parts.append(" ")
        self._code = max(0, self._code - (tag in _CODE))

    def handle_data(self, data: str) -> None:
        if not self._code:
            self.parts.append(data)


def _seen(character: str) -> str:
    if character in "\t\n\r\v\f\x85":
        return " "
    is_seen = character in _JOINERS or unicodedata.category(character) not in _UNSEEN
    return character if is_seen else ""


_LONGEST = 253  # characters of a host's name
_COUNT = re.compile(r"\(\d[\d,.]*\+?\)\s*")  # of unread messages, before a title
# addresses, e-mail addresses, parameters, and long runs of letters and digits as keys are
_REVEALING = re.compile(
    r"\w://|\S@\S+\.\w|[?&]\w+=|\b(?=[\w-]*\d)(?=[\w-]*[A-Za-z])[\w-]{20,}",
)


class Page(Struct, frozen=True):
    """A page that somebody visited, by its site alone."""

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
    """Return a page's title without counts of unread messages; empty when it is private.

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
