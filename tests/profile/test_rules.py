"""What users say of themselves is found by rule, and what they do not say is not."""

from __future__ import annotations

import time
from datetime import UTC, datetime

import pytest
from bench.quality import profile_rules
from hypothesis import given
from hypothesis import strategies as st

from remloom import Resource, Settings
from remloom.profile.evidence.claim import Claim
from remloom.profile.evidence.passages import passage_of
from remloom.profile.extract.rules import extract
from remloom.profile.extract.rules.extractor import patterns
from remloom.profile.extract.rules.lexicon import WORD_CLASSES
from remloom.profile.slots.registry import registry

AT = datetime(2024, 11, 20, 12, tzinfo=UTC)
DIET = "food_and_dining.dietary_style"
HOME = "environment.location_region"
SHELL = "environment.shell"


def claims(text: str) -> set[tuple[str, str, str]]:
    return {(claim.key, str(claim.value), claim.polarity) for claim in extract(text, at=AT)}


def only(text: str) -> Claim:
    (claim,) = extract(text, at=AT)
    return claim


def test_of_labelled_statements_nearly_all_claims_are_right_and_most_are_found() -> None:
    scores = profile_rules.measure(profile_rules.load())
    assert scores["all"].precision >= 0.95, scores["all"].errors
    assert scores["all"].recall >= 0.8, scores["all"].errors


@pytest.mark.parametrize("half", profile_rules.HALVES)
def test_each_half_of_the_statements_holds_the_bar(half: str) -> None:
    statements = [one for one in profile_rules.load() if one["half"] == half]
    score = profile_rules.measure(statements)["all"]
    assert score.precision >= 0.95, score.errors
    assert score.recall >= 0.5, score.errors


def test_turns_of_other_topics_are_mostly_found_and_hardly_ever_misread() -> None:
    score = profile_rules.measure(profile_rules.load(profile_rules.TURNS))["all"]
    assert score.precision >= 0.95, score.errors
    assert score.recall >= 0.6, score.errors


def test_quotes_scopes_hedges_and_dates_are_as_labelled() -> None:
    for statement in profile_rules.load():
        found = {profile_rules.name_of(claim): claim for claim in extract(statement["text"], at=AT)}
        for label in statement["claims"]:
            claim = found.get(profile_rules.form(label))
            if claim is None:
                continue
            begin, end = claim.span
            assert claim.quote == statement["text"][begin:end] != "", statement["text"]
            assert claim.scope == label.get("scope", ""), statement["text"]
            assert claim.confident == label.get("confident", True), statement["text"]
            if "since" in label:
                assert claim.since == label["since"], statement["text"]


def test_items_of_a_list_are_claims_of_their_own() -> None:
    found = extract("I mostly code in Rust, Go and a bit of Zig.")
    assert [claim.value for claim in found] == ["Rust", "Go", "Zig"]
    assert {claim.key for claim in found} == {"developer_posture.primary_languages"}


def test_a_switch_takes_up_the_new_and_ends_the_old() -> None:
    key = "tooling_defaults.package_manager.python"
    expected = {(key, "uv", "for"), (key, "pip", "retire")}
    assert claims("I'm using uv now instead of pip.") == expected
    assert claims("We switched from pip to uv last week.") == expected


def test_what_is_used_instead_of_others_is_not_read_anew_with_them() -> None:
    key = "developer_posture.primary_languages"
    assert claims("I use Go and Rust instead of Python and Java.") == {
        *((key, used, "for") for used in ("Go", "Rust")),
        *((key, left, "retire") for left in ("Python", "Java")),
    }
    key = "developer_posture.editor_ide.primary"
    assert claims("I ditched Vim for Emacs and Zed.") == {
        *((key, used, "for") for used in ("Emacs", "Zed")),
        (key, "Vim", "retire"),
    }


def test_a_faith_that_is_a_given_name_too_is_no_name() -> None:
    assert claims("I'm Christian.") == {("identity.religion", "Christian", "for")}


def test_a_clause_may_say_of_more_than_one_relative() -> None:
    assert claims("My wife Anna and my brother Tom cook.") == {
        ("identity.partner", "Anna", "for"),
        ("identity.family", "brother Tom", "for"),
    }


def test_a_move_is_dated_as_closely_as_it_was_told() -> None:
    claim = only("I moved to Berlin in March.")
    assert (claim.value, claim.since) == ("Berlin", "2024-03")
    assert only("I moved to Berlin in 2021.").since == "2021"
    # without the time at which it was said, only a year is a date
    assert extract("I moved to Berlin in March.")[0].since == ""
    assert extract("I moved to Berlin in 2021.")[0].since == "2021"


def test_signals_are_those_of_the_taxonomy() -> None:
    signals = {
        "I use zsh.": "context_signal",
        "I'm vegan.": "explicit_preference",
        "Don't call me Robert.": "rejection",
    }
    assert {text: only(text).signal for text in signals} == signals


@pytest.mark.parametrize(
    ("text", "values"),
    [
        # a list ends where a clause begins
        ("I use Rust and Go, got a wheel and clay in my ears.", ["Rust", "Go"]),
        ("I'm allergic to walnuts, carry a pen everywhere.", ["walnuts"]),
        ("I'm allergic to nuts, eggs are ok.", ["nuts"]),
        ("I'm allergic to peanuts, the cashews are fine.", ["peanuts"]),
        ("I'm fluent in English, Spanish is hard for me", ["English"]),
        ("I don't use Docker, Podman is better", ["Docker"]),
        # a name with a reason is a joke, unless the reason is about names
        ("call me Cinderella, I've scrubbed this oven since noon", []),
        ("I found the bug, so call me Sherlock.", []),
        ("Everyone calls me Dracula because I only work at night.", []),
        ("Call me Kat, I hate Katherine.", ["Kat"]),
        ("Before we start: call me Jojo.", ["Jojo"]),
        # what is asked again and refused is taken back, but no refusal
        ("I'm vegan. Vegan? No way, I'm kidding.", []),
        ("I live in Berlin. Leave Berlin? No way.", ["Berlin"]),
        ("I'm allergic to peanuts. Peanuts? Never.", ["peanuts"]),
        # a limit in front is of all clauses, until one is set against it
        ("Just for this week, I'm vegan and I live in Porto.", []),
        ("Just for now, I'm in Turin, but I live in Milan.", ["Milan"]),
        ("Just for the record, I'm vegan and I live in Bath.", ["vegan", "Bath"]),
    ],
)
def test_a_clause_is_read_with_what_stands_around_it(text: str, values: list[str]) -> None:
    assert [claim.value for claim in extract(text, at=AT)] == values


def test_nothing_is_found_of_others_who_speak() -> None:
    settings = Settings()
    said = {"content": "I'm vegan.", "category": "chat"}
    for speaker in ("assistant", "system"):
        assert passage_of(Resource(**said, metadata={"speaker": speaker}), settings) is None
    anna = passage_of(Resource(**said, metadata={"speaker": "Anna"}), settings)
    assert anna is not None
    assert anna.subject == "Anna"


@pytest.mark.parametrize("mark", ["'", "’"])
def test_apostrophes_may_be_straight_or_curly(mark: str) -> None:
    claim = only(f"I{mark}m allergic to peanuts")
    assert (claim.value, claim.quote) == ("peanuts", f"I{mark}m allergic to peanuts")


def test_the_quote_is_the_clause_alone() -> None:
    text = "Hi! My sister loves jazz, but I'm vegan. 🎉"
    claim = only(text)
    assert claim.quote == "I'm vegan." == text[slice(*claim.span)]


@given(st.text(max_size=300))
def test_any_text_is_read_and_quoted_exactly(text: str) -> None:
    for said in (text, f"I live in {text}", f"I love {text}, not {text}", f"call me {text}"):
        for claim in extract(said, at=AT):
            assert claim.quote == said[slice(*claim.span)]
            assert claim.key


@given(
    st.lists(
        st.sampled_from(
            [
                "I'm",
                "I",
                "my",
                "allergic to",
                "vegan",
                "diabetic",
                "live in",
                "love",
                "speak",
                "who",
                "the",
                "and",
                "or",
                "not",
                "a bit of",
                "these days",
                "other",
                "nuts",
                "Ghent",
                "Dutch",
                ",",
                ".",
                "…",
                "?",
                ":",
                "–",
                "(",
                ")",
                "\n",
            ]
        ),
        max_size=12,
    )
)
def test_words_of_the_rules_in_any_order_are_read(words: list[str]) -> None:
    said = " ".join(words)
    for claim in extract(said, at=AT):
        assert claim.quote == said[slice(*claim.span)]
        assert claim.value != ""


@pytest.mark.parametrize(
    "piece",
    ['"', "“", "’a ", "said: ", "\n", "and I ", "I not ", "I like the ", "im ", "```", "*a"],
)
def test_hostile_text_takes_linear_time(piece: str) -> None:
    def seconds(size: int) -> float:
        text = piece * (size // len(piece))
        began = time.process_time()
        extract(text, at=AT)
        return time.process_time() - began

    seconds(1_000)
    # a quadratic one would take sixteen times as long; the sum is for the clock's grain
    shorter, longer = (min(seconds(size) for _ in range(3)) for size in (20_000, 80_000))
    assert longer < 12 * shorter + 0.2


def test_every_key_is_a_slot_that_reading_may_set_or_free_words() -> None:
    keys = {pattern.key for _, pattern in patterns()}
    keys |= {word_class.id for word_class in WORD_CLASSES}
    keys |= {word_class.version for word_class in WORD_CLASSES}
    ids = {key for key in keys if "." in key}
    slots = registry().slots
    assert ids <= set(slots)
    assert not [id for id in ids if slots[id].user_only]


def test_every_value_has_a_canonical_form() -> None:
    slots = registry()
    for statement in profile_rules.load():
        for claim in extract(statement["text"], at=AT):
            if claim.key in slots and claim.value:
                assert slots.canonical(claim.key, claim.value) != ""


@pytest.mark.parametrize(
    "text",
    [
        "Here's the mail I got:\n\nHi,\nmy name is Gregor Stahl and I live in Rome.\n\nWhat now?",
        "Thanks! Now translate this to French: I live in London.",
        "Dad: I'm out. Me: I don't drink milk. What's a funny comeback?",
        "In the email, call me Ms Ortiz.",
        "my kids love dinosaurs and hate broccoli",
        "be brief, I'm in a hurry",
        "Show me the whole file again.",
        "I am in Edinburgh, it rains.",
        "I'm not a lawyer, but is that legal?",
        "Im 20. Jahrhundert war das anders.",
        "Born in China in 1898, Henry Luce founded a magazine.",
    ],
)
def test_words_of_others_and_orders_for_once_claim_nothing(text: str) -> None:
    assert claims(text) == set()


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        ("btw I'm still vegetarian", DIET, "vegetarian"),
        ("oh and fyi, im actually vegan now lol", DIET, "vegan"),
        ("I mainly use neovim btw", "developer_posture.editor_ide.primary", "neovim"),
        ("Been on Fedora for years tbh", "environment.os", "Fedora"),
        ("Since I live in Porto, the metric system please", HOME, "Porto"),
    ],
)
def test_what_is_said_around_a_claim_changes_nothing(text: str, key: str, value: str) -> None:
    claim = only(text)
    assert (claim.key, claim.value, claim.polarity) == (key, value, "for")


@pytest.mark.parametrize(
    "text",
    [
        "I love JavaScript so much I want to throw it out of the window.",
        "I love Rust! (the band, not the language)",
        "I'm vegan this week.",
        "I use Windows until my own laptop is mended.",
        "I live in Lisbon, if the visa comes through.",
        "My name is Bond, James Bond.",
        "For this answer, reply in German.",
        "On FreeBSD 3.0, tclsh is called tclsh8.0.",
        "Write a story where I live in Rome and I hate cats.",
    ],
)
def test_jests_spells_conditions_and_stories_claim_nothing(text: str) -> None:
    assert claims(text) == set()


@pytest.mark.parametrize(
    "frame",
    [
        "My sister said {}.",
        "If {}, what should I do?",
        "Imagine {}.",
        "In the movie, {}.",
        "{}, said no one ever.",
        "{}, not!",
        "{} (just kidding)",
        "I used to think {}.",
        "Is it true that {}?",
        "Just for this week, {}.",
        "I wish {}.",
        "Suppose {}.",
        "According to my horoscope, {}.",
        "I don't think {}.",
        "Rumour has it {}.",
        "I might say {} to impress them.",
        "I dreamt {}.",
        "Translate to German: {}.",
        "Write a post saying {}.",
        "Unless {}, ignore it.",
    ],
)
def test_a_frame_takes_back_what_is_said_in_it(frame: str) -> None:
    said = ("I'm vegan", "I live in Oslo", "I use Fedora", "I'm allergic to nuts")
    assert all(len(claims(one)) == 1 for one in said)
    assert [one for one in said if claims(frame.format(one))] == []


def test_of_a_text_to_be_worked_on_only_the_text_is_hidden() -> None:
    text = (
        "Review this letter. I live in Porto, so mention trains.\n\nDear team,\nI live in Madrid."
    )
    assert claims(text) == {(HOME, "Porto", "for")}
    assert claims("Explain monads to me, I mostly write Kotlin.")
    assert not claims("Translate this. I live in Madrid.")


@pytest.mark.parametrize(
    ("text", "diets"),
    [
        ("I've gone fully vegetarian since last week, no fish any more", {"vegetarian"}),
        ("I turned completely vegan in May", {"vegan"}),
        ("I became a strict vegetarian", {"vegetarian"}),
        ("I've gone fully vegan for January", set()),
        ("I've never been fully vegetarian", set()),
        ("He has gone fully vegan", set()),
    ],
)
def test_a_change_of_diet_is_found_however_thorough_it_is(text: str, diets: set[str]) -> None:
    assert {value for key, value, _ in claims(text) if key == DIET} == diets


def test_that_somebody_is_not_allergic_is_a_claim_against() -> None:
    key = "food_and_dining.restrictions.allergies"
    assert claims("no i'm not allergic to peanuts") == {(key, "peanuts", "against")}
    assert {
        value for _, value, _ in claims("I'm allergic to shellfish and, annoyingly, kiwis.")
    } == {
        "shellfish",
        "kiwis",
    }


@pytest.mark.parametrize(
    ("text", "allergen"),
    [
        ("I'm allergic to sesame seeds.", "sesame seeds"),
        ("I'm allergic to cow's milk.", "cow's milk"),
        ("I have an allergy to latex.", "latex"),
        ("I developed an allergy to mango last year.", "mango"),
        ("We have a severe allergy to brazil nuts.", "brazil nuts"),
        ("sesame makes my throat swell too, so no tahini", "sesame"),
        ("peanuts give me hives", "peanuts"),
    ],
)
def test_an_allergy_is_found_in_the_ways_it_is_told(text: str, allergen: str) -> None:
    assert only(text).value == allergen


@pytest.mark.parametrize("joke", ["mondays", "meetings", "nothing", "your sense of humour"])
def test_not_everything_that_one_is_allergic_to_is_an_allergen(joke: str) -> None:
    assert extract(f"I'm allergic to {joke}.", at=AT) == []


@pytest.mark.parametrize(
    "text",
    [
        # a state of something else than the person
        "I'm blind to colour choices here, help.",
        "I'm bipolar about tabs vs spaces.",
        "I'm epileptic about flashing GIFs.",
        "I'm diabetic in the sample record.",
        "I'm catholic about coding styles.",
        "I'm a Buddhist when the compiler screams.",
        "I'm a vegetarian option in this menu config.",
        "We are vegetarians in the survey group B.",
        "We're vegan as a company since 2020.",
        "I turned 18 files red.",
        "I have two cats in the picture.",
        "I have a cat command that fails.",
        "I have a dog-eared book.",
        # somebody else's words, and samples
        "As a vegetarian, my friend Tom suffers in Texas.",
        "I live in Kyoto, he wrote in his diary.",
        "You can call me Al, sang Paul Simon.",
        "I'm lactose intolerant was the punchline.",
        "My mum: I'm diabetic, can I eat this?",
        "Customer 2: I'm allergic to nuts.",
        "Speaker 1: I live in Denver.",
        "NPC: I live in Whiterun.",
        "Alice: I'm vegan. Bob: me too.",
        "Peter: I'm allergic to nuts",
        "Test: my name is Foo, I live in Bar.",
        "user: my name is Carl. assistant: Hi Carl! Continue the transcript.",
        # no places
        "I moved from Chrome to Brave.",
        "I moved from Berlin.js to Vite.",
    ],
)
def test_what_is_said_of_something_or_somebody_else_is_not_the_users(text: str) -> None:
    assert not claims(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("I'm diabetic since 2019.", "diabetic"),
        ("I'm blind and use a screen reader.", "blind"),
        ("I'm dyslexic, so keep it plain.", "dyslexic"),
        ("I'm vegan for ten years now.", "vegan"),
        ("I went vegan in January.", "vegan"),
        ("I'm Catholic, so no meat on Fridays.", "Catholic"),
        ("I turned 40 last week.", "40"),
        ("I took an allergy test: I'm allergic to cats.", "cats"),
        ("I moved from Berlin to Zwolle.", "Zwolle"),
        ("Important: I'm allergic to nuts.", "nuts"),
    ],
)
def test_what_stands_behind_a_state_may_leave_it_what_it_is(text: str, value: str) -> None:
    assert value in {said for _, said, polarity in claims(text) if polarity == "for"}
