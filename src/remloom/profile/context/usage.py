"""Usage: what of a profile may be given, for which purpose.

Behaviour and what is feasible is for every task. What could hurt is for every request, unless the
caller says that others read the answer: no guess about a request withholds it. Who somebody is, is
for small talk, examples and recommendations, and never for tools, risk or security; other people
are told nothing of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..beliefs.belief import Belief
from ..evidence.claim import Value
from ..slots.slot import Slot
from .request import PURPOSES, Personal, Purpose

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


class UsageRules:
    """What may be given for a purpose, as the user's own rules have it.

    Args:
        beliefs: about the person, among them the rules; those that are hidden count too.
        purpose: that it is for.
        is_given: whether the caller gave the purpose; else it was guessed from the query.
        personal: what of who the user is may be given; see `Request.personal`.
    """

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
        """Whether a belief may be given.

        Args:
            named: how far the words of the query name it, see `Relevance.by_words`.
        """
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
        """Whether what tells who somebody is may be given."""
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
    """The purposes that soft identity may be used for."""
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
