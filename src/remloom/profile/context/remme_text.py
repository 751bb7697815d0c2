"""The text that seed 4 gives to agents: `get_remme_context`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...text.secrets import mask
from ..beliefs.profile import Profile
from ..slots.registry import Registry
from .build import ContextSpec, beliefs_for, rules_for
from .context_line import clean, doubt_of_safety, shown_value
from .relevance import Relevance

_MOST_VALUES = 8  # of one line
_LONGEST_MEMORY = 300  # characters
_UNKNOWN = "not known"

# the lines of the seed: each with what stands in it, and the slots that say it
_VERBOSITY = ("output_contract.verbosity", "stable_defaults.default_verbosity")
_DIET = ("food_and_dining.dietary_style",)
_NEVER_EATEN = ("food_and_dining.restrictions.allergies", "food_and_dining.restrictions.medical")
_LANGUAGES = ("developer_posture.primary_languages", "stable_defaults.default_language")
_FRAMEWORKS = (
    "tooling_defaults.frameworks.backend",
    "tooling_defaults.frameworks.frontend",
    "developer_posture.tech_stack",
)
_TONE = ("output_contract.tone_constraints", "communication_style.formality_preference")
_HUMOR = ("communication_style.humor_tolerance",)
_ANSWERS = ("own_words.answers",)


def remme_text(
    profile: Profile, slots: Registry, spec: ContextSpec, memories: Sequence[str]
) -> str:
    """Write memories and preferences as seed 4 has them. Source: seed 4, "Agent Injection".

    What is not for the purpose of the query is not known here. What could hurt is all there.
    """
    known = _Known(profile, slots, spec)
    quoted = [f'- "{mask(clean(memory))[0][:_LONGEST_MEMORY]}"' for memory in memories]
    stack = known.values(_LANGUAGES, _FRAMEWORKS)
    diet = known.values(_DIET)
    never_eaten, health = known.safety(_NEVER_EATEN)
    tone, humor = known.values(_TONE), known.values(_HUMOR)
    answers = known.values(_ANSWERS)
    lines = [
        "USER MEMORIES:",
        *(quoted or ["- none"]),
        "",
        "USER PREFERENCES:",
        f"- Verbosity: {known.values(_VERBOSITY)}",
        f"- Dietary: {diet}" + (f", never: {never_eaten}" if never_eaten else ""),
        f"- Tech Stack: {stack}",
        f"- Communication: {tone}, humor={humor}",
        *([f"- Health: {health}"] if health else []),
        *([f"- Answers: {answers}"] if answers != _UNKNOWN else []),
    ]
    return "\n".join(lines) + "\n"


class _Known:
    """What may be given of a profile."""

    def __init__(self, profile: Profile, slots: Registry, spec: ContextSpec) -> None:
        rules = rules_for(profile, spec)
        relevance = Relevance(spec.query)
        self._safety: dict[str, list[str]] = {}
        self._values: dict[str, list[str]] = {}
        for belief in beliefs_for(profile, slots, spec.scopes):
            slot = slots.get_or_extra(belief.slot)
            named = relevance.by_words(slot, belief.value)
            if rules.allow(belief, slot, named=named):
                value = shown_value(belief.label, belief.value)
                if slot.is_safety and (doubt := doubt_of_safety(belief)):
                    value += f" ({doubt})"
                place = self._safety if slot.is_safety else self._values
                place.setdefault(belief.slot, []).append(value)

    def safety(self, first: Iterable[str]) -> tuple[str, str]:
        """The values of what could hurt, all of them: of these slots, and of the others."""
        ours = [value for slot in first for value in self._safety.pop(slot, ())]
        others = [value for values in self._safety.values() for value in values]
        return ", ".join(dict.fromkeys(ours)), ", ".join(dict.fromkeys(others))

    def values(self, *groups: Iterable[str]) -> str:
        """The values of the first slot of each group that has some."""
        found: list[str] = []
        for group in groups:
            known = [self._values[slot] for slot in group if slot in self._values]
            found += known[0] if known else []
        return ", ".join(dict.fromkeys(found[:_MOST_VALUES])) or _UNKNOWN
