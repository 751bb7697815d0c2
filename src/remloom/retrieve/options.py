"""Options of recall, checked as they are made."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict, get_args

from msgspec import Struct
from msgspec.structs import replace

from ..errors import InvalidInputError, UnknownNameError
from ..predicates import MOST_RESULTS, Predicate
from .conversation import Utterance
from .scores import FUSIONS
from .stale import StaleWay

if TYPE_CHECKING:
    from .reranking import Reranker


Unit: TypeAlias = Literal["record", "episode"]

MODES = ("auto", "hybrid", "temporal", "contextual", "iterated")
HALF_LIFE = 30.0  # days after which a record's recency counts half
CONTEXT_TOKENS = 1500  # budget of a context
CONTEXT_HITS = 100  # hits that are looked at for a context: mostly the budget ends it before
_LONGEST_LOOK = 86_400  # seconds that may be waited for a reranker


class RecallOptions(Struct, frozen=True, kw_only=True):
    """Options of one recall.

    Attributes:
        limit: of hits; default 10.
        budget_tokens: of the hits together, as `context` writes them.
        mode: "hybrid" (words, meaning, names, relations); "temporal" (only the time that the
            question names); "contextual" (what the conversation was about, and what is recent,
            counts more); "iterated" (also what is `hops` away); "auto", the default: hybrid,
            minding the time that the question names and the history, if there are any, and
            iterated when it asks for something of what it does not name.
        history: the conversation so far, oldest first: Messages, `{"role": …, "content": …}`,
            or texts.
        now: what "last week" counts from, with a time zone; default the present.
        where: only resources for which this holds: a predicate, or the text of a WHERE.
        vector: of the question, instead of the embedder's.
        fusion: "blend" (of scores), the default, or "rrf" (of ranks).
        exclude: parts of the search to leave out, of `remloom.retrieve.PARTS`.
        hops: at most, where they are followed; default 2.
        neighbours: resources before and after each hit to return with it; default 1. None: only
            the short question before a short reply, the default of `context`.
        preferences: label -> -1..1: what names a thing the user cares for counts more, or less.
        profile: also mind what is known of the user: what they like and dislike are `preferences`
            (those given here go first), and `context` begins with `profile.context`.
        purpose: with `profile`, what its part is for, as of `profile.context`: "letter" where
            others read the answer; default as the question tells.
        half_life: days after which a record's recency counts half; default: 30 in mode
            "contextual", else age does not count.
        expand: also search for paraphrases of the question, for which the language model is asked
            once; default False.
        rerank: gives the best candidates a second look: "local", "onnx:<folder>",
            "fastembed:<model>", "llm", a `remloom.retrieve.Reranker`, or "none"; default the
            setting `reranker`.
        rerank_seconds: that the second look may take; after them the order without it is returned,
            and `Recall.note` says so. Default 10, at most a day.
        abstain: False returns the best there is, fitting or not.
        count_tokens: of the model that will read it; default an estimate that errs towards too
            many.
        explain: fill `Recall.explained`.
        unit: "record", the default, or "episode": the one to three sessions of chats that decide
            what is asked, each with the turns that do, and what amended it later before it, as
            `Recall.episodes`; `limit` is then of episodes.
        stale: what was made of something that changed since: "mark" gives it behind the other
            hits, with the reason and with what changed, the default; "omit" gives others in its
            place; "only" gives nothing else.
        as_of: what was remembered at a time, with a time zone, by when it was written here: what
            was written later is left out, and what was replaced or written over since says what it
            said then (`RecallHit.retracted_at`: it was said to be wrong later). Default the
            present. What a file or chat said before it was read again, and what was forgotten, is
            not kept. Goes with neither `where`, nor mode "temporal", nor stale="only", nor
            unit="episode", which search what is now; `now` is that time then, unless it is given.

    Raises:
        InvalidInputError: a number out of its range, a time without a zone, or `as_of` with what it
            does not go with.
        UnknownNameError: a mode, fusion, unit or way with what is stale that does not exist.
    """

    limit: int = 10
    budget_tokens: int | None = None
    mode: str = "auto"
    history: Sequence[Utterance] = ()
    now: datetime | None = None
    where: Predicate | str | None = None
    vector: Sequence[float] | None = None
    fusion: str = "blend"
    exclude: Collection[str] = ()
    hops: int = 2
    neighbours: int | None = 1
    preferences: Mapping[str, float] = {}
    profile: bool = False
    purpose: str = ""
    half_life: float | None = None
    expand: bool = False
    rerank: Reranker | str | None = None
    rerank_seconds: float = 10.0
    abstain: bool = True
    count_tokens: Callable[[str], int] | None = None
    explain: bool = False
    unit: Unit = "record"
    stale: StaleWay = "mark"
    as_of: datetime | None = None

    def __post_init__(self) -> None:
        for kind, name, known in (
            ("mode", self.mode, MODES),
            ("fusion", self.fusion, FUSIONS),
            ("way with what is stale", self.stale, get_args(StaleWay)),
            ("unit", self.unit, get_args(Unit)),
        ):
            if name not in known:
                raise UnknownNameError(kind, str(name), known)
        if self.purpose and not self.profile:
            raise InvalidInputError(
                f"the purpose {self.purpose!r} is of a profile, and none is asked for",
                remedy="give profile=True with it",
            )
        self._check_counts()
        if self.half_life is not None and not self.half_life > 0:
            raise InvalidInputError(
                f"a half-life is a number of days above 0, not {self.half_life!r}"
            )
        if not 0 < self.rerank_seconds <= _LONGEST_LOOK:
            raise InvalidInputError(
                f"a second look takes a number of seconds above 0 and up to {_LONGEST_LOOK:,}, "
                f"not {self.rerank_seconds!r}",
                remedy='leave the look out by rerank="none"',
            )
        for label, worth in self.preferences.items():
            if not isinstance(worth, int | float) or not -1 <= worth <= 1:
                raise InvalidInputError(
                    f"a preference is a number from -1 to 1, not {worth!r} as for {label!r}"
                )
        self._check_times()
        if self.as_of is not None:
            self._check_past()

    def _check_times(self) -> None:
        for name, time in (("now", self.now), ("as_of", self.as_of)):
            if time is None:
                continue
            if not isinstance(time, datetime):
                raise InvalidInputError(
                    f"{name} is a datetime, not a {type(time).__name__}",
                    remedy="use datetime.now(UTC)",
                )
            if time.tzinfo is None:
                raise InvalidInputError(
                    f"{name} {time.isoformat()} has no time zone",
                    remedy="write it like 2025-05-01T09:30:00Z; in Python datetime.now(UTC)",
                )

    def _check_past(self) -> None:
        """Refuse what would be looked up in what is now."""
        taken = {
            "where": self.where is not None,
            'mode="temporal"': self.mode == "temporal",
            'stale="only"': self.stale == "only",
            'unit="episode"': self.unit == "episode",
        }
        for name in (name for name, is_taken in taken.items() if is_taken):
            raise InvalidInputError(
                f"{name} goes by what records are now, not by what they were at `as_of`",
                remedy=f"leave out {name}, or ask without `as_of`",
            )

    def _check_counts(self) -> None:
        if not _is_whole(self.limit) or not 1 <= self.limit <= MOST_RESULTS:
            raise InvalidInputError(
                f"a limit is a whole number from 1 to {MOST_RESULTS:,}, not {self.limit!r}"
            )
        for name, count in (("hops", self.hops), ("neighbours", self.neighbours or 0)):
            if not _is_whole(count) or count < 0:
                raise InvalidInputError(f"{name} takes a whole number from 0, not {count!r}")
        budget = self.budget_tokens
        if budget is not None and (not _is_whole(budget) or budget < 1):
            raise InvalidInputError(
                f"a budget is a whole number of tokens from 1, not {budget!r}",
                remedy="leave it out for no budget",
            )

    @property
    def predicate(self) -> Predicate | None:
        """The filter `where` as a value, parsed if it is text.

        Raises:
            QuerySyntaxError: it is not a condition.
        """
        if not isinstance(self.where, str):
            return self.where
        from ..query.parser import parse_where  # loads the grammar

        return parse_where(self.where)


class RecallChanges(TypedDict, total=False):
    """`RecallOptions` as keywords, for editors and type checkers. A test holds the two together."""

    limit: int
    budget_tokens: int | None
    mode: str
    history: Sequence[Utterance]
    now: datetime | None
    where: Predicate | str | None
    vector: Sequence[float] | None
    fusion: str
    exclude: Collection[str]
    hops: int
    neighbours: int | None
    preferences: Mapping[str, float]
    profile: bool
    purpose: str
    half_life: float | None
    expand: bool
    rerank: Reranker | str | None
    rerank_seconds: float
    abstain: bool
    count_tokens: Callable[[str], int] | None
    explain: bool
    unit: Unit
    stale: StaleWay
    as_of: datetime | None


def with_changes(options: RecallOptions | None, changes: RecallChanges) -> RecallOptions:
    """Options that are given as a value, as keywords, or both.

    Raises:
        UnknownNameError: an option that does not exist.
        InvalidInputError: the value is of another type.
    """
    for name in changes:
        if name not in RecallOptions.__struct_fields__:
            raise UnknownNameError("option", name, RecallOptions.__struct_fields__)
    if options is None:
        return RecallOptions(**changes)
    return replace(_check_options(options), **changes)


def for_context(options: RecallOptions | None, changes: RecallChanges) -> RecallOptions:
    """The same for a context: options made for `recall` have no budget, and a prompt needs one."""
    if options is None:
        changes = {
            "limit": CONTEXT_HITS,
            "budget_tokens": CONTEXT_TOKENS,
            "neighbours": None,
            **changes,
        }
    elif _check_options(options).budget_tokens is None:
        changes = {"budget_tokens": CONTEXT_TOKENS, **changes}
    return with_changes(options, changes)


def _check_options(options: Any) -> RecallOptions:
    if not isinstance(options, RecallOptions):
        raise InvalidInputError(f"expected a RecallOptions, not a {type(options).__name__}")
    return options


def _is_whole(number: Any) -> bool:
    return isinstance(number, int) and not isinstance(number, bool)
