"""Injection: what is known of a person, as it is given to agents and to recall."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING, TypeAlias

from msgspec.structs import replace

from ..engine.arguments import check_aware, check_text
from ..engine.engine import Engine
from ..errors import EmbedderError, InvalidInputError
from ..text.secrets import mask
from .beliefs.belief_store import BeliefStore
from .beliefs.learning import constants_of
from .beliefs.profile import Profile
from .context.build import (
    CONTEXT_TOKENS,
    ContextSpec,
    ProfileContext,
    beliefs_for,
    build_context,
    likes_of,
    rules_for,
)
from .context.context_line import clean, doubt_of_passage, doubt_of_safety, shown_value
from .context.relevance import (
    Relevance,
    has_nearness,
    nearness,
    query_vector,
    sentence_of,
    shares,
    similarities,
)
from .context.request import AgentRequest, check_purpose, purpose_for
from .evidence.evidence import ME
from .evidence.passages import resolve, unheard_in
from .slots.registry import SlotRegistry, registry_of

if TYPE_CHECKING:
    from ..embed.contract import Floats
    from ..retrieve.options import RecallOptions

# a person's beliefs, the slots they are in, and what of them is asked for
_Need: TypeAlias = tuple[Profile, SlotRegistry, ContextSpec]

_SHARE = 1 / 2  # of a budget of recall, for what is known of the user, at most
_MOST_SENTENCES = 500  # of who somebody is that a request is compared with, the latest

# of the context of seed 4
_MOST_VALUES = 8  # of one line
_LONGEST_MEMORY = 300  # characters
_UNKNOWN = "not known"
# the slots of its lines
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


class Injection:
    """Gives what is known of people to agents, each what is for its purpose. One is for one
    question: all that it asks of the embedder has one deadline."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._deadline = engine.deadline()

    def context(
        self,
        query: str | None,
        *,
        subject: str = "",
        agent: str = "",
        scopes: Sequence[str] = (),
        purpose: str = "",
        budget_tokens: int | None = None,
        safety_tokens: int = 0,
        as_of: datetime | None = None,
        count_tokens: Callable[[str], int] | None = None,
    ) -> ProfileContext:
        """Choose and write a context; see `Profiles.context`."""
        budget = CONTEXT_TOKENS if budget_tokens is None else _check_tokens(budget_tokens)
        profile, slots, spec = self._need(
            query, purpose, subject=subject, as_of=as_of, agent=agent, scopes=scopes
        )
        spec = replace(
            spec, budget_tokens=budget, safety_tokens=safety_tokens, count_tokens=count_tokens
        )
        context = build_context(profile, slots, spec)
        unheard = unheard_in(self._engine.store, profile.subject, as_of)
        return replace(context, unheard=sum(unheard.values()))

    def known(self, question: str, options: RecallOptions) -> ProfileContext:
        """Choose and write a context for recall, which has the rest of the budget."""
        budget = CONTEXT_TOKENS
        if options.budget_tokens is not None:
            budget = max(1, min(budget, int(options.budget_tokens * _SHARE)))
        return self.context(
            question,
            purpose=options.purpose,
            budget_tokens=budget,
            # what could hurt goes before all that is recalled
            safety_tokens=options.budget_tokens or 0,
            as_of=options.as_of,
            count_tokens=options.count_tokens,
        )

    def preferences(
        self, query: str, purpose: str = "", as_of: datetime | None = None
    ) -> dict[str, float]:
        """What the user likes and dislikes, for `RecallOptions.preferences`."""
        return likes_of(*self._need(query, purpose, as_of=as_of))

    def remme_text(self, query: str, memories: Sequence[str], purpose: str = "") -> str:
        """Write memories and preferences as seed 4 has them. Source: seed 4, "Agent Injection".

        What is not for the purpose of the query is not known here. What could hurt is all there.
        """
        safety, values = _allowed_values(*self._need(query, purpose))
        never_eaten = _joined(value for slot in _NEVER_EATEN for value in safety.pop(slot, ()))
        health = _joined(value for some in safety.values() for value in some)
        answers = _first_of(values, _ANSWERS)
        quoted = [f'- "{mask(clean(memory))[0][:_LONGEST_MEMORY]}"' for memory in memories]
        lines = [
            "USER MEMORIES:",
            *(quoted or ["- none"]),
            "",
            "USER PREFERENCES:",
            f"- Verbosity: {_first_of(values, _VERBOSITY)}",
            f"- Dietary: {_first_of(values, _DIET)}"
            + (f", never: {never_eaten}" if never_eaten else ""),
            f"- Tech Stack: {_first_of(values, _LANGUAGES, _FRAMEWORKS)}",
            f"- Communication: {_first_of(values, _TONE)}, humor={_first_of(values, _HUMOR)}",
            *([f"- Health: {health}"] if health else []),
            *([f"- Answers: {answers}"] if answers != _UNKNOWN else []),
        ]
        return "\n".join(lines) + "\n"

    def _need(
        self,
        query: str | None,
        purpose: str = "",
        *,
        subject: str = "",
        as_of: datetime | None = None,
        agent: str = "",
        scopes: Sequence[str] = (),
    ) -> _Need:
        store = self._engine.store
        slots = registry_of(store)
        if as_of is not None:
            check_aware(as_of)
        person = resolve(check_text(subject, "a subject"), self._engine.settings)
        profile = BeliefStore(store, slots, constants_of(store)).profile(person, as_of)
        text = check_text("" if query is None else query, "a query")
        stated = check_text(purpose, "a purpose")
        asks = check_text(agent, "the name of an agent")
        vector = self._vector(text)
        request = AgentRequest(
            text,
            vector=vector,
            embedder=self._engine.embedder.name if self._engine.embedder is not None else "",
            is_of_somebody=person != ME,
        )
        checked = check_purpose(stated) if stated else purpose_for(asks, request.purpose)
        spec = ContextSpec(
            query=text,
            purpose=checked,
            is_given=bool(stated),
            personal=request.personal_for(is_given=bool(stated)),
            extent=request.extent,
            # what holds for coding counts where code is the purpose
            scopes=(*scopes, f"domain:{checked}"),
            similar=self._similar(vector, profile, slots),
        )
        near = self._near(vector, profile, slots, spec) if text.strip() else {}
        return profile, slots, replace(spec, near=near)

    def _vector(self, query: str) -> Floats | None:
        if self._engine.embedder is None or not query.strip():
            return None
        # an allergy is not to be kept from an agent because a model is down: words will do
        with suppress(EmbedderError):
            return query_vector(query, self._engine.embedder, self._deadline)
        return None

    def _similar(
        self, vector: Floats | None, profile: Profile, slots: SlotRegistry
    ) -> dict[str, float]:
        if vector is None or self._engine.embedder is None:
            return {}
        known = map(slots.get_or_extra, dict.fromkeys(belief.slot for belief in profile.beliefs))
        some = [slot for slot in known if not has_nearness(slot)]
        with suppress(EmbedderError):
            return similarities(some, vector, self._engine.embedder, self._deadline)
        return {}

    def _near(
        self, vector: Floats | None, profile: Profile, slots: SlotRegistry, spec: ContextSpec
    ) -> dict[str, float]:
        """How near the query is to sentences of who the person is, and to wishes for answers."""
        rules = rules_for(profile, spec)
        sentences: dict[str, None] = {}
        wishes: dict[str, None] = {}  # are all given: they are put in order
        scopes = ("", *spec.scopes)
        known = [belief for belief in profile.beliefs if belief.scope in scopes]
        for belief in sorted(known, key=lambda one: one.checked_at, reverse=True):
            slot = slots.get_or_extra(belief.slot)
            # what has ended is given where it bears on the query; but not each sentence of old
            if has_nearness(slot):
                some = sentences
            elif slot.verbatim and slot.usage == "behaviour":
                some = wishes
            else:
                continue
            if (belief.holds or not slot.verbatim) and rules.allow(belief, slot, named=0.0):
                some[sentence_of(slot, belief.value)] = None
        latest, wished = (list(texts)[:_MOST_SENTENCES] for texts in (sentences, wishes))
        together = [*latest, *wished]
        likenesses = self._cosines(together, vector) or shares(spec.query, together)
        return {one: likenesses.get(one, 0.0) for one in wished} | nearness(latest, likenesses)

    def _cosines(self, sentences: Sequence[str], vector: Floats | None) -> dict[str, float]:
        if vector is None or not sentences:
            return {}
        try:
            vectors = self._engine.sentence_vectors.of(sentences, self._deadline)
        except EmbedderError:
            return {}
        # those that another model made under the same name are of another length
        return {
            text: float(one @ vector) for text, one in vectors.items() if len(one) == len(vector)
        }


def _check_tokens(budget: int) -> int:
    if not isinstance(budget, int) or isinstance(budget, bool) or budget < 1:
        raise InvalidInputError(
            f"a budget is a whole number of tokens from 1, not {budget!r}",
            remedy="leave it out for the default",
        )
    return budget


def _allowed_values(
    profile: Profile, slots: SlotRegistry, spec: ContextSpec
) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """The values that may be given, by slot: those that could hurt, and the others."""
    rules, relevance = rules_for(profile, spec), Relevance(spec.query)
    safety: dict[str, list[str]] = {}
    values: dict[str, list[str]] = {}
    for belief in beliefs_for(profile, slots, spec.scopes):
        slot = slots.get_or_extra(belief.slot)
        if rules.allow(belief, slot, named=relevance.by_words(slot, belief.value)):
            value = shown_value(belief.label, belief.value)
            doubt = doubt_of_safety(belief) if slot.is_safety else doubt_of_passage(belief)
            if doubt:
                value += f" ({doubt})"
            (safety if slot.is_safety else values).setdefault(belief.slot, []).append(value)
    return safety, values


def _first_of(values: Mapping[str, Sequence[str]], *groups: Iterable[str]) -> str:
    """The values of the first slot of each group that has some."""
    found: list[str] = []
    for group in groups:
        found += next((values[slot] for slot in group if slot in values), ())
    return _joined(found[:_MOST_VALUES]) or _UNKNOWN


def _joined(values: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(values))
