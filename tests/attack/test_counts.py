"""The counts of the attacks are those of a run, and nobody's word."""

from __future__ import annotations

from bench import attack


def test_the_page_of_guarantees_shows_what_was_counted() -> None:
    page = attack.PAGE.read_text(encoding="utf-8")
    assert attack.written(page, attack.load()) == page


def test_the_table_names_what_was_tried_and_how_often() -> None:
    counts = {
        "kills of a writer": {"count": 2000, "test": "tests/attack/test_kills.py::test_writers"}
    }
    page = attack.written("a\n<!-- attacks -->\nold\n<!-- /attacks -->\nb", counts)
    assert "| kills of a writer | 2,000 |" in page
    assert "old" not in page
    assert page.startswith("a\n")
    assert page.endswith("\nb")
