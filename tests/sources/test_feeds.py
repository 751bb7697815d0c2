"""Subscriptions and saved feeds: what somebody wants to hear of, and what there was to read."""

from __future__ import annotations

import socket
from datetime import UTC, datetime
from pathlib import Path

import pytest

from remloom import Memory
from remloom.sources import Document, Limits, Skipped, open_source
from remloom.sources.document import File
from remloom.sources.documents import convert

OPML = """<?xml version="1.0" encoding="UTF-8"?>
<opml version="2.0"><head><title>Mine &amp; yours</title>
<dateModified>Mon, 02 Mar 2026 10:00:00 GMT</dateModified></head><body>
<outline text="Food"><outline text="The Crumb" type="rss" xmlUrl="https://u:pw@crumb.example/feed?token=1"/>
<outline text="Deep"><outline text="Brød &lt;b&gt;" type="rss" xmlUrl="https://bread.example/f"/></outline>
</outline>
<outline text="Loose" type="rss" xmlUrl="http://127.0.0.1/"/>
<outline text="" type="rss" xmlUrl="https://nameless.example/"/>
</body></opml>"""
RSS = """<?xml version="1.0"?><rss version="2.0"><channel><title>The Crumb</title><link>https://crumb.example/</link>
<item><title>Rye &amp; water</title><link>https://crumb.example/1?k=secret</link><guid>1</guid>
<pubDate>Sun, 01 Mar 2026 08:00:00 GMT</pubDate>
<description>&lt;p&gt;Feed the&lt;br&gt;starter.&lt;/p&gt;&lt;script&gt;steal()&lt;/script&gt;</description></item>
<item><title>Second</title></item><item></item></channel></rss>"""
ATOM = """<feed xmlns="http://www.w3.org/2005/Atom"><title>Atom of bread</title><updated>2026-03-02T10:00:00Z</updated>
<entry><title>One</title><id>x</id><updated>2026-02-28T23:00:00-05:00</updated><content type="html">Long &lt;i&gt;words&lt;/i&gt;</content></entry>
</feed>"""


def read(folder: Path, name: str, text: str | bytes) -> Document | Skipped:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    (item,) = open_source(path)
    return item


def reason(item: Document | Skipped) -> str:
    assert isinstance(item, Skipped), item
    assert item.failed
    return item.reason


@pytest.mark.parametrize("name", ["subscriptions.opml", "subscriptions.xml"])
def test_subscriptions_have_a_line_for_each_feed_and_folder_without_its_address(
    tmp_path: Path, name: str
):
    document = read(tmp_path, name, OPML)
    assert isinstance(document, Document), document
    assert document.text.splitlines() == [
        "- Food: The Crumb (crumb.example)",
        "- Food > Deep: Brød <b> (bread.example)",
        "- Loose",
        "- nameless.example",
    ]
    assert (document.title, document.category) == ("Mine & yours", "news")
    assert document.at == datetime(2026, 3, 2, 10, tzinfo=UTC)


def test_subscriptions_in_an_old_encoding_are_read(tmp_path: Path):
    text = OPML.replace("UTF-8", "windows-1251").replace("Brød", "Хлеб")
    document = read(tmp_path, "mine.opml", text.encode("windows-1251"))
    assert isinstance(document, Document), document
    assert "- Food > Deep: Хлеб <b> (bread.example)" in document.text


@pytest.mark.parametrize("name", ["crumb.rss", "crumb.xml"])
def test_a_saved_feed_is_what_there_was_to_read(tmp_path: Path, name: str):
    document = read(tmp_path, name, RSS)
    assert isinstance(document, Document), document
    assert document.text == "## Rye & water\n\n2026-03-01: Feed the starter.\n\n## Second\n"
    assert (document.title, document.category) == ("The Crumb", "feed")
    assert document.metadata["site"] == "crumb.example"


@pytest.mark.parametrize("name", ["bread.atom", "bread.xml", "bread.rss"])
def test_a_feed_of_atom_is_read_and_its_days_are_those_of_utc(tmp_path: Path, name: str):
    document = read(tmp_path, name, ATOM)
    assert isinstance(document, Document), document
    assert document.text == "## One\n\n2026-03-01: Long words\n"
    assert document.at == datetime(2026, 3, 2, 10, tzinfo=UTC)


def test_a_folder_of_feeds_goes_into_memory(tmp_path: Path):
    (tmp_path / "mine.opml").write_text(OPML)
    (tmp_path / "crumb.rss").write_text(RSS)
    with Memory.open(tmp_path / "home", embedder="none") as memory:
        report = memory.read(tmp_path)
        assert [item.status for item in report.items] == ["read", "read"]
        assert memory.search_text("starter").records[0].uri.startswith(f"{tmp_path}/crumb.rss")
        rows = memory.sql("SELECT category FROM resources ORDER BY category").rows
        assert rows == [("feed",), ("news",)]


def test_nothing_is_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    # in this process, as that which reads feeds otherwise would not notice the trap
    def refuse(*_: object) -> None:
        raise AssertionError("no network")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    from remloom.sources.web import feeds

    remote = '<!DOCTYPE rss SYSTEM "http://dtd.example/x.dtd">' + RSS.partition("?>")[2]
    assert feeds.convert(File("u", remote.encode(), ".rss", "t")).category == "feed"
    assert feeds.convert(File("u", OPML.encode(), ".opml", "t")).category == "news"


@pytest.mark.parametrize("suffix", [".opml", ".rss", ".atom", ".xml"])
def test_entities_that_grow_are_refused(tmp_path: Path, suffix: str):
    root = {".opml": "opml", ".atom": "feed"}.get(suffix, "rss")
    bomb = f"""<?xml version="1.0"?><!-- x --><!DOCTYPE lolz [<!ENTITY a "lol"><!ENTITY b "&a;&a;&a;">]>
    <{root}><channel><title>&b;</title><item><title>&b;</title></item></channel></{root}>"""
    item = read(tmp_path, f"bomb{suffix}", bomb)
    if suffix == ".xml":
        # no feed: a text like any other, with nothing resolved
        assert isinstance(item, Document)
        assert "&b;" in item.text
    else:
        assert "entities" in reason(item) or "something else" in reason(item)


def test_outlines_nested_without_end_are_stopped_by_the_limits(tmp_path: Path):
    feeds = "".join(f'<outline text="f{n}" xmlUrl="https://s{n}.example/"/>' for n in range(20_000))
    depth = 100_000
    text = (
        "<opml><body>"
        + '<outline text="x">' * depth
        + feeds
        + "</outline>" * depth
        + "</body></opml>"
    )
    path = tmp_path / "deep.opml"
    path.write_text(text)
    (item,) = open_source(path, limits=Limits(seconds=2, memory_mb=300))
    assert "read_memory_mb" in reason(item) or "read_timeout" in reason(item)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.opml", "<html><body>hello</body></html>"),
        ("a.opml", "not xml"),
        ("a.opml", "<opml><body></body></opml>"),
        ("a.opml", "<opml>" + "<outline" * 100),
        ("a.rss", OPML),
        ("a.rss", "<rss><channel><title>x</title></channel></rss>"),
        ("a.rss", "<rss" + "\0" * 100),
        ("a.rss", b"\x89PNG\r\n\x1a\n"),
        ("a.atom", "<feed"),
    ],
)
def test_what_is_no_feed_fails_with_a_reason(tmp_path: Path, name: str, text: str | bytes):
    assert reason(read(tmp_path, name, text))


def test_other_xml_is_read_as_text_when_it_is_named(tmp_path: Path):
    document = read(tmp_path, "page.xml", "<note>Rye bread</note>")
    assert isinstance(document, Document)
    assert document.category == "document"


def test_without_the_library_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(convert, "_installed", lambda _: False)
    assert "remloom[feeds]" in reason(read(tmp_path, "a.opml", OPML))
