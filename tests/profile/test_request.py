"""What heads read from a request: for whom it is, and what of who the user is may be given."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remloom.embed.bundled.sentence_embedder import MiniLM
from remloom.errors import UnknownNameError
from remloom.profile.context.request import PURPOSES, AgentRequest, check_purpose, purpose_for

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


# a question about oneself, whatever words the name of what is known has
OWN_QUESTIONS = [
    "What about my kids?",
    "my team size?",
    "What are my hobbies?",
    "remind me of my job again please",
    "Where do I live?",
    "What music do I like?",
    "What did I say about chess?",
    "Wo wohne ich?",
    "¿Qué música me gusta?",
    "Quels sont mes loisirs ?",
]
CLOSED = [
    "Turn the heating in the climbing hut down",
    "Count the recipes in this folder",
    "What are typical hobbies of teenagers?",
    "Order new strings at the usual place for the orchestra",
    "Sort the jazz records by year",
]
OTHERS = {
    "en": QUERIES["letter"] + QUERIES["somebody_else"],
    "de": [
        "Schreib meiner Vermieterin, dass die Heizung kalt bleibt",
        "Was schenke ich meinem Bruder zum Dreißigsten?",
        "Formulier eine Absage an die Bewerberin",
        "Eine kurze Rede für die Hochzeit meiner Nichte, bitte",
        "Mein Nachbar hat Gicht, was darf er essen?",
        "Antworte der Lehrerin, dass Emil morgen fehlt",
    ],
    "es": [
        "Escríbele a mi casero que no funciona la calefacción",
        "¿Qué le regalo a mi hermano por sus treinta años?",
        "Redacta una carta de recomendación para una alumna",
        "Un discurso corto para la boda de mi sobrina",
        "Mi vecino tiene gota, ¿qué puede comer?",
        "Contesta a la maestra que mañana Leo no va",
    ],
    "fr": [
        "Écris à mon propriétaire que le chauffage ne marche plus",
        "Qu'est-ce que j'offre à mon frère pour ses trente ans ?",
        "Rédige une lettre de recommandation pour une ancienne élève",
        "Un petit discours pour le mariage de ma nièce",
        "Mon voisin a la goutte, que peut-il manger ?",
        "Réponds à la maîtresse que Léo sera absent demain",
    ],
}
OWN = {
    "en": [
        "What should I cook tonight?",
        "Suggest a film for me",
        "where do we go on holiday in May",
        "which shoes do I take for the marathon",
        "I've a free evening, any ideas?",
        "Which phone suits me better, the small or the big one?",
    ],
    "de": [
        "Was koche ich heute Abend?",
        "Welchen Film soll ich mir anschauen?",
        "wohin fahren wir im Mai in Urlaub",
        "Ich hab morgen frei, was könnte ich machen?",
    ],
    "es": [
        "¿Qué cocino esta noche?",
        "Recomiéndame una película",
        "¿adónde vamos de vacaciones en mayo?",
        "Tengo la tarde libre, ¿qué hago?",
    ],
    "fr": [
        "Je cuisine quoi ce soir ?",
        "Conseille-moi un film",
        "on part où en vacances en mai ?",
        "J'ai ma soirée libre, une idée ?",
    ],
}
HARMFUL = QUERIES["security"] + QUERIES["risk"]
SOFT = ("chat", "recommend", "example")


@pytest.fixture(scope="module")
def minilm() -> MiniLM:
    return MiniLM()


def read(query: str, embedder: MiniLM | None) -> AgentRequest:
    if embedder is None:
        return AgentRequest(query)
    return AgentRequest(query, vector=embedder.embed_query(query), embedder=embedder.name)


@pytest.fixture(params=["words alone", "with vectors"])
def embedder(request: pytest.FixtureRequest) -> MiniLM | None:
    found: MiniLM = request.getfixturevalue("minilm")
    return found if request.param == "with vectors" else None


@pytest.mark.parametrize("language", OTHERS)
def test_what_others_read_opens_nothing(language: str, embedder: MiniLM | None) -> None:
    opened = [query for query in OTHERS[language] if read(query, embedder).personal == "near"]
    assert len(opened) <= max(len(OTHERS[language]) // 15, 1), opened


@pytest.mark.parametrize("language", OWN)
def test_what_the_user_lives_with_opens_what_bears_on_it(
    language: str, embedder: MiniLM | None
) -> None:
    closed = [query for query in OWN[language] if read(query, embedder).personal != "near"]
    assert len(closed) <= len(OWN[language]) // 2, closed


@pytest.mark.parametrize(
    "query",
    [
        "Send my colleagues all you know about me",
        "Write a LinkedIn bio from everything you know about me",
        "Delete everything you know about me",
        "Tell me everything about the war of 1812",
        "Who are you?",
    ],
)
def test_what_is_not_for_the_user_asks_for_no_more_than_some(query: str, minilm: MiniLM) -> None:
    assert read(query, minilm).extent == "some"


def test_of_a_long_text_the_end_counts_as_well(minilm: MiniLM) -> None:
    talk = "It rains, the bus was late, and I had soup for lunch. " * 20
    asks = "Write a letter to my landlord that the heating is cold."
    assert read(f"{talk}{asks}", minilm).personal != "near"


def test_what_is_asked_of_somebody_is_not_taken_for_a_letter(minilm: MiniLM) -> None:
    query = "Where does Ana live?"
    assert read(query, minilm).purpose == "letter"
    assert AgentRequest(query, is_of_somebody=True).purpose != "letter"


def test_a_question_about_oneself_gives_what_it_names(embedder: MiniLM | None) -> None:
    closed = [query for query in OWN_QUESTIONS if read(query, embedder).personal == "nothing"]
    assert len(closed) <= 1, closed


def test_what_is_asked_of_the_world_opens_nothing(embedder: MiniLM | None) -> None:
    queries = (*CLOSED, *QUERIES["general"], *QUERIES["coding"])
    opened = [query for query in queries if read(query, embedder).personal == "near"]
    assert len(opened) <= 1, opened


def test_what_may_do_harm_is_mostly_for_no_soft_purpose(minilm: MiniLM) -> None:
    soft = [query for query in HARMFUL if read(query, minilm).purpose in SOFT]
    assert len(soft) <= len(HARMFUL) // 5, soft


def test_of_a_decision_its_head_and_probability_are_told() -> None:
    decided = AgentRequest("Write to my landlord that the heating is cold").audience
    assert str(decided).startswith("others (0.")
    assert decided.head.startswith("audience")


def test_what_restrains_goes_before_the_agent_and_the_agent_before_the_rest() -> None:
    assert purpose_for("CoderAgent", "recommend") == "coding"
    assert purpose_for("CoderAgent", "letter") == "letter"
    assert purpose_for("SomeAgent", "general") == "general"
    agents = {"planner_agent": "planning", "Distiller": "coding", "RetrieverAgent": "research"}
    assert {name: purpose_for(name, "general") for name in agents} == agents
    assert AgentRequest("").purpose == "general"


def test_a_purpose_that_does_not_exist_names_those_that_do() -> None:
    with pytest.raises(UnknownNameError, match="recommend"):
        check_purpose("recomend")


@pytest.mark.parametrize("word", ["x", "my ", "to ", "A'", "what ", "'a "])
def test_a_long_query_takes_no_time(word: str) -> None:
    assert AgentRequest(word * 50_000).purpose


@pytest.mark.parametrize(
    ("query", "extent"),
    [
        ("What is my job?", "some"),
        ("What do you know about Berlin?", "some"),
        ("What do you know about me?", "most"),
        ("List everything you know about me", "most"),
        ("Was weißt du alles über mich?", "most"),
        ("¿Qué sabes de mí?", "most"),
        ("Que sais-tu de moi ?", "most"),
    ],
)
def test_a_request_says_how_much_it_asks_for(query: str, extent: str) -> None:
    assert AgentRequest(query).extent == extent


@given(st.text(max_size=300))
def test_any_text_can_be_read(query: str) -> None:
    request = AgentRequest(query)
    assert request.purpose in PURPOSES
    assert request.extent in ("some", "most")
    assert request.personal in ("nothing", "named", "near")
