"""On the page of the profile: what has changed and what was wrong, told apart, and taken back."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

pytest.importorskip("axe_playwright_python")

from browsing import call, violations

COLOUR = "extras.favourite_colour"


def _day(days: int) -> str:
    return f"{datetime.now(UTC) - timedelta(days=days):%Y-%m-%d}"


def _context(looking: Any, query: str) -> str:
    return str(call(looking, "POST", "profile/context", json={"query": query})["text"])


def _card(page: Any, belief: str) -> Any:
    label, _, value = belief.partition(": ")
    return page.locator("article.belief").filter(has_text=label).filter(has_text=value)


def _say(looking: Any, belief: str, button: str, value: str = "", since: str = "") -> None:
    """Say by a button, and the dialog that it opens, what is so instead of a belief."""
    page = looking.page
    looking.open("profile")
    page.get_by_role("button", name=f"Why: {belief}").click()
    _card(page, belief).get_by_role("button", name=button).click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("What is so instead").fill(value)
    if since:
        dialog.get_by_label("Since when").fill(since)
    assert violations(page) == []
    dialog.get_by_role("button", name="Save").click()
    dialog.wait_for(state="detached")


def _undo(looking: Any) -> None:
    looking.page.get_by_role("button", name="Undo").click()
    looking.page.get_by_text("Undone: ").wait_for()


def _history(looking: Any, label: str) -> list[list[str]]:
    """What stands before, after and why in the changes of a label, the newest first."""
    page = looking.page
    looking.open("profile?view=changes")
    page.get_by_role("row", name=label).first.wait_for()
    rows = page.get_by_role("row", name=label).all_inner_texts()
    return [row.split("\t")[2:5] for row in rows]


def test_a_move_to_another_town_is_a_change_since_its_day(signed_in: Any) -> None:
    page = signed_in.page
    assert 'Location: "Lisbon"' in _context(signed_in, "Where do I live?")
    _say(signed_in, "Location: Lisbon", "This has changed", "Porto", since=_day(14))
    page.get_by_text("Changed: Location: Porto").wait_for()
    assert f'"Porto" (since {_day(14)}, certain, before: "Lisbon")' in _context(
        signed_in, "Where do I live?"
    )
    assert _history(signed_in, "Location")[0] == ["Lisbon", "Porto", "has changed"]
    signed_in.open("profile")
    page.get_by_label("As believed on").fill(_day(7))
    _card(page, "Location: Lisbon").wait_for()
    assert page.get_by_text("Retracted").count() == 0
    assert page.get_by_role("button", name="Say something").count() == 0
    assert violations(page) == []


def test_an_allergy_that_never_was_is_set_right_and_that_is_undone(signed_in: Any) -> None:
    page = signed_in.page
    _say(signed_in, "Allergies: peanuts", "This was wrong", "almonds")
    page.get_by_text("Corrected: Allergies: almonds").wait_for()
    _card(page, "Allergies: peanuts").get_by_text("rejected by hand").wait_for()  # still open
    given = _context(signed_in, "What shall I cook?")
    assert '- Allergies: "almonds"' in given
    assert 'Allergies: set right: "peanuts" → never so' in given
    assert ["peanuts", "no longer", "was wrong"] in _history(signed_in, "Allergies")
    signed_in.open("profile")
    page.get_by_label("As believed on").fill(_day(7))
    _card(page, "Allergies: peanuts").get_by_text("Retracted").wait_for()
    page.get_by_label("As believed on").fill("")
    _say(signed_in, "Allergies: almonds", "This was wrong", "walnuts")
    page.get_by_text("Corrected: Allergies: walnuts").wait_for()
    _undo(signed_in)
    assert '- Allergies: "almonds"' in (given := _context(signed_in, "What shall I cook?"))
    assert "walnuts" not in given


def test_an_allergy_that_was_outgrown_ends_and_is_no_mistake(signed_in: Any) -> None:
    page = signed_in.page
    eggs = {"slot": "allergies", "value": "eggs", "since": f"{_day(40)}T00:00:00Z"}
    call(signed_in, "POST", "profile/set", json=eggs)
    _say(signed_in, "Allergies: eggs", "This has changed", since=_day(3))
    page.get_by_text("No longer so: Allergies: eggs").wait_for()
    given = _context(signed_in, "What shall I cook?")
    assert '- Allergies: "eggs"' not in given
    assert 'Allergies: before: "eggs" → no longer so' in given
    assert ["eggs", "no longer", "has changed"] in _history(signed_in, "Allergies")
    signed_in.open("profile")
    _say(signed_in, "Allergies: eggs", "This was wrong")
    page.get_by_text("Never was so: Allergies: eggs").wait_for()
    _undo(signed_in)
    assert ["eggs", "no longer", "has changed"] in _history(signed_in, "Allergies")


def test_of_a_favourite_the_newer_holds_alone_until_that_is_undone(signed_in: Any) -> None:
    page = signed_in.page
    call(signed_in, "POST", "profile/set", json={"slot": COLOUR, "value": "blue"})
    _say(signed_in, "Favourite colour: blue", "This has changed", "green")
    page.get_by_text("Changed: Favourite colour: green").wait_for()
    given = _context(signed_in, "Which colour shall I paint my room?")
    assert '"green" (' in given
    assert 'before: "blue"' in given
    assert _history(signed_in, "Favourite colour")[0] == ["blue", "green", "has changed"]
    _say(signed_in, "Favourite colour: green", "This was wrong", "teal")
    page.get_by_text("Corrected: Favourite colour: teal").wait_for()
    assert _history(signed_in, "Favourite colour")[0] == ["green", "teal", "was wrong"]
    signed_in.open("profile")
    _say(signed_in, "Favourite colour: teal", "This has changed", "red")
    page.get_by_text("Changed: Favourite colour: red").wait_for()
    _undo(signed_in)
    assert '"teal" (' in (given := _context(signed_in, "Which colour shall I paint my room?"))
    assert '"red"' not in given
