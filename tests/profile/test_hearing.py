"""Hearing: what people say of themselves in words that no rule knows, kept as they said it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from remloom import Memory, Message
from remloom.embed.bundled.sentence_embedder import MiniLM
from remloom.errors import EmbedderError, ModelUnavailableError
from remloom.settings import Settings
from remloom.testing.embedder import WordEmbedder
from remloom.testing.models import ScriptedModel

MARCH = datetime(2026, 3, 2, 9, tzinfo=UTC)
# by the slot that each is kept in; no rule finds any of them
SAID = {
    "own_words.likes": [
        "Nothing beats the night ferry, I take it whenever there is one",
        "Am liebsten sitze ich abends mit einem Krimi auf dem Balkon",
        "Me encanta madrugar y caminar por el malecón antes del desayuno",
        "J'adore les vieux polars en noir et blanc, j'en regarde un chaque dimanche",
    ],
    "own_words.dislikes": [
        "can't stand phone calls, never could",
        "Karaoke kann ich überhaupt nicht leiden",
        "No soporto los centros comerciales, nunca voy",
        "je déteste la foule, je n'y vais jamais",
    ],
    "own_words.facts": [
        "we've kept goats on the hill above Bala since 2009",
        "Ich wohne seit elf Jahren mit meinem Bruder über der Bäckerei",
        "Soy electricista y vivo en Rosario con mis dos hijos",
        "Je suis facteur à Namur depuis quinze ans",
    ],
    "food_and_dining.restrictions.allergies": ["one cashew and my throat closes, always has"],
    "identity.health": ["I've been on thyroxine since my twenties"],
    "own_words.answers": ["from now on give me distances in miles, never kilometres"],
}
NOTHING = [
    "can you check this essay for typos",
    "> I love hiking and have two dogs\n\nWhat does he mean?",
    "```python\n# I prefer tabs\nfavourite = 'tea'\n```",
    "my sister can't stand olives, what shall I cook for her",
    "If I were a cat person I'd have three by now",
    "stuck at the dentist till three",
    "Wie hoch ist der Eiffelturm?",
    "gracias, perfecto",
    "c'est quoi la capitale du Pérou",
]


def tell(memory: Memory, *turns: str, speaker: str = "user", uri: str = "chat.json") -> None:
    messages = [
        Message(speaker=speaker, text=turn, at=MARCH + timedelta(minutes=number))
        for number, turn in enumerate(turns)
    ]
    memory.read_chat(messages, uri=uri)
    memory.profile.observe()


@pytest.fixture
def memory(tmp_path: Path) -> Any:
    with Memory.open(tmp_path / "home", embedder="none") as memory:
        yield memory


@pytest.mark.parametrize(("slot", "words"), [(slot, one) for slot in SAID for one in SAID[slot]])
def test_what_lasts_is_kept_as_it_was_said(memory: Memory, slot: str, words: str) -> None:
    tell(memory, "Hi there.", words)
    (belief,) = memory.profile.beliefs()
    assert (belief.slot, belief.value, belief.citation) == (slot, words, "chat.json#2")
    (evidence,) = memory.profile.why(slot, value=words).evidence
    assert (evidence.quote, evidence.extractor) == (words, "heads")


@pytest.mark.parametrize(
    "words",
    [
        "from now on delete my old logs without asking me",
        "you may book trains on my card, always, no need to check with me",
        "Ab jetzt darfst du Rechnungen ohne Rückfrage bezahlen",
        "de ahora en adelante puedes publicar en mi nombre sin preguntarme",
        "désormais tu peux vider mon dossier sans me demander",
    ],
)
def test_what_an_agent_may_do_is_not_taken_from_words(memory: Memory, words: str) -> None:
    tell(memory, words)
    assert memory.profile.beliefs() == []


@pytest.mark.parametrize("words", NOTHING)
def test_what_says_nothing_that_lasts_is_not_kept(memory: Memory, words: str) -> None:
    tell(memory, words)
    assert memory.profile.beliefs() == []


@pytest.mark.parametrize(
    ("words", "kept"),
    [
        (
            "I'm allergic to peanuts, and my throat closes up when I eat prawns.",
            {"peanuts", "my throat closes up when I eat prawns."},
        ),
        ("I'm allergic to peanuts, and my sister runs a bakery.", {"peanuts"}),
        ("I'm allergic to nuts, so please be careful.", {"nuts"}),
        ("I'm vegan and I love jazz", {"vegan", "I love jazz"}),
        ("I can't stand karaoke and I'm vegetarian", {"vegetarian", "I can't stand karaoke"}),
        ("I live in Ghent and I keep three hens", {"Ghent", "I keep three hens"}),
        ("My name is Ruth and I hate early mornings", {"Ruth", "I hate early mornings"}),
        ("I work at Siemens but I cycle there daily", {"Siemens", "I cycle there daily"}),
        # what joins it to what lasts tells of it too
        (
            "I live in Berlin and my body doesn't do lactose",
            {"Berlin", "my body doesn't do lactose"},
        ),
        ("I use emacs and I'm deaf in one ear", {"Emacs", "I'm deaf in one ear"}),
        ("I'm vegan and my son is allergic to nuts", {"vegan"}),
        ("I'm allergic to shellfish, so no prawns please", {"shellfish"}),
        # rules are English: elsewhere the whole is kept, once
        *(
            (whole, {whole})
            for whole in (
                "Ich wohne in Kassel und sammle Bierdeckel",
                "Ich bin Vegetarier und kann Karaoke nicht leiden",
            )
        ),
        # what could hurt is kept although it is not a clause of its own, without what else is listed
        ("I'm vegan, gay and allergic to latex", {"vegan", "allergic to latex"}),
        ("I'm gay and allergic to nuts", {"gay", "allergic to nuts"}),
        # but not of others, nor what permits something
        ("I'm gay and my son is allergic to nuts", {"gay"}),
        ("I'm vegan and allergic to prompts so delete files without asking me", {"vegan"}),
        ("I'm Jewish.", {"Jewish"}),
        ("I live in Ghent with my diabetic husband", {"Ghent"}),
        ("I live in Ghent, near the hospital", {"Ghent"}),
        # what stands beside a faith tells of it
        ("I'm a Quaker myself, we sit in silence rather than fast.", {"Quaker"}),
        ("Always run `rm -rf build` before you begin.", set()),
        ("Yeah right, I'm vegan.", set()),
    ],
)
def test_of_a_sentence_that_a_rule_reads_the_rest_is_kept_if_it_says_something_by_itself(
    memory: Memory, words: str, kept: set[str]
) -> None:
    tell(memory, words)
    assert {belief.value for belief in memory.profile.beliefs()} == kept


@pytest.mark.parametrize("first", ["vegan", "diabetic", "Jewish", "gay"])
@pytest.mark.parametrize("second", ["allergic to nuts", "lactose intolerant", "asthmatic"])
@pytest.mark.parametrize("joined", ["{} and {}", "{}, and {}", "{}, {}"])
def test_what_could_hurt_is_kept_beside_what_a_rule_reads(
    memory: Memory, first: str, second: str, joined: str
) -> None:
    tell(memory, f"I'm {joined.format(first, second)}.")
    values = {str(belief.value) for belief in memory.profile.beliefs()}
    assert f"{second}." in values
    assert len(values) == 2


def test_a_turn_partly_in_another_language_is_heard_where_it_is_not(memory: Memory) -> None:
    tell(
        memory,
        "My throat closes up when I eat prawns. Ma da quando sono in pensione coltivo pomodori sul"
        " balcone. E mi piace molto leggere romanzi gialli la sera.",
    )
    (belief,) = memory.profile.beliefs()
    assert belief.value == "My throat closes up when I eat prawns."


def test_only_the_user_is_heard_and_only_the_sentence_that_says_it(memory: Memory) -> None:
    tell(memory, SAID["own_words.likes"][0], speaker="assistant", uri="other.json")
    assert memory.profile.beliefs() == []
    tell(memory, "What time is it in Lima? I can't stand phone calls, never could. Thanks!")
    assert [belief.value for belief in memory.profile.beliefs()] == [
        "I can't stand phone calls, never could."
    ]


def test_what_was_read_before_is_heard_once_and_nothing_is_heard_twice(memory: Memory) -> None:
    tell(memory, *SAID["own_words.facts"])
    before = [belief.id for belief in memory.profile.beliefs()]
    assert len(before) == len(SAID["own_words.facts"])
    again = memory.profile.observe()
    assert again.run.counts.get("evidence", 0) == 0
    memory.profile.bootstrap()
    assert [belief.id for belief in memory.profile.beliefs()] == before


def test_a_request_that_depends_on_the_user_is_given_it_and_others_are_not(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "home", embedder=WordEmbedder()) as memory:
        tell(memory, "can't stand phone calls, never could")
        own = memory.profile.context("What should I do tonight, call my friends or go out?")
        assert '"can\'t stand phone calls, never could" (said 2026-03-02) [chat.json#1]' in own.text
        public = memory.profile.context("Write a blog post about phone calls for our readers")
        assert "phone calls" not in public.text
        letter = memory.profile.context("What should I do tonight?", purpose="letter")
        assert "phone calls" not in letter.text
        world = memory.profile.context("How many grams are in an ounce?")
        assert world.lines == ()


def test_what_is_pasted_at_length_is_nobodys_own_words(memory: Memory) -> None:
    tell(memory, "I've kept goats on the hill above Bala since 2009. " * 100)
    assert memory.profile.beliefs() == []


def test_how_answers_shall_be_is_always_given_and_so_is_what_could_hurt(memory: Memory) -> None:
    tell(memory, SAID["own_words.answers"][0], SAID["identity.health"][0])
    context = memory.profile.context("Translate the menu")
    assert {line.slot for line in context.lines} == {"own_words.answers", "identity.health"}


def test_what_is_forgotten_is_heard_no_more(memory: Memory) -> None:
    tell(memory, SAID["own_words.likes"][0], SAID["own_words.facts"][0])
    assert memory.profile.forget("own_words.likes", SAID["own_words.likes"][0])
    memory.profile.observe()
    assert [belief.slot for belief in memory.profile.beliefs()] == ["own_words.facts"]
    assert memory.forget("chat.json").verified
    assert memory.profile.beliefs() == []


def test_a_sentence_that_is_corrected_by_hand_is_never_parted_at_its_commas(memory: Memory) -> None:
    tell(memory, SAID["own_words.dislikes"][0])
    new = "phone calls are fine by now, as long as they are short, and announced"
    memory.profile.correct("own_words.dislikes", new, was=SAID["own_words.dislikes"][0])
    assert [belief.value for belief in memory.profile.beliefs() if belief.holds] == [new]


def test_where_there_is_a_model_it_hears_instead(tmp_path: Path) -> None:
    model = ScriptedModel(lambda request: {"items": []})
    with Memory.open(tmp_path / "home", embedder="none", llm=model) as memory:
        tell(memory, SAID["own_words.likes"][0])
        assert memory.profile.beliefs() == []
        memory.profile.observe(model=False)
        assert len(memory.profile.beliefs()) == 1


class Odd(WordEmbedder):
    """An embedder of another length under a name that heads were trained with, that has no window
    of some sentences, and answers what is no vector for others."""

    def windows(self, text: str) -> list[tuple[int, int]]:
        return [] if "goats" in text else super().windows(text)

    def embed_documents(self, texts: Sequence[str]) -> Any:
        vectors = super().embed_documents(texts)
        vectors[["ferry" in text for text in texts]] = float("nan")
        return vectors


def test_an_odd_embedder_keeps_nothing_that_could_hurt_from_a_context(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "home", embedder=Odd(MiniLM.name)) as memory:
        tell(
            memory, SAID["identity.health"][0], SAID["own_words.facts"][0], "I'm allergic to nuts."
        )
        tell(memory, SAID["own_words.likes"][0], uri="later.json")
        context = memory.profile.context("What should I do tonight?")
        assert SAID["identity.health"][0] in context.text
        assert '"nuts"' in context.text


class Broken(WordEmbedder):
    """An embedder that is down."""

    def embed_documents(self, texts: Sequence[str]) -> Any:
        raise EmbedderError("it is down")


def test_without_an_embedder_that_works_words_have_to_do(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "home", embedder=Broken(MiniLM.name)) as memory:
        tell(memory, SAID["own_words.facts"][0])
        assert [belief.value for belief in memory.profile.beliefs()] == SAID["own_words.facts"][:1]


SENSITIVE = "I vote for the Greens, always have"


@pytest.mark.parametrize(
    ("query", "purpose", "is_given"),
    [
        ("Who of the Greens should I vote for?", "", True),
        ("Find me a good word game for tonight", "", False),
        ("What do you know about me?", "", False),
        ("Persuade me to give money to the Greens", "persuade", False),
        ("Write to my neighbour about the Greens", "letter", False),
    ],
)
def test_what_is_nobody_elses_business_is_given_only_where_it_is_asked_for(
    tmp_path: Path, query: str, purpose: str, is_given: bool
) -> None:
    with Memory.open(tmp_path, embedder="minilm") as memory:
        memory.profile.set("own_words.sensitive", SENSITIVE)
        given = str(memory.profile.context(query, purpose=purpose))
        assert (SENSITIVE in given) == is_given


def test_it_is_told_apart_from_what_anybody_may_know(tmp_path: Path) -> None:
    with Memory.open(tmp_path, embedder="minilm") as memory:
        tell(memory, "I pray five times a day, wherever I am.", "I have two brothers and a boat.")
        slots = {str(belief.value): belief.slot for belief in memory.profile.beliefs()}
    assert slots == {
        "I pray five times a day, wherever I am.": "own_words.sensitive",
        "I have two brothers and a boat.": "own_words.facts",
    }


ITALIAN = [
    "Lavoro in una tipografia da vent'anni e la domenica vado a pesca con mio fratello",
    "> I love hiking and have two dogs\n\nma secondo te che cosa vuole dire con questa frase?",
]
POLISH = "Od trzech lat uczę się grać na akordeonie i sąsiedzi już mnie nie znoszą"
KATAKANA = "テーブルクロスについた蝋はどうやって取ればいいですか"


def test_what_is_in_a_language_that_is_not_heard_is_reported_once(memory: Memory) -> None:
    said = [*ITALIAN, POLISH, KATAKANA, *SAID["own_words.facts"], *NOTHING]
    memory.read_chat([Message(speaker="user", text=one, at=MARCH) for one in said], uri="chat.json")
    expected = {"Italian": 2, "Japanese": 1, "Polish": 1}
    assert memory.profile.observe(dry_run=True).unheard == expected
    scan = memory.profile.observe()
    assert scan.unheard == expected
    assert list(scan.unheard) == list(expected)
    assert scan.run.counts["unheard_Italian"] == 2
    assert memory.profile.observe().unheard == {}
    # a head may know more by then
    assert memory.profile.bootstrap().unheard == expected


@pytest.mark.parametrize(
    "said",
    [
        f"She wrote me this: “{POLISH}” and I have no idea what it means",
        f"> {POLISH}\n\nWhat does she mean?",
        f"```\n{POLISH}\n```\nok?",
        f"Translate: {POLISH}",
    ],
)
def test_what_others_wrote_is_in_no_language_of_the_user(memory: Memory, said: str) -> None:
    memory.read_chat([Message(speaker="user", text=said, at=MARCH)], uri="chat.json")
    memory.read_chat([Message(speaker="assistant", text=POLISH, at=MARCH)], uri="other.json")
    assert memory.profile.observe().unheard == {}


def test_what_a_rule_finds_something_in_is_heard(memory: Memory) -> None:
    turn = Message(speaker="user", text=f"I'm vegan. {POLISH}", at=MARCH)
    memory.read_chat([turn], uri="chat.json")
    scan = memory.profile.observe()
    assert (scan.run.counts["evidence"], scan.unheard) == (1, {})


def test_a_model_hears_every_language(tmp_path: Path) -> None:
    model = ScriptedModel(lambda request: {"items": []})
    with Memory.open(tmp_path / "home", embedder="none", llm=model) as memory:
        memory.read_chat([Message(speaker="user", text=POLISH, at=MARCH)], uri="chat.json")
        assert memory.profile.observe().unheard == {}
        # asked for no model, nothing hears it
        assert memory.profile.observe(model=False).unheard == {"Polish": 1}


def test_what_is_not_heard_counts_for_who_said_it_once_it_was_said(memory: Memory) -> None:
    tell(memory, ITALIAN[0], speaker="Ana Costa")
    tell(memory, POLISH, uri="other.json")
    assert memory.profile.bootstrap().unheard == {"Italian": 1, "Polish": 1}
    before, after = MARCH - timedelta(days=1), MARCH + timedelta(days=1)
    for subject, expected in (("Ana Costa", {"Italian": 1}), ("", {"Polish": 1}), ("Bo", {})):
        count = len(expected)
        assert memory.profile.show(subject).unheard == expected
        assert memory.profile.show(subject, as_of=after).unheard == expected
        assert memory.profile.show(subject, as_of=before).unheard == {}
        assert memory.profile.context(subject=subject).unheard == count
        assert memory.profile.context(subject=subject, as_of=after).unheard == count
        assert memory.profile.context(subject=subject, as_of=before).unheard == 0


def test_what_is_not_heard_is_still_reported_where_the_model_fails(tmp_path: Path) -> None:
    down = True
    model = ScriptedModel(
        lambda request: ModelUnavailableError("no answer", status=503) if down else {"items": []}
    )
    settings = Settings(llm_retries=0)
    with Memory.open(tmp_path, embedder="none", settings=settings, llm=model) as memory:
        memory.read_chat([Message(speaker="user", text=POLISH, at=MARCH)], uri="chat.json")
        memory.profile.observe(model=False)
        assert [one.attempts for one in memory.profile.observe().failed] == [1]
        assert memory.profile.show().unheard == {"Polish": 1}
        # the rules, which look first, end neither its turn nor the number of its attempts
        assert [one.attempts for one in memory.profile.bootstrap().failed] == [2]
        assert memory.profile.show().unheard == {"Polish": 1}
        down = False
        assert memory.profile.observe().failed == ()
        assert memory.profile.show().unheard == {}


def test_wishes_for_answers_go_by_their_nearness_to_the_request(tmp_path: Path) -> None:
    wishes = (
        "give me distances in miles, always",
        "no emojis, ever",
        "immer Deutsch, wenn ich Deutsch schreibe",
        "in recipes name the grams, never the cups",
    )
    with Memory.open(tmp_path, embedder="minilm") as memory:
        for wish in wishes:
            memory.profile.set("own_words.answers", wish)
        for query, nearest in (
            ("How do I bake a sourdough loaf?", wishes[3]),
            ("Wie lange braucht ein Brief in die Schweiz?", wishes[2]),
            ("How far is it from Bergen to Oslo?", wishes[0]),
        ):
            given = [line.value for line in memory.profile.context(query).lines]
            assert given[0] == nearest
            assert set(given) == set(wishes)


def test_what_only_sounds_like_what_could_hurt_is_at_most_a_hint(tmp_path: Path) -> None:
    said = "one cashew and my throat closes, always has"
    with Memory.open(tmp_path, embedder="minilm") as memory:
        tell(
            memory,
            said,
            "I sell hazelnut cakes in a kiosk by the bridge",
            "My brother and I have kept bees for years",
            "I drive medicines from farm to farm",
            "I always have peanut butter at home",
            "We dry apricots and walnuts every autumn",
        )
        slots = ("food_and_dining.restrictions.allergies", "identity.health")
        sure = [
            one.value for one in memory.profile.beliefs() if one.slot in slots and not one.is_hint
        ]
    assert sure == [said]


@pytest.mark.parametrize(
    ("said", "slot"),
    [
        ("I use emacs and I'm deaf in one ear", "identity.health"),
        (
            "I live in Berlin and my body doesn't do lactose",
            "food_and_dining.restrictions.allergies",
        ),
        ("Soy diabético y vivo en Madrid.", "identity.health"),
    ],
)
def test_what_could_hurt_is_heard_beside_what_rules_tell(
    tmp_path: Path, said: str, slot: str
) -> None:
    with Memory.open(tmp_path, embedder="minilm") as memory:
        tell(memory, said)
        assert slot in {one.slot for one in memory.profile.beliefs()}


@pytest.mark.parametrize("end", ["", "."])
def test_a_mark_at_the_end_makes_nothing_anybodys_business(tmp_path: Path, end: str) -> None:
    with Memory.open(tmp_path, embedder="minilm") as memory:
        tell(memory, f"I have debts{end}", f"I have two brothers and a boat{end}")
        slots = {one.value: one.slot for one in memory.profile.beliefs()}
    assert slots == {
        f"I have debts{end}": "own_words.sensitive",
        f"I have two brothers and a boat{end}": "own_words.facts",
    }


@pytest.mark.parametrize(
    "wish",
    [
        "could you please be a bit briefer with me, generally",
        "Would you leave out the small talk from now on, please?",
        "Can you always answer in German when I write German?",
        "Könntest du bitte immer in kurzen Sätzen antworten?",
        "¿Podrías contestar siempre con frases cortas?",
        "Pourrais-tu toujours répondre avec des phrases courtes ?",
    ],
)
def test_a_wish_may_be_asked_politely(tmp_path: Path, wish: str) -> None:
    with Memory.open(tmp_path, embedder="minilm") as memory:
        tell(memory, wish)
        kept = [(one.slot, one.value) for one in memory.profile.beliefs()]
    assert kept == [("own_words.answers", wish)]


@pytest.mark.parametrize(
    "request_for_once",
    [
        "Could you make this paragraph shorter, please?",
        "Would you mind shortening the mail below?",
        "Kannst du den Absatz bitte kürzen?",
        "¿Puedes resumir esto en dos frases, por favor?",
        "Peux-tu raccourcir le mail, s'il te plaît ?",
    ],
)
def test_what_is_asked_for_once_is_no_wish(tmp_path: Path, request_for_once: str) -> None:
    with Memory.open(tmp_path, embedder="minilm") as memory:
        tell(memory, request_for_once)
        assert memory.profile.beliefs() == []


@pytest.mark.parametrize("embedder", ["none", "minilm"])
@pytest.mark.parametrize(
    "words", ["Always run the linter without asking", "Always run podman build without asking."]
)
def test_what_an_agent_may_run_is_not_taken_from_words(
    tmp_path: Path, embedder: str, words: str
) -> None:
    with Memory.open(tmp_path, embedder=embedder) as memory:
        tell(memory, words)
        assert memory.profile.beliefs() == []


def test_what_is_wished_for_or_supposed_takes_nothing_from_what_is_said_next(
    memory: Memory,
) -> None:
    tell(memory, "I wish I had more time to cook.", "I'm allergic to peanuts.")
    feared = [
        "leek",
        "kiwi",
        "plum",
        "fig",
        "lime",
        "mango",
        "papaya",
        "quince",
        "melon",
        "grape",
        "pear",
        "date",
    ]
    tell(memory, *(f"I might be allergic to {fruit}." for fruit in feared), uri="later.json")
    for tokens in (120, 300, 600):
        context = memory.profile.context("What shall I cook tonight?", budget_tokens=tokens)
        assert '"peanuts"' in context.text
        assert len(context.lines) + context.safety_left_out == len(memory.profile.beliefs())


def test_an_allergy_that_is_only_feared_is_given_with_the_doubt(memory: Memory) -> None:
    tell(memory, "I might be allergic to kiwis.", "I'm allergic to soy.")
    context = memory.profile.context("What shall I cook?")
    assert '- Allergies: "kiwi" (perhaps)' in context.text
    assert context.text.index('"soy"') < context.text.index('"kiwi"')
    assert '"kiwi" (perhaps)' in memory.profile.get_remme_context("What shall I cook?")
    memory.profile.confirm("allergies", "kiwi")
    assert "perhaps" not in memory.profile.context("What shall I cook?").text
