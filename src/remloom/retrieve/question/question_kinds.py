"""What kind of answer a question wants: of a chat with an assistant, different turns have it.

A head decides, by the words alone: the vector of a question bought nothing (.82 right of 150
questions of strangers, .86 without it), and what is compared in meaning depends on the kind.
"""

from __future__ import annotations

import re

from ...heads.features import LONGEST
from ...heads.head import Decision, head
from ...text.language import is_english

ORDER = "order"  # in which order things were spoken of
SUMMARY = "summary"  # how something went
TOLD = "told"  # what the assistant said
REQUEST = "request"  # advice, or something to be done: what was asked for before governs it
OTHER = "other"
# probability from which on something may be requested: a request that is taken for a fact loses
# what governs it, a fact that is taken for a request loses little
_MAY_REQUEST = 0.25
OVERVIEWS = (ORDER, SUMMARY)  # what many turns answer between them, each little like the question

# A rule, of English alone, says what is asked of the present and what is of telling: no head was
# measured for it.
# of a question about how things are: what speaks of how they were
_WERE = re.compile(
    r"\b(?:did|was|were|had|have|has|used to|before|first|original\w*|previous\w*|earlier"
    r"|initial\w*|formerly|ever|planned)\b",
    re.IGNORECASE,
)
_ARE = re.compile(r"\b(?:now|currently|these days|at the moment|nowadays|still)\b", re.IGNORECASE)
# of a question about order: what speaks of telling, not of what is told
_ACCOUNT_REQUESTS = re.compile(
    r"\b(?:can|could|would|you|please|give|list|tell|show|me|the|order|sequence|chronolog\w+"
    r"|timeline|in|which|what|how|did|do|I|we|came|come|brought|bring|to|speak|spoke|talk\w*|about"
    r"|up|mention\w*|name|only|and|different|various|aspects?|parts?|topics?|of|items?|them|two"
    r"|three|four|five|six|seven|eight|nine|ten|\d+|throughout|our|conversations?|chats?|summar\w+"
    r"|sum|overview|recap|has|have|had|happened|developed|so|far|from|start|until|today|with|a|an"
    r"|first|then|next|after|that|earliest|oldest|latest|newest|last|ask\w*|cover\w*|walk|go|went"
    r"|through|things|put|trace|over|time|progress\w*|comprehensive|detailed|across|all)\b[,.?!]?",
    re.IGNORECASE,
)


def decided(text: str) -> Decision:
    """Decide the kind of a question; of a long one its end is read, behind what was pasted."""
    return head("question").decide(text[-LONGEST:])


def kind_of(text: str) -> str:
    """Tell the kind of a question.

    >>> kind_of("Could you suggest a place for dinner?"), kind_of("Was hast du mir empfohlen?")
    ('request', 'told')
    """
    return kind_by(decided(text))


def kind_by(decision: Decision) -> str:
    """The kind of a question, by what the head decided."""
    if decision.label == OTHER and decision.probabilities[REQUEST] >= _MAY_REQUEST:
        return REQUEST
    return decision.label


def asks_present(text: str) -> bool:
    """Whether it is asked how things are, not how they were, and nothing is requested.

    >>> asks_present("How much is my rent?"), asks_present("How much was my rent before?")
    (True, False)
    """
    if not is_english(text) or decided(text).label != OTHER:
        return False
    return _ARE.search(text) is not None or _WERE.search(text) is None


def without_request(text: str) -> str:
    """Leave out of a question about order what is not of its matter; the whole text if nothing else
    is in it.

    >>> without_request("In which order did I bring up the parts of my garden?")
    'my garden'
    """
    return " ".join(_ACCOUNT_REQUESTS.sub(" ", text).rstrip(" ?.!").split()) or text
