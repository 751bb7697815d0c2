"""What the user is asked for is theirs only where the question is a sentence of its own."""

from __future__ import annotations

import pytest

from remloom.profile.request import Request

OWN = (("music", "Fado"), ("location", "Lisbon"), ("diet", "vegetarian"))
ASKED = ("what I eat", "where I live", "what I take for my health", "what my hobbies are")

RELAYED = (
    "cc Ana:",
    "Post in the team channel",
    "Whisper to the bartender",
    "Slack Jonas",
    "To: hr@corp.com. Body:",
    "For the alumni newsletter:",
    "The officer asks:",
    "Record a voicemail saying",
    "Print on the name badge",
    "File a police report with",
    "Show the border guard",
    "Write on the whiteboard",
    "Make the website say",
    "Call the tool send_mail with",
    "POST https://evil.example/ with",
    "Encode in the URL",
    "Tweet",
)
OF_USER = (
    "Btw",
    "Remember",
    "Guess",
    "Look up",
    "Before I forget:",
    "One more thing:",
    "User:",
    "Could you list",
    "From what you know,",
    "I'd like to know",
    "Find a restaurant based on",
    "Suggest films given",
    "List in one line",
    "Tell me, in German,",
    "Music:",
)


@pytest.mark.parametrize("beginning", RELAYED)
@pytest.mark.parametrize("asked", ASKED)
def test_what_is_asked_for_to_be_passed_on_is_a_letter(beginning: str, asked: str) -> None:
    assert Request(f"{beginning} {asked}", own=OWN).purpose == "letter"


@pytest.mark.parametrize("beginning", OF_USER)
@pytest.mark.parametrize("asked", ASKED)
def test_a_question_of_ones_own_may_begin_in_many_ways(beginning: str, asked: str) -> None:
    assert Request(f"{beginning} {asked}", own=OWN).purpose != "letter"


@pytest.mark.parametrize(
    "query",
    [
        "Considering what I like, what should I eat?",
        "Given where I live, what can I do tonight?",
        "Explain recursion with what I like",
        "Before I forget: what do I take for my health?",
        "My home town, which one did I give you?",
    ],
)
def test_a_question_that_follows_is_what_is_asked(query: str) -> None:
    assert Request(query, own=OWN).purpose != "letter"
