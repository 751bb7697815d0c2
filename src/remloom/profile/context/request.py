"""A request, as heads read it: whom the answer is for, whether it depends on who asks, how much of
what is known it asks for, and what harm it may do.

What could hurt is given whatever they decide; what is of nobody's business but the user's own only
where they find that the answer is for the user.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Literal, TypeAlias, cast, get_args

from ...errors import UnknownNameError
from ...heads.features import LONGEST
from ...heads.head import Decision, head
from ..beliefs.belief import Belief
from ..evidence.claim import Value
from ..slots.slot import Slot

if TYPE_CHECKING:
    from ...embed.contract import Floats

# some: what it names or bears on; most: all but what is sensitive, "What do you know about me?"
Extent: TypeAlias = Literal["some", "most"]
# what of who the user is may be given: nothing, what is asked for by its name, what bears on it
Personal: TypeAlias = Literal["nothing", "named", "near"]

_FOR_OTHERS = 0.35  # probability from which on an answer is taken to be for others or the public
_FOR_USER = 0.6  # from which on it is taken to be for the user
_IS_TASK = 0.6  # from which on it is a task that closes who the user is
_MOST = 0.7  # from which on all that is known is asked for


Purpose: TypeAlias = Literal[
    # where soft identity may be used, unless the user says otherwise
    "chat",
    "recommend",
    "example",
    # work
    "general",
    "coding",
    "tools",
    "planning",
    "research",
    "formatting",
    "reasoning",
    "clarification",
    # what may do harm: security, and what cannot be undone
    "security",
    "risk",
    # moving the user to do something
    "persuade",
    # what other people read, and what is about them: only if the caller says so, nothing of what
    # could hurt is given
    "letter",
    "somebody_else",
]
PURPOSES: tuple[Purpose, ...] = get_args(Purpose)

# purposes of the agents that seed 4 is for; any other's is told from its query
_AGENTS: dict[str, Purpose] = {
    "planner": "planning",
    "coder": "coding",
    "distiller": "coding",
    "formatter": "formatting",
    "retriever": "research",
    "thinker": "reasoning",
    "clarification": "clarification",
}
# what restrains any agent
_RESTRAINED: frozenset[Purpose] = frozenset(
    ("letter", "somebody_else", "security", "risk", "persuade")
)
# how much each decision closes
_CAUTION: dict[str, Callable[[Decision], float]] = {
    "audience": lambda decided: -decided.probabilities["own"],
    "bearing": lambda decided: decided.probabilities["impersonal"],
    "extent": lambda decided: decided.probabilities["some"],
    "task": lambda decided: max(
        share for label, share in decided.probabilities.items() if label != "other"
    ),
}
_ALLOWED_IN = "usage_rules.allowed_in"
_NEVER_AFFECTS = "usage_rules.never_affects"
_NEVER_INFER = "usage_rules.never_infer_identity"
_NEVER_PERSUADE = "usage_rules.never_use_for_persuasion"
# what the values of the two lists stand for; any other stands for the purpose of its name
_PURPOSES_OF: dict[str, tuple[Purpose, ...]] = {
    "examples": ("example",),
    "analogies": ("example",),
    "casual_chat": ("chat",),
    "recommendations": ("recommend",),
    "tool_selection": ("tools", "coding"),
    "risk_decisions": ("risk",),
    "security_choices": ("security",),
}
_SOFT: frozenset[Purpose] = frozenset(("chat", "recommend", "example"))
# no permission lifts these
_NEVER: frozenset[Purpose] = frozenset(
    ("tools", "coding", "risk", "security", "letter", "somebody_else")
)
_HARMFUL: frozenset[Purpose] = frozenset(("risk", "security", "persuade"))
_OF_OTHERS: frozenset[Purpose] = frozenset(("letter", "somebody_else"))
_ACTING: frozenset[Purpose] = frozenset(("tools", "risk", "security"))
_GUESSED = ("observed", "inferred")  # not said by the user


class AgentRequest:
    """What an agent is asked, read by its words and, with a vector by this embedder, by its
    meaning; it may ask for what is known of somebody else."""

    def __init__(
        self,
        query: str,
        *,
        vector: Floats | None = None,
        embedder: str = "",
        is_of_somebody: bool = False,
    ) -> None:
        self._query = query.strip()
        self._is_of_somebody = is_of_somebody
        self._vector = vector
        self._embedder = embedder if vector is not None else ""

    @cached_property
    def purpose(self) -> Purpose:
        """What is to be given is for this.

        >>> AgentRequest("Write a letter to my landlord").purpose
        'letter'
        >>> AgentRequest("What should I cook tonight?").purpose
        'recommend'
        """
        if not self._query:
            return "general"
        if self._is_for_others:
            return "letter"
        if self._is_task:
            return cast("Purpose", self.task.label)
        if self.audience.label == "code":
            return "coding"
        if self.extent == "most" or self.personal == "named":
            return "chat"
        return "recommend" if self.personal == "near" else "general"

    @cached_property
    def extent(self) -> Extent:
        """How much of what is known is asked for.

        >>> AgentRequest("What have you stored about me so far?").extent
        'most'
        """
        is_for_user = self._is_of_somebody or self.audience.label == "own"
        if self._is_task or not is_for_user:
            return "some"
        return "most" if self._decided("extent").probabilities["most"] >= _MOST else "some"

    @cached_property
    def audience(self) -> Decision:
        """Whom the answer is for: own, others, public, or code, where it is for a program.

        >>> AgentRequest("Write to my landlord that the heating is cold").audience.label
        'others'
        """
        return self._decided("audience")

    @cached_property
    def task(self) -> Decision:
        """What is to be done: security, risk (what cannot be undone), persuade, tools, or other.

        >>> AgentRequest("Delete all my photos of the last year").task.label
        'risk'
        """
        return self._decided("task")

    @cached_property
    def personal(self) -> Personal:
        """What of who the user is may be given.

        >>> AgentRequest("What shall I cook tonight?").personal
        'near'
        >>> AgentRequest("What are my hobbies?").personal
        'named'
        >>> AgentRequest("Write a speech for my brother's wedding").personal
        'nothing'
        """
        return self.personal_for(is_given=False)

    def personal_for(self, *, is_given: bool) -> Personal:
        """What of who the user is may be given, if the caller may have said for whom it is."""
        if not self._query or self.extent == "most":
            return "near"
        if is_given or self._is_of_somebody:
            return "near" if self.depends_on_user else "named"
        if self.audience.label == "code":
            return "nothing"
        if self.depends_on_user and self._others < _FOR_OTHERS:
            return "near"
        return "named" if self.audience.probabilities["own"] >= _FOR_USER else "nothing"

    @cached_property
    def depends_on_user(self) -> bool:
        """Whether another user would be answered otherwise.

        >>> AgentRequest("What shall I cook tonight?").depends_on_user
        True
        >>> AgentRequest("At how many degrees does egg white set?").depends_on_user
        False
        """
        return not self._query or self._decided("bearing").label == "personal"

    @property
    def _others(self) -> float:
        """The probability that others read the answer, or live with it."""
        return self.audience.probabilities["others"] + self.audience.probabilities["public"]

    @property
    def _is_for_others(self) -> bool:
        return self.audience.label == "others" and not self._is_of_somebody

    @property
    def _is_task(self) -> bool:
        return self.task.label != "other" and self.task.probability >= _IS_TASK

    def _decided(self, name: str) -> Decision:
        """What a head decides; of a long text it reads both ends, and the more cautious counts."""
        first = head(name, self._embedder).decide(self._query, self._vector)
        if len(self._query) <= LONGEST:
            return first
        last = head(name).decide(self._query[-LONGEST:])
        return max(first, last, key=_CAUTION[name])


def check_purpose(name: str) -> Purpose:
    """Return the purpose of this name; UnknownNameError if there is none."""
    if name not in PURPOSES:
        raise UnknownNameError("purpose", name, PURPOSES)
    return name


def purpose_for(agent: str, stated: Purpose) -> Purpose:
    """Return the purpose of an agent that is asked something whose purpose is told.

    What restrains goes first, whoever asks: a letter of a coding agent is a letter.

    >>> purpose_for("CoderAgent", "recommend"), purpose_for("CoderAgent", "letter")
    ('coding', 'letter')
    """
    name = re.sub(r"[\W_]", "", agent).casefold().removesuffix("agent")
    return stated if stated in _RESTRAINED else _AGENTS.get(name, stated)


class UsageRules:
    """What may be given for a purpose, as the user's own rules have it, which are among the
    beliefs; those that are hidden count too."""

    def __init__(
        self,
        beliefs: Iterable[Belief],
        purpose: Purpose,
        *,
        is_given: bool,
        personal: Personal = "near",
    ) -> None:
        rules: dict[str, list[Value]] = {}
        for belief in beliefs:
            if belief.slot.startswith("usage_rules.") and belief.holds:
                rules.setdefault(belief.slot, []).append(belief.value)
        self._purpose = purpose
        self._is_given = is_given
        self._personal = personal
        self._soft = _soft_purposes(rules)
        self._may_infer = rules.get(_NEVER_INFER) == [False]

    def allow(self, belief: Belief, slot: Slot, *, named: float) -> bool:
        """Whether a belief may be given, which the words of the query name so far (`by_words`)."""
        if belief.hidden:
            return False
        # with the doubt, where it was only hinted at
        if slot.is_safety:
            return not (self._is_given and self._purpose in _OF_OTHERS)
        if not self._may_know(belief, slot):
            return False
        # how to behave is for every task; but nobody's words may tell an agent that acts what it
        # may do
        if slot.usage == "behaviour":
            return not (slot.verbatim and self._purpose in _ACTING)
        if self._purpose in _OF_OTHERS:
            # what is to be done on a machine must not be taken for theirs either
            return slot.standing and not slot.sensitive
        if slot.sensitive:
            # many a request has a word of a sentence
            reach = ("near",) if slot.verbatim else ("near", "named")
            closed = _NEVER | _HARMFUL
            return named > 0 and self._personal in reach and self._purpose not in closed
        return not slot.is_personal or self._allow_personal(belief, slot, is_named=named > 0)

    def _allow_personal(self, belief: Belief, slot: Slot, *, is_named: bool) -> bool:
        if self._purpose in (_NEVER if slot.usage == "soft" else _HARMFUL):
            return False
        # what the user pinned is for every purpose but those that nothing lifts, and for no guess
        # that others read it
        if belief.pinned:
            return self._is_given or self._personal != "nothing"
        if slot.usage == "soft" and self._purpose not in self._soft:
            return False
        return self._personal == "near" or (is_named and self._personal == "named")

    def _may_know(self, belief: Belief, slot: Slot) -> bool:
        """Whether it may be known at all: what is sensitive, or identity, is never guessed."""
        if belief.authority not in _GUESSED:
            return True
        is_identity = slot.id.startswith("identity.") and not self._may_infer
        return not slot.sensitive and not is_identity


def _soft_purposes(rules: Mapping[str, list[Value]]) -> frozenset[Purpose]:
    allowed = _SOFT
    if _ALLOWED_IN in rules:
        allowed = _named(rules[_ALLOWED_IN])
    never = _NEVER | _named(rules.get(_NEVER_AFFECTS, ()))
    if rules.get(_NEVER_PERSUADE) != [False]:
        never |= {"persuade"}
    return allowed - never


def _named(values: Iterable[Value]) -> frozenset[Purpose]:
    named: set[Purpose] = set()
    for value in values:
        word = str(value).casefold().replace(" ", "_")
        named.update(_PURPOSES_OF.get(word, ()))
        named.update(purpose for purpose in PURPOSES if purpose == word)
    return frozenset(named)
