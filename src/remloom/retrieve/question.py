"""A question as recall searches for it: its kind, pronouns, names and time resolved."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Protocol

from ..deadline import NEVER, Deadline
from ..errors import EmbedderTimeoutError, InvalidInputError, VectorError
from ..heads.features import LONGEST
from ..heads.head import Decision, head
from ..predicates import Predicate, check_length
from ..store.contract import Store
from ..store.definitions import Schemas
from ..store.encoding import SCHEMAS
from ..text.language import is_english
from .conversation import History
from .names import NamedRecord, names_in, relocated, subjects, without_speakers
from .options import RecallOptions
from .time_expressions import Window, find_window

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
# of a question about order: words that ask for an account, not those of its subject
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
# words from which on a question reports what happened, at times that tell nothing of the answer's
_LONG = 25
# probability from which on a long question asks for an overview: most report something themselves
_SURE_OVERVIEW = 0.6
# gives other ways to ask a question
Paraphrase = Callable[[str], Sequence[str]]
# how instructions are mostly worded, and the weight of that vector relative to the question's
_GUIDING = "I prefer, I always want, whenever I ask"
_GUIDED = 0.8
# "Ann's mentor", "the owner of", "the person who": something is asked of what is not named
_CHAIN = re.compile(
    r"[’']s\s+\w|\bthe\s+(?:\w+\s+){1,3}of\s|\w\s+(?:who|whom|whose|that|which|where)\s",
    re.IGNORECASE,
)


_BY_TIME = ("auto", "temporal")


class Embed(Protocol):
    """Gives the unit vector of a text, or None when there is no embedder. By default it has a
    deadline of its own."""

    def __call__(
        self, text: str, deadline: Deadline | None = None, /
    ) -> Sequence[float] | None: ...


def decided(text: str) -> Decision:
    """Decide the kind of a question; of a long one its end is read, behind what was pasted."""
    return head("question").decide(text[-LONGEST:])


def kind_of(text: str) -> str:
    """Tell the kind of a question.

    >>> kind_of("Could you suggest a place for dinner?"), kind_of("Was hast du mir empfohlen?")
    ('request', 'told')
    """
    return kind_by(decided(text), text)


def kind_by(decision: Decision, text: str) -> str:
    """The kind of a question, by what the head decided and how long it is."""
    kind, probabilities = decision.label, decision.probabilities
    if kind == OTHER and probabilities[REQUEST] >= _MAY_REQUEST:
        return REQUEST
    if kind in OVERVIEWS and is_long(text) and probabilities[kind] < _SURE_OVERVIEW:
        return OTHER
    return kind


def is_long(text: str) -> bool:
    """Whether a question is so long that it reports something."""
    return len(text.split()) >= _LONG


def asks_present(text: str) -> bool:
    """Whether it is asked how things are, not how they were, and nothing is requested.

    >>> asks_present("How much is my rent?"), asks_present("How much was my rent before?")
    (True, False)
    """
    if not is_english(text) or decided(text).label != OTHER:
        return False
    return _ARE.search(text) is not None or _WERE.search(text) is None


def without_request(text: str) -> str:
    """Leave out of a question about order what is not its subject; the whole text if that is all.

    >>> without_request("In which order did I bring up the parts of my garden?")
    'my garden'
    """
    return " ".join(_ACCOUNT_REQUESTS.sub(" ", text).rstrip(" ?.!").split()) or text


def checked(question: str) -> str:
    """Trim the question.

    Raises:
        InvalidInputError: it is not a text, is empty, or is longer than `LONGEST_QUESTION`.
    """
    if not isinstance(question, str) or not question.strip():
        raise InvalidInputError(
            "the question is empty", remedy='ask something, for example "What did we decide?"'
        )
    check_length(question)
    return question.strip()


class RecallQuestion:
    """What is asked, and what was made out of it.

    Attributes:
        text: the question with its pronouns resolved by the conversation.
        window: the time that it names; None in mode hybrid, when it names none, or when it is long
            and the mode is not temporal.
        mode: how it is to be answered, "auto" decided.
        notes: what it goes without, and why.

    Raises:
        InvalidInputError: the question is not one, a turn of the history is not one, or in mode
            temporal no time is named.
    """

    def __init__(
        self,
        store: Store,
        original: str,
        options: RecallOptions,
        embed: Embed,
        paraphrase: Paraphrase | None = None,
    ) -> None:
        self._store = store
        self._embed = embed
        self._paraphrase = paraphrase
        self.original = original
        self.options = options
        self.notes: list[str] = []
        self._deadline = NEVER
        self._embedder_hangs = False
        self.conversation = History(store, options.history)
        text = checked(original)
        self._names: list[NamedRecord] | None = None
        if self.conversation:
            self._names = names_in(store, text)
            self.text = self.conversation.resolved(text, self._names)
            if self.text != text:
                self._names = None
        else:
            self.text = text
        asks_time = options.mode != "hybrid" and not is_long(self.text)
        if asks_time or options.mode == "temporal":
            self.window = find_window(self.text, options.now or options.as_of)
        else:
            self.window = None
        if options.mode == "temporal" and self.window is None:
            raise InvalidInputError(
                "the question names no time that is understood",
                remedy='say for example "last week", "in March 2021", "since 5 May 2023", '
                "or use another mode",
            )
        self.mode = self._mode()

    def _mode(self) -> str:
        if self.options.mode != "auto":
            return self.options.mode
        if self.options.history:
            return "contextual"
        return "temporal" if self.window else "hybrid"

    def uses(self, part: str) -> bool:
        """Whether a part of the search is not excluded. What is heeded whenever it comes up decides
        no single thing."""
        if part == "guidance" and self.options.unit == "episode":
            return False
        return part not in self.options.exclude

    @cached_property
    def kind(self) -> str:
        return kind_by(self._decision, self.text)

    @property
    def request_probability(self) -> float:
        return self._decision.probabilities[REQUEST]

    @cached_property
    def _decision(self) -> Decision:
        return decided(self.text)

    @cached_property
    def searched_text(self) -> str:
        """The words to search for: of a question about order, only its subject."""
        return without_request(self.text) if self.kind == ORDER else self.text

    @cached_property
    def subject(self) -> str:
        """What it is about: of an overview without the words that ask for one."""
        return without_request(self.text) if self.kind in OVERVIEWS else self.text

    @property
    def follows(self) -> bool:
        """Whether hops are followed: in mode iterated; in mode auto, when it asks for something of
        what it does not name ("Where does Ann's mentor live?")."""
        if self.options.mode != "auto":
            return self.mode == "iterated"
        return _CHAIN.search(self.text) is not None and any(not n.speaks for n in self.names)

    @property
    def only_window(self) -> Window | None:
        """The time that it names, if nothing else is asked: what happened then is the answer."""
        is_of_now = self.options.as_of is None
        if is_of_now and self.window and self.window.alone and self.options.mode in _BY_TIME:
            return self.window
        return None

    @cached_property
    def registered(self) -> Schemas:
        return self._store.schemas()

    @property
    def searched_schemas(self) -> list[str]:
        """The schemas whose texts are searched; a filter is over the fields of resources."""
        if self.predicate is not None:
            return ["resources"]
        with_texts = [
            name
            for name, definition in self.registered.items()
            if any(field.searchable for field in definition.base_fields.values())
        ]
        return ["resources", *with_texts]

    @property
    def summarized_schemas(self) -> list[str]:
        """The other schemas, whose records have at most a summary; none with a filter."""
        if self.predicate is not None:
            return []
        searched = self.searched_schemas
        return [name for name in (*SCHEMAS, *self.registered) if name not in searched]

    @property
    def names(self) -> list[NamedRecord]:
        if self._names is None:
            self._names = names_in(self._store, self.text)
        return self._names

    @cached_property
    def subjects(self) -> list[NamedRecord]:
        return subjects(self.text, self.names)

    @cached_property
    def predicate(self) -> Predicate | None:
        """The filter of the options; in mode temporal with that of the time named."""
        where = self.options.predicate
        if self.window and self.options.mode == "temporal":
            return self.window.predicate(where)
        return where

    @cached_property
    def compared_text(self) -> str:
        """What is compared in meaning: the words searched, without a time and without speakers."""
        if self.searched_text != self.text:
            return self.searched_text
        if self.window is None or self.window.alone:
            return without_speakers(self.text, self.names)
        rest = self.window.rest
        return without_speakers(rest, relocated(self.names, self.text, rest))

    @cached_property
    def vector(self) -> Sequence[float] | None:
        """The vector of the options, else that of the compared text."""
        if not self.uses("vector"):
            return None
        if self.options.vector is not None:
            return self.options.vector
        return self._vector_of(self.compared_text)

    @cached_property
    def guiding_vector(self) -> Sequence[float] | None:
        """The vector between the question and an instruction; None where nothing is requested."""
        may_request = self.kind == REQUEST
        # who gives the vector asks no embedder
        if not (may_request and self.uses("guidance")) or self.options.vector is not None:
            return None
        if self.vector is None:
            return None
        guiding = self._vector_of(_GUIDING, lacking="further look for what is to be heeded")
        if guiding is None:
            return None
        if len(guiding) != len(self.vector):
            raise VectorError("the embedder was replaced by another between two texts")
        return [one + _GUIDED * other for one, other in zip(self.vector, guiding, strict=True)]

    @cached_property
    def reworded(self) -> Sequence[str]:
        """Other ways to ask it, if they are asked for: of the language model."""
        if self._paraphrase is None or not self.uses("paraphrases"):
            return ()
        return self._paraphrase(self.text)

    @cached_property
    def paraphrases(self) -> list[tuple[str, Sequence[float] | None]]:
        vector_of = self._vector_of if self.uses("vector") else lambda text: None
        return [(text, vector_of(text)) for text in self.reworded]

    def embed(self, deadline: Deadline) -> None:
        """Have all vectors made by a deadline; those that are not are left out."""
        self._deadline = deadline
        _ = self.vector, self.guiding_vector, self.paraphrases

    def _vector_of(
        self, text: str, *, lacking: str = "search by meaning"
    ) -> Sequence[float] | None:
        # an embedder that took too long once is asked no further
        if self._embedder_hangs:
            return None
        try:
            return self._embed(text, self._deadline)
        except EmbedderTimeoutError as error:
            self._embedder_hangs = True
            self.notes.append(f"no {lacking}: {error.message}")
            return None
