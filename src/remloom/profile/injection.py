"""Injection: what is known of a person, as it is given to agents and to recall."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from ..engine.arguments import check_aware, check_text
from ..engine.engine import Engine
from ..errors import EmbedderError, InvalidInputError

if TYPE_CHECKING:
    from ..embed.contract import Floats
    from ..retrieve.options import RecallOptions
    from .beliefs.profile import Profile
    from .context.build import ContextSpec, ProfileContext
    from .slots.registry import Registry


_SHARE = 1 / 2  # of a budget of recall, for what is known of the user, at most
_MOST_SENTENCES = 500  # of who somebody is that a request is compared with, the latest


class Injection:
    """Gives what is known of people to agents, each what is for its purpose. One is for one
    question: all that it asks of the embedder has one deadline."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._store = engine.store
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
        from msgspec.structs import replace

        from .context.build import CONTEXT_TOKENS, build_context
        from .evidence.passages import unheard_in

        budget = CONTEXT_TOKENS if budget_tokens is None else _check_tokens(budget_tokens)
        slots = self._slots()
        profile = self._profile(slots, subject, as_of)
        spec = self._spec(query, profile, slots, agent=agent, purpose=purpose, scopes=scopes)
        spec = replace(
            spec, budget_tokens=budget, safety_tokens=safety_tokens, count_tokens=count_tokens
        )
        context = build_context(profile, slots, spec)
        unheard = unheard_in(self._store, profile.subject, as_of)
        return replace(context, unheard=sum(unheard.values()))

    def known(self, question: str, options: RecallOptions) -> ProfileContext:
        """Choose and write a context for recall, which has the rest of the budget."""
        from .context.build import CONTEXT_TOKENS

        budget = CONTEXT_TOKENS
        if options.budget_tokens is not None:
            budget = max(1, min(budget, int(options.budget_tokens * _SHARE)))
        return self.context(
            question,
            purpose=options.purpose,
            budget_tokens=budget,
            # what could hurt goes before all that is recalled
            safety_tokens=options.budget_tokens or 0,
            count_tokens=options.count_tokens,
        )

    def preferences(self, query: str, purpose: str = "") -> dict[str, float]:
        """What the user likes and dislikes, for `RecallOptions.preferences`."""
        from .context.build import likes_of

        slots = self._slots()
        profile = self._profile(slots, "", None)
        return likes_of(profile, slots, self._spec(query, profile, slots, purpose=purpose))

    def remme_text(self, query: str, memories: Sequence[str], purpose: str = "") -> str:
        """Write the context of seed 4; see `Profiles.get_remme_context`."""
        from .context.remme_text import remme_text

        slots = self._slots()
        profile = self._profile(slots, "", None)
        spec = self._spec(query, profile, slots, purpose=purpose)
        return remme_text(profile, slots, spec, memories)

    def _spec(
        self,
        query: str | None,
        profile: Profile,
        slots: Registry,
        *,
        agent: str = "",
        purpose: str = "",
        scopes: Sequence[str] = (),
    ) -> ContextSpec:
        """What a context is for."""
        from msgspec.structs import replace

        from .context.build import ContextSpec
        from .context.request import Request, check_purpose, purpose_for
        from .evidence.evidence import ME

        text = check_text("" if query is None else query, "a query")
        stated = check_text(purpose, "a purpose")
        asks = check_text(agent, "the name of an agent")
        vector = self._vector(text)
        request = Request(
            text,
            vector=vector,
            embedder=self._embedder_name,
            is_of_somebody=profile.subject != ME,
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
        return replace(spec, near=self._similarities(spec, vector, profile, slots))

    @property
    def _embedder_name(self) -> str:
        return self._engine.embedder.name if self._engine.embedder is not None else ""

    def _vector(self, query: str) -> Floats | None:
        """The vector of a query; None without an embedder that works."""
        from .context.relevance import query_vector

        if self._engine.embedder is None or not query.strip():
            return None
        try:
            return query_vector(query, self._engine.embedder, self._deadline)
        except EmbedderError:
            # an allergy is not to be kept from an agent because a model is down: words will do
            return None

    def _similar(
        self, vector: Floats | None, profile: Profile, slots: Registry
    ) -> dict[str, float]:
        from .context.relevance import has_nearness, similarities

        known = dict.fromkeys(belief.slot for belief in profile.beliefs)
        if vector is None or self._engine.embedder is None:
            return {}
        some = [slot for id in known if not has_nearness(slot := slots.get_or_extra(id))]
        try:
            return similarities(some, vector, self._engine.embedder, self._deadline)
        except EmbedderError:
            return {}

    def _similarities(
        self, spec: ContextSpec, vector: Floats | None, profile: Profile, slots: Registry
    ) -> dict[str, float]:
        from .context.build import rules_for
        from .context.relevance import has_nearness, nearness, sentence_of, shares

        if not spec.query.strip():
            return {}
        rules = rules_for(profile, spec)
        scopes = ("", *spec.scopes)
        known = sorted(
            (one for one in profile.beliefs if one.scope in scopes),
            key=lambda belief: belief.checked_at,
            reverse=True,
        )
        sentences: dict[str, None] = {}
        wishes: dict[str, None] = {}  # for answers, which are all given: they are put in order
        for belief in known:
            slot = slots.get_or_extra(belief.slot)
            # what has ended is told where it bears on the query; but not each sentence of old
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

    def _profile(self, slots: Registry, subject: str, as_of: datetime | None) -> Profile:
        from .beliefs.belief_store import BeliefStore
        from .beliefs.constants import constants_of
        from .beliefs.profile import Profile
        from .evidence.subjects import resolve

        if as_of is not None:
            check_aware(as_of)
        person = resolve(check_text(subject, "a subject"), self._engine.settings)
        beliefs = BeliefStore(self._store, slots, constants_of(self._store))
        return Profile(
            subject=person,
            as_of=as_of or datetime.now(UTC),
            beliefs=tuple(beliefs.all(person, as_of=as_of)),
        )

    def _slots(self) -> Registry:
        from .slots.registry import registry_of

        return registry_of(self._store)


def _check_tokens(budget: int) -> int:
    if not isinstance(budget, int) or isinstance(budget, bool) or budget < 1:
        raise InvalidInputError(
            f"a budget is a whole number of tokens from 1, not {budget!r}",
            remedy="leave it out for the default",
        )
    return budget
