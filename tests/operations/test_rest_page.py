"""docs/rest.md is the table of operations."""

from bench import rest_page


def test_the_page_has_the_table_as_it_is():
    page = rest_page.PAGE.read_text(encoding="utf-8")
    assert page == rest_page.written(page), "write it anew: python -m bench.rest_page"
