"""Whom and what a text names, found by rule."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from effort import LITTLE, effort
from remloom.errors import MissingExtraError
from remloom.ingest.names import Name
from remloom.ingest.names.rules import CapitalizedNames
from remloom.ingest.names.spacy import SpacyNames
from remloom.ingest.names.word_lists import english, kind_of


def extract(text: str, **known: str) -> dict[str, Name]:
    return {name.name: name for name in CapitalizedNames().extract(text, known)}


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Yesterday we met Sarah Chen in the office.", {"Sarah Chen"}),
        ("They signed the Treaty of Paris after the Seven Years War.", {"Treaty of Paris", "Seven Years War"}),
        ("It began with the French and Indian War.", {"French and Indian War"}),
        ("We asked John Adams and Thomas Jefferson.", {"John Adams", "Thomas Jefferson"}),
        ("He joined the Department of Health and Human Services.", {"Department of Health and Human Services"}),
        ("The port uses TiDB, MySQL and NATO rules.", {"TiDB", "MySQL", "NATO"}),
        ("We read Anne-César De la Luzerne.", {"Anne-César De la Luzerne"}),
        ("We heard Ludwig van Beethoven.", {"Ludwig van Beethoven"}),
        ("It was Smith & Sons who paid.", {"Smith & Sons"}),
        ("The pact of J. P. Morgan and George H.W. Bush held.", {"J. P. Morgan", "George H.W. Bush"}),
        ("We love Thomas Jefferson’s Declaration of Rights.", {"Thomas Jefferson", "Declaration of Rights"}),
        ("Trade with the People’s Republic of China grew.", {"People’s Republic of China"}),
        ("He ruled with Peter the Great.", {"Peter the Great"}),
        ("In 1919 Georges Clemenceau of France agreed.", {"Georges Clemenceau", "France"}),
        ("The harbour master of Den Helder agreed.", {"Den Helder"}),
        ("On Sundays we watch Friday Night Lights.", {"Friday Night Lights"}),
        ("The Monday Club met Anna on Monday.", {"Monday Club", "Anna"}),
        ("I met May Smith and June Carter in May.", {"May Smith", "June Carter"}),
        ("On Monday Harvard University moved to Boston.", {"Harvard University", "Boston"}),
        ("We saw the Winter Palace, the May Fourth Movement and Easter Island.", {"Winter Palace", "May Fourth Movement", "Easter Island"}),
        ("We stay with Anna in New York until New Year's Eve.", {"Anna", "New York"}),
    ],
)  # fmt: skip
def test_names_are_found_whole(text: str, wanted: set[str]):
    assert set(extract(text)) == wanted


@pytest.mark.parametrize(
    "text",
    [
        "Today we went home. However, nothing happened. Although it rained, I was happy.",
        "On Monday in March we rested. I'm sure it was a Tuesday.",
        "The British and the French disagreed. Americans watched.",
        "Glad you came! Wow. Thanks for the help. Awesome news!",
        "The President and the Secretary of State met the Prime Minister.",
        "1. Run the tests.\n2. Keep the logs.\n- Switch it off.",
        "Write `ClassName.method` or\n\n```python\nfrom Module import Thing\n```\n",
        "See <https://Example.com/Some/Path> or [this](Other/Path.md).",
        "Chapter IV and I. We've seen it, You've not.",
        "I swim on Fridays. Fridays are quiet. Mondays and Thursdays are not.",
        "Christmas Eve was cold. We met on Christmas Eve, and again on Good Friday.",
        "Tomorrow I rest. Ask me Tonight, Tomorrow or on Wednesday Afternoon.",
        "Every Sunday Morning I run. On Black Friday I shop. Tuesday is fine.",
        "I love Easter, Halloween and Thanksgiving. We fast in Ramadan. Winter suits me, and I prefer Winter.",
        "We stay until New Year's Eve. On New Year's Day we sleep. Happy New Year!",
        "The report is due in Q3, in Q4 at the latest. July 4th was fun, June and July are warm.",
    ],
)
def test_other_capitals_are_no_names(text: str):
    assert extract(text) == {}


def test_a_word_that_only_begins_sentences_counts_when_it_is_a_name_elsewhere():
    assert extract("Quayline is late.") == {}
    found = extract("Quayline is late. We told Quayline so.")
    assert len(found["Quayline"].spans) == 2


def test_first_words_of_sentences_are_no_part_of_a_name():
    text = "In Paris we rested. After Sarah Chen came, we left. Although Britain fell, we won. Many people know Rotterdam."
    assert set(extract(text)) >= {"Paris", "Sarah Chen", "Rotterdam"}
    assert not any(name.split()[0] in ("In", "After", "Although", "Many") for name in extract(text))


def test_a_surname_is_the_person_named_in_full_before():
    found = extract("We met George Washington. Then Washington spoke, and Washington's horse too.")
    assert set(found) == {"George Washington"}
    assert found["George Washington"].aliases == ("Washington",)
    assert len(found["George Washington"].spans) == 3


def test_a_surname_of_two_people_is_nobody_s_alias():
    found = extract("We met Orville Wright and Wilbur Wright. Then we saw Wright again.")
    assert found["Orville Wright"].aliases == ()
    assert "Wright" in found


def test_a_first_name_is_the_person_too():
    found = extract("It was said by Sarah Chen. We told Sarah so.")
    assert found["Sarah Chen"].aliases == ("Sarah",)


def test_a_place_is_not_taken_for_a_person_of_that_name():
    found = extract(
        "We met George Washington. Later we flew to a hotel in Washington for the night."
    )
    assert found["Washington"].type == "place"
    assert found["George Washington"].type == "person"


def test_titles_are_taken_off_and_make_a_person():
    found = extract(
        "We saw President Quizzle and U.S. Senator Bonny Oxbow with Prime Minister P.W. Botha."
    )
    assert {name: one.type for name, one in found.items()} == {
        "Quizzle": "person", "Bonny Oxbow": "person", "P.W. Botha": "person",
    }  # fmt: skip


def test_noble_titles_stay_where_one_name_follows():
    found = extract("We saw Lord Shelburne, the Comte de Vergennes and French King Louis XVI.")
    assert found["Lord Shelburne"].aliases == ("Shelburne",)
    assert found["Comte de Vergennes"].aliases == ("Vergennes",)
    assert found["Louis XVI"].aliases == ("King Louis XVI",)


def test_middle_names_do_not_make_another_person():
    found = extract(
        "We saw Franklin D. Roosevelt. Later Franklin Roosevelt left with Franklin D. Roosevelt."
    )
    assert set(found) == {"Franklin D. Roosevelt"}
    assert found["Franklin D. Roosevelt"].aliases == ("Franklin Roosevelt",)


def test_an_acronym_in_brackets_is_an_alias():
    found = extract("He joined the North Atlantic Treaty Organization (NATO). Then NATO grew (OK).")
    assert set(found) == {"North Atlantic Treaty Organization"}
    assert found["North Atlantic Treaty Organization"].aliases == ("NATO",)
    assert len(found["North Atlantic Treaty Organization"].spans) == 3


def test_addresses_and_handles_are_names():
    found = extract(
        "write to john.doe@example.com or @sarah_chen, not to me@localhost or foo @ bar"
    )
    assert set(found) == {"john.doe@example.com", "@sarah_chen"}


def test_known_people_are_found_wherever_they_stand():
    found = extract("Mel, look at this. Woohoo Mel! Hey Mel.", Mel="person")
    assert found["Mel"].type == "person"
    assert len(found["Mel"].spans) == 3


def test_headings_alone_name_nobody():
    assert (
        extract(
            "# What We Decided Against\n\nnothing much.\n\nBig News Today\n--------------\n\nno."
        )
        == {}
    )


def test_names_wrapped_over_lines_are_whole():
    text = "It is a long line of text, wrapped by an editor, in which Marta\nFigueiredo keeps her paper list."
    assert set(extract(text)) == {"Marta Figueiredo"}


def test_names_on_lines_of_their_own_stay_apart():
    assert set(extract("- with Sarah Chen\n- with Bob Smith\n")) == {"Sarah Chen", "Bob Smith"}


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("Albany Congress", "organization"), ("Bank of England", "organization"), ("World War II", "concept"),
        ("Treaty of Paris", "concept"), ("Lake Erie", "place"), ("Great Britain", "place"), ("Gulf of Tonkin", "place"),
        ("Project Alpha", "project"), ("TiDB", "technology"), ("George III", "person"), ("Sarah Chen", "person"),
        ("J. P. Morgan", "person"), ("Otto von Bismarck", "person"), ("McNamara", ""), ("Quayline", ""),
    ],
)  # fmt: skip
def test_kinds_are_told_by_the_words_of_a_name(name: str, kind: str):
    assert kind_of(name) == kind


def test_spans_are_where_the_names_stand():
    text = "Well, Sarah Chen met Bob Smith, and Smith laughed."
    for name in CapitalizedNames().extract(text):
        for start, end in name.spans:
            assert text[start:end] in (name.name, *name.aliases)


@settings(max_examples=200)
@given(
    st.lists(
        st.sampled_from(
            ["Sarah Chen", "President", "of", "the", "and", "The", "King", "War", "Treaty of", "U.S.", "I", "I'm", "\n",
             ". ", "# ", "(NATO)", "de", "Lord", "Great", "&", "Paris", "for", "@x_y", "a@b.co", "X.", "’s", "-", "St.",
             "é", "東京"]
        ),
        max_size=30,
    )
)  # fmt: skip
def test_no_text_breaks_the_extractor(parts: list[str]):
    text = " ".join(parts)
    for name in CapitalizedNames().extract(text):
        assert name.name.strip() == name.name != ""
        assert all(0 <= start < end <= len(text) for start, end in name.spans)


def test_literal_blocks_are_no_prose_but_notes_are():
    code = "We ran this::\n\n    Foo.Bar(ClusterName)\n\n    More Text Here\n\n"
    text = code + "Then with Sarah Chen.\n\n.. note::\n\n   by Bob Smith.\n"
    assert set(extract(text)) == {"Sarah Chen", "Bob Smith"}


def test_the_model_extractor_without_its_extra_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingExtraError) as error:
        SpacyNames()
    assert "pip install 'remloom[ner]'" in str(error.value)


def test_the_model_extractor_types_what_the_rules_cannot():
    pytest.importorskip("spacy", reason="the extra ner is not installed")
    text = "Microsoft hired Satya Nadella in Hyderabad. Nadella likes Microsoft."
    found = {name.name: name.type for name in SpacyNames().extract(text)}
    assert found["Microsoft"] == "organization"
    assert found["Satya Nadella"] == "person"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("<!-- Draft by John Smith <!-- x --> We met Sarah Chen.", {"Sarah Chen"}),
        ("<!--> We met Sarah Chen. <!-- a --> We met Jane Doe.", {"Sarah Chen", "Jane Doe"}),
        ("<!-- a --> We met Sarah Chen. <!-- We met Jane Doe.", {"Sarah Chen", "Jane Doe"}),
    ],
)
def test_a_comment_goes_to_the_first_mark_that_ends_one(text: str, wanted: set[str]):
    assert set(extract(text)) == wanted


@pytest.mark.parametrize(
    "unit",
    [
        "<!-- ",
        "<!-- a -->",
        "Aa ",
        "A. ",
        "Aa and ",
        "Aa of the ",
        "`",
        "a@",
        "AAA. ",
        "a::\n\n b\n",
    ],
)
def test_time_grows_with_the_length_of_a_text_and_no_faster(unit: str):
    text = unit * (100_000 // len(unit))
    assert effort(lambda: CapitalizedNames().extract(text)) < LITTLE


def test_shouting_names_nobody():
    assert (
        extract(
            "PLEASE READ THIS AGREEMENT CAREFULLY BEFORE YOU BEGIN. We asked about THE FINE PRINT."
        )
        == {}
    )


def test_word_lists_are_read_once_they_are_asked_for_and_have_no_blank_lines():
    program = (
        "import remloom.ingest.names.rules, remloom.ingest.names.word_lists as lists\n"
        "read = lists.english.cache_info().misses\n"
        "print(read, lists.english() is lists.english(), '' in lists.english().places)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["0", "True", "False"]


def test_a_blank_line_of_a_word_list_is_no_word(monkeypatch: pytest.MonkeyPatch):
    read = Path.read_text
    monkeypatch.setattr(Path, "read_text", lambda path, **how: read(path, **how) + "\n\n")
    assert "" not in english.__wrapped__().places
