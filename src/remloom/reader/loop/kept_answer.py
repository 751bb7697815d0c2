"""Kept answers: what was answered without a doubt, as a record that is recalled like any other.

It is derived from the chunks that it cites: forgetting them, or their document, takes it along.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from msgspec.structs import replace

from ...errors import ConflictError, InvalidInputError
from ...model import Resource
from ...runs.lifecycle import run_to_end
from ...runs.run import Run, begin_run
from ...runs.writer import Writer
from ...store.contract import Store
from ..check.citations import CitationChecker, Draft
from ..check.evidence import Evidence
from ..lines.lines import Lines, chunk_ids, read_lines
from ..result import Reading, Sentence
from .answering import render

ANSWER = "answer"  # the kind of the records
RUN_KIND = "reader"
_NAME = 200  # characters of a question that name its answer
# seconds: keeping takes milliseconds, so that whoever takes longer is not waited for
_PATIENCE = 5.0
_PAUSE = 0.02


class AnswerKeeper:
    """Keeps answers in one tenant's memory.

    Args:
        store, tenant: where.
        embedder: gives the name of the embedder; empty: there is none.
        written: is called when something was written, and waits to be embedded.
    """

    def __init__(
        self,
        store: Store,
        tenant: str,
        *,
        embedder: Callable[[], str],
        written: Callable[[], None],
    ) -> None:
        self._store = store
        self._tenant = tenant
        self._embedder = embedder
        self._written = written

    def keep(self, reading: Reading) -> str:
        """Write the sentences of an answer that hold as a record; returns its id.

        What is cited is looked up once more: of a document that was changed since, only what it
        still says is kept. The same answer kept twice is one record. The run that writes it can be
        rolled back.

        Raises:
            InvalidInputError: no sentence in it is without a doubt.
            GoneError: what it cites is forgotten while it is written.
            ConflictError: other answers were being kept for seconds.
        """
        writer = Writer(self._store, self._tenant, self._begin_run(), model=self._embedder())
        with run_to_end(writer):
            # within the run: it is told what is forgotten from here on
            uris = {citation.document: citation.uri for citation in reading.citations}
            documents = {name: read_lines(self._store, uri, name) for name, uri in uris.items()}
            kept = [*_still_holding(reading, documents)]
            ids = writer.write((), [self._record(reading, kept, documents)]) if kept else []
            writer.count(answers=len(ids))
        if not ids:
            raise InvalidInputError(
                "nothing in this answer is held by what the documents say now",
                remedy="keep an answer that was found and has sentences without a doubt",
            )
        self._written()
        return ids[0]

    def _begin_run(self) -> Run:
        """Begin a run as soon as that of another answer is over."""
        deadline = time.monotonic() + _PATIENCE
        while True:
            try:
                return begin_run(self._store, RUN_KIND, {})
            except ConflictError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(_PAUSE)

    def _record(
        self, reading: Reading, kept: list[Sentence], documents: dict[str, Lines]
    ) -> Resource:
        cited = [citation for sentence in kept for citation in sentence.citations]
        spans = [(one.document, one.first, one.last) for one in cited]
        return Resource(
            name=" ".join(reading.question.split())[:_NAME],
            content=render(kept, named=True),
            context=reading.question,
            category="answer",
            kind=ANSWER,
            trust="derived",
            # chunks are as they were read
            generation=1,
            parents=chunk_ids(documents, spans),
            metadata={"citations": [one.as_dict() for one in cited]},
        )


def _still_holding(reading: Reading, documents: dict[str, Lines]) -> Iterator[Sentence]:
    """The sentences without a doubt, with those of their citations that still hold."""
    evidence = Evidence(documents)
    for name, lines in documents.items():
        evidence.add(name, 1, len(lines))
    checker = CitationChecker(evidence)
    for sentence in reading.sentences:
        if sentence.doubt:
            continue
        checked = [
            checker.check(
                Draft(
                    text=sentence.text,
                    document=citation.document,
                    first_line=citation.first,
                    last_line=citation.last,
                    quote=citation.quote,
                )
            )
            for citation in sentence.citations
        ]
        citations = tuple(one.citations[0] for one in checked if not one.doubt)
        if citations:
            yield replace(sentence, citations=citations)
