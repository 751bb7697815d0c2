"""On the pages: what may no longer hold is marked, listed, and confirmed."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("axe_playwright_python")

from browsing import call, violations

LEAD = {"schema": "resources", "id": "lead", "name": "Lead of Orion", "content": "Bob leads Orion.", "uri": "lead.md"}  # fmt: skip
REVIEW = {"schema": "resources", "id": "review", "name": "Who reviews", "content": "Reviews of Orion go to Bob.", "parents": ["lead"]}  # fmt: skip
WHY = "Lead of Orion changed on"


def test_what_may_no_longer_hold_is_marked_listed_and_confirmed(signed_in: Any) -> None:
    page = signed_in.page
    for record in (LEAD, REVIEW, {**LEAD, "content": "Ann leads Orion."}):
        call(signed_in, "POST", "write", json={"records": [record]})
    signed_in.open("ask?q=Who reviews Orion")
    hit = page.locator("article.hit").filter(has_text="Reviews of Orion")
    hit.get_by_text("May not hold any more").wait_for()
    assert WHY in hit.inner_text()
    signed_in.open("record/review")
    page.get_by_text(WHY).first.wait_for()
    page.get_by_role("link", name="What changed").first.click()
    page.get_by_text("Ann leads Orion.").first.wait_for()
    signed_in.open("dreams?view=stale")
    page.get_by_role("row", name="Who reviews").get_by_text(WHY).wait_for()
    assert violations(page) == []
    page.get_by_role("button", name="Who reviews still holds").click()
    page.get_by_text("All of it holds").wait_for()
    signed_in.open("ask?q=Who reviews Orion")
    hit.wait_for()
    assert WHY not in hit.inner_text()
