"""Whether lines say what a sentence says: what is turned around is doubted, what is reworded not."""

from __future__ import annotations

import pytest

from remloom.reader.support import Basis, doubts

LIABLE = "In no event shall either party be liable for consequential damages."
CANCEL = "This Agreement is noncancellable by either party except under Paragraph 7."
ASSIGN = (
    "The Agent may not assign its rights to any person without the written consent of the Fund."
)
AUDIT = "The Adviser shall make available to the Trust all records it keeps."
NOTICE = "Either party may terminate upon sixty (60) days' written notice to the other party."
RENEWAL = "It shall automatically renew for one-year periods, unless the Company gives notice."
LATEST = "Notice is served at least 65 days prior to the end of the Initial Term."
REFUND = "Acme's liability is limited to refunding that portion of the fee that was paid by Zeta."
FEE = "The Principal shall pay the Company a fee of $1.00 per tonne, inclusive of VAT."
ANNIVERSARY = "The term ends with the month of the fifth anniversary."
VOID = "Any assignment to which nobody consented shall be void."
TERM = "The term shall commence on July 19, 1999, and in no event run beyond the season."


def _doubts(sentence: str, scope: str) -> list[str]:
    return doubts(sentence, Basis(scope=scope, cited=scope))


@pytest.mark.parametrize(
    ("sentence", "scope"),
    [
        ("Neither party is liable for consequential damages.", LIABLE),
        ("No party can be liable for consequential damages.", LIABLE),
        ("The Agreement can't be cancelled by either party, except under Paragraph 7.", CANCEL),
        ("The Agent needs the Fund's written consent to assign its rights.", ASSIGN),
        ("Assignment by the Agent requires written consent of the Fund.", ASSIGN),
        ("The Trust may see all records the Adviser keeps.", AUDIT),
        ("It does not renew automatically if the Company gives notice.", RENEWAL),
        ("Notice must be served 65 days before the end of the Initial Term.", LATEST),
        ("The fee is one US dollar per tonne, VAT included.", FEE),
        ("The Company gets a fee of USD 1.00 per tonne.", FEE),
        ("The term starts on 19 July 1999.", TERM),
        ("The term ends with the 5th anniversary.", ANNIVERSARY),
    ],
)
def test_what_is_said_in_other_words_is_not_doubted(sentence: str, scope: str) -> None:
    assert _doubts(sentence, scope) == []


@pytest.mark.parametrize(
    ("sentence", "scope"),
    [
        ("Both parties are liable for consequential damages.", LIABLE),
        ("Either party may cancel this Agreement.", CANCEL),
        ("The Agent may assign its rights with oral consent of the Fund.", ASSIGN),
        ("The Adviser may make records available to the Trust.", AUDIT),
        ("Only the Fund may terminate upon 60 days' notice.", NOTICE),
        ("This Agreement must be terminated upon 60 days' notice by either party.", NOTICE),
        ("It does not renew automatically.", RENEWAL),
        ("Notice is served at least 65 days after the end of the Initial Term.", LATEST),
        ("Zeta's liability is limited to refunding the fee paid.", REFUND),
        ("Acme's liability is limited to refunding twice the portion of the fee paid.", REFUND),
        ("Acme refunds all fees that were paid by Zeta.", REFUND),
        ("The fee is $1.00 per tonne, exclusive of VAT.", FEE),
        ("The term ends with the fourth anniversary.", ANNIVERSARY),
        ("An assignment without consent is valid.", VOID),
    ],
)
def test_what_is_turned_around_is_doubted(sentence: str, scope: str) -> None:
    assert _doubts(sentence, scope)


def test_what_only_says_the_question_again_has_to_stand_in_the_lines() -> None:
    lines = (
        "4.2 The delivery of any notice to a party hereunder will be deemed to constitute the"
        " warranty of the party who has delivered it to the other party."
    )
    basis = Basis(scope=lines, cited=lines, question="Who audits the books of the parties?")
    assert doubts("The parties may audit the books of the parties.", basis)
    assert not doubts("The delivery of a notice is a warranty of the party.", basis)
