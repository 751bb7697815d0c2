"""On the page of a text: it has changed, or was wrong, or there is more; told, and taken back."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("axe_playwright_python")

from browsing import Server, call, looking_at, running_server, violations
from remloom import Memory, Settings
from remloom.tenancy.api_keys import ApiKeys

BUTTONS = ("This has changed", "This was wrong", "There is more to say")


def _remember(looking: Any, text: str) -> str:
    return str(call(looking, "POST", "tools/remember", json={"text": text})["ids"][0])


def _say(looking: Any, id: str, button: str, text: str, since: str = "") -> Any:
    """Say something by a button of a text's page, and wait for the page of the new text."""
    page = looking.page
    looking.open(f"record/{id}")
    page.get_by_role("button", name=button).click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("textbox").first.fill(text)
    if since:
        dialog.get_by_label("Since when").fill(since)
    assert violations(page) == []
    dialog.get_by_role("button", name="Save").click()
    dialog.wait_for(state="detached")
    page.get_by_role("region", name="What was said").get_by_text(text).wait_for()
    return page.get_by_role("region", name="What was said")


def _found(looking: Any, question: str) -> str:
    return str(call(looking, "POST", "context", json={"question": question}))


def test_a_text_that_has_changed_is_replaced_and_brought_back(signed_in: Any) -> None:
    page = signed_in.page
    old = _remember(signed_in, "Seoyun leads team Vega.")
    chain = _say(signed_in, old, BUTTONS[0], "Jihoon leads team Vega.", since="2026-05-04")
    steps = chain.get_by_role("listitem")
    assert [step.split("\n")[0].strip() for step in steps.all_inner_texts()] == [
        "Seoyun leads team Vega.",
        "Jihoon leads team Vega.",
    ]
    assert "Has changed" in steps.first.inner_text()
    assert "Holds" in steps.last.inner_text()
    assert [one.get_attribute("datetime") for one in steps.first.locator("time").all()] == [
        "2026-05-04T00:00:00Z"
    ]
    assert "Seoyun" not in _found(signed_in, "Who leads team Vega?")
    chain.get_by_role("link", name="Seoyun leads team Vega.").click()
    page.get_by_text("No search finds it any more.").wait_for()
    page.locator(".memory").get_by_text("Seoyun leads team Vega.").wait_for()
    assert page.get_by_role("button", name=BUTTONS[0]).count() == 0
    assert "superseded" not in page.locator("main").inner_text()
    assert violations(page) == []
    page.get_by_role("button", name="Undo: bring back").click()
    page.get_by_role("button", name=BUTTONS[0]).wait_for()
    assert page.get_by_role("region", name="What was said").count() == 0
    assert "Seoyun" in _found(signed_in, "Who leads team Vega?")


def test_a_text_that_was_wrong_says_so_and_one_with_more_is_still_found(signed_in: Any) -> None:
    old = _remember(signed_in, "The deposit for Vega is 40 euros.")
    chain = _say(signed_in, old, BUTTONS[1], "The deposit for Vega is 400 euros.")
    assert "Was wrong" in chain.get_by_role("listitem").first.inner_text()
    new = signed_in.page.url.rpartition("/")[2]
    chain = _say(signed_in, new, BUTTONS[2], "The deposit is given back in June.")
    texts = chain.get_by_role("listitem").all_inner_texts()
    assert [("Was wrong" in one, "Adds to it" in one) for one in texts] == [
        (True, False),
        (False, False),
        (False, True),
    ]
    found = _found(signed_in, "What is the deposit for Vega?")
    assert "400 euros" in found
    assert "given back in June" in found


def test_who_may_only_read_sees_what_was_said_and_no_buttons(signed_in: Any, browser: Any) -> None:
    old = _remember(signed_in, "Vega meets on Mondays.")
    values = {"text": "Vega meets on Fridays.", "replaces": old}
    new = call(signed_in, "POST", "tools/remember", json=values)["ids"][0]
    with looking_at(signed_in.server, browser) as reading:
        reading.sign_in(reading.server.reading_key)
        reading.open(f"record/{new}")
        chain = reading.page.get_by_role("region", name="What was said")
        chain.get_by_text("Vega meets on Mondays.").wait_for()
        names = reading.page.locator("main").get_by_role("button").all_inner_texts()
        assert not {*BUTTONS, "Undo"} & set(names)


def _follow(home: Path) -> str:
    """Follow two databases that have one customer; return a key to read with."""
    with Memory.open(home, embedder="none") as memory:
        for name, city in (("crm", "Bonn"), ("shop", "Ulm")):
            with sqlite3.connect(home / f"{name}.db") as database:
                database.execute(
                    "CREATE TABLE customers (id INTEGER PRIMARY KEY, name, email, city)"
                )
                database.execute(
                    f"INSERT INTO customers VALUES (7, 'Acme', 'a@b.example', '{city}')"
                )
            memory.schemas.register_from_discovery(
                memory.schemas.discover(str(home / f"{name}.db"))
            )
        for definition in memory.schemas.list():
            memory.schemas.identify(definition.schema_name, ["email"])
        for name in ("crm", "shop"):
            memory.schemas.sync(name)
    with ApiKeys(Settings(home=str(home), embedder="none")) as keys:
        return keys.create("reading", ["read"], tenant="default").key


def test_a_row_says_with_what_it_is_one_and_why(tmp_path: Path, browser: Any) -> None:
    key = _follow(tmp_path)
    with running_server(tmp_path) as url, looking_at(Server(url, key, key), browser) as looking:
        looking.sign_in(key)
        looking.open("record/customer-7")
        page = looking.page
        page.get_by_role("heading", name="One thing, of several sources").wait_for()
        page.get_by_text("crm/customers.email = shop/customers.email: a@b.example").wait_for()
        table = page.get_by_role("region", name="The rows that are one thing")
        rows = table.get_by_role("row").all_inner_texts()[1:]
        assert [("crm" in row, "Bonn" in row, "Ulm" in row) for row in rows] == [
            (True, True, False),
            (False, False, True),
        ]
        assert violations(page) == []
