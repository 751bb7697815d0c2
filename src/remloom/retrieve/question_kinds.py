"""What kind of answer a question wants: of a chat with an assistant, different turns have it.

English only; in other languages every question is of kind "general".
"""

from __future__ import annotations

import re

from ..text.language import is_english

__all__ = [
    "GENERAL",
    "ORDER",
    "OTHER",
    "OVERVIEWS",
    "REQUEST",
    "SUMMARY",
    "TOLD",
    "asks_present",
    "kind_of",
    "without_telling",
]

ORDER = "order"  # in which order things were spoken of
SUMMARY = "summary"  # how something went
TOLD = "told"  # what the assistant said
REQUEST = "request"  # advice, or something to be done: what was asked for before governs it
GENERAL = "general"  # of nobody who talks, by name or not: it may be a request
OTHER = "other"
OVERVIEWS = (ORDER, SUMMARY)  # what many turns answer between them, each little like the question

_FIRST_PERSON = re.compile(r"\b(?:I|we|me|us|my|our|mine|ours)\b", re.IGNORECASE)
_SECOND_PERSON = re.compile(r"\b(?:you|your)\b", re.IGNORECASE)

# A question that wants one fact, a yes or a no: whatever it speaks of, it is no overview. "Do you
# remember …" and "May I have …" ask for what follows.
_ASKS_FACT = re.compile(
    r"^(?:(?:and|but|so|ok(?:ay)?|hey|hi|well),? )*"
    r"(?:(?:who|whose|whom|when|why|is|are|am|was|were|does|did|has|have|had|will|shall|should"
    r"|must|might)\b|do (?!you (?:still )?(?:remember|recall|know)\b)|may (?!I have\b)"
    r"|where (?!(?:do )?(?:things|I|we|it) )|how (?:long|many|much|often|old|big|far|soon|do|to)\b"
    r"|(?:what|which) (?:time|file|page|book|day|date|year)\b)",
    re.IGNORECASE,
)
# what is to be done, or is always so, and not what was
_TO_BE_DONE = re.compile(
    r"\b(?:should|shall|must|ought|need to|have to|has to|do|does|am|are) (?:I|we|my|our)\b"
    r"|\b(?:I|we) (?:should|must|shall|can|could|will|would|need|have to|do|am|are)\b",
    re.IGNORECASE,
)
# English verbs that have a past of their own; the others end in "ed"
_PAST = re.compile(
    r"\b(?:did|was|were|had|have|has|(?:I|we)['’](?:ve|d)|\w{2,}ed|said|told|spoke|brought|came"
    r"|went|made|took|got|saw|met|began|wrote|read|bought|built|found|gave|ate|paid|chose|ran"
    r"|sent|left|lost|thought|felt|kept|held|sold|taught|grew|drove|flew|fell|broke|won)\b",
    re.IGNORECASE,
)
_SPOKEN = re.compile(
    r"\b(?:told|said|talk\w*|spoke\w*|mention\w*|discuss\w*|asked|covered|raised|brought up"
    r"|came up|conversations?|chats?|sessions?)\b",
    re.IGNORECASE,
)
# an order to make something, which may have an order of its own: "sort my photos by date"
_MAKES = re.compile(
    r"\b(?:sort|put|arrange|organi[sz]e|rank|create|make|build|draw|design|draft|write|plan)\b",
    re.IGNORECASE,
)
_IN_ORDER = re.compile(
    r"\b(?:(?:in )?(?:what|which) (?:order|sequence)\b(?! (?:to|of)\b)"
    r"|in (?:chronological|time) (?:order|sequence)\b|chronologically\b"
    r"|(?:order|sequence) (?:in which|(?:(?:that )?(?:things|topics|(?:I|we))) (?:\w+ed|brought"
    r"|came|spoke|did|went|told|said))\b"
    r"|in the (?:order|sequence) (?:in which|(?:that )?(?:I|we|they))\b"
    r"|sequence of (?:topics|things|what)\b"
    r"|(?:give|show|tell|list|trace|lay|reconstruct|recount|walk|see|have|want|need)\b[^.?!]{0,40}"
    r"\b(?:timeline|chronology) of\b"
    r"|(?:earliest|oldest|first)(?: \w+)? to (?:the )?(?:latest|newest|last)"
    r"|(?:what|which|who|where|list|name|tell|show|walk)\b(?>[^.?!]*?\bfirst\b)(?>[^.?!]*?"
    r"\b(?:then|next|after (?:that|it|them)|afterwards)))\b",
    re.IGNORECASE,
)

# A summary that is wanted of the other, behind which stands what it is to be of.
_SUMMARY = re.compile(
    r"(?:^|[.!?:;,] |\b(?:please|can you|could you|would you|will you|let[’']?s|help me|just"
    r"|I(?:['’]d| would) like you to|and) )(?:please |just |briefly |quickly )*"
    r"(?:summari[sz]e|sum (?:it |things )?up|recap|run (?:me|us) through|take (?:me|us) through)\b"
    r"|\b(?:give|gave|provide|offer|show|send|write|have|get|need|want|like|for|in|do|make)\b"
    r"(?: (?:me|us|I|we|with|a|an|the|your|some|short|brief|quick|full|complete|detailed|concise"
    r"|comprehensive|overall|little|general|rough|good|really|just))* "
    r"(?:summary|overview|recap|run-?down)(?=[?.!,]|$| (?:of|on|about|please|so far|how|what)\b)"
    r"|^(?:a |an |the |short |brief |quick |full )*(?:summary|overview|recap|run-?down)"
    r" (?:of|on|about|please)\b",
    re.IGNORECASE,
)
# of what a summary is, if it is of what the user lived through
_LIVED = re.compile(
    r"\b(?:I|we|my|our|mine|ours|so far|until now|up to now|conversations?|chats?|sessions?"
    r"|(?:has|have|had) (?:gone|been|developed|progressed|evolved|changed|happened|come along))\b",
    re.IGNORECASE,
)
_TIME_NOUN = (
    r"(?:time|days?|weeks?|months?|years?|seasons?|spring|summer|autumn|winter|course"
    r"|conversations?|chats?|sessions?)"
)
_SPAN = (
    r"(?:since|so far|until (?:now|today)|up to now|to date|throughout"
    r"|(?:over|during|across) (?:(?:the|these|those|our|my|all|last|past|few|many|several|two"
    rf"|three|whole) )*{_TIME_NOUN})"
)
_OVER_TIME = re.compile(
    r"\b(?:(?:catch|bring) (?:me|us) up(?: to (?:date|speed))?(?= (?:on|with|about|to)\b|[?.!,]|$)"
    r"|where (?:do )?(?:things|I|we|it) (?:now )?stands?(?= (?:with|on|regarding|now)\b|[?.!,]|$)"
    r"|(?:everything|all|anything|the things) (?:that )?(?:I|we)(?:['’]ve| have)? (?:ever )?"
    r"(?:told|said|shared|mentioned|discussed|talked|did|done)"
    r"|(?:everything|all) (?:that )?you know"
    r"|the (?:whole )?(?:story|history) of (?:\w+ )?(?:my|our|how (?:I|we|my|our))\b"
    r"|(?:my|our|I|we)\b(?>.*?\bfrom )(?:the )?(?:start|beginning) to (?:the )?"
    r"(?:finish|end|now|today)"
    r"|(?:how|what)(?:['’]s| (?:has|have|had))\b(?>.{1,80}?\b(?:chang|develop|evolv|progress"
    rf"|gone|happen|done))\w*\b.*\b{_SPAN}"
    r"|how did\b(?>.{1,80}?\b(?:change|develop|evolve|progress|go|unfold))\b.*"
    rf"\b{_SPAN})\b",
    re.IGNORECASE | re.DOTALL,
)
# of a question about how things are: what speaks of how they were
_WERE = re.compile(
    r"\b(?:did|was|were|had|have|has|used to|before|first|original\w*|previous\w*|earlier"
    r"|initial\w*|formerly|ever|planned)\b",
    re.IGNORECASE,
)
_ADVICE = re.compile(
    r"^(?:please|give|write|show|make|draw|help|explain)\b"
    r"|\b(?:should|could|can|would|shall|might|may|suggest|recommend|ideas?|tips?|advice)\b",
    re.IGNORECASE,
)
_ARE = re.compile(r"\b(?:now|currently|these days|at the moment|nowadays|still)\b", re.IGNORECASE)
_TOLD = re.compile(
    r"\b(?:(?:did|have|had) you\b(?! (?:ever|know|like))"
    r"|you (?:told|said|suggested|recommended|mentioned|gave|proposed|advised|described|computed"
    r"|named|offered|called|explained|came up|taught|listed|pointed)\b"
    r"|your (?:advice|suggestion|remedy|recommendation|answer|reply)\b"
    r"|according to you|as you (?:said|told|wrote))\b",
    re.IGNORECASE,
)
_REQUEST = re.compile(
    r"^(?:please|can you|could you|would you|show|give|write|draw|draft|help|explain|suggest"
    r"|recommend|look at|walk me|tell me how|list|plan|make|create|prepare|organi[sz]e|arrange"
    r"|design|compose|compile|book|pick|choose)\b"
    r"|\b(?:suggest|recommend|ideas?|tips?|advice|advise|good|best|sensible|worth|suits?)\b"
    r"|\b(?:can|could|should|shall|might|may|would|do|must) (?:I|we|you)\b|\bhow (?:to|would)\b",
    re.IGNORECASE,
)
# of a question about order: what speaks of telling, not of what is told
_TELLING = re.compile(
    r"\b(?:can|could|would|you|please|give|list|tell|show|me|the|order|sequence|chronolog\w+"
    r"|timeline|in|which|what|how|did|do|I|we|came|come|brought|bring|to|speak|spoke|talk\w*|about"
    r"|up|mention\w*|name|only|and|different|various|aspects?|parts?|topics?|of|items?|them|two"
    r"|three|four|five|six|seven|eight|nine|ten|\d+|throughout|our|conversations?|chats?|summar\w+"
    r"|sum|overview|recap|has|have|had|happened|developed|so|far|from|start|until|today|with|a|an"
    r"|first|then|next|after|that|earliest|oldest|latest|newest|last|ask\w*|cover\w*|walk|go|went"
    r"|through|things|put|trace|over|time|progress\w*|comprehensive|detailed|across|all)\b[,.?!]?",
    re.IGNORECASE,
)


def kind_of(text: str) -> str:
    """Tell the kind of a question.

    >>> kind_of("Could you suggest a place for dinner?"), kind_of("What did you suggest?")
    ('request', 'told')
    """
    if not _ASKS_FACT.match(text):
        if _asks_order(text):
            return ORDER
        if _OVER_TIME.search(text) or _asks_summary(text):
            return SUMMARY
    for kind, pattern in ((TOLD, _TOLD), (REQUEST, _REQUEST)):
        if pattern.search(text):
            return kind
    if _FIRST_PERSON.search(text) or _SECOND_PERSON.search(text):
        return OTHER
    return GENERAL


def asks_present(text: str) -> bool:
    """Whether it is asked how things are, not how they were, and nothing is requested.

    >>> asks_present("How much is my rent?"), asks_present("How much was my rent before?")
    (True, False)
    """
    if not is_english(text) or kind_of(text) in (ORDER, SUMMARY, TOLD) or _ADVICE.search(text):
        return False
    return _ARE.search(text) is not None or _WERE.search(text) is None


def _asks_order(text: str) -> bool:
    """Whether what was, of who asks, is to be told in its order."""
    if not _IN_ORDER.search(text) or not _FIRST_PERSON.search(text):
        return False
    if _TO_BE_DONE.search(text) or not _PAST.search(text):
        # a chat is past, whatever is said of it
        return bool(_SPOKEN.search(text))
    return not _MAKES.search(text) or bool(_SPOKEN.search(text))


def _asks_summary(text: str) -> bool:
    """Whether a summary of what was, of who asks, is wanted."""
    wanted = _SUMMARY.search(text)
    return wanted is not None and _LIVED.search(text, wanted.end()) is not None


def without_telling(text: str) -> str:
    """Leave out of a question about order what is not of its matter; the whole text if nothing else
    is in it.

    >>> without_telling("In which order did I bring up the parts of my garden?")
    'my garden'
    """
    return " ".join(_TELLING.sub(" ", text).rstrip(" ?.!").split()) or text
