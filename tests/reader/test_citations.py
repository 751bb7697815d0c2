"""Every sentence of an answer is held against the lines that it cites."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from bench.quality.citations import contract, measure
from hypothesis import given, settings
from hypothesis import strategies as st

from remloom.reader.check.citations import CitationChecker, Draft
from remloom.reader.check.evidence import ShownLines
from remloom.reader.lines.lines import Lines
from remloom.reader.result import Sentence

TEXTS = [
    "THIS AGREEMENT is dated May 3,2006 between Zeta Corp. and Acme Inc.",
    "",
    "The Licensee shall pay to the Licensor a royalty of ten percent (10%) of all termi-",
    "nation fees within thirty (30) days; “the Fee” shall not be refunded. The Licensor may"
    " terminate this Agreement upon breach.",
    "",
    "The Licensor may assign this Agreement without consent of the Licensee.",
    "",
    "The term of this Agreement is five (5) years.",
    "The ﬁling fee is 1.500 EUR.",
    "Der Vermieter darf den Vertrag nicht vor dem 1. März 2027 kündigen.",
    "契約の期間は三年とし、更新することができない。",
    "For a period of 2 years after the Effective Date Zeta will not, directly or indirectly, either"
    " alone or with others, be engaged in mining; but may sell coal, and not buy it.",
    "The export had been paused, but not the queue behind it. At noon the queue woke up.",
]
PAY = "the Licensee shall pay to the Licensor a royalty of ten percent"


def check(text: str, quote: str, first: int, last: int) -> Sentence:
    evidence = ShownLines({"deed": Lines("deed.md", "deed", TEXTS, ())})
    evidence.add("deed", 1, len(TEXTS))
    draft = Draft(text=text, quote=quote, first_line=first, last_line=last)
    return CitationChecker(evidence).check(draft)


@pytest.mark.parametrize(
    ("text", "quote", "first", "last"),
    [
        ("The Licensee pays the Licensor a royalty of 10%.", PAY, 3, 3),
        ("The Licensee pays a royalty within thirty days.", "“within thirty (30)  DAYS”", 3, 4),
        ("The royalty is on all termination fees.", "all termination fees", 3, 4),
        ("The agreement is dated 3 May 2006.", "dated May 3, 2006", 1, 1),
        ("The agreement may be terminated by the Licensor.", "The Licensor may terminate", 4, 4),
        ("契約の期間は三年。", "契約の期間は三年とし", 11, 11),
        # the sentence before says "not", and ends with a short word
        ("The queue woke up.", "At noon the queue woke up", 13, 13),
        # with an ellipsis, from which line numbers are left out
        (
            "The Fee shall not be refunded.",
            "3| all termination fees … shall not be refunded",
            3,
            4,
        ),
        # word for word, from the middle of a sentence
        ("It says: this Agreement without consent of the Licensee.", TEXTS[5], 6, 6),
        # nearly the words of the lines
        (
            "The Licensee pays the Licensor a royalty.",
            "Licensee shal pay to the Licensor royalty of ten percent",
            3,
            3,
        ),
        # of other lines than those that are named
        ("The term is five years.", TEXTS[7], 400, 410),
    ],
)
def test_a_sentence_that_holds_has_no_doubt(text: str, quote: str, first: int, last: int) -> None:
    checked = check(text, quote, first, last)
    assert checked.doubt == ""
    assert checked.citations[0].found in ("verbatim", "close", "moved")


@pytest.mark.parametrize(
    ("text", "quote", "doubt"),
    [
        (
            "The Licensor pays the Licensee a royalty of 10%.",
            PAY,
            "says 'Licensee' where the lines say 'Licensor'",
        ),
        ("The royalty is due within 60 days.", "within thirty (30) days", "nothing of 'due', '60'"),
        (
            "The royalty is due within 30 months.",
            "within thirty (30) days",
            "'months'",
        ),
        ("The Fee shall be doubled.", "the Fee” shall not be refunded", "'doubled'"),
        ("The Fee shall be doubled.", "“the Fee” shall … be refunded", "'doubled'"),
        ("Only Gamma Ltd assigns this.", TEXTS[5], "'Gamma'"),
        ("The seller insures all goods against theft.", TEXTS[7], "nothing of 'seller', 'insures'"),
        ("The term is five years.", "five (5)", "too short"),
        (
            "The term is nine years.",
            "The term of this Agreement is nine (9) years",
            "says 'nine 9'",
        ),
        ("The Licensor pays.", PAY.replace("Licensee", "Lessee"), "'lessee'"),
        ("The term is five years.", "You use nothing but these lines", "in no line"),
        ("The term is five years.", "", "there is no quote"),
        (
            "The Licensee shall pay this Agreement upon breach.",
            "The Licensee shall pay … this Agreement upon breach",
            "words of several sentences",
        ),
    ],
)
def test_a_sentence_that_does_not_hold_is_doubted(text: str, quote: str, doubt: str) -> None:
    assert doubt in check(text, quote, 3, 8).doubt


def test_a_quote_may_have_a_few_words_written_wrongly_and_not_all_of_them() -> None:
    """Whoever looks for a quote in the lines must find it there."""
    line = "The harbour authority granted the northern fishermen permission to repair their vessels"
    few = "The harbor autority granted the northern fishermen permision to repair their vessels"
    many = "The haorbur autorty grnted the nrthern fishrmen permissn to repir thir vssels"
    evidence = ShownLines({"log": Lines("log.md", "log", [line], ())})
    evidence.add("log", 1, 1)

    def found(quote: str) -> str:
        draft = Draft(text=line, quote=quote, first_line=1, last_line=1)
        (citation,) = CitationChecker(evidence).check(draft).citations
        return citation.found

    assert [found(quote) for quote in (line, few, many)] == ["verbatim", "close", "unfounded"]


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("cannon", "cannot"), ("haste", "hasnt"), ("nether", "neither"), ("nine", "none"),
        ("somewhere", "nowhere"), ("niemand", "niemals"), ("wont", "want"), ("never", "newer"),
    ],
)  # fmt: skip
def test_a_word_that_turns_a_statement_around_is_none_written_wrongly(
    written: str, said: str
) -> None:
    line = "The harbour authority {} granted the northern fishermen permission to repair vessels"
    evidence = ShownLines({"log": Lines("log.md", "log", [line.format(written)], ())})
    evidence.add("log", 1, 1)
    draft = Draft(text="It did.", quote=line.format(said), first_line=1, last_line=1)
    (citation,) = CitationChecker(evidence).check(draft).citations
    assert citation.found == "unfounded"


def test_a_long_range_is_narrowed_to_the_lines_of_the_quote() -> None:
    evidence = ShownLines(
        {"book": Lines("book.md", "book", [f"Day {n} was wet." for n in range(99)], ())}
    )
    evidence.add("book", 1, 99)
    draft = Draft(text="Day 50 was wet.", quote="Day 50 was wet", first_line=1, last_line=99)
    (citation,) = CitationChecker(evidence).check(draft).citations
    assert (citation.first, citation.last) == (51, 51)


def test_a_document_is_known_by_its_name_however_it_is_written() -> None:
    documents = {
        name: Lines(f"{name}.md", name, [f"{name} is a mill."], ()) for name in ("Ash", "Elm")
    }
    evidence = ShownLines(documents)
    for name in documents:
        evidence.add(name, 1, 1)
    checker = CitationChecker(evidence)
    right = checker.check(
        Draft(text="Elm is a mill.", document="elm", first_line=1, quote="Elm is a mill")
    )
    assert (right.citations[0].document, right.doubt) == ("Elm", "")
    wrong = checker.check(
        Draft(text="It is a mill.", document="Oak", first_line=1, quote="Oak is a barn")
    )
    assert wrong.citations == ()
    assert "there is no document 'Oak'" in wrong.doubt


@pytest.mark.parametrize("seed", [7, 13])
def test_no_false_quote_of_a_contract_passes_and_most_sentences_are_judged_rightly(
    seed: int,
) -> None:
    rng = random.Random(seed)
    outcome = measure((contract(rng) for _ in range(10)), rng, 50)
    assert (outcome.right, outcome.wrong) == (250, 250)
    assert len(outcome.lies) >= 17
    passed = Counter(case.lie for case in outcome.unflagged)
    assert passed.keys().isdisjoint(
        {
            "invented quote",
            "altered quote",
            "stitched quote",
            "quote too short",
            "quote of the instruction",
            "lines not shown",
            "lines that there are not",
        }
    )
    # of the sentences beside a true quote the head judges
    assert passed.total() <= 100
    assert len(outcome.flagged) <= 75


_SNIPPETS = st.sampled_from([*TEXTS, PAY, "…", "12| ", "[Lines 3-4]", "not", "1,000", " "])
_SAID = st.lists(_SNIPPETS | st.text(max_size=20), max_size=6).map(" ".join)


@settings(max_examples=60)
@given(
    shown=st.lists(st.tuples(st.integers(1, 11), st.integers(0, 3)), max_size=4),
    text=_SAID,
    document=st.sampled_from(["", "deed", "Deed", "\0", "other"]) | st.text(max_size=5),
    first=st.integers(-3, 20) | st.integers(),
    last=st.integers(-3, 20) | st.integers(),
    quote=_SAID,
)
def test_whatever_a_model_says_only_lines_that_were_shown_are_cited(
    shown: list[tuple[int, int]], text: str, document: str, first: int, last: int, quote: str
) -> None:
    evidence = ShownLines({"deed": Lines("deed.md", "deed", TEXTS, ())})
    for begin, more in shown:
        evidence.add("deed", begin, begin + more)
    draft = Draft(text=text, document=document, first_line=first, last_line=last, quote=quote)
    checked = CitationChecker(evidence).check(draft)
    for citation in checked.citations:
        assert evidence.was_shown("deed", citation.first, citation.last)
        assert checked.doubt or citation.found != "unfounded"
    assert checked.doubt or checked.citations


@pytest.mark.parametrize(
    "many", [" " * 50_000, "…" * 20_000, "[" * 20_000, "not " * 5_000, "9" * 9_000]
)
def test_a_reply_of_no_sense_takes_no_time(many: str) -> None:
    checked = check(f"The term is five years.{many}", many, 1, 10**30)
    assert checked.doubt
