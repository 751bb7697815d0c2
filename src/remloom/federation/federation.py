"""The federation: one tenant's questions to all that let it ask."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Self, Unpack, cast

import msgspec
from msgspec.structs import replace

from ..deadline import Deadline
from ..embed import (
    check_name,
    check_token_encoder_name,
    default_token_encoder,
    kept_name,
    load,
    load_token_encoder,
)
from ..embed.bundled.sentence_embedder import model_card_of
from ..embed.model_card import ModelCard
from ..engine.queries import parse_condition
from ..errors import EmbedderError, InvalidInputError, UnknownNameError
from ..model import LookupReport, Recall
from ..predicates import Predicate
from ..query.duplicates import search_distinct
from ..query.executor import Executor
from ..query.late_interaction import LateInteraction
from ..query.statements import Lookup, Search, TextSearch
from ..retrieve import Recaller
from ..retrieve.options import RecallOptions, for_context, with_changes
from ..retrieve.prompt_context import text_of, within_budget
from ..retrieve.recall import PARTS
from ..settings import DEFAULT_EMBEDDER, Settings
from ..store.contract import Store
from ..store.premises import marked
from ..store.results import Match
from ..store.rules.vector_validation import to_vector
from ..store.specs import SearchSpec
from ..store.tenants.home import tenant_name
from ..tenancy.grants import Grants
from .answer import FederatedAnswer, ReceivedGrant, merge_by_rank
from .fan_out import FanOut, Grantors, OpenStore, TenantAnswer, TenantAnswers
from .granted import GrantedStore
from .query_vectors import QueryVectors, begin_once

if TYPE_CHECKING:
    from ..embed.contract import Embedder, TokenEncoder
    from ..retrieve.options import RecallChanges


# options of recall that are of one's own memory alone
OWN_OPTIONS = ("profile", "purpose", "expand", "rerank", "explain", "as_of", "unit")


class Federation:
    """What other tenants of a home let one find. Any thread may ask; it writes nothing of records.

    A tenant that granted nothing is not named. Nothing is kept between two questions: a grant that
    has ended or was revoked is not in force at the next one.

    >>> from remloom import Home, Memory, Resource
    >>> Home(home).create("sales")
    >>> with Memory.open(home, tenant="legal", embedder="none") as legal:
    ...     _ = legal.write([Resource(uri="terms.md", content="Payment is due in 30 days.")])
    >>> _ = Home(home).grant("legal", to="sales")
    >>> with Federation.open(home, as_tenant="sales", embedder="none") as others:
    ...     answer = others.search_text("payment due")
    >>> [(hit.tenant, hit.content) for hit in answer.hits]
    [('legal', 'Payment is due in 30 days.')]
    """

    def __init__(
        self,
        as_tenant: str,
        grants: Grants,
        opening: OpenStore,
        embedder: Callable[[str], Embedder | None],
        tenants: Sequence[str] | None = None,
        *,
        token_encoder: Callable[[], TokenEncoder | None],
        seconds: float | None,
        has_learned_order: bool,
    ) -> None:
        self._fan_out = FanOut(tenant_name(as_tenant), grants, opening, tenants)
        self._embedder = embedder
        self._token_encoder = token_encoder
        self._seconds = seconds
        self._has_learned_order = has_learned_order
        self._closing: list[Callable[[], None]] = [self._fan_out.close]

    @classmethod
    def open(
        cls,
        home_or_url: str | os.PathLike[str] | None = None,
        *,
        as_tenant: str,
        tenants: Sequence[str] | None = None,
        key: str | None = None,
        embedder: Embedder | str | None = None,
        token_encoder: TokenEncoder | str | None = None,
        settings: Settings | None = None,
    ) -> Self:
        """Open what the tenants of a home let one of them find.

        Args:
            home_or_url: the folder, or `postgresql://…`; default the setting `home`.
            as_tenant: who asks.
            tenants: whom; default all that granted something.
            key: the master key of encrypted tenants; default the setting `key`.
            embedder: of questions; default the setting `embedder`, and where that is empty the
                one that made each tenant's vectors.
            token_encoder: likewise; empty: the one that stands beside an embedder with a name. Of
                use with those who have its token vectors.
            settings: all settings as one value.
        """
        options = {"home": None if home_or_url is None else os.fspath(home_or_url), "key": key}
        if settings is None:
            settings = Settings.load(**options, tenant=as_tenant)
        else:
            changes = {name: value for name, value in options.items() if value is not None}
            settings = msgspec.structs.replace(settings, **changes)
        name = settings.embedder if embedder is None else embedder
        if isinstance(name, str) and name:
            check_name(name)
        loaded: dict[str, Embedder | None] = {}

        def embedder_of(stored: str) -> Embedder | None:
            if not isinstance(name, str):
                return name
            name_or_default = name or kept_name(stored) or DEFAULT_EMBEDDER
            if name_or_default not in loaded:
                loaded[name_or_default] = load(name_or_default, settings)
            return loaded[name_or_default]

        encoder_name = settings.token_encoder if token_encoder is None else token_encoder
        if isinstance(encoder_name, str) and encoder_name:
            check_token_encoder_name(encoder_name)

        @cache
        def encoder() -> TokenEncoder | None:
            if not isinstance(encoder_name, str):
                return encoder_name
            if encoder_name:
                return load_token_encoder(encoder_name, settings)
            has_name = isinstance(name, str) and name != "none"
            return default_token_encoder(settings) if has_name else None

        grants, grantors = Grants(settings), Grantors(settings)
        federation = cls(
            as_tenant,
            grants,
            grantors.opened,
            embedder_of,
            tenants,
            token_encoder=encoder,
            seconds=settings.embedder_timeout or None,
            has_learned_order=settings.recall_order == "learned",
        )
        federation._closing += [grantors.close, grants.close]
        return federation

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Release the files and threads."""
        while self._closing:
            self._closing.pop(0)()

    def grants(self) -> list[ReceivedGrant]:
        """List what others let this tenant find, by tenant."""
        return self._fan_out.received()

    def lookup(self, *labels: str) -> FederatedAnswer:
        """Look up the records that have these names, in every tenant that lets one.

        An entity is found by its name, not by its aliases. When nobody has any of the labels,
        `suggestions` has the nearest names.
        """

        def work(view: GrantedStore, _: Store) -> TenantAnswer:
            executor = Executor(_as_store(view), find_stale=view.find_stale)
            answer = executor.lookup(Lookup(labels))
            missing = answer.report.missing if isinstance(answer.report, LookupReport) else ()
            return TenantAnswer(
                hits=answer.records, suggestions=answer.suggestions, missing=missing
            )

        replies = self._fan_out.ask("lookup", "federation.lookup", work)
        answer = self._merged(replies)
        answers = replies.answers.values()
        missing = [label for label in labels if all(label in one.missing for one in answers)]
        suggestions = {tenant: one.suggestions for tenant, one in replies.answers.items()}
        return replace(
            answer,
            missing=tuple(missing) if replies.answers else (),
            suggestions=[] if answer.hits else merge_by_rank(suggestions),
        )

    def search(
        self,
        text: str,
        *,
        schema: str = "resources",
        where: Predicate | str | None = None,
        limit: int = 10,
    ) -> FederatedAnswer:
        """Find records of a schema by meaning.

        Raises:
            EmbedderError: there is no embedder.
            ForbiddenError: `where` asks for a field that is not shown.
        """
        condition = parse_condition(where)
        if self._embedder("") is None:
            raise EmbedderError(
                "a search by meaning needs an embedder",
                remedy="open the federation with one, or use search_text",
            )
        limit = Search(text, schema, limit=limit).limit
        vectors = QueryVectors(self._embedder, self._one_deadline())

        def work(view: GrantedStore, store: Store) -> TenantAnswer:
            if schema not in view.granted:
                return TenantAnswer(reason=f"it grants no {schema}")
            vector = vectors.for_store(store)(text)
            if vector is None:
                return TenantAnswer(reason="it has no vectors")
            hits = search_distinct(
                lambda count: view.search.vector(vector, SearchSpec(count, schema, condition)),
                limit,
            )
            return TenantAnswer(hits=marked(hits, view.find_stale))

        return self._merged(self._fan_out.ask("search", "federation.search", work), limit)

    def search_text(
        self,
        text: str,
        *,
        schema: str | None = None,
        where: Predicate | str | None = None,
        limit: int = 10,
    ) -> FederatedAnswer:
        """Find records by their words (BM25), of every schema that was granted.

        Raises:
            InvalidInputError: the text is blank, or longer than 8,000 characters.
            ForbiddenError: `where` asks for a field that is not shown.
        """
        condition = parse_condition(where)
        limit = TextSearch(text, limit=limit).limit

        def work(view: GrantedStore, _: Store) -> TenantAnswer:
            if schema is not None and schema not in view.granted:
                return TenantAnswer(reason=f"it grants no {schema}")

            def fetch(count: int) -> list[Match]:
                return view.search.text(text, SearchSpec(count, schema, condition))

            hits = search_distinct(fetch, limit)
            return TenantAnswer(hits=marked(hits, view.find_stale))

        return self._merged(self._fan_out.ask("search", "federation.search_text", work), limit)

    def recall(
        self,
        question: str,
        options: RecallOptions | None = None,
        **changes: Unpack[RecallChanges],
    ) -> FederatedAnswer:
        """Recall what answers a question, of the resources, entities and moments that were granted.

        The options are those of `Memory.recall`, but for `profile`, `purpose`, `expand`, `rerank`,
        `explain`, `as_of` and `unit`, which are of one's own memory. Each tenant abstains for
        itself.
        """
        options = with_changes(options, changes)
        _check_options(options)
        deadline = self._one_deadline()
        vectors = QueryVectors(self._embedder, deadline)
        encoder = self._token_encoder()
        begin = begin_once(encoder) if encoder is not None else None
        own = replace(options, budget_tokens=None)

        def work(view: GrantedStore, store: Store) -> TenantAnswer:
            granted = _as_store(view)
            late = None
            if encoder is not None:
                late = LateInteraction(granted, encoder, is_requested=False, begin=begin)
            recaller = Recaller(
                granted,
                vectors.for_store(store),
                self._card(store),
                late,
                deadline=deadline,
                has_learned_order=self._has_learned_order,
                find_stale=view.find_stale,
            )
            recalled = recaller.recall(question, own)
            return TenantAnswer(hits=recalled.hits, reason=recalled.reason, note=recalled.note)

        answer = self._merged(self._fan_out.ask("recall", "federation.recall", work), options.limit)
        if options.budget_tokens is None:
            return answer
        hits, tokens = within_budget(answer.hits, options.budget_tokens, options.count_tokens)
        reason = answer.reason
        if answer.hits and not hits:
            reason = f"a budget of {options.budget_tokens} tokens holds none of what was found"
        # each is one of those that were given
        return replace(answer, hits=cast("list[Any]", hits), tokens=tokens, reason=reason)

    def context(
        self,
        question: str,
        options: RecallOptions | None = None,
        **changes: Unpack[RecallChanges],
    ) -> str:
        """Recall as text for a prompt: quoted passages, each with its tenant and source; by default
        in 1500 tokens. Who did not answer is said at the end."""
        answer = self.recall(question, for_context(options, changes))
        recall = Recall(question=question, hits=list(answer.hits), reason=answer.reason)
        silent = [f"{tenant} ({why})" for tenant, why in answer.unanswered.items()]
        return text_of(recall) + (f"Not answered: {'; '.join(silent)}.\n" if silent else "")

    def _one_deadline(self) -> Callable[[], Deadline]:
        """Return what gives the one deadline of a question, for all tenants: from when a model is
        asked first, for stores take their time to open."""
        return cache(lambda: Deadline.after(self._seconds))

    def _card(self, store: Store) -> ModelCard | None:
        stored = store.vectors.model()
        embedder = self._embedder(stored[0] if stored else "")
        return model_card_of(embedder) if embedder is not None else None

    @staticmethod
    def _merged(replies: TenantAnswers, limit: int | None = None) -> FederatedAnswer:
        lists = {tenant: one.hits for tenant, one in replies.answers.items()}
        hits = merge_by_rank(lists, limit)
        reasons = [f"{name}: {one.reason}" for name, one in replies.answers.items() if one.reason]
        reason = replies.reason or "; ".join(reasons) or "nothing was found"
        tenants_by_note: dict[str, list[str]] = {}  # by note, whose it is
        for tenant, one in replies.answers.items():
            if one.note:
                tenants_by_note.setdefault(one.note, []).append(tenant)
        notes = [
            note if len(whose) == len(replies.answers) else f"{', '.join(whose)}: {note}"
            for note, whose in tenants_by_note.items()
        ]
        return FederatedAnswer(
            hits=hits,
            tenants=tuple(replies.answers),
            unanswered=replies.unanswered,
            reason="" if hits else reason,
            note="; ".join(notes),
        )


def _as_store(view: GrantedStore) -> Store:
    """The view as the store that it stands for: what it lacks is not to be reached by it."""
    return cast("Store", view)


def _check_options(options: RecallOptions) -> None:
    for name in OWN_OPTIONS:
        if getattr(options, name) not in (None, False, "", "none", "record"):
            raise InvalidInputError(
                f"{name} is of one's own memory, not of other tenants'", remedy="leave it out"
            )
    for part in options.exclude:
        if part not in PARTS:
            raise UnknownNameError("part", str(part), PARTS)
    if options.vector is not None:
        to_vector(options.vector, what="the query")
