"""Sessions: questions that follow each other, with what was noted on the way.

A session with a name is stored, and goes with the records whose lines it quotes. The replies to a
question that is not answered yet are kept under the question's own run, so that it can be resumed
without paying again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ...errors import ChangedError, GoneError, InvalidInputError, NotFoundError
from ...kv import Entry
from ...runs.run import leftovers
from ...store.batch import Batch, Preconditions
from ...store.contract import Store
from ...store.rules.record_ids import new_id
from ..lines.lines import Lines
from ..result import Reading

_NAMESPACE = "reader.session"
_LONGEST_NAME = 200  # characters
_LISTED = 20  # sessions in an error
_MOST_ASKED = 100  # questions that a session remembers
_SHOWN = 5  # questions that a follow-up sees
_SHOWN_CHARS = 600  # of an answer, and of its notes


class Asked(Struct, frozen=True, kw_only=True):
    """A question that was answered."""

    question: str
    answer: str
    found: bool
    at: datetime
    notes: tuple[str, ...] = ()
    # the lines that the answer cites: uri, first and last line
    cited: tuple[tuple[str, int, int], ...] = ()


class OpenQuestion(Struct, frozen=True, kw_only=True):
    """A question that is not answered yet."""

    question: str
    run: str  # under which its replies are kept
    at: datetime  # when it was asked


class Session(Struct, frozen=True, kw_only=True):
    """What was asked of some documents, in order."""

    name: str = ""  # empty: it is kept no longer than its reader
    documents: tuple[str, ...] = ()  # their uris
    asked: tuple[Asked, ...] = ()
    open: OpenQuestion | None = None
    subjects: tuple[str, ...] = ()  # ids of the records whose lines it quotes
    version: int = 0  # as stored; 0: it is not

    def begin(self, question: str, documents: Mapping[str, Lines]) -> Session:
        """Note that a question is asked; one that was interrupted goes on under its run."""
        uris = [lines.uri for lines in documents.values()]
        first_chunks = [lines.chunks[0].id for lines in documents.values() if lines.chunks]
        open = self.open
        if open is None or open.question != question:
            open = OpenQuestion(question=question, run=f"read-{new_id()}", at=datetime.now(UTC))
        return replace(
            self,
            open=open,
            documents=tuple(dict.fromkeys((*self.documents, *uris))),
            subjects=tuple(dict.fromkeys((*self.subjects, *first_chunks))),
        )

    def end(self, reading: Reading, subjects: Sequence[str]) -> Session:
        """Note the answer to the open question, for which lines of these records were shown."""
        answered = Asked(
            question=reading.question,
            answer=reading.answer,
            found=reading.found,
            at=datetime.now(UTC),
            notes=tuple(step.notes for step in reading.steps if step.notes),
            cited=tuple((cited.uri, cited.first, cited.last) for cited in reading.citations),
        )
        every = dict.fromkeys((*self.subjects, *subjects))
        kept = (*self.asked, answered)[-_MOST_ASKED:]
        return replace(self, asked=kept, open=None, subjects=tuple(every))

    def earlier(self) -> list[str]:
        """What the last questions were and what came of them, as texts for a prompt."""
        texts = []
        for question in self.asked[-_SHOWN:]:
            lines = [f"question: {question.question}", f"answer: {_short(question.answer)}"]
            if question.notes:
                lines.append(f"notes: {_short('; '.join(question.notes))}")
            texts.append("\n".join(lines))
        return texts


class SessionStore:
    """The sessions that are kept in a store: those with a name."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def find(self, name: str) -> Session | None:
        entry = self._store.kv.get(_NAMESPACE, _checked(name))
        return _decode(entry) if entry else None

    def list(self) -> list[Session]:
        return [_decode(entry) for entry in self._store.kv.list(_NAMESPACE)]

    def get(self, name: str) -> Session:
        """Return the session of this name.

        Raises:
            NotFoundError: there is none.
        """
        session = self.find(name)
        if session is None:
            known = ", ".join(one.name for one in self.list()[:_LISTED])
            raise NotFoundError(
                f"there is no session {name!r}",
                remedy=f"there are: {known}" if known else "no session was kept yet",
                id=name,
            )
        return session

    def delete(self, name: str) -> None:
        """Delete a session, and what is kept of a question that is open in it."""
        kept = self._kept(self.get(name))
        self._store.write(Batch(deleted_entries=(*kept, (_NAMESPACE, name))))

    def begin(self, session: Session, question: str, documents: Mapping[str, Lines]) -> Session:
        """Note that a question is asked, before anything is paid for it.

        Raises:
            GoneError: a document was forgotten meanwhile. Nothing was written.
        """
        if not session.name:
            return session.begin(question, documents)
        return self._save(session, lambda stored: stored.begin(question, documents))

    def end(self, session: Session, reading: Reading, subjects: Sequence[str]) -> Session:
        """Note the answer, and delete what was kept in case that the reading is interrupted.

        Raises:
            GoneError: a document was forgotten meanwhile. The answer is not kept.
        """
        if not session.name:
            return session.end(reading, subjects)
        try:
            return self._save(session, lambda stored: stored.end(reading, subjects))
        except GoneError:
            self._store.write(Batch(deleted_entries=self._kept(session)))
            raise

    def _save(self, session: Session, change: Callable[[Session], Session]) -> Session:
        """Change a session as it is stored, even if others ask something in it."""
        while True:
            changed = change(session)
            dropped = self._kept(session) if changed.open != session.open else ()
            entry = Entry(
                _NAMESPACE,
                session.name,
                msgspec.json.encode(replace(changed, version=0)),
                changed.subjects,
            )
            key = (_NAMESPACE, session.name)
            batch = Batch(
                deleted_entries=dropped,
                entries=(entry,),
                expected=Preconditions(existing=changed.subjects, entries={key: session.version}),
            )
            try:
                self._store.write(batch)
            except ChangedError:
                stored = self.find(session.name) or Session(name=session.name)
                session = replace(stored, open=session.open)
                continue
            return replace(changed, version=session.version + 1)

    def _kept(self, session: Session) -> tuple[tuple[str, str], ...]:
        return tuple(leftovers(self._store, session.open.run)) if session.open else ()


def _decode(entry: Entry) -> Session:
    session = msgspec.json.decode(entry.value, type=Session)
    return replace(session, version=entry.version)


def _checked(name: str) -> str:
    if not isinstance(name, str) or not name.strip() or len(name) > _LONGEST_NAME or "\0" in name:
        raise InvalidInputError(
            f"a session cannot have the name {name!r:.100}",
            remedy=f"give it 1 to {_LONGEST_NAME} characters",
        )
    return name


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN_CHARS else line[: _SHOWN_CHARS - 1] + "…"
