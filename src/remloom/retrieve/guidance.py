"""What a user told an assistant to heed: standing orders ("Always …") and preferences ("I'd rather
…").

They govern later requests, and mostly share no words with them. Preferences are told by a rule, of
English alone; orders too, where the question is in English: a head tells twice as many of those of
strangers (docs/heads.md), but raises so much else in long chats that recall falls (frac@10 by
.016). In other languages the head tells orders.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ..heads.head import ORDER, head
from ..model import Resource
from ..model.records import ASSISTANT, USER
from ..store.batch import Vector
from ..store.contract import Store
from ..store.specs import SearchSpec
from ..text.language import is_english
from .candidates import Candidate, Candidates
from .names import speaker_key
from .question import OVERVIEWS, TOLD, RecallQuestion
from .scores import cosines

_PROPOSED = 100  # turns that resemble an instruction
_NEAREST = 10  # sentences that gain by being like the question, the first most
_UNASKED = (0.4, 0.3)  # of the weight where nothing is requested: for an order, for a preference
_ASKED = 0.5  # probability of a request from which on all of the weight counts
_ANY = 0.3  # of the weight, for what is least near the question

# What they are searched in is in lower case: to ignore case takes twice as long.
# an order begins here, or a wish is made one: it binds who is told, not who tells
_BEGIN = r"(?:(?:^|[.!?:;)]\s+|\n[ \t>*-]*)(?:and |so |but |also,? |oh,? )*(?:please,? )?)"
_INSTRUCTION = re.compile(
    rf"(?:{_BEGIN}|\bplease |, (?:and |but |so )?)(?:always|never)\b(?! (?:mind|\w+ed\b))"
    r"|\b(?:from (?:now|here|this point) on|in (?:the )?future,|going forward|don['’]t ever"
    r"|please (?:use|keep|write|include|remember|do(?:n['’]t| not)|make|format|cite|address)"
    r"|(?:when(?:ever)?|if|(?:each|every|any) ?time) (?:that )?"
    r"(?:i (?:ever )?(?:ask|bring|mention|post|request|share|send|want|need|write|talk|speak)"
    r"|we (?:talk|speak|discuss)|(?<=whenever )you|you (?:are |use|write|rewrite|give|show"
    r"|suggest|explain|answer|list|name|mention|quote|cite|propose|recommend|help|do|create"
    r"|draft))"
    r"|(?:for|in|to|at the end of|of) (?:any|all|every|each)(?:thing)? (?:questions?|answers?"
    r"|repl\w+|responses?|messages?|plans?|lists?|drafts?|code|examples?|texts?|of your|about|on)"
    r"|(?:any|all|every|each) \w+ (?:that )?you (?:give|show|write|send|suggest|make|name)"
    r"|you (?:should|must|need to|have to|are to) (?:always|never))\b"
    rf"|{_BEGIN}(?:make sure|be sure|remember to|stick to|keep (?:to|your|all|every|each|it)\b"
    r"|limit (?:your|all|every|each)|be (?:brief|honest|concise|gentle|blunt|short|precise)"
    r"|(?:end|start|begin) (?:with|every|each|all|your)|no \w+(?: \w+)?(?: please|,? unless))\b"
    rf"|{_BEGIN}(?:use|write|keep|include|format|give|provide|answer|respond"
    r"|reply|state|cite|show|explain|list|mention|name|avoid|add|define|assume|ensure|tell|say"
    r"|speak|point out|offer|quote|warn|remind)\b[^.!?]{0,120}?"
    r"\b(?:every|each|all|any|whenever|when|always|never|not|instead of)\b",
)
_SELDOM = (
    r"(?:(?:really|much|just|always|never|usually|mostly|still|do not|don['’]t|can(?:no|['’])t"
    r"|hardly|absolutely|also|far) )*"
)
_PREFERENCE = re.compile(
    # a wish for now ("I'd like to know") is none
    rf"\b(?:i|we)(?:(?:['’]d| would) (?:never|{_SELDOM}(?:rather|sooner|prefer|hate|avoid|refuse))"
    r"|(?:['’]ve| have) (?:always|never|grown to|come to|long) "
    r"(?:liked?|loved?|hated?|preferred?|enjoyed?|valued?|trusted?|avoided?|cared?)"
    r"|(?:['’]m| am|['’]re| are|['’]ve been) (?:(?:a|an|so|very|not|more|too) )*"
    r"(?:vegetarian|vegan|allergic|left-handed|sober|happiest|afraid|keen|fond|leaning|aiming for"
    r"|committed|used to|wary|drawn|good with|bad at|picky|\w+ person)"
    rf"| usually| {_SELDOM}(?:like|love|hate|prefer|avoid|enjoy|stand|bear|adore|dislike|favou?r"
    r"|refuse|detest|eat|drink|collect|learn best|tend to|lean|value|trust|care|go for"
    r"|keep (?:away|clear)|do better|(?:think|work|sleep|write|do my) best"
    r"|find it (?:easier|harder)|struggle with"
    r"|get (?:overwhelmed|bored|nervous|anxious|tired|lost)))\b"
    rf"|\band {_SELDOM}(?:like|love|hate|prefer|avoid|enjoy)\b"
    r"|(?:makes?|scare[sd]?|stress(?:es)?|calms?|bores?|drains?|annoys?|distracts?|suits?"
    r"|motivates?|relaxes?|tires?|works?(?: \w+)? for|fits?(?: \w+)? with|important to) (?:me|us)\b"
    r"|(?:for|with|to) me\b[^.!?]{0,60}\b(?:because|since|as|so)\b"
    r"|\b(?:what works|favou?rite|prefer|maddening|not a fan|disgusts?|rather than|more than"
    r"|instead of|over \w+(?: \w+){0,3} because|out of the question|not negotiable|no-go)",
)


def replies(candidates: Candidates) -> list[Candidate]:
    """The turns of an assistant."""
    return [turn.candidate for turn in candidates.turns if turn.role == ASSISTANT]


def user_turns(candidates: Candidates) -> list[tuple[Candidate, Resource]]:
    """The turns of users who talk with an assistant alone, in a chat.

    Documents, tools and people among themselves give an assistant no orders; of several who talk
    with it, nobody knows whose orders count.
    """
    chats: set[str] = set()
    turns: list[tuple[Candidate, Resource]] = []
    for turn in candidates.turns:
        record = turn.record
        if record.trust == "derived":
            continue
        if turn.role == ASSISTANT:
            chats.add(record.uri)
        elif turn.speaker and turn.role in (USER, ""):
            turns.append((turn.candidate, record))
    if not chats:
        return []
    speakers: dict[str, set[str]] = {}
    for _, record in turns:
        if record.uri in chats:
            speakers.setdefault(record.uri, set()).add(speaker_key(record))
    users = {key for keys in speakers.values() if len(keys) == 1 for key in keys}
    return [(one, record) for one, record in turns if speaker_key(record) in users]


def raise_guidance(
    store: Store, candidates: Candidates, question: RecallQuestion, weight: float
) -> None:
    """Raise turns with standing orders, and for a request those with preferences.

    A turn counts by its sentence that is most like the question: an order mostly says when it
    holds ("… when I ask about costs").
    """
    if question.kind in (TOLD, *OVERVIEWS):
        return
    proposed = _propose(store, candidates, question)
    request_weight = min(1.0, question.request_probability / _ASKED)
    of_orders, of_preferences = (least + (1 - least) * request_weight for least in _UNASKED)
    by_rule = is_english(question.text)
    tells_order = is_instruction if by_rule else is_order
    turns = [
        (one, turn)
        for one, turn in user_turns(candidates)
        if not by_rule or _heeded_in(turn.content)
    ]
    ids = [turn.id for _, turn in turns]
    windows = store.vectors.of(ids) if question.vector is not None else {}
    found: list[tuple[Candidate, float]] = []
    similarities: dict[int, float] = {}
    for candidate, turn in turns:
        for text, cosine in _sentences(turn, windows.get(turn.id, ()), question.vector):
            factor = max(
                of_orders if tells_order(text) else 0.0,
                of_preferences if is_preference(text) else 0.0,
            )
            if factor:
                similarities[len(found)] = cosine
                found.append((candidate, factor))
    nearest = sorted(similarities, key=similarities.__getitem__, reverse=True)
    shares_by_rank = {number: 1 - rank / _NEAREST for rank, number in enumerate(nearest[:_NEAREST])}
    shares: dict[str, float] = {}
    for number, (candidate, factor) in enumerate(found):
        share = weight * factor * (_ANY + (1 - _ANY) * shares_by_rank.get(number, 0.0))
        shares[candidate.record.id] = max(share, shares.get(candidate.record.id, 0.0))
    for id, share in shares.items():
        candidates[id].add_share("guidance", share, note="to be heeded")
    for id in proposed - set(shares):
        candidates.drop(id)


def _propose(store: Store, candidates: Candidates, question: RecallQuestion) -> set[str]:
    """Add turns that resemble an instruction as candidates; returns the ids of the new ones.

    Among thousands of turns, an order is not among the hundred that are most like the request.
    """
    if question.guiding_vector is None or not replies(candidates):
        return set()
    spec = SearchSpec(schema="resources", where=question.predicate, limit=_PROPOSED)
    found = [match.record for match in store.search.vector(question.guiding_vector, spec)]
    new = {record.id for record in found if record.id not in candidates}
    for record in found:
        candidates.include(record)
    return new


def _sentences(
    turn: Resource, windows: Sequence[Vector], vector: Sequence[float] | None
) -> Iterator[tuple[str, float]]:
    """Yield the sentences of a turn, or its windows, with their cosines; all if it has none."""
    if not windows or vector is None:
        yield turn.content, 0.0
        return
    # The first window is the whole turn, where its sentences have some.
    is_whole = windows[0].end - windows[0].start >= len(turn.content.strip())
    some = windows[1:] if is_whole and len(windows) > 1 else windows
    for window, cosine in zip(some, cosines(some, vector), strict=True):
        yield turn.content[window.start : window.end], cosine


def _heeded_in(text: str) -> bool:
    lower = text.lower()
    return bool(_INSTRUCTION.search(lower) or _PREFERENCE.search(lower))


def is_instruction(text: str) -> bool:
    """Whether a sentence says how something is to be done whenever it comes up."""
    return _INSTRUCTION.search(text.lower()) is not None


def is_preference(text: str) -> bool:
    """Whether a sentence says what its speaker likes, avoids, or is."""
    return not text.rstrip().endswith("?") and _PREFERENCE.search(text.lower()) is not None


def is_order(text: str) -> bool:
    """Whether a head takes a sentence for a standing order, in any language that heads know.

    >>> is_order("Sag bitte immer dazu, ob es einen Aufzug gibt."), is_order("Wie spät ist es?")
    (True, False)
    """
    return head(ORDER).label_of(text) == "standing"
