"""Kept answers: what was answered without a doubt, as a record that is recalled like any other. It
is derived from the chunks that it cites, and goes with them."""

from __future__ import annotations

import time
from collections.abc import Iterator

from msgspec.structs import replace

from ...engine.engine import Engine
from ...errors import ConflictError, InvalidInputError
from ...model import Resource
from ...runs.lifecycle import run_to_end
from ...runs.run import Run, begin_run
from ...runs.writer import Writer
from ...store.contract import Store
from ..check.citations import CitationChecker, Draft
from ..check.evidence import ShownLines
from ..lines.chunk_lines import read_lines
from ..lines.lines import Lines, chunk_ids
from ..result import Reading, Sentence
from .answering import render

ANSWER = "answer"  # the kind of the records
RUN_KIND = "reader"
_NAME = 200  # characters of a question that name its answer
# seconds: keeping takes milliseconds, so that what takes longer is not waited for
_PATIENCE = 5.0
_PAUSE = 0.02


def keep_answer(engine: Engine, reading: Reading) -> str:
    """Write the sentences of an answer that still hold as a record; returns its id.

    The same answer kept twice is one record. The run that writes it can be rolled back.

    Raises:
        InvalidInputError: no sentence in it is without a doubt.
        GoneError: what it cites is forgotten while it is written.
        ConflictError: other answers were being kept for seconds.
    """
    store = engine.store
    writer = Writer(store, engine.tenant, _begin_run(store), model=engine.embedder_name)
    with run_to_end(writer):
        # within the run, which learns what is forgotten from here on
        uris = {citation.document: citation.uri for citation in reading.citations}
        documents = {name: read_lines(store, uri, name) for name, uri in uris.items()}
        kept = [*_still_holding(reading, documents)]
        ids = writer.write((), [_record(reading, kept, documents)]) if kept else []
        writer.count(answers=len(ids))
    if not ids:
        raise InvalidInputError(
            "nothing in this answer is held by what the documents say now",
            remedy="keep an answer that was found and has sentences without a doubt",
        )
    engine.embed_in_background()
    return ids[0]


def _begin_run(store: Store) -> Run:
    """Begin a run as soon as that of another answer is over."""
    deadline = time.monotonic() + _PATIENCE
    while True:
        try:
            return begin_run(store, RUN_KIND, {})
        except ConflictError:
            if time.monotonic() > deadline:
                raise
            time.sleep(_PAUSE)


def _record(reading: Reading, kept: list[Sentence], documents: dict[str, Lines]) -> Resource:
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
    evidence = ShownLines(documents)
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
