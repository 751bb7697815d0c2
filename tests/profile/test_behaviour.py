"""What was done suggests something, weakly, and never against what the user says."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from remloom import Memory
from remloom.model import Resource
from remloom.profile.evidence.passages import Passage
from remloom.profile.extract.rule_extraction import claims_of_behaviour, extract_by_rules
from remloom.profile.slots.registry import registry

HOSTING = "developer_posture.version_control.hosting"


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(tmp_path / "home", embedder="none") as memory:
        yield memory


def browse(memory: Memory, *days: int, site: str = "github.com") -> None:
    for day in days:
        memory.write(
            [
                Resource(
                    uri=f"History#2026-03-{day:02}",
                    content=f"- {site}: Rye bread (4 visits, 1 typed)\n- crumb.example (1 visit)\n",
                    category="browsing",
                    starts_at=datetime(2026, 3, day, tzinfo=UTC),
                )
            ]
        )
    memory.profile.observe()


def claims(text: str, category: str) -> set[tuple[str, str]]:
    record = Resource(uri="x", content=text, category=category)
    return {
        (claim.key, str(claim.value)) for claim in claims_of_behaviour(Passage(record, "me", True))
    }


def test_a_site_tells_something_when_it_was_visited_on_three_days(memory: Memory) -> None:
    browse(memory, 1, 2)
    assert memory.profile.get(HOSTING) is None
    browse(memory, 3)
    found = memory.profile.get(HOSTING)
    assert found is not None
    assert (found.value, found.authority, found.level) == ("GitHub", "observed", "established")
    assert memory.profile.why(HOSTING).evidence[0].quote.startswith("- github.com: Rye bread")


def test_what_was_visited_does_not_end_what_the_user_says(memory: Memory) -> None:
    memory.profile.set("hosting", "GitLab")
    browse(memory, *range(1, 20))
    found = memory.profile.get(HOSTING)
    assert found is not None
    assert (found.value, found.authority) == ("GitLab", "edit")


def test_words_that_things_were_kept_under_count_from_three_items_on(tmp_path: Path) -> None:
    rows = [f"Loaf {n},https://crumb.example/{n},17729280{n:02},bread|rye,unread" for n in range(3)]
    rows.append("Chess,https://chess.example/1,1772928099,chess,unread")
    path = tmp_path / "pocket.csv"
    path.write_text("title,url,time_added,tags,status\n" + "\n".join(rows) + "\n")
    with Memory.open(tmp_path / "home", embedder="none") as memory:
        memory.profile.observe(path)
        assert memory.profile.show().values("interests_and_hobbies.personal_hobbies") == ["baking"]


def test_folders_of_subscriptions_tell_and_the_words_of_others_do_not() -> None:
    feeds = "".join(f"- Food > Baking: Feed {n} (f{n}.example)\n" for n in range(3))
    assert claims(feeds, "news") == {("interests_and_hobbies.personal_hobbies", "baking")}
    marked = "- 2026-03-02: A (a.example); marked: “x; tags: chess”; note: y; list: chess\n" * 3
    assert claims(marked, "saved") == set()
    assert claims("- evil.example: github.com (9 visits)\n", "browsing") == set()


def test_nothing_sensitive_and_nothing_that_only_the_user_may_say_is_guessed() -> None:
    from remloom.profile.extract.rule_extraction import _meanings

    meanings = {**_meanings().sites, **_meanings().topics}
    for slot_id, value in meanings.values():
        slot = registry().get(slot_id)
        assert not slot.sensitive
        assert not slot.user_only
        assert registry().canonical(slot, value) == value


def test_summaries_of_an_assistant_never_count_as_behaviour() -> None:
    record = Resource(uri="x", content="- github.com (4 visits)", category="session")
    assert extract_by_rules([Passage(record, "me")]).found == ()
