"""Recall of episodes: the chats that decide, with the turns that do, amendments first."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import uuid4

import pytest

from remloom import Memory, Message, Resource
from remloom.errors import UnknownNameError
from remloom.model import Recall
from remloom.testing.embedder import WordEmbedder

FEBRUARY = datetime(2026, 2, 3, 9, tzinfo=UTC)
JUNE = datetime(2026, 6, 1, 9, tzinfo=UTC)
PROMPT = "A merchant got the same webhook delivery twice after a timeout; do we dedupe deliveries?"
WEBHOOKS = [
    ("user", "we move the webhook sender out of the monolith today"),
    ("assistant", "A table of webhook deliveries and a worker that claims what is due?"),
    ("user", "yes. and the readonly role must see the table"),
    ("assistant", "Should we guarantee that each webhook delivery arrives once, and dedupe?"),
    (
        "user",
        "no, a webhook delivery may arrive twice after a timeout, merchants dedupe deliveries by event id",
    ),
    ("assistant", "Then I rename the test helper."),
]
AMENDED = [
    ("user", "the pdf of the invoice has the old logo"),
    ("assistant", "Replaced. Anything else about webhook deliveries?"),
    (
        "user",
        "merchants asked: after a timeout we now dedupe webhook deliveries ourselves for one hour",
    ),
]
OTHERS = {
    "soup": [
        "the leek soup was too salty",
        "use less stock and more cream",
        "fine, half the stock",
    ],
    "trip": ["we go to Lisbon in March", "by train or by plane?", "by night train through Madrid"],
    "theme": ["the dark theme has brown text", "eight colour tokens only", "agreed, eight tokens"],
}


def turns(name: str, said: list[tuple[str, str]], at: datetime) -> list[Message]:
    return [
        Message(speaker=who, role=who, text=text, id=f"{name}:{n}", at=at + timedelta(minutes=n))
        for n, (who, text) in enumerate(said)
    ]


@pytest.fixture(params=["sqlite", "keyed", "postgres"])
def memory(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Memory]:
    home = tmp_path if request.param != "postgres" else request.getfixturevalue("postgres")
    key = "3f" * 32 if request.param == "keyed" else None
    embedder = WordEmbedder()
    with Memory.open(home, tenant=uuid4().hex, key=key, embedder=embedder) as memory:
        memory.read_chat(turns("webhooks", WEBHOOKS, FEBRUARY), uri="webhooks", name="Webhooks")
        for name, texts in OTHERS.items():
            said = [("assistant" if n % 2 else "user", text) for n, text in enumerate(texts)]
            memory.read_chat(turns(name, said, FEBRUARY), uri=name)
        yield memory


@pytest.fixture
def amended(memory: Memory) -> Memory:
    memory.read_chat(turns("invoice", AMENDED, JUNE), uri="invoice", name="Invoice logo")
    return memory


def ask(memory: Memory, prompt: str = PROMPT, **options: object) -> Recall:
    return memory.recall(prompt, unit="episode", **options)  # type: ignore[arg-type]


def test_the_chat_that_decides_comes_with_the_turn_that_does(memory: Memory) -> None:
    found = ask(memory)
    first = found.episodes[0]
    assert first.uri == "webhooks"
    assert first.starts_at == FEBRUARY
    assert "webhooks:4" in [id for hit in first.hits for id in hit.message_ids]
    assert [hit.id for one in found.episodes for hit in one.hits] == [hit.id for hit in found.hits]
    # turns stand as they were said
    assert [hit.record.ordinal for hit in first.hits] == sorted(
        hit.record.ordinal for hit in first.hits
    )


def test_what_amends_a_decision_stands_before_it_and_says_so(amended: Memory) -> None:
    later, earlier = ask(amended).episodes[:2]
    assert (later.uri, earlier.uri) == ("invoice", "webhooks")
    assert later.amends == earlier.id
    assert later.amends_at == FEBRUARY
    text = amended.context(PROMPT, unit="episode")
    assert "amends the decision of 2026-02-03 below" in text
    assert text.index("ourselves for one hour") < text.index("merchants dedupe deliveries")


def test_a_prompt_that_has_nothing_to_do_with_the_past_gets_nothing(memory: Memory) -> None:
    found = ask(memory, "Write a haiku about compilers")
    assert found.abstained
    assert not found.episodes
    assert found.reason
    assert memory.context("Write a haiku about compilers", unit="episode").startswith("Nothing")


def test_a_budget_holds_the_best_turns_of_both(amended: Memory) -> None:
    found = ask(amended, budget_tokens=260)
    assert found.tokens <= 260
    assert {"webhooks:4", "invoice:2"} <= {id for hit in found.hits for id in hit.message_ids}
    none = ask(amended, budget_tokens=5)
    assert none.abstained
    assert "a budget of 5 tokens" in none.reason


def test_a_filter_holds_for_every_turn(amended: Memory) -> None:
    found = ask(amended, where="uri = 'webhooks'", abstain=False)
    assert {one.uri for one in found.episodes} == {"webhooks"}


def test_a_note_is_an_episode_by_itself(memory: Memory) -> None:
    note = Resource(content="Backups of the greenhouse controller go to Antje on Sundays")
    memory.write([note])
    memory.embed_pending()
    found = ask(memory, "backups of the greenhouse controller", abstain=False)
    assert found.hits[0].content == note.content
    assert found.episodes[0].hits == (found.hits[0],)


def test_a_note_that_says_what_it_amends_stands_before_it(memory: Memory) -> None:
    turn = next(hit for hit in ask(memory).hits if "webhooks:4" in hit.message_ids)
    memory.write([Resource(content="Since spring the sender does that itself.", amends=turn.id)])
    memory.embed_pending()
    note, chat = ask(memory).episodes[:2]
    assert note.hits[0].content == "Since spring the sender does that itself."
    assert note.amends == chat.id


def test_at_most_as_many_episodes_as_the_limit(memory: Memory) -> None:
    assert len(ask(memory, abstain=False, limit=1).episodes) == 1


def test_a_forgotten_turn_is_not_given(memory: Memory) -> None:
    hit = next(hit for hit in ask(memory).hits if "webhooks:4" in hit.message_ids)
    memory.forget(hit.id)
    found = ask(memory, abstain=False)
    assert "webhooks:4" not in {id for hit in found.hits for id in hit.message_ids}


def test_explain_says_why(memory: Memory) -> None:
    found = ask(memory, explain=True)
    assert {reason.part for reason in found.episodes[0].reasons} >= {"words", "centre", "best"}
    assert found.hits[0].reasons[0].part == "episode"
    shown = found.as_dict()["episodes"][0]
    assert shown["hits"] == [hit.id for hit in found.episodes[0].hits]


def test_there_is_no_other_unit(memory: Memory) -> None:
    with pytest.raises(UnknownNameError, match="unit"):
        memory.recall(PROMPT, unit="chapter")  # type: ignore[arg-type]
