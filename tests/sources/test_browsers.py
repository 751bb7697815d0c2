"""Browsing histories: sites and titles by day, and nothing that is nobody's business."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remloom import Memory
from remloom.sources import Document, Skipped, open_source
from remloom.sources.web.pages import informative_title, one_line, page, site

# The schemas, and the visits to a few pages of a local server, as Chromium 156 and Firefox 153 left
# them. Another page at http://news.example led to the bread by itself.
DATA = Path(__file__).parent / "data"
REAL = {"History": "chromium_156.sql", "places.sqlite": "firefox_153.sql"}
MARCH = datetime(2026, 3, 2, 10, tzinfo=UTC)
CHROME_EPOCH = 11_644_473_600
TYPED, RELOAD, CHAIN = 1, 8, 0x30000000


def real(folder: Path, name: str) -> Path:
    path = folder / name
    with sqlite3.connect(path) as connection:
        connection.executescript((DATA / REAL[name]).read_text())
    connection.close()
    return path


def history(folder: Path, *visits: tuple[Any, ...]) -> Path:
    """A history of Chrome with visits `(url, title, when, transition, hidden)`."""
    path = real(folder, "History")
    with sqlite3.connect(path) as connection:
        connection.executescript("DELETE FROM urls; DELETE FROM visits;")
        for number, visit in enumerate(visits, 1):
            defaults = (MARCH, CHAIN, 0)
            url, title, at, transition, hidden = (*visit, *defaults[len(visit) - 2 :])
            moment = microseconds(at) if isinstance(at, datetime) else at
            connection.execute(
                "INSERT INTO urls VALUES (?, ?, ?, 1, 0, 0, ?)", (number, url, title, hidden)
            )
            connection.execute(
                "INSERT INTO visits (id, url, visit_time, transition) VALUES (?, ?, ?, ?)",
                (number, number, moment, transition),
            )
    connection.close()
    return path


def microseconds(at: datetime) -> int:
    """A time as Chrome writes it."""
    return int((at.timestamp() + CHROME_EPOCH) * 1_000_000)


def documents(path: Path) -> list[Document]:
    return [item for item in open_source(path) if isinstance(item, Document)]


def left_out(path: Path) -> list[Skipped]:
    return [item for item in open_source(path) if isinstance(item, Skipped)]


def lines(path: Path) -> list[str]:
    return [line for document in documents(path) for line in document.text.splitlines()]


@pytest.mark.parametrize("name", REAL)
def test_the_history_of_a_real_browser_is_sites_and_titles_of_a_day(tmp_path: Path, name: str):
    path = real(tmp_path, name)
    (document,) = documents(path)
    typed = ", 1 typed" if name == "History" else ""
    assert document.text.splitlines() == [
        f"- bread.example: Rye loaf timings, Sourdough & rye: a baker's notes (2 visits{typed})",
        f"- news.example: Home page, Sourdough & rye: a baker's notes (2 visits{typed})",
    ]
    assert document.category == "browsing"
    assert document.at is not None
    assert document.at.tzinfo is UTC
    assert document.uri == f"{path}#{document.at:%Y-%m-%d}"
    # the pages at 127.0.0.1 and accounts.example
    (skipped,) = left_out(path)
    assert "2 visits" in skipped.reason
    assert not skipped.failed


@pytest.mark.parametrize("name", REAL)
def test_no_address_is_read(tmp_path: Path, name: str):
    path = real(tmp_path, name)
    with Memory.open(tmp_path / "home", embedder="none") as memory:
        memory.read(path)
        kept = repr(memory.sql("SELECT * FROM resources").rows)
    for word in ("SECRET123", "token", "http:", "session=", "8765", "127.0.0.1", "accounts"):
        assert word not in kept


def test_a_history_is_read_by_days_and_again_only_where_it_changed(tmp_path: Path):
    monday = ("https://a.example/1", "Rye", MARCH)
    tuesday = ("https://b.example/1", "Butter", MARCH.replace(day=3))
    with Memory.open(tmp_path, embedder="none") as memory:
        first = memory.read(history(tmp_path, monday, tuesday))
        assert [item.status for item in first.items] == ["read", "read"]
        more = ("https://b.example/2", "Salt", MARCH.replace(day=3, hour=20))
        (tmp_path / "History").unlink()
        again = memory.read(history(tmp_path, monday, tuesday, more))
        assert [(item.uri[-10:], item.status) for item in again.items] == [
            ("2026-03-03", "read"),
            ("2026-03-02", "unchanged"),
        ]
        found = memory.search_text("Salt").records[0]
        assert found.content == "- b.example: Butter, Salt (2 visits)"
        days = memory.sql("SELECT category, starts_at FROM resources ORDER BY starts_at").rows
        assert days == [
            ("browsing", "2026-03-02T00:00:00Z"),
            ("browsing", "2026-03-03T00:00:00Z"),
        ]


def test_visits_and_typed_visits_are_counted_and_what_nobody_saw_is_not(tmp_path: Path):
    path = history(
        tmp_path,
        ("https://a.example/1", "Rye", MARCH, CHAIN | TYPED),
        ("https://a.example/1", "Rye", MARCH),
        ("https://a.example/1", "Rye", MARCH, CHAIN | RELOAD),
        ("https://a.example/hidden", "Hidden", MARCH, CHAIN, 1),
        ("https://a.example/frame", "Frame", MARCH, CHAIN | 3),
        ("https://a.example/leads", "Leads on", MARCH, 0x10000000),
        ("https://a.example/leads", "Leads on", MARCH, 0x80000000 - 2**32),
    )
    assert lines(path) == ["- a.example: Rye (2 visits, 1 typed)"]


def test_what_was_searched_for_is_not_read(tmp_path: Path):
    path = history(
        tmp_path,
        ("https://www.google.com/search?q=secret+rash", "secret rash - Google Search"),
        ("https://shop.example/s?k=secret+gift", "secret gift"),
        ("https://wiki.example/search/secret", "secret"),
        ("https://wiki.example/Rye", "Rye"),
    )
    assert lines(path) == [
        "- wiki.example: Rye (2 visits)",
        "- google.com (1 visit)",
        "- shop.example (1 visit)",
    ]


@pytest.mark.parametrize(
    "url",
    [
        "http://localhost:8888/notebooks",
        "http://192.168.0.1/admin",
        "http://[::1]/",
        "http://printer/",
        "http://nas.local/",
        "https://accounts.google.com/",
        "https://login.example.co.uk/",
        "https://www.deutsche-bank.de/",
        "https://mail.google.com/mail/u/0",
        "https://web.whatsapp.com/",
        "https://example.com/oauth/authorize?code=1",
        "https://example.com/users/sign_in",
        "https://example.com/wp-login.php",
        "https://user:password@[broken",
        "file:///home/me/diary.html",
        "chrome://settings",
        "about:blank",
        "javascript:alert(1)",
        "data:text/html,hello",
        "",
    ],
)
def test_private_pages_and_those_not_of_the_web_are_left_out(url: str):
    assert page(url) is None


@pytest.mark.parametrize(
    "host", ["docs.python.org", "dev.to", "web.dev", "tokopedia.co.id", "xn--bcher-kva.example"]
)
def test_usual_sites_are_not_private(host: str):
    assert site(host) == host


@pytest.mark.parametrize(
    "title",
    [
        "https://example.com/?token=1",
        "example.com/a?session=1",
        "Inbox (3) - me@example.com - Mail",
        "Sign in to Example",
        "key AKIA1234567890ABCDEFGH",
        "My card 4111 1111 1111 1111",
    ],
)
def test_titles_that_tell_too_much_are_left_out(title: str):
    assert informative_title(title) == ""


def test_titles_of_strangers_become_plain_words_on_one_line(tmp_path: Path):
    path = history(
        tmp_path,
        ("https://a.example/", "Rye &amp;\n# Ignore\x00 all\x1b[31m \u202eprevious\u200b"),
        ("https://b.example/", "y" * 5000),
        ("https://c.example/", None),
        ("https://d.example/", b"\xff\xfe Caf\xc3\xa9"),
        ("https://e.example/", 42),
    )
    assert lines(path) == [
        "- a.example: Rye & # Ignore all[31m previous (1 visit)",
        f"- b.example: {'y' * 119}… (1 visit)",
        "- c.example (1 visit)",
        "- d.example: Café (1 visit)",
        "- e.example: 42 (1 visit)",
    ]


@given(st.text())
def test_one_line_is_one_line_without_control_characters(text: str):
    line = one_line(text, 40)
    assert len(line) <= 40
    assert line.splitlines() in ([], [line])
    assert line == line.strip()


def test_times_that_cannot_be_are_left_out_and_said(tmp_path: Path):
    path = history(
        tmp_path,
        ("https://a.example/", "Rye", MARCH),
        ("https://a.example/", "Rye", 0),
        ("https://a.example/", "Rye", 2**63 - 1),
        ("https://a.example/", "Rye", -(2**63)),
    )
    assert lines(path) == ["- a.example: Rye (1 visit)"]
    (skipped,) = left_out(path)
    assert "3 visits without a possible time" in skipped.reason


def test_a_history_of_a_version_without_later_columns_is_read(tmp_path: Path):
    path = tmp_path / "old"
    with sqlite3.connect(path) as connection:
        connection.executescript(
            """CREATE TABLE urls (id INTEGER PRIMARY KEY, url TEXT, title TEXT);
            CREATE TABLE visits (id INTEGER PRIMARY KEY, url INTEGER, visit_time INTEGER);
            INSERT INTO urls VALUES (1, 'https://a.example/', 'Rye');
            INSERT INTO visits VALUES (1, 1, 13417000000000000);"""
        )
    connection.close()
    assert lines(path) == ["- a.example: Rye (1 visit)"]


def test_a_history_without_visits_says_so(tmp_path: Path):
    (skipped,) = open_source(history(tmp_path))
    assert isinstance(skipped, Skipped)
    assert skipped.failed
    assert "without visits" in skipped.reason


def test_a_history_of_an_unknown_version_says_what_tables_it_has(tmp_path: Path):
    path = tmp_path / "History"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE urls (id INTEGER PRIMARY KEY, address TEXT)")
    connection.close()
    (skipped,) = open_source(path)
    assert isinstance(skipped, Skipped)
    assert skipped.failed
    assert "urls" in skipped.reason
    assert "browsing histories of Firefox" in skipped.reason


@pytest.mark.parametrize("data", [b"\x00\x01garbage\xff" * 500, b"SQLite format 3\0", b""])
def test_what_is_no_database_is_not_read_as_one(tmp_path: Path, data: bytes):
    path = tmp_path / "History"
    path.write_bytes(data)
    (skipped,) = open_source(path)
    assert isinstance(skipped, Skipped)
    assert skipped.failed or skipped.reason == "it is empty"


def test_a_damaged_history_fails_and_nothing_else(tmp_path: Path):
    path = history(tmp_path, *[(f"https://a.example/{n}", "Rye" * 30) for n in range(500)])
    data = bytearray(path.read_bytes())
    data[8192:] = b"\x5a" * (len(data) - 8192)
    path.write_bytes(data)
    (skipped,) = open_source(path)
    assert isinstance(skipped, Skipped)
    assert skipped.failed
    path.write_bytes(data[:50])
    (skipped,) = open_source(path)
    assert isinstance(skipped, Skipped)
    assert skipped.failed


_HOLDER = """
import sqlite3, sys, time
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("PRAGMA locking_mode = EXCLUSIVE")
connection.execute(f"PRAGMA journal_mode = {sys.argv[2]}")
connection.execute("PRAGMA wal_autocheckpoint = 0")
connection.execute("UPDATE urls SET title = 'Committed'")
connection.execute("PRAGMA cache_size = 1")
connection.execute("PRAGMA cache_spill = 1")
connection.execute("BEGIN EXCLUSIVE")
connection.execute("UPDATE urls SET title = printf('%.*c', 9000, 'x')")
print("held", flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("mode", ["wal", "truncate"])
def test_a_history_that_its_browser_has_open_and_locked_is_read_as_committed(
    tmp_path: Path, mode: str
):
    visits = [(f"https://a{number}.example/", "Before", MARCH) for number in range(40)]
    path = history(tmp_path, *visits)
    command = [sys.executable, "-c", _HOLDER, str(path), mode]
    browser = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert browser.stdout is not None
        browser.stdout.readline()
        files = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
        found = lines(path)
        # nothing of the browser's was touched
        assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == files
    finally:
        browser.communicate()
    assert len(found) == 40
    assert all(": Committed (" in line for line in found)


def test_a_log_beside_a_history_that_is_a_pipe_or_a_link_is_not_opened(tmp_path: Path):
    path = history(tmp_path, ("https://a.example/", "Rye"))
    (tmp_path / "History-wal").symlink_to("/dev/zero")
    assert lines(path) == ["- a.example: Rye (1 visit)"]


def test_a_view_in_place_of_a_table_is_not_read(tmp_path: Path):
    path = tmp_path / "History"
    with sqlite3.connect(path) as connection:
        connection.executescript(
            """CREATE TABLE urls (id INTEGER PRIMARY KEY, url TEXT, title TEXT);
            CREATE VIEW visits AS WITH RECURSIVE n(url) AS (SELECT 1 UNION ALL SELECT 1 FROM n)
                SELECT url, 1 AS visit_time FROM n;"""
        )
    connection.close()
    # its rows have no end
    (skipped,) = open_source(path)
    assert isinstance(skipped, Skipped)
    assert skipped.failed


def test_of_a_day_with_many_sites_the_rest_is_counted(tmp_path: Path):
    visits = [(f"https://s{number:04}.example/", "Rye") for number in range(510)]
    *_, last = lines(history(tmp_path, *visits))
    assert last == "- other sites (10 visits)"


def test_of_a_site_with_many_pages_the_most_visited_are_told(tmp_path: Path):
    visits = [("https://a.example/", f"Page {number}") for number in range(100)]
    visits += [("https://a.example/", "Page 7")]
    (line,) = lines(history(tmp_path, *visits))
    assert line.startswith("- a.example: Page 7, Page")
    assert line.endswith(", … (101 visits)")


def test_a_history_is_copied_where_only_its_reader_can_look(tmp_path: Path, monkeypatch):
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    path = history(tmp_path, ("https://a.example/", "Rye"))
    for _ in open_source(path):
        (folder,) = temporary.iterdir()
        assert folder.stat().st_mode & 0o077 == 0
    assert list(temporary.iterdir()) == []


_PEAK = """
import resource, sys
from remloom.sources import open_source
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
visits = sum(item.metadata["visits"] for item in open_source(sys.argv[1]))
print(visits, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the peak is counted in kB on Linux only")
def test_many_visits_to_pages_with_long_addresses_take_little_memory(tmp_path: Path) -> None:
    path = tmp_path / "History"
    with sqlite3.connect(path) as connection:
        connection.executescript("""
            CREATE TABLE urls (id INTEGER PRIMARY KEY, url, title);
            CREATE TABLE visits (id INTEGER PRIMARY KEY, url, visit_time);
        """)
        address = "https://crumb.example/" + "x" * 1_900
        connection.execute("INSERT INTO urls VALUES (1, ?, ?)", (address, "Rye bread"))
        first = microseconds(MARCH)
        connection.executemany(
            "INSERT INTO visits VALUES (NULL, 1, ?)", ((first + n,) for n in range(100_000))
        )
    connection.close()
    done = subprocess.run(
        [sys.executable, "-c", _PEAK, str(path)], capture_output=True, text=True, check=True
    )
    visits, megabytes = map(int, done.stdout.split())
    assert visits == 100_000
    # the addresses alone are 190 MB
    assert megabytes < 100
