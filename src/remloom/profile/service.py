"""Profiles: what is known of the user and of other people, why, and since when."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from msgspec.structs import replace

from ..engine.arguments import Progress, check_aware, check_budget
from ..engine.engine import Engine
from ..errors import ConflictError, InvalidInputError, NotFoundError
from ..model import Receipt
from ..store.rules.admission import admit_entry
from .evidence.claim import check_scope
from .slots.slot import EXTRAS

if TYPE_CHECKING:
    from ..engine.ingesting import Ingesting
    from ..engine.recall import Recalling
    from ..engine.writing import Writing
    from ..llm import Budget
    from ..runs.writer import Writer
    from .beliefs.belief import Belief
    from .beliefs.exchange import Imported
    from .beliefs.profile import Change, Explanation, Profile
    from .beliefs.promotion import Candidate
    from .beliefs.reliability import Learned
    from .context.build import ProfileContext
    from .editing import Editing
    from .evidence.claim import Reason, Value
    from .evidence.evidence import Evidence
    from .extract.normalise import NormaliseResult
    from .extract.pipeline import Pipeline
    from .extract.scan import ScanResult
    from .slots.slot import Slot


_MEMORIES = 5  # of the context of seed 4


class Profiles:
    """What is believed of people, each with its evidence. Reached as `memory.profile`.

    The subject is "me", the user, where nobody else is named. A slot is given by its id, an alias,
    or the end of its path: "dietary_style". See docs/profile.md.
    """

    def __init__(
        self, engine: Engine, writing: Writing, ingesting: Ingesting, recalling: Recalling
    ) -> None:
        self._engine = engine
        self._ingesting = ingesting
        self._recalling = recalling
        self._store = engine.store
        self._writing = writing

    @cached_property
    def _editing(self) -> Editing:
        from .editing import Editing

        return Editing(self._engine)

    # -- seeing ------------------------------------------------------------------------------------

    def show(self, subject: str = "", *, as_of: datetime | None = None) -> Profile:
        """Show what is believed of a person. See `Profile`.

        Args:
            subject: a name; default the user.
            as_of: show what was believed then: computed again from all that had been said by then.

        Raises:
            InvalidInputError: `as_of` has no time zone.
        """
        from .evidence.evidence import STAGED
        from .evidence.passages import unheard_in

        person = self._editing.subject(subject)
        if as_of is not None:
            check_aware(as_of)
        return replace(
            self._editing.beliefs().profile(person, as_of),
            waiting=self._store.kv.count(STAGED),
            unheard=unheard_in(self._store, person, as_of),
        )

    def beliefs(
        self, subject: str = "", *, scope: str | Sequence[str] = (), as_of: datetime | None = None
    ) -> list[Belief]:
        """List what holds, in the narrowest of these scopes that has something on each slot.

        Args:
            scope: "domain:coding", "project:apollo", "session:42", or several of these.

        Raises:
            InvalidInputError: `as_of` has no time zone, or a scope is none.
        """
        from .beliefs.profile import within

        return within(self.show(subject, as_of=as_of), _scopes(scope))

    def get(
        self,
        slot: str,
        *,
        subject: str = "",
        scope: str | Sequence[str] = (),
        as_of: datetime | None = None,
    ) -> Belief | None:
        """Return what holds in a slot; of a list the surest item. None if nothing is known.

        Raises:
            UnknownNameError: there is no such slot.
        """
        found = self._editing.slot(slot)
        return self.show(subject, as_of=as_of).get(found.id, scope=scope)

    def history(self, slot: str, *, subject: str = "", scope: str = "") -> list[Change]:
        """List how what is believed in a slot has changed, newest first.

        Raises:
            UnknownNameError: there is no such slot.
        """
        found = self._editing.slot(slot)
        place = check_scope(scope)
        beliefs = self._editing.beliefs().all(self._editing.subject(subject))
        return self._changes(one for one in beliefs if (one.slot, one.scope) == (found.id, place))

    # -- giving ------------------------------------------------------------------------------------

    def context(
        self,
        query: str | None = None,
        *,
        subject: str = "",
        agent: str = "",
        scope: str | Sequence[str] = (),
        purpose: str = "",
        budget_tokens: int | None = None,
        as_of: datetime | None = None,
    ) -> ProfileContext:
        """Give what is known of a person as text for a prompt, quoted as data, each line cited.

        It has what every agent is given, what the query is about, what has changed in the last 30
        days, and what is unsure, with the question to ask. What could hurt (allergies, conditions,
        medication) comes first, whatever is asked, unless you say by `purpose` that others read the
        answer. What is hidden is never in it; what else is sensitive only if the query asks for it;
        soft identity only for questions about oneself, small talk, examples and recommendations.
        Letters to others and questions about somebody else get nothing of these.

        Args:
            query: what the agent is asked; default nothing yet.
            subject: a name; default the user.
            agent: the name of the agent, which may tell its purpose: "CoderAgent".
            scope: "domain:coding", "project:apollo", "session:42", or several of these.
            purpose: one of `PURPOSES` of `profile.context.request`; "letter" where others read the
                answer, "somebody_else" where it is about them: both leave out what could hurt.
                Default as the query and the agent tell, which never leaves that out.
            budget_tokens: of the text, at most; default 600.
            as_of: give what was believed then.

        Raises:
            UnknownNameError: there is no such purpose.
            InvalidInputError: `as_of` has no time zone, a scope is none, or a budget is below 1.
        """
        from .injection import Injection

        return Injection(self._engine).context(
            query,
            subject=subject,
            agent=agent,
            scopes=_scopes(scope),
            purpose=purpose,
            budget_tokens=budget_tokens,
            as_of=as_of,
        )

    def get_remme_context(self, query: str, *, purpose: str = "") -> str:
        """Give the context for a query: USER MEMORIES, and USER PREFERENCES.

        The five memories that answer the query best, and verbosity, diet with allergies, tech stack
        and communication, as far as they are for the query. Source: seed 4, "Agent Injection".

        Args:
            purpose: as of `context`.

        Raises:
            UnknownNameError: there is no such purpose.
            InvalidInputError: an empty or overlong query.
        """
        from .injection import Injection

        recall = self._recalling.recall(query, None, {"limit": _MEMORIES})
        memories = [hit.content for hit in recall.hits]
        return Injection(self._engine).remme_text(query, memories, purpose)

    def subjects(self) -> list[str]:
        """List the people of whom something is known, by name."""
        return self._editing.beliefs().subjects()

    def slots(self) -> list[Slot]:
        """List what can be known: the built-in slots, and this memory's own."""
        return [*self._editing.slots()]

    def slot(self, name: str) -> Slot:
        """Return the slot of this id, alias, label or end of a path.

        Raises:
            UnknownNameError: there is none, or several; the remedy names what is most like it.
        """
        return self._editing.slot(name)

    def why(
        self,
        slot: str,
        value: Value | None = None,
        *,
        subject: str = "",
        scope: str = "",
        as_of: datetime | None = None,
    ) -> Explanation:
        """Explain a belief by its evidence: who said what, where and when.

        Args:
            slot: its slot.
            value: of a list, which item; else not needed.
            scope: "domain:coding", "project:apollo", …; empty is what holds everywhere.

        Raises:
            UnknownNameError: there is no such slot.
            NotFoundError: nothing is believed there; or a list has several items.
        """
        found = self._editing.slot(slot)
        return self._explain(self._editing.find(found, value, subject, scope, as_of), as_of)

    def changes(self, since: datetime | None = None, *, subject: str = "") -> list[Change]:
        """List how what is believed has changed since a time, newest first; default all changes.

        Raises:
            InvalidInputError: `since` has no time zone.
        """
        if since is not None:
            check_aware(since)
        return self._changes(self._editing.beliefs().all(self._editing.subject(subject)), since)

    # -- editing -----------------------------------------------------------------------------------

    def set(
        self,
        slot: str,
        value: Value,
        *,
        subject: str = "",
        scope: str = "",
        hard: bool = False,
        since: datetime | None = None,
        note: str = "",
    ) -> Belief:
        """Say what holds. Nothing that is read ends it; of a list this is one more item.

        Args:
            hard: only another edit ends it, and it does not fade.
            since: when that began, and what held before ended; default now.
            note: why, for `why` and `history`.

        Raises:
            UnknownNameError: there is no such slot; unknown things go under "extras.<name>".
            InvalidInputError: the slot cannot have this value; or `since` has no time zone, is in
                the future, or before another value began.
        """
        from .editing import check_began
        from .evidence.evidence import value_key

        found = self._editing.slot(slot)
        canonical = self._editing.slots().canonical(found, value)
        held = self._editing.held(found, subject, scope) if since is not None else None
        if held is not None and value_key(held.value) != value_key(canonical):
            check_began(held, since)
        one = self._editing.edit(
            "set", found, canonical, subject, scope, hard=hard, note=note, at=since
        )
        return self._editing.record([one])

    def confirm(
        self, slot: str, value: Value | None = None, *, subject: str = "", scope: str = ""
    ) -> Belief:
        """Say that what is believed is so. What said it first is trusted more from then on.

        Raises:
            NotFoundError: nothing is believed there.
        """
        return self._editing.answer("confirm", slot, value, subject, scope, right=True)

    def reject(
        self,
        slot: str,
        value: Value | None = None,
        *,
        subject: str = "",
        scope: str = "",
        note: str = "",
    ) -> Belief:
        """Say that what is believed is not so, and end it.

        Raises:
            NotFoundError: nothing is believed there.
        """
        return self._editing.answer("reject", slot, value, subject, scope, right=False, note=note)

    def correct(
        self,
        slot: str,
        value: Value,
        *,
        was: Value | None = None,
        reason: Reason = "wrong",
        since: datetime | None = None,
        subject: str = "",
        scope: str = "",
        note: str = "",
    ) -> Belief:
        """Say what holds in place of what is believed.

        Args:
            was: of a list, the item that holds no longer.
            reason: "changed": it was so until `since`, stays as history, and what said it is
                trusted as before. "wrong", the default: it never was so, and what said it is
                trusted less.
            since: with "changed", when it changed; default now.

        Raises:
            NotFoundError: nothing is believed there: `set` says what holds.
            InvalidInputError: the slot cannot have this value; there is no such reason; or `since`
                has no time zone, is in the future, before it began, or of what was wrong.
        """
        from .editing import check_began, is_changed
        from .evidence.evidence import value_key

        found = self._editing.slot(slot)
        changed = is_changed(reason, since)
        wrong = self._editing.find(found, was, subject, scope)
        check_began(wrong, since)
        canonical = self._editing.slots().canonical(found, value)
        right = value_key(wrong.value) == value_key(canonical)
        kind, ends = ("set", "retire") if changed else ("correct", "reject")
        edit = partial(self._editing.edit, subject=subject, scope=scope, note=note, at=since)
        edits = [edit(kind, found, canonical)]
        if found.kind == "list" and not right:
            # another item does not end this one
            edits.insert(0, edit(ends, found, wrong.value))
        return self._editing.record(edits, was=wrong, right=None if changed else right)

    def retire(
        self,
        slot: str,
        value: Value | None = None,
        *,
        at: datetime | None = None,
        subject: str = "",
        scope: str = "",
        note: str = "",
    ) -> Belief:
        """End what is believed: it was so until then. Default now.

        Raises:
            NotFoundError: nothing is believed there.
            InvalidInputError: `at` has no time zone, is in the future, or before it began.
        """
        from .beliefs.profile import named
        from .editing import check_began

        found = self._editing.slot(slot)
        belief = self._editing.find(found, value, subject, scope)
        check_began(belief, at)
        ended = named(belief, found, value)
        one = self._editing.edit("retire", found, ended, subject, scope, note=note, at=at)
        return self._editing.record([one], was=belief)

    def pin(
        self,
        slot: str,
        value: Value | None = None,
        *,
        pinned: bool = True,
        subject: str = "",
        scope: str = "",
    ) -> Belief:
        """Give a belief to every agent, whatever it is asked.

        Args:
            pinned: False takes that back.
        """
        return self._editing.mark(slot, value, subject, scope, pinned=pinned)

    def hide(
        self,
        slot: str,
        value: Value | None = None,
        *,
        hidden: bool = True,
        subject: str = "",
        scope: str = "",
    ) -> Belief:
        """Give a belief to no agent any more, without forgetting it.

        Args:
            hidden: False takes that back.
        """
        return self._editing.mark(slot, value, subject, scope, hidden=hidden)

    def forget(
        self,
        slot: str,
        value: Value | None = None,
        *,
        subject: str = "",
        scope: str = "",
        dry_run: bool = False,
    ) -> Receipt:
        """Forget a belief with all its evidence, and what was decided of it, such as that it is
        hidden. What said it stays: the receipt names it in `named_in`.

        Scanning that again does not bring the belief back; saying it again does.

        Args:
            value: of a list, which item; of any other slot this value alone goes, and what was
                believed before or after it stays. Default all that was believed there.

        Raises:
            NotFoundError: nothing is believed there.
        """
        from .evidence.evidence import records_with, value_key
        from .slots.values import canonical

        found = self._editing.slot(slot)
        belief = self._editing.find(found, value, subject, scope)
        beliefs = self._editing.beliefs()
        values = (belief.value, *(one.value for one in (*belief.history, *belief.rivals)))
        held = {value_key(one): one for one in values}
        only = None
        if value is not None and found.kind != "list" and len(held) > 1:
            only = held.get(value_key(value)) or held[value_key(canonical(found, value))]
        evidence = beliefs.evidence(belief.id)
        if only is not None:
            evidence = [one for one in evidence if value_key(one.value) == value_key(only)]
        if not dry_run:
            # first: what a scan finds meanwhile is not written from now on
            self._editing.forget_mark(belief, only)
        receipt = self._writing.forget(
            beliefs.forgettable(belief.id, only), by="id", dry_run=dry_run
        )
        forgotten_values = held.values() if only is None else [only]
        return replace(
            receipt, named_in=records_with(self._store, evidence, forgotten_values, receipt.ids)
        )

    # -- slots of one's own ------------------------------------------------------------------------

    def define_slot(self, slot: Slot | Mapping[str, Any]) -> Slot:
        """Add a slot of this memory's own, or define it again; returns it.

        Args:
            slot: a `Slot`, or its fields: `{"id": "work.desk", "hub": "soft_identity", "label":
                "Desk"}`. The id is a path, not below "extras.": see `promote`.

        Raises:
            InvalidInputError: it is not a slot.
            ConflictError: another one has its id, label or an alias; or it is to become a list, or
                to be one no longer, and has evidence.
        """
        from .beliefs.promotion import check_change
        from .slots.registry import own_slots, slot_entry, with_slot

        _, defined = with_slot(own_slots(self._store), slot)
        check_change(defined, self._editing.beliefs(), self._editing.slots())
        self._editing.run(lambda writer: writer.write((), entries=[slot_entry(defined)]))
        return defined

    def remove_slot(self, id: str) -> None:
        """Remove a slot of this memory's own.

        Raises:
            NotFoundError: it has no such slot; those of Remloom cannot be removed.
            ConflictError: something is believed there.
        """
        from .slots.registry import OWN_SLOT

        if self._store.kv.get(OWN_SLOT, id) is None:
            raise NotFoundError(
                f"this memory has no slot {id!r} of its own",
                remedy="the slots that come with Remloom stay: hide what is believed there",
                id=id,
            )
        if self._editing.beliefs().keys_in(id):
            raise ConflictError(
                f"there is evidence in {id}", remedy="forget what is believed there first"
            )
        self._editing.run(lambda writer: writer.write((), deleted=[(OWN_SLOT, id)]))

    def candidates(self) -> list[Candidate]:
        """List the extras that three independent pieces of evidence or more speak for.

        `promote` makes a slot of one.
        """
        from .beliefs.promotion import candidates

        return candidates(self._editing.beliefs(), self._editing.slots())

    def promote(
        self, extra: str, *, id: str = "", label: str = "", kind: str = "", **fields: Any
    ) -> Slot:
        """Make a slot of an extra, for everybody of whom it is known; returns the slot.

        All evidence is normalised again for the slot, so that beliefs are the same, as of any time;
        the extra's id is another name of the slot from then on. It is a run, and can be rolled
        back.

        Args:
            extra: its id: "extras.blood_type".
            id: of the slot; default "own.blood_type".
            label, kind: default those of the extra; its kind is text.
            fields: others of a slot: `values`, `half_life`, `question`, ….

        Raises:
            InvalidInputError: it is no extra; or a value that is known does not fit the slot.
            ConflictError: another slot has the id, the label or an alias.
            NotFoundError: nothing is known of the extra.
        """
        from .beliefs.promotion import Promotion, slot_for
        from .beliefs.recorder import Recorder
        from .slots.registry import own_slots, with_slot

        registry = self._editing.slots()
        found = registry.extra(extra)  # noqa: S610 - no query of Django
        beliefs = self._editing.beliefs()
        if not extra.startswith(EXTRAS) or not beliefs.keys_in(found.id):
            raise NotFoundError(
                f"nothing is known of an extra {extra!r}",
                remedy="`candidates` lists those that could be slots",
                id=extra,
            )
        slot = slot_for(found, {"id": id, "label": label, "kind": kind, **fields})
        slots, slot = with_slot(own_slots(self._store), slot)
        promotion = Promotion(self._store, found, slot, slots=slots, beliefs=beliefs)
        after = self._editing.beliefs(slots)

        def work(writer: Writer) -> None:
            entries = list(promotion.entries(after))
            recorder = Recorder(self._store, after, writer)
            recorder.record(
                promotion.rests_on, promotion.evidence, entries=entries, deleted=promotion.deleted
            )

        self._editing.run(work)
        return slot

    # -- exchange ----------------------------------------------------------------------------------

    def export(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        format: Literal["", "json", "markdown"] = "",
        subject: str = "",
        as_of: datetime | None = None,
    ) -> str:
        """Return what is known of a person as a text, and write it into a new file if one is given.

        JSON has all evidence with its quotes, this memory's own slots, what was pinned, hidden or
        forgotten, and what answers taught: `import_` takes it. Markdown is to be read: by hub, each
        belief with since when and why.

        Args:
            path: of the new file, which only its owner may read.
            format: default Markdown for a path that ends in ".md", else JSON.
            as_of: of Markdown, what was believed then.

        Raises:
            ConflictError: the file exists already.
            InvalidInputError: it is not a format; or `as_of` with JSON, which has all times.
        """
        from ..engine.private_files import create_private
        from .beliefs.exchange import bundle_of, to_json, to_markdown

        is_markdown = str(path or "").lower().endswith((".md", ".markdown"))
        form = format or ("markdown" if is_markdown else "json")
        if form not in ("json", "markdown") or (form == "json" and as_of is not None):
            raise InvalidInputError(
                f"a profile cannot be exported as {form!r}" + (" of a time" if as_of else ""),
                remedy='as "json", which has all times, or "markdown"',
            )
        if form == "json":
            text = to_json(
                bundle_of(self._store, self._editing.beliefs(), self._editing.subject(subject))
            )
        else:
            profile = self.show(subject, as_of=as_of)
            explained = [self._explain(belief, as_of) for belief in profile.beliefs]
            text = to_markdown(profile, explained)
        if path is not None:
            with create_private(path) as stream:
                stream.write(text.encode())
        return text

    def import_(self, path: str | os.PathLike[str]) -> Imported:
        """Take in what `export` wrote as JSON, here or elsewhere; all of it, or nothing.

        What is there already is not there twice. What was forgotten here stays forgotten. It is one
        run, and can be rolled back.

        Raises:
            InvalidInputError: it cannot be read, or is no such JSON; says which piece is wrong.
            ConflictError: this memory has another slot of the same name.
        """
        from .beliefs.exchange import Import, Imported, parse
        from .beliefs.recorder import Recorder

        try:
            text = Path(path).read_bytes()
        except OSError as error:
            raise InvalidInputError(f"{path} cannot be read: {error.strerror}") from error
        bundle = parse(text)
        imported = Import(bundle, self._store, self._editing.slots())
        beliefs = self._editing.beliefs(imported.slots)
        marks = beliefs.marks(bundle.subject)
        entries = list(imported.entries(marks))
        for entry in entries:
            admit_entry(self._store.kv, entry)
        evidence = imported.not_forgotten(beliefs, marks)
        answers = len(imported.new_answers)
        new = 0

        def work(writer: Writer) -> None:
            nonlocal new
            recorder = Recorder(self._store, beliefs, writer)
            new = len(recorder.record((), evidence, origins=imported.origins, entries=entries))

        self._editing.run(work)
        self._editing.relearn()
        return Imported(
            subject=bundle.subject,
            evidence=new,
            slots=len(imported.new_slots),
            answers=answers,
            known=len(imported.evidence) - new,
        )

    # -- learning ----------------------------------------------------------------------------------

    def observe(
        self,
        source: str | os.PathLike[str] | None = None,
        *,
        category: str = "note",
        limit: int | None = None,
        model: bool | None = None,
        dry_run: bool = False,
        budget: Budget | None = None,
        progress: Progress | None = None,
    ) -> ScanResult:
        """Look at what was read since the last scan, the newest first, for what it says of people.

        Rules look at all of it; a model, if there is one, too, and what it finds is staged (see
        `staged`). Then what is staged is normalised: without a model all of it, with one what is
        due (see `normalise`). A scan that was killed goes on where it was; nothing is taken up, or
        paid for, twice. Passages whose call failed are tried again by the next scan.
        Source: seed 4.

        Args:
            source: a file or folder to read first; default what this memory has.
            category: of the texts in it: what the user wrote are notes. Chats and exports say
                themselves what they are.
            limit: passages to look at, at most.
            model: True asks the model, False does not; None asks it if there is one.
            dry_run: write nothing; the result has what would be written. A source that was not read
                yet is not looked at. The model is called all the same.
            budget: what this call may spend; then it stops cleanly.
            progress: called as `progress(passages done, passages)`, for the rules, then the model.

        Raises:
            ModelNotConfiguredError: `model` is True, and there is none.
            ConflictError: a scan is going on.
            SourceError: there is no such file or folder.
        """
        pipeline = self._pipeline(model, dry_run, budget)
        read = None
        if source is not None and not dry_run:
            read = self._ingesting.read_texts_as(source, category)
        return pipeline.observe(limit=limit, progress=progress, read=read)

    def bootstrap(
        self,
        *,
        model: bool | None = None,
        dry_run: bool = False,
        budget: Budget | None = None,
        progress: Progress | None = None,
    ) -> ScanResult:
        """Look again at everything that is remembered, also at what was looked at; nothing twice.

        For when there is a better model, or the rules have learned more. Source: seed 4.

        Args:
            model, dry_run, budget, progress: as for `observe`.

        Raises:
            ModelNotConfiguredError: `model` is True, and there is none.
            ConflictError: a scan is going on.
        """
        return self._pipeline(model, dry_run, budget).observe(from_start=True, progress=progress)

    def staged(self) -> list[Evidence]:
        """List the claims that wait to be normalised, the oldest first. Source: seed 4."""
        from .evidence.evidence import staged

        return staged(self._store)

    def normalise(
        self,
        *,
        now: bool = True,
        model: bool | None = None,
        dry_run: bool = False,
        budget: Budget | None = None,
        progress: Progress | None = None,
    ) -> NormaliseResult:
        """Find the slots that staged claims belong to. Source: seed 4.

        Keys that name a slot are placed by the registry. The others a model places, choosing from
        the slots that there are; without a model they become extras. What only the user may say is
        refused. A claim whose call failed, or that the model put where it cannot be, stays staged,
        and is tried again.

        Args:
            now: False does something only if ten claims wait that were not tried yet, or any since
                six hours: for a schedule.
            model, dry_run, budget: as for `observe`.
            progress: called as `progress(claims done, claims)`.

        Raises:
            ModelNotConfiguredError: `model` is True, and there is none.
            ConflictError: such a run is going on.
        """
        return self._pipeline(model, dry_run, budget).normalise(now=now, progress=progress)

    def learned(self) -> list[Learned]:
        """List what answers have taught: how far what is trusted, how fast what changes.

        Each time a belief is confirmed, corrected or rejected, what said it was right or wrong.
        """
        from .beliefs.learning import constants_of

        return constants_of(self._store).learned()

    # -- parts -------------------------------------------------------------------------------------

    def _changes(self, beliefs: Iterable[Belief], since: datetime | None = None) -> list[Change]:
        from .beliefs.profile import changes
        from .evidence.evidence import stored_evidence

        found = changes(beliefs, since)
        ends = stored_evidence(self._store, dict.fromkeys(one.because for one in found))
        notes = {one.id: one.note for one in ends}
        return [replace(one, note=notes.get(one.because, "")) for one in found]

    def _pipeline(self, model: bool | None, dry_run: bool, budget: Budget | None) -> Pipeline:
        from .extract.pipeline import Pipeline

        limits = check_budget(budget)
        asks_model = model or (model is None and self._engine.llm is not None)
        llm = self._engine.required_llm if asks_model else None
        return Pipeline(self._engine, llm=llm, budget=limits, dry_run=dry_run)

    def _explain(self, belief: Belief, as_of: datetime | None) -> Explanation:
        from .beliefs.profile import Explanation

        evidence = self._editing.beliefs().evidence(belief.id, wider=True)
        known = [one for one in evidence if as_of is None or (one.made_at or one.at) <= as_of]
        slot = self._editing.slots().get_or_extra(belief.slot)
        return Explanation(belief=belief, slot=slot, evidence=tuple(known))


def _scopes(scope: str | Sequence[str]) -> list[str]:
    return [check_scope(one) for one in ([scope] if isinstance(scope, str) else scope)]
