"""Injection: what is known of a person, as it is given to agents and to recall."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from ..errors import EmbedderError, InvalidInputError
from .arguments import check_aware, check_text
from .engine import Engine

if TYPE_CHECKING:
    from ..embed.contract import Floats
    from ..profile.context import ContextSpec, ProfileContext
    from ..profile.profile import Profile
    from ..profile.slots import Registry, Slot

__all__ = ["Injection"]

_MOST_SENTENCES = 500  # in the user's own words that a request is compared with, the latest


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

        from ..profile.context import CONTEXT_TOKENS, build_context

        budget = CONTEXT_TOKENS if budget_tokens is None else _check_tokens(budget_tokens)
        slots = self._slots()
        profile = self._profile(slots, subject, as_of)
        spec = self._spec(query, profile, slots, agent=agent, purpose=purpose, scopes=scopes)
        spec = replace(
            spec, budget_tokens=budget, safety_tokens=safety_tokens, count_tokens=count_tokens
        )
        return build_context(profile, slots, spec)

    def preferences(self, query: str, purpose: str = "") -> dict[str, float]:
        """What the user likes and dislikes, for `RecallOptions.preferences`."""
        from ..profile.context import likes_of

        slots = self._slots()
        profile = self._profile(slots, "", None)
        return likes_of(profile, slots, self._spec(query, profile, slots, purpose=purpose))

    def remme_text(self, query: str, memories: Sequence[str], purpose: str = "") -> str:
        """Write the context of seed 4; see `Profiles.get_remme_context`."""
        from ..profile.remme_text import remme_text

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
        from ..profile.bearing import Bearing
        from ..profile.context import ContextSpec
        from ..profile.purpose import check_purpose, purpose_for
        from ..profile.request import Request

        text = check_text("" if query is None else query, "a query")
        given = check_text(purpose, "a purpose")
        asks = check_text(agent, "the name of an agent")
        request = Request(
            text,
            people=self._others(profile.subject) if text.strip() else (),
            known=_words_of(profile),
            own=_names_of(profile, slots),
        )
        vector = self._vector(text)
        bearing = Bearing(text, vector=vector, embedder=self._embedder_name)
        told = check_purpose(given) if given else purpose_for(asks, request.purpose)
        return ContextSpec(
            query=text,
            purpose=told,
            is_given=bool(given),
            # a purpose that is given says whom it is for
            is_personal=bool(given) or not text.strip() or request.is_personal,
            extent=request.extent,
            to_name=request.to_name,
            # what holds for coding counts where code is the purpose
            scopes=(*scopes, f"domain:{told}"),
            similar=self._similar(vector, profile, slots),
            near=self._near(vector, profile, slots),
            gives_own_words=not text.strip() or bearing.gives_own_words(whom_is_given=bool(given)),
        )

    @property
    def _embedder_name(self) -> str:
        return self._engine.embedder.name if self._engine.embedder is not None else ""

    def _vector(self, query: str) -> Floats | None:
        """The vector of a query; None without an embedder that works."""
        from ..profile.relevance import query_vector

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
        from ..profile.relevance import similarities

        known = dict.fromkeys(belief.slot for belief in profile.beliefs)
        if vector is None or self._engine.embedder is None:
            return {}
        some = [slots.get_or_extra(id) for id in known]
        try:
            return similarities(some, vector, self._engine.embedder, self._deadline)
        except EmbedderError:
            return {}

    def _near(
        self, vector: Floats | None, profile: Profile, slots: Registry
    ) -> dict[str, float] | None:
        from ..profile.relevance import nearness

        said = [
            belief
            for belief in profile.beliefs
            if belief.holds and not belief.hidden
            if _is_asked_for(slots.get_or_extra(belief.slot))
        ]
        if vector is None or not said:
            return None
        said.sort(key=lambda belief: belief.checked_at, reverse=True)
        words = [str(belief.value) for belief in said[:_MOST_SENTENCES]]
        try:
            vectors = self._engine.sentence_vectors.of(words, self._deadline)
        except EmbedderError:
            return None
        return nearness(vectors, vector)

    def _profile(self, slots: Registry, subject: str, as_of: datetime | None) -> Profile:
        from ..profile.belief_store import BeliefStore
        from ..profile.constants import constants_of
        from ..profile.profile import Profile
        from ..profile.subjects import resolve

        if as_of is not None:
            check_aware(as_of)
        person = resolve(check_text(subject, "a subject"), self._engine.settings)
        beliefs = BeliefStore(self._store, slots, constants_of(self._store))
        return Profile(
            subject=person,
            as_of=as_of or datetime.now(UTC),
            beliefs=tuple(beliefs.all(person, as_of=as_of)),
        )

    def _others(self, subject: str) -> list[str]:
        """The other people of whom something is known."""
        from ..profile.belief_store import BeliefStore
        from ..profile.constants import constants_of
        from ..profile.evidence import ME

        beliefs = BeliefStore(self._store, self._slots(), constants_of(self._store))
        return [name for name in beliefs.subjects() if name not in (ME, subject)]

    def _slots(self) -> Registry:
        from ..profile.own_slots import registry_of

        return registry_of(self._store)


def _is_asked_for(slot: Slot) -> bool:
    """Whether it has sentences that are given to requests that they bear on."""
    return slot.verbatim and not slot.standing


def _words_of(profile: Profile) -> set[str]:
    """The words of what is known, and of whom: none of them is another person's name."""
    words = set(profile.subject.split())
    for belief in profile.beliefs:
        if isinstance(belief.value, str) and len(belief.value) <= 80:
            words.update(belief.value.split())
    return words


def _names_of(profile: Profile, slots: Registry) -> list[list[str]]:
    """What each slot in which something is known is called, and what is known there."""
    names: dict[str, list[str]] = {}
    for belief in profile.beliefs:
        if belief.slot not in names:
            slot = slots.get_or_extra(belief.slot)
            end = belief.slot.rpartition(".")[2].replace("_", " ")
            names[belief.slot] = [slot.label, *slot.aliases, end]
        if isinstance(belief.value, str):
            names[belief.slot].append(belief.value)
    return list(names.values())


def _check_tokens(budget: int) -> int:
    if not isinstance(budget, int) or isinstance(budget, bool) or budget < 1:
        raise InvalidInputError(
            f"a budget is a whole number of tokens from 1, not {budget!r}",
            remedy="leave it out for the default",
        )
    return budget
