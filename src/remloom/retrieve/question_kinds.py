"""What kind of answer a question wants: of a chat with an assistant, different turns have it.

English only; in other languages every question is of kind "general".
"""

from __future__ import annotations

import re

__all__ = [
    "GENERAL",
    "ORDER",
    "OTHER",
    "OVERVIEWS",
    "REQUEST",
    "SUMMARY",
    "TOLD",
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

_ORDER = re.compile(
    r"\b(?:in (?:what|which|the|that|chronological|time) (?:order|sequence)\b(?! to\b)"
    r"|(?:order|sequence) (?:in which|(?:that )?(?:things|topics|(?:I|we) (?:talked|spoke|asked"
    r"|brought|came|raised|mentioned|discussed|covered|did|went)))\b"
    r"|chronolog\w+|timeline|(?:earliest|oldest|first) to (?:latest|newest|last)"
    r"|first\b[^.?!]*\b(?:then|next|after (?:that|it|them)|afterwards))\b",
    re.IGNORECASE | re.DOTALL,
)
_FIRST_PERSON = re.compile(r"\b(?:I|we|me|us|my|our|mine|ours)\b", re.IGNORECASE)
_SECOND_PERSON = re.compile(r"\b(?:you|your)\b", re.IGNORECASE)
_SUMMARY = re.compile(
    r"\b(?:summar(?:y|i[sz]e\w*)|sum(?:ming)? (?:it |things )?up|overview|recap\w*|run-?down)\b",
    re.IGNORECASE,
)
# of what a summary is, if it is of what the user lived through
_LIVED = re.compile(
    r"\b(?:I|we|us|my|our|mine|ours|has|have|had|was|were|been|did|so far|until now"
    r"|conversations?|chats?|sessions?)\b",
    re.IGNORECASE,
)
_OVER_TIME = re.compile(
    r"\b(?:(?:catch|bring) (?:me|us) up|where (?:do )?(?:things|I|we|it) (?:now )?stands?"
    r"|(?:everything|all|anything|the things) (?:that )?(?:I|we)(?:['’]ve| have)? (?:ever )?"
    r"(?:told|said|shared|mentioned|discussed|talked|did|done)"
    r"|(?:everything|all) (?:that )?you know|the (?:whole )?(?:story|history) of"
    r"|from (?:the )?(?:start|beginning) to (?:the )?(?:finish|end|now)"
    r"|(?:how|what)(?:['’]s| (?:has|have|had|did))\b(?>.{1,80}?\b(?:chang|develop|evolv|progress|go"
    r"|happen))\w*\b.*\b(?:over|since|so far|until|throughout|during|across))\b",
    re.IGNORECASE | re.DOTALL,
)
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
    r"|\b(?:suggest|recommend|ideas?|tips?|advice|advise|good|best)\b"
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
    if _ORDER.search(text) and _FIRST_PERSON.search(text):
        return ORDER
    if _OVER_TIME.search(text) or (_SUMMARY.search(text) and _LIVED.search(text)):
        return SUMMARY
    for kind, pattern in ((TOLD, _TOLD), (REQUEST, _REQUEST)):
        if pattern.search(text):
            return kind
    if _FIRST_PERSON.search(text) or _SECOND_PERSON.search(text):
        return OTHER
    return GENERAL


def without_telling(text: str) -> str:
    """Leave out of a question about order what is not of its matter; the whole text if nothing else
    is in it.

    >>> without_telling("In which order did I bring up the parts of my garden?")
    'my garden'
    """
    return " ".join(_TELLING.sub(" ", text).rstrip(" ?.!").split()) or text
