"""Browsing histories: of Chrome and its family (`History`), and of Firefox (`places.sqlite`).

A document a day (UTC) says which sites were visited how often, and the titles of their pages. Never
read: addresses, whose parameters carry keys; what was searched for or downloaded; pages that lead
on by themselves, or are within others; and what `private_sites.toml` names, such as banks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import groupby
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from ...errors import SourceError
from ..document import Document, Skipped
from .pages import Page, informative_title, one_line, page

if TYPE_CHECKING:
    import apsw


# the tables of a history, each with the columns that every version of it has
CHROME_TABLES = {"urls": ("id", "url", "title"), "visits": ("url", "visit_time")}
FIREFOX_TABLES = {
    "moz_places": ("id", "url", "title"),
    "moz_historyvisits": ("place_id", "visit_date"),
}
_DAY = 86_400  # seconds
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# days since 1970: before the first browser, and after the year 9999
_DAYS = range(7_300, 2_932_896)
_LONGEST_URL = 2_000  # bytes that are looked at
_LONGEST_TITLE = 120  # characters
_MOST_SITES = 500  # of a day that are counted apart; of others the visits are counted
_MOST_TITLES = 50  # of a site and day that are counted apart
_SHOWN_TITLES = 8  # of a site and day, the most visited ones


class _Layout(Struct, frozen=True):
    browser: str
    pages: str  # table
    visits: str  # table
    page: str  # column of a visit: the id of its page
    time: str  # column of a visit, in microseconds
    epoch: int  # seconds from where its times count to 1970
    typed: str  # condition: the address was typed
    # condition, by a column that older versions may lack
    conditions: dict[str, str]


# Of a transition the lowest byte is its kind: 1 typed, 3 and 4 within another page, 8 reload. Of
# its flags, 0x20000000 ends a chain of redirects; 0xd0000000 are those within one that goes on.
_CHROME = _Layout(
    browser="Chrome family",
    pages="urls",
    visits="visits",
    page="url",
    time="visit_time",
    epoch=11_644_473_600,
    typed="visit.transition & 255 = 1",
    conditions={
        "hidden": "coalesce(page.hidden, 0) = 0",
        "transition": """coalesce(visit.transition & 255, 0) NOT IN (3, 4, 8)
            AND coalesce(visit.transition & 0x20000000 != 0 OR visit.transition & 0xd0000000 = 0, 1)
            """,
    },
)
# Types of visits: 2 typed, 4 and 8 within another page, 7 download, 9 reload. What leads on by
# itself is hidden.
_FIREFOX = _Layout(
    browser="Firefox",
    pages="moz_places",
    visits="moz_historyvisits",
    page="place_id",
    time="visit_date",
    epoch=0,
    typed="visit.visit_type = 2",
    conditions={
        "hidden": "coalesce(page.hidden, 0) = 0",
        "visit_type": "coalesce(visit.visit_type, 1) NOT IN (4, 7, 8, 9)",
    },
)


class _Visit(Struct, frozen=True):
    day: int  # since 1970
    url: str
    title: str
    typed: bool


class _Site:
    def __init__(self) -> None:
        self.visits = 0
        self.typed = 0
        self.titles: Counter[str] = Counter()

    def add(self, visit: _Visit, is_search: bool) -> None:
        self.visits += 1
        self.typed += visit.typed
        title = "" if is_search else informative_title(one_line(visit.title, _LONGEST_TITLE))
        if title and (title in self.titles or len(self.titles) < _MOST_TITLES):
            self.titles[title] += 1

    def line(self, name: str) -> str:
        """Write a line: `- example.com: Rye bread, Butter (3 visits, 1 typed)`."""
        ranked = sorted(self.titles.items(), key=lambda item: (-item[1], item[0]))
        titles = [title for title, _ in ranked[:_SHOWN_TITLES]]
        if len(ranked) > _SHOWN_TITLES:
            titles.append("…")
        listed = f": {', '.join(titles)}" if titles else ""
        typed = f", {self.typed} typed" if self.typed else ""
        return f"- {name}{listed} ({_count(self.visits, 'visit')}{typed})"


class _Day:
    def __init__(self) -> None:
        self.sites: dict[str, _Site] = {}
        self.visits = 0
        self.others = 0  # visits to sites beyond those that are counted apart

    def add(self, visit: _Visit, seen: Page) -> None:
        self.visits += 1
        site = self.sites.get(seen.site)
        if site is None:
            if len(self.sites) == _MOST_SITES:
                self.others += 1
                return
            site = self.sites[seen.site] = _Site()
        site.add(visit, seen.is_search)

    def document(self, day: int, browser: str, uri: str) -> Document:
        at = _EPOCH + timedelta(days=day)
        ranked = sorted(self.sites.items(), key=lambda item: (-item[1].visits, item[0]))
        lines = [site.line(name) for name, site in ranked]
        if self.others:
            lines.append(f"- other sites ({_count(self.others, 'visit')})")
        return Document(
            uri=f"{uri}#{at:%Y-%m-%d}",
            origin=uri,
            title=f"Browsing on {at:%Y-%m-%d} ({browser})",
            text="\n".join(lines) + "\n",
            lined=False,
            media_type="text/markdown",
            category="browsing",
            at=at,
            metadata={"browser": browser, "visits": self.visits, "sites": len(self.sites)},
        )


def read_chrome(connection: apsw.Connection, uri: str) -> Iterator[Document | Skipped]:
    """Read the `History` of Chrome, Chromium, Edge, Brave, Opera or Vivaldi, newest day first."""
    return _read(connection, uri, _CHROME)


def read_firefox(connection: apsw.Connection, uri: str) -> Iterator[Document | Skipped]:
    """Read the `places.sqlite` of Firefox or one of its kin, newest day first."""
    return _read(connection, uri, _FIREFOX)


def _read(connection: apsw.Connection, uri: str, layout: _Layout) -> Iterator[Document | Skipped]:
    count = private = undated = 0
    for number, visits in groupby(_visits(connection, layout), lambda visit: visit.day):
        day = _Day()
        for visit in visits:
            count += 1
            seen = page(visit.url)
            if number not in _DAYS:
                undated += 1
            elif seen is None:
                private += 1
            else:
                day.add(visit, seen)
        if day.visits:
            yield day.document(number, layout.browser, uri)
    if not count:
        raise SourceError(f"a browsing history ({layout.browser}) without visits", uri=uri)
    left_out = []
    if private:
        left_out.append(f"{_count(private, 'visit')} to pages that look private, or are not public")
    if undated:
        left_out.append(f"{_count(undated, 'visit')} without a possible time")
    if left_out:
        yield Skipped(uri=uri, reason=f"left out: {'; '.join(left_out)}")


def _visits(connection: apsw.Connection, layout: _Layout) -> Iterator[_Visit]:
    """Yield the visits that a person saw, newest first, a few in memory at a time."""
    encoding = str(connection.pragma("encoding"))
    for seconds, url, title, typed in connection.execute(_statement(connection, layout)):
        yield _Visit(
            day=seconds // _DAY,
            url=_decoded(url, encoding),
            title=_decoded(title, encoding),
            typed=bool(typed),
        )


def _statement(connection: apsw.Connection, layout: _Layout) -> str:
    """Write the statement that reads visits, of the columns that this version has."""
    columns = _columns(connection, layout.pages) | _columns(connection, layout.visits)
    conditions = [text for column, text in layout.conditions.items() if column in columns]
    knows_kinds = {"transition", "visit_type"} & columns
    # Text as bytes: it need not be valid. The cross join keeps the visits in the outer loop, where
    # their index by time sorts them.
    return f"""
        SELECT visit.{layout.time} / 1000000 - {layout.epoch},
            substr(CAST(page.url AS BLOB), 1, {_LONGEST_URL}),
            substr(CAST(page.title AS BLOB), 1, {8 * _LONGEST_TITLE}),
            {layout.typed if knows_kinds else "0"}
        FROM {layout.visits} AS visit CROSS JOIN {layout.pages} AS page
            ON page.id = visit.{layout.page}
        WHERE typeof(visit.{layout.time}) = 'integer' AND {" AND ".join(conditions) or "1"}
        ORDER BY visit.{layout.time} DESC
        """


def _columns(connection: apsw.Connection, table: str) -> set[str]:
    return {
        name for (name,) in connection.execute("SELECT name FROM pragma_table_info(?)", (table,))
    }


def _decoded(value: Any, encoding: str) -> str:
    # the last character may have been cut
    return value.decode(encoding, "ignore") if isinstance(value, bytes) else ""


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
