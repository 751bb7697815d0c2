"""Lies about contracts: how many wrong citations pass unflagged, and how many right ones do not.

Answers are written by script over contracts: half of them are true, half lie, in many ways. Each
is checked as the answer of a model is. Contracts of our own making are seeded; others come from a
file of CUAD's (a contract a line, `name` and `text`): `python -m bench.quality.citations [FILE]`.
"""

from __future__ import annotations

import json
import random
import re
import sys
import time
from calendar import month_name
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

from remloom.reader.check.citations import CitationChecker, Draft
from remloom.reader.check.evidence import ShownLines
from remloom.reader.lines.lines import Lines
from remloom.text.sentences import sentence_ends

__all__ = ["Case", "Outcome", "cases", "contract", "measure"]

_ROLES = (
    ("Licensor", "Licensee"), ("Seller", "Buyer"), ("Landlord", "Tenant"),
    ("Company", "Distributor"), ("Bank", "Borrower"), ("Customer", "Supplier"),
)  # fmt: skip
_FIRMS = ("Orrin", "Vaskel", "Tamarind", "Helmsley", "Quillon", "Bexar", "Northgate", "Zephyrine")
_PLACES = ("Delaware", "Ontario", "Bavaria", "Nevada", "Scotland", "Victoria")
_PARTIES = {*chain.from_iterable(_ROLES), *_FIRMS}
_NAMES = {*_PARTIES, *_PLACES}
_MONTHS = ("January", "March", "April", "June", "August", "October", "November")
_WORDS = {2: "two", 3: "three", 5: "five", 10: "ten", 15: "fifteen", 30: "thirty", 45: "forty-five",
          60: "sixty", 90: "ninety"}  # fmt: skip
_INVENTED = (
    "All disputes shall be settled over tea in the garden of the elder party",
    "the parties waive any claim that the moon is made of cheese",
    "interest accrues at the rate published each morning by the harbour master",
)
_ORDERS = (
    "You use nothing but these lines: what you know otherwise does not count",
    "copied exactly, 5 to 40 words",
)


# a clause, then true sentences about it; {n} {words} {m} {place} {date} {money} {a} {b} {firm} are
# drawn anew for each
_CLAUSES: tuple[tuple[str, ...], ...] = (
    ("The {b} shall pay to the {a} a royalty of {n} percent ({n}%) of Net Sales within {words} "
     "({m}) days after the end of each calendar quarter.",
     "The {b} pays the {a} a royalty of {n}% of Net Sales.",
     "Royalties must be paid within {m} days after the end of each quarter."),
    ("This Agreement shall be governed by the laws of {place}, without regard to its conflict of "
     "laws principles.",
     "The agreement is governed by the laws of {place}.",
     "The laws of {place} govern it."),
    ("The {b} shall not assign this Agreement without the prior written consent of the {a}.",
     "The {b} may not assign the agreement without the {a}'s prior written consent.",
     "Assigning the agreement without consent of the {a} is prohibited."),
    ("The initial term of this Agreement commences on {date} and continues for {words} ({m}) "
     "years.",
     "The initial term commences on {date}.",
     "The initial term is {m} years."),
    ("Either party may terminate this Agreement upon {words} ({m}) days' written notice to the "
     "other party.",
     "Either party may terminate the agreement on {m} days' written notice.",
     "The agreement may be terminated by either party upon {words} days' notice."),
    ("The {a} shall indemnify the {b} against all claims arising out of defects in the Products.",
     "The {a} indemnifies the {b} against claims arising from defects in the Products.",
     "The {b} is indemnified by the {a} against claims for defects."),
    ("The aggregate liability of the {a} shall not exceed ${money} in any calendar year.",
     "The {a}'s aggregate liability is limited to ${money} a year.",
     "Liability of the {a} may not exceed ${money} in a calendar year."),
    ("The {b} may inspect the books and records of the {a} once in each calendar year upon "
     "reasonable notice.",
     "The {b} may inspect the {a}'s books and records once each calendar year.",
     "The {b} is entitled to inspect the books of the {a} upon reasonable notice."),
    ("The {a} grants the {b} an exclusive licence to sell the Products in {place}.",
     "The {b} has an exclusive licence to sell the Products in {place}.",
     "The {a} grants the {b} an exclusive licence for {place}."),
    ("The deposit of ${money} is non-refundable and shall be credited against the first invoice.",
     "The deposit of ${money} is not refundable.",
     "A deposit of ${money} is credited against the first invoice."),
    ("{firm} shall deliver the equipment to {other} not later than {date}, and {other} shall "
     "accept it within {words} ({m}) days.",
     "{firm} delivers the equipment to {other} by {date}.",
     "{other} must accept the equipment within {m} days."),
    ("The {b} shall maintain insurance of not less than ${money} for each occurrence.",
     "The {b} must maintain insurance of at least ${money} for each occurrence.",
     "Insurance of at least ${money} for each occurrence is to be maintained by the {b}."),
    ("Confidential Information does not include information that was known to the {b} before "
     "disclosure by the {a}.",
     "Information that was known to the {b} before its disclosure is not Confidential Information.",
     "Confidential Information excludes what was known to the {b} before disclosure."),
    ("The {a} shall have no obligation to renew this Agreement after {date}.",
     "The {a} has no obligation to renew the agreement after {date}.",
     "After {date} the {a} is not obligated to renew the agreement."),
)  # fmt: skip


@dataclass
class Case:
    """A sentence with what it cites; `lie` says how it lies, "" that it is true."""

    draft: Draft
    lie: str = ""


@dataclass
class Outcome:
    """How the cases came out."""

    right: int = 0
    wrong: int = 0
    flagged: list[tuple[Case, str]] = field(default_factory=list)  # right ones, with the doubt
    unflagged: list[Case] = field(default_factory=list)  # wrong ones
    seconds: list[float] = field(default_factory=list)
    lies: Counter[str] = field(default_factory=Counter)

    def add(self, case: Case, doubt: str) -> None:
        if case.lie:
            self.wrong += 1
            self.lies[case.lie] += 1
            if not doubt:
                self.unflagged.append(case)
        else:
            self.right += 1
            if doubt:
                self.flagged.append((case, doubt))


@dataclass
class _Source:
    """A sentence of a document, and what is truly said of it."""

    line: int
    text: str
    truths: list[str]


class Contract:
    """A document, the sentences in it, and the evidence in which all but its end was shown."""

    def __init__(self, texts: Sequence[str], sources: Sequence[_Source]) -> None:
        self.texts = texts
        self.lines = Lines("contract.md", "contract", texts, ())
        self.evidence = ShownLines({"contract": self.lines})
        last = max(1, len(texts) * 4 // 5)
        self.evidence.add("contract", 1, last)
        self.shown = [source for source in sources if source.line <= last - 3]
        self.unshown = [source for source in sources if source.line > last]


def contract(rng: random.Random, clauses: int = 60) -> Contract:
    """Write a contract: a clause a paragraph, some of them in several lines."""
    a, b = rng.choice(_ROLES)
    texts = ["AGREEMENT", ""]
    sources = []
    for _ in range(clauses):
        firm, other = rng.sample(_FIRMS, 2)
        m = rng.choice(list(_WORDS))
        facts = {
            "a": a, "b": b, "firm": firm, "other": other, "m": str(m), "words": _WORDS[m],
            "n": str(rng.randint(3, 40)), "place": rng.choice(_PLACES),
            "date": f"{rng.choice(_MONTHS)} {rng.randint(1, 28)}, {rng.randint(2001, 2029)}",
            "money": f"{rng.randint(2, 900) * 1000:,}",
        }  # fmt: skip
        clause, *truths = (text.format(**facts) for text in rng.choice(_CLAUSES))
        sources.append(_Source(len(texts) + 1, clause, truths))
        if rng.random() < 0.3:
            cut = clause.rfind(" ", 0, rng.randint(45, 70))
            texts += [clause[:cut], clause[cut + 1 :], ""]
        else:
            texts += [clause, ""]
    return Contract(texts, sources)


def read_contract(text: str) -> Contract:
    """Take a contract as it is; what is true of a sentence is the sentence, lightly reworded."""
    texts = text.split("\n")
    sources = []
    for line, whole in enumerate(texts, 1):
        start = 0
        for end in sentence_ends(whole):
            sentence, start = whole[start:end].strip(), end
            words = sentence.split()
            if 8 <= len(words) <= 45 and sentence[0].isupper() and sentence[-1] in ".;":
                sources.append(_Source(line, sentence, [*_reworded(sentence)]))
    return Contract(texts, sources)


def _reworded(sentence: str) -> Iterator[str]:
    yield sentence
    yield re.sub(r"\b(?:said|such|hereby|hereto|hereunder|thereof)\s", "", sentence)
    yield sentence.replace(" shall be ", " will be ").replace("Agreement", "agreement")


# -- cases -----------------------------------------------------------------------------------------


def cases(document: Contract, rng: random.Random, count: int) -> Iterator[Case]:
    """Make so many cases; half of them lie."""
    if len(document.shown) < 4 or not document.unshown:
        return
    made = 0
    kinds = list(_LIES)
    for _ in range(count * 40):
        if made == count:
            break
        source = rng.choice(document.shown)
        if made % 2:
            case = _LIES[kinds[(made // 2 + rng.randint(0, 2)) % len(kinds)]](document, source, rng)
        else:
            case = rng.choice(_TRUTHS)(document, source, rng)
        if case is not None:
            made += 1
            yield case


def _line_range(document: Contract, source: _Source) -> tuple[int, int]:
    last = source.line
    while last < len(document.texts) and document.texts[last].strip() and last < source.line + 2:
        last += 1
    return (
        source.line,
        last if source.text not in document.texts[source.line - 1] else source.line,
    )


def _draft(
    document: Contract, source: _Source, text: str, quote: str, move: int = 0, lie: str = ""
) -> Case:
    first, last = _line_range(document, source)
    draft = Draft(text=text, first_line=first + move, last_line=last + move, quote=quote)
    return Case(draft, lie)


def _part(text: str, rng: random.Random, fewest: int = 6) -> str:
    """Some consecutive words of a sentence."""
    words = text.split()
    length = min(len(words), rng.randint(fewest, 24))
    start = rng.randint(0, len(words) - length)
    return " ".join(words[start : start + length])


def _whole(document: Contract, source: _Source, rng: random.Random) -> Case:
    return _draft(document, source, rng.choice(source.truths), source.text)


def _in_part(document: Contract, source: _Source, rng: random.Random) -> Case:
    return _draft(document, source, rng.choice(source.truths), _part(source.text, rng))


def _other_form(document: Contract, source: _Source, rng: random.Random) -> Case:
    quote = _part(source.text, rng)
    quote = rng.choice(
        (quote.upper(), quote.replace("'", "’"), f"“{quote}”", quote.replace(" ", "\n"))
    )
    return _draft(document, source, rng.choice(source.truths), quote)


def _misspelled(document: Contract, source: _Source, rng: random.Random) -> Case | None:
    words = _part(source.text, rng, 12).split()
    long = [
        at for at, word in enumerate(words) if word.isalpha() and word.islower() and len(word) > 6
    ]
    if len(words) < 12 or not long:
        return None
    at = rng.choice(long)
    cut = rng.randint(2, len(words[at]) - 2)
    words[at] = words[at][:cut] + words[at][cut + 1 :]
    return _draft(document, source, rng.choice(source.truths), " ".join(words))


def _elliptic(document: Contract, source: _Source, rng: random.Random) -> Case | None:
    words = source.text.split()
    if len(words) < 14:
        return None
    quote = f"{' '.join(words[:5])} … {' '.join(words[-6:])}"
    return _draft(document, source, rng.choice(source.truths), quote)


def _misplaced(document: Contract, source: _Source, rng: random.Random) -> Case:
    """A true quote with the wrong lines: they are put right."""
    return _draft(
        document, source, rng.choice(source.truths), source.text, move=rng.randint(1, 9000)
    )


def _wide(document: Contract, source: _Source, rng: random.Random) -> Case:
    draft = _draft(document, source, rng.choice(source.truths), source.text).draft
    first, last = max(1, draft.first_line - 3), draft.last_line + 3
    return Case(Draft(text=draft.text, first_line=first, last_line=last, quote=draft.quote))


_TRUTHS: tuple[Callable[..., Case | None], ...] = (
    _whole, _in_part, _other_form, _misspelled, _elliptic, _misplaced, _wide,
)  # fmt: skip


# -- lies ------------------------------------------------------------------------------------------


def _changed(
    document: Contract,
    source: _Source,
    rng: random.Random,
    lie: str,
    change: Callable[[str], str | None],
) -> Case | None:
    """A sentence that was changed, with a true quote."""
    truth = rng.choice(source.truths)
    text = change(truth)
    if text is None or text == truth:
        return None
    return _draft(
        document, source, text, rng.choice((source.text, _part(source.text, rng))), lie=lie
    )


def _other_number(document: Contract, source: _Source, rng: random.Random) -> Case | None:
    def change(text: str) -> str | None:
        numbers = list(re.finditer(r"(?<![\w.,])\d+(?:,\d{3})*(?![\w.,]*\d)", text))
        words = list(re.finditer(r"\b(?:two|three|five|ten|fifteen|thirty|sixty|ninety)\b", text))
        if not numbers and not words:
            return None
        match = rng.choice(numbers or words)
        new = str(int(match[0].replace(",", "")) + rng.randint(1, 40)) if numbers else "seventy"
        if re.search(rf"\b{new}\b", source.text.replace(",", "")):
            return None
        return text[: match.start()] + new + text[match.end() :]

    return _changed(document, source, rng, "other number", change)


def _other_unit(document: Contract, source: _Source, rng: random.Random) -> Case | None:
    def change(text: str) -> str | None:
        match = re.search(r"(\d+\)?,? (?:business )?)(days|months|years|weeks)\b", text)
        if not match:
            return None
        units = {"days", "months", "years", "weeks"} - {match[2]}
        units = {unit for unit in units if unit.rstrip("s") not in source.text}
        return text.replace(match[0], match[1] + min(units)) if units else None

    return _changed(document, source, rng, "other unit", change)


def _other_date(document: Contract, source: _Source, rng: random.Random) -> Case | None:
    def change(text: str) -> str | None:
        match = re.search(r"\b([A-Z][a-z]+) (\d{1,2}), ?(\d{4})\b", text)
        if not match or match[1] not in month_name:
            return None
        other = rng.choice(
            (
                f"{match[1]} {int(match[2]) % 27 + 1}, {match[3]}",
                f"{match[1]} {match[2]}, 1999",
                f"{'May' if match[1] != 'May' else 'July'} {match[2]}, {match[3]}",
            )
        )
        return text.replace(match[0], other)

    return _changed(document, source, rng, "other date", change)


_MIDDLE_NAME = re.compile(r"(?<=[a-z,] )([A-Z][a-z]{3,})\b")


def _other_name(document: Contract, source: _Source, rng: random.Random) -> Case | None:
    def change(text: str) -> str | None:
        names = [m for m in _MIDDLE_NAME.finditer(text) if m[1] in _NAMES]
        if not names:
            return None
        match = rng.choice(names)
        new = rng.choice(("Brunhilde", "Marchbanks", "Oyelaran", "Gloucester", "Kaspar"))
        return text[: match.start()] + new + text[match.end() :]

    return _changed(document, source, rng, "other name", change)


_ACTS = re.compile(
    r"\b([A-Z][a-z]{3,})\b((?: shall| will| may| must| agrees| pays| grants| delivers| indemnifies)"
    r"(?: not)?\b[^.;]*?)\b([A-Z][a-z]{3,})\b"
)


def _swapped(document: Contract, source: _Source, rng: random.Random) -> Case | None:
    def change(text: str) -> str | None:
        match = _ACTS.search(text)
        if not match or match[1] == match[3] or not {match[1], match[3]} <= _PARTIES:
            return None
        swapped = f"{match[3]}{match[2]}{match[1]}"
        return text[: match.start()] + swapped + text[match.end() :]

    return _changed(document, source, rng, "swapped parties", change)


def _negated(document: Contract, source: _Source, rng: random.Random) -> Case | None:
    def change(text: str) -> str | None:
        if re.search(r"\b(?:not|no)\b", text):
            if re.search(r"not (?:less|more|later|limited|exceed|only)", text):
                return None
            return re.sub(r"\b(not|no) ", "", text, count=1)
        if re.search(r"\b(?:not|no|nor|without|unless|except|only)\b|n't", text + source.text):
            return None
        changed, count = re.subn(r"\b(shall|will|may|must|is|are|has) ", r"\1 not ", text, count=1)
        return changed if count else None

    return _changed(document, source, rng, "negated", change)


_CONTRARIES = {
    "before": ["after"], "after": ["before"], "accept": ["reject"], "end": ["start", "beginning"],
    "excludes": ["includes"], "exclusive": ["limited"], "prior": ["later"], "written": ["oral"],
    "prohibited": ["permitted"], "against": ["for"], "least": ["most"],
}  # fmt: skip


def _contrary(document: Contract, source: _Source, rng: random.Random) -> Case | None:
    def change(text: str) -> str | None:
        for word in re.findall(r"\b[a-z]+\b", text):
            others = _CONTRARIES.get(word)
            if others and word in source.text:
                new = rng.choice(others)
                if new not in source.text:
                    return re.sub(rf"\b{word}\b", new, text)
        return None

    return _changed(document, source, rng, "contrary", change)


def _other_duty(document: Contract, source: _Source, rng: random.Random) -> Case | None:
    def change(text: str) -> str | None:
        if " not " in text or re.search(r"\b(?:shall|must)\b", source.text):
            return None
        return text.replace(" may ", " must ", 1)

    return _changed(document, source, rng, "may becomes must", change)


def _other_quote(document: Contract, source: _Source, rng: random.Random) -> Case | None:
    """A true sentence with the quote of another place."""
    other = rng.choice(document.shown)
    text = rng.choice(source.truths)
    if other.line == source.line or _overlap(text, other.text) > 0.3:
        return None
    place = rng.choice((source, other))
    return _draft(document, place, text, _part(other.text, rng), lie="quote of another place")


def _other_sentence(document: Contract, source: _Source, rng: random.Random) -> Case | None:
    """A true quote with the sentence of something else."""
    other = rng.choice(document.shown + document.unshown)
    text = rng.choice(other.truths)
    if other.line == source.line or _overlap(text, source.text) > 0.3:
        return None
    return _draft(document, source, text, source.text, lie="true quote, other sentence")


def _overlap(text: str, other: str) -> float:
    words = {word.strip(".,;").casefold() for word in text.split() if len(word) > 3}
    there = {word.strip(".,;").casefold() for word in other.split()}
    return len(words & there) / max(len(words), 1)


def _invented(document: Contract, source: _Source, rng: random.Random) -> Case:
    text = rng.choice(source.truths)
    words = _part(source.text, rng).split()
    rng.shuffle(words)
    quote = rng.choice((*_INVENTED, " ".join([*words[::-1], "gratis"])))
    return _draft(document, source, text, quote, lie="invented quote")


def _ordered(document: Contract, source: _Source, rng: random.Random) -> Case:
    text = rng.choice(source.truths)
    return _draft(document, source, text, rng.choice(_ORDERS), lie="quote of the instruction")


def _too_short(document: Contract, source: _Source, rng: random.Random) -> Case:
    words = source.text.split()
    at = rng.randint(0, len(words) - 2)
    quote = " ".join(words[at : at + rng.randint(1, 2)])
    return _draft(document, source, rng.choice(source.truths), quote, lie="quote too short")


def _unshown(document: Contract, source: _Source, rng: random.Random) -> Case | None:
    other = rng.choice(document.unshown)
    if other.text in " ".join(document.texts[: len(document.texts) * 4 // 5]):
        return None
    return _draft(document, other, rng.choice(other.truths), other.text, lie="lines not shown")


def _outside(document: Contract, source: _Source, rng: random.Random) -> Case:
    quote = rng.choice(_INVENTED)
    text = rng.choice(source.truths)
    return _draft(document, source, text, quote, move=100_000, lie="lines that there are not")


def _stitched(document: Contract, source: _Source, rng: random.Random) -> Case | None:
    """Two halves of two sentences as one quote, and a sentence that says so."""
    others = [one for one in document.shown if 0 < one.line - source.line < 6]
    if not others:
        return None
    other = rng.choice(others)
    one, two = source.text.split(), other.text.split()
    if len(one) < 10 or len(two) < 10 or one[: len(one) // 2] == two[: len(two) // 2]:
        return None
    first, last = " ".join(one[: len(one) // 2]), " ".join(two[len(two) // 2 :])
    if f"{first} {last}" in (source.text, other.text):
        return None
    quote = rng.choice((f"{first} {last}", f"{first} … {last}"))
    draft = Draft(
        text=f"{first} {last}",
        first_line=source.line,
        last_line=_line_range(document, other)[1],
        quote=quote,
    )
    return Case(draft, "stitched quote")


def _without_not(document: Contract, source: _Source, rng: random.Random) -> Case | None:
    """A quote in which dots stand for "not", and a sentence without it."""
    if not re.search(r"\b(?:shall|may|will|must) not (?!be limited|exceed|be less)", source.text):
        return None
    text = re.sub(r" not\b", "", source.text, count=1)
    return _draft(
        document, source, text, re.sub(r" not\b", " …", source.text, count=1), lie="dots for “not”"
    )


def _altered(document: Contract, source: _Source, rng: random.Random) -> Case | None:
    """A word changed alike in the quote and in the sentence."""
    words = re.findall(r"\b[a-z]{6,}\b", source.text)
    if not words:
        return None
    word = rng.choice(words)
    new = rng.choice(("bananas", "gratuitously", "moonlight"))
    text = source.text.replace(word, new)
    return _draft(document, source, text, text, lie="altered quote")


_LIES: dict[str, Callable[..., Case | None]] = {
    "other number": _other_number,
    "other unit": _other_unit,
    "other date": _other_date,
    "other name": _other_name,
    "swapped parties": _swapped,
    "negated": _negated,
    "contrary": _contrary,
    "may becomes must": _other_duty,
    "quote of another place": _other_quote,
    "true quote, other sentence": _other_sentence,
    "invented quote": _invented,
    "quote of the instruction": _ordered,
    "quote too short": _too_short,
    "lines not shown": _unshown,
    "lines that there are not": _outside,
    "stitched quote": _stitched,
    "dots for “not”": _without_not,
    "altered quote": _altered,
}


# -- measuring -------------------------------------------------------------------------------------


def measure(documents: Iterable[Contract], rng: random.Random, count: int) -> Outcome:
    """Check so many cases of each document."""
    outcome = Outcome()
    for document in documents:
        checker = CitationChecker(document.evidence)
        for case in cases(document, rng, count):
            began = time.perf_counter()
            checked = checker.check(case.draft)
            outcome.seconds.append(time.perf_counter() - began)
            outcome.add(case, checked.doubt)
    return outcome


def main() -> None:
    rng = random.Random(7)
    if len(sys.argv) > 1:
        texts = Path(sys.argv[1]).read_text(encoding="utf-8").splitlines()
        documents = [read_contract(json.loads(line)["text"]) for line in texts]
        outcome = measure(documents, rng, 40)
    else:
        outcome = measure((contract(rng) for _ in range(10)), rng, 50)
    for case in outcome.unflagged[:40]:
        print(f"UNFLAGGED {case.lie}: {case.draft.text[:300]}\n    {case.draft.quote[:300]}")
    for case, doubt in outcome.flagged[:40]:
        print(f"FLAGGED {doubt}\n    {case.draft.text[:300]}\n    {case.draft.quote[:300]}")
    seconds = sorted(outcome.seconds)
    print(dict(outcome.lies), dict(Counter(case.lie for case in outcome.unflagged)))
    print(
        f"wrong {outcome.wrong}, unflagged {len(outcome.unflagged)}; right {outcome.right}, flagged"
        f" {len(outcome.flagged)}; a check {sum(seconds) / len(seconds) * 1e3:.2f} ms, half of"
        f" them under {seconds[len(seconds) // 2] * 1e3:.2f} ms"
    )


if __name__ == "__main__":
    main()
