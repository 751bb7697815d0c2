"""Lists of saved items: tables that are recognised by their columns."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from remloom import Memory
from remloom.predicates import Query
from remloom.sources import Document, Skipped, open_source

POCKET = """title,url,time_added,tags,status
Rye & water,https://crumb.example/rye?utm=1,1772445600,bread|slow food,unread
https://crumb.example/2?token=abc,https://crumb.example/2?token=abc,1772532000,,archive
"Old, but good",https://old.example/,1700000000,,archive
"""
INSTAPAPER = """URL,Title,Selection,Folder,Timestamp,Tags
https://crumb.example/rye,Rye,"Feed the
starter",Unread,1772445600,"[""bread"", ""slow""]"
https://crumb.example/x,Undated,,Archive,0,
"""
READWISE = """Highlight,Book Title,Book Author,Amazon Book ID,Note,Color,Tags,Location Type,Location,Highlighted at,Document tags
"Flour, water, salt",The Loaf,Ann Baker,B00X,I do this too,yellow,"favourite, bread",page,12,2026-03-02 10:00:00+00:00,cooking
"""


def read(folder: Path, text: str, name: str = "list.csv") -> list[Document | Skipped]:
    path = folder / name
    path.write_text(text)
    return list(open_source(path))


def lines(items: list[Document | Skipped]) -> list[str]:
    return [line for item in items if isinstance(item, Document) for line in item.text.splitlines()]


def test_a_list_of_pocket_is_read_by_months_newest_first(tmp_path: Path):
    items = read(tmp_path, POCKET)
    assert lines(items) == [
        "- 2026-03-02: Rye & water (crumb.example); tags: bread, slow food; list: unread",
        "- 2026-03-03: crumb.example; list: archive",
        "- 2023-11-14: Old, but good (old.example); list: archive",
    ]
    march, november = items
    assert isinstance(march, Document)
    assert isinstance(november, Document)
    assert march.uri == f"{tmp_path}/list.csv#2026-03"
    assert march.at == datetime(2026, 3, 1, tzinfo=UTC)
    assert march.category == "saved"
    assert "token" not in march.text


def test_a_list_is_forgotten_whole_by_the_path_of_its_file(tmp_path: Path):
    path = tmp_path / "list.csv"
    path.write_text(POCKET)
    with Memory.open(tmp_path / "memory", embedder="none") as memory:
        memory.read(path)
        memory.read(path, uri="lists/pocket")
        assert memory.forget(str(path)).verified
        left = memory.admin.store.records.query("resources", Query())
        assert {record.uri for record in left} == {"lists/pocket#2023-11", "lists/pocket#2026-03"}
        assert memory.forget("lists/pocket").verified
        assert memory.admin.stats().records.get("resources", 0) == 0


def test_a_list_of_instapaper_has_what_was_marked_and_what_has_no_time(tmp_path: Path):
    items = read(tmp_path, INSTAPAPER)
    assert lines(items) == [
        "- Undated (crumb.example); list: Archive",
        "- 2026-03-02: Rye (crumb.example); tags: bread, slow; list: Unread; "
        "marked: “Feed the starter”",
    ]
    (undated,) = [item for item in items if item.uri.endswith("#undated")]
    assert isinstance(undated, Document)
    assert undated.at is None


def test_highlights_of_readwise_have_author_tags_and_the_readers_note(tmp_path: Path):
    assert lines(read(tmp_path, READWISE)) == [
        "- 2026-03-02: The Loaf, by Ann Baker; tags: favourite, bread, cooking; "
        "marked: “Flour, water, salt”; note: I do this too"
    ]


def test_columns_are_found_by_their_names_in_any_order_and_case(tmp_path: Path):
    text = "\ufeffNOTE, book author ,HIGHLIGHT,Book Title\nmine,Ann,Salt,The Loaf\n"
    assert lines(read(tmp_path, text)) == ["- The Loaf, by Ann; marked: “Salt”; note: mine"]


def test_other_tables_are_read_as_before(tmp_path: Path):
    text = "title,url\nRye,https://crumb.example/\n"
    (document,) = read(tmp_path, text)
    assert isinstance(document, Document)
    assert (document.category, document.text) == ("table", text)


def test_rows_that_say_nothing_are_named(tmp_path: Path):
    text = POCKET + ",,1772445600,,\nshort\n,not an address,,,\n"
    items = read(tmp_path, text)
    (skipped,) = [item for item in items if isinstance(item, Skipped)]
    assert skipped.reason == "2 of its rows have no title or site: row 5, 7"
    assert "- short" in lines(items)


@pytest.mark.parametrize(
    "text",
    [
        "title,url,time_added,tags,status\n",
        "title,url,time_added,tags,status\n,,,,\n",
    ],
)
def test_a_list_without_items_fails(tmp_path: Path, text: str):
    (skipped,) = read(tmp_path, text)
    assert isinstance(skipped, Skipped)
    assert skipped.failed
    assert "Pocket without items" in skipped.reason


def test_hostile_cells_become_plain_words(tmp_path: Path):
    text = POCKET.replace("Rye & water", '"Rye\n# Ignore all\x1b[31m \u202eprevious &lt;b&gt;"')
    assert lines(read(tmp_path, text))[0].startswith(
        "- 2026-03-02: Rye # Ignore all[31m previous <b> (crumb.example);"
    )
    (skipped,) = read(tmp_path, POCKET + "a\0b,,,,\n")
    assert isinstance(skipped, Skipped)
    assert skipped.failed


def test_a_list_is_remembered_and_a_saved_item_more_changes_its_month_alone(tmp_path: Path):
    path = tmp_path / "pocket.csv"
    path.write_text(POCKET)
    with Memory.open(tmp_path / "home", embedder="none") as memory:
        first = memory.read(path)
        assert [item.status for item in first.items] == ["read", "read"]
        path.write_text(POCKET + "Salt,https://salt.example/,1772618400,,unread\n")
        again = memory.read(path)
        assert [item.status for item in again.items] == ["read", "unchanged"]
        assert memory.search_text("Salt").records[0].uri.startswith(f"{path}#2026-03")
