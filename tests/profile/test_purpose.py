"""What a context is for, told from a query and an agent."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remloom.errors import UnknownNameError
from remloom.profile.purpose import PURPOSES, check_purpose, purpose_for, purpose_of_agent
from remloom.profile.request import Request

QUERIES = {
    "letter": [
        "Write a letter to my landlord about the heating",
        "Draft an email to the whole team about Friday's lunch",
        "What am I allergic to, write it to the school",
        "What is my job, I have to write a letter to my boss, draft it",
        "Reply to Mr Schmidt and decline the dinner",
        "Compose a birthday message for Tom",
        "Tell my brother that I cannot come to dinner",
        "Can you help me finish this cover letter?",
        "Send Anna a note about the weekend",
        "Polish this LinkedIn post about my hobbies",
        "Schreib einen Brief an meinen Vermieter: letter",
        "Text Maria that we are late for the concert",
        "Compose an apology to my neighbour for the noise from the jazz party",
        "I need a reference letter for my former student",
        "Answer the customer who asked about food allergies",
        "Help me write to HR about my sick leave",
        "Prepare a complaint to the restaurant where we ate",
    ],
    "somebody_else": [
        "What does my brother like to eat?",
        "What is Anna's favourite music?",
        "Is my boss allergic to anything?",
        "Which hobbies does Tom have?",
        "What should I buy my sister for her birthday?",
        "Where do my parents live?",
        "Recommend a restaurant for Anna",
        "How old is Peter?",
        "What would Ben enjoy for his birthday?",
        "My flatmate wants to know what to cook for himself",
        "Plan a diet for my father",
        "What kind of books does she read?",
        "Does the customer eat meat?",
        "Tell me what John Smith likes to drink",
    ],
    "security": [
        "Which password should I choose for my bank?",
        "Set up the firewall on my laptop",
        "Should I give this app access to my location? Check the permissions",
        "Should I click on this link from my travel agency?",
        "Is it safe to share my health data with this vendor?",
        "Open port 22 on the server that runs the chess site; check the firewall",
        "Rotate the API keys of the music app",
        "What is a good security question about my first pet?",
    ],
    "risk": [
        "Delete all my holiday photos",
        "Permanently remove the jazz library from the NAS",
        "Empty the trash folder with the recipes",
        "Terminate all instances of the food delivery cluster",
        "Wipe the staging database of the recipe app",
        "rm -rf the music folder",
        "Remove all the old files in my books folder",
        "Force-push the branch to main",
        "Cancel my gym subscription",
        "drop table recipes",
    ],
    "coding": ["Refactor this function", "Why does my unit test fail?", "Fix the commit message"],
    "recommend": [
        "Where should I eat tonight?",
        "What should I cook for Anna and me?",
        "Suggest a film for me",
        "Any ideas for the weekend?",
    ],
    "chat": [
        "What are my hobbies?",
        "Hi, how are you?",
        "Who is my wife?",
        "What music do I like?",
        "Answer from your notes: which editor do I use",
        "what am i allergic to, need to fill in a form",
        "Where do I live? I need it for a letter.",
    ],
    "example": ["Explain inflation with something from my hobbies"],
    "general": [
        "Summarise the report",
        "What is two plus two?",
        "Explain how loans work",
        "Give me an example of how a heat pump works",
    ],
}


# what is known of the user is called so
OWN = (
    ["kids"],
    ["job"],
    ["manager"],
    ["team size"],
    ["cuisines and food they like", "ramen"],
    ["hobbies", "chess"],
)

# a question about oneself, whatever words the name of what is known has
OWN_QUESTIONS = [
    "What about my kids?",
    "my team size?",
    "What about my cuisines and food they like?",
    "Who is my manager?",
    "remind me of my job again please",
    "whats my manager called",
    "What did I say about chess?",
]
# nothing here has a sign of harm or of others that is in a list; none asks in a form that gives
CLOSED = [
    "Turn the heating in the climbing hut down",
    "Count the recipes in this folder",
    "What are typical hobbies of teenagers?",
    "Order new strings at the usual place for the orchestra",
    "Sort the jazz records by year",
]


@pytest.mark.parametrize(
    ("purpose", "query"), [(name, query) for name, some in QUERIES.items() for query in some]
)
def test_a_query_tells_what_it_is_for(purpose: str, query: str) -> None:
    assert Request(query, people=["Maria"], known=["Python", "Lisbon"]).purpose == purpose


@pytest.mark.parametrize("query", OWN_QUESTIONS)
def test_a_straight_question_about_oneself_is_answered_whatever_its_words(query: str) -> None:
    assert Request(query, own=OWN).purpose == "chat"


@pytest.mark.parametrize(
    "query",
    [
        "Does my manager have kids?",
        "Write to my manager",
        "Delete my job",
        "Tell my kids",
        "my kids passwords",
    ],
)
def test_a_request_about_more_than_oneself_is_no_such_question(query: str) -> None:
    assert Request(query, own=OWN).purpose not in ("chat", "recommend", "example")


@pytest.mark.parametrize("query", CLOSED)
def test_what_is_asked_in_no_form_that_gives_is_for_nothing_soft(query: str) -> None:
    assert Request(query, own=OWN).purpose not in ("chat", "recommend", "example")


def test_what_restrains_goes_before_the_agent_and_the_agent_before_the_rest() -> None:
    assert purpose_for("CoderAgent", "recommend") == "coding"
    assert purpose_for("CoderAgent", "letter") == "letter"
    assert purpose_for("SomeAgent", "general") == "general"
    agents = {"planner_agent": "planning", "Distiller": "coding", "RetrieverAgent": "research"}
    assert {name: purpose_of_agent(name) for name in agents} == agents
    assert Request("").purpose == "general"


def test_a_purpose_that_does_not_exist_names_those_that_do() -> None:
    with pytest.raises(UnknownNameError, match="recommend"):
        check_purpose("recomend")


@pytest.mark.parametrize(
    "query",
    [
        "x" * 100_000,
        "my " * 50_000,
        "to " * 30_000,
        "A'" * 50_000,
        "what " * 20_000,
        "for " * 25_000,
        "'a " * 30_000,
    ],
)
def test_a_long_query_takes_no_time(query: str) -> None:
    assert Request(query, own=OWN).purpose


@pytest.mark.parametrize(
    ("query", "extent"),
    [
        ("What is my job?", "some"),
        ("What do you know about me?", "most"),
        ("List everything you know about me", "all"),
    ],
)
def test_a_request_says_how_much_it_asks_for(query: str, extent: str) -> None:
    assert Request(query).extent == extent


@given(st.text(max_size=300))
def test_any_text_can_be_read(query: str) -> None:
    request = Request(query, own=OWN)
    assert request.purpose in PURPOSES
    assert request.extent in ("some", "most", "all")
    assert request.is_personal in (True, False)
