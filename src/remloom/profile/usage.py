"""Usage: what of a profile may be given, for which purpose.

Behaviour and what is feasible is for every task. What could hurt is for every request, unless the
caller says that others read the answer: no guess about a request withholds it. Who somebody is, is
for small talk, examples and recommendations, and never for tools, risk or security; other people
are told nothing of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from ..text.analysis import terms
from .belief import Belief
from .claim import Value
from .purpose import PURPOSES, Purpose
from .slots import Slot

__all__ = ["UsageRules"]

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
# a caller that says this is given nothing that the user said in their own words
_NOT_OWN = _HARMFUL | _OF_OTHERS
_NAME = re.compile(r"[^\W\d_a-z][\w’'-]*(?: [^\W\d_a-z][\w’'-]*){0,2}")
_GUESSED = ("observed", "inferred")  # not said by the user


class UsageRules:
    """What may be given for a purpose, as the user's own rules have it.

    Args:
        beliefs: about the person, among them the rules; those that are hidden count too.
        is_given: whether the caller gave the purpose; else it was guessed from the query.
        is_personal: whether the query is for the user alone; see `Request.is_personal`.
        to_name: who of the user's is to be called by name; see `Request.to_name`.
        gives_own_words: see `Bearing.gives_own_words`.
    """

    def __init__(
        self,
        beliefs: Iterable[Belief],
        purpose: Purpose,
        *,
        is_given: bool,
        is_personal: bool = True,
        to_name: str = "",
        gives_own_words: bool = True,
    ) -> None:
        rules: dict[str, list[Value]] = {}
        for belief in beliefs:
            if belief.slot.startswith("usage_rules.") and belief.holds:
                rules.setdefault(belief.slot, []).append(belief.value)
        self._purpose = purpose
        self._others_read = is_given and purpose in _OF_OTHERS
        self._is_personal = is_personal
        self._to_name = frozenset(terms(to_name))
        self._gives_own_words = gives_own_words and not (is_given and purpose in _NOT_OWN)
        self._soft = _soft_purposes(rules)
        self._may_infer = rules.get(_NEVER_INFER) == [False]

    @property
    def allows_soft(self) -> bool:
        """Whether soft identity may be used."""
        return self._purpose in self._soft

    def allow(self, belief: Belief, slot: Slot, *, named: float) -> bool:
        """Whether a belief may be given.

        Args:
            named: how far the words of the query name it, see `Relevance.by_words`.
        """
        if belief.hidden or not self._may_know(belief, slot):
            return False
        if slot.is_safety:
            return not self._others_read
        if slot.verbatim and slot.usage != "behaviour":
            is_named = named > 0 and self._purpose not in _NOT_OWN
            return self._gives_own_words or is_named
        if slot.verbatim and self._purpose in _ACTING:
            # nobody's words may tell an agent that acts what it may do
            return False
        # how to behave is for every task
        if slot.usage == "behaviour":
            return True
        if self._purpose in _OF_OTHERS:
            # what is to be done on a machine must not be taken for theirs either
            return not slot.sensitive and (slot.standing or self._is_to_be_named(belief, slot))
        if slot.sensitive:
            return named > 0 and self._purpose not in _NEVER and self._is_personal
        if not _is_personal(slot):
            return True
        if slot.usage == "soft" and not self.allows_soft:
            # what the user pinned is for every purpose but those that nothing lifts
            return belief.pinned and self._purpose not in _NEVER
        return self._purpose not in _HARMFUL and (slot.usage == "soft" or self._is_personal)

    def _may_know(self, belief: Belief, slot: Slot) -> bool:
        """Whether it may be known at all: what is sensitive, or identity, is never guessed."""
        if belief.authority not in _GUESSED:
            return True
        is_identity = slot.id.startswith("identity.") and not self._may_infer
        return not slot.sensitive and not is_identity

    def _is_to_be_named(self, belief: Belief, slot: Slot) -> bool:
        """Whether it is the name of exactly whom the query asks to name: of "my sister", neither
        what else is known of her nor the name of a brother.
        """
        name = str(belief.value)
        relations = (slot.label, *slot.aliases)
        if slot.kind == "list":
            # "sister Ana"
            relation, _, name = name.partition(" ")
            relations = (relation,)
        is_whom = bool(self._to_name) and self._to_name in map(_terms_of, relations)
        return is_whom and _NAME.fullmatch(name) is not None


def _terms_of(text: str) -> frozenset[str]:
    return frozenset(terms(text))


def _is_personal(slot: Slot) -> bool:
    """Whether it tells who somebody is; what they are to be called does not."""
    return slot.hub == "soft_identity" and not (slot.standing and not slot.sensitive)


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
