"""Every kind of work that a process may be killed in, and what must be true of what it leaves.

`base` is done once for a tenant and `before` before each trial, unkilled; `work` is what is killed:
what it `say`s was acknowledged. `look` opens the tenant again and tells what is wrong.
"""

from __future__ import annotations

import io
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from mortal import Life, emptied

__all__ = ["FOLDER_ONLY", "KINDS", "MODELLED", "Kind"]

Acked = list[Any]


class Kind:
    """One kind of work; a subclass has what differs."""

    def base(self, life: Life) -> None:
        from remloom import Entity

        with life.open() as memory:
            memory.write([Entity(name="The first", type="project", summary="It was there before.")])

    def before(self, life: Life) -> None:
        pass

    def work(self, life: Life) -> None:
        raise NotImplementedError

    def look(self, life: Life, acked: Acked) -> list[str]:
        with life.open() as memory:
            wrong = [f"check: {line}" for line in memory.admin.check()]
            if not memory.lookup("The first").records:
                wrong.append("what was there before is lost")
            return wrong + list(self.seen(memory, life, acked))

    def seen(self, memory: Any, life: Life, acked: Acked) -> Iterable[str]:
        """What is wrong with what was acknowledged."""
        return ()


class Batches(Kind):
    """Batches of records of each schema, and edges."""

    def work(self, life: Life) -> None:
        from remloom import Edge, Entity, Moment, Resource

        with life.open(embedder="none") as memory:
            life.say("began")
            for i in range(12):
                word = f"batch{life.number}x{i}"
                ids = memory.write([
                    Resource(name=f"note {word}", content=f"All about {word}.", uri=f"{word}.md"),
                    Entity(name=f"entity {word}", type="thing", aliases=(f"alias {word}",)),
                    Moment(name=f"moment {word}", type="meeting", summary=f"We spoke of {word}."),
                    Edge(src=f"entity {word}", rel_type="concerns", dst="The first"),
                ])  # fmt: skip
                life.say("wrote", word, ids)

    def seen(self, memory: Any, life: Life, acked: Acked) -> Iterable[str]:
        for _, word, ids in acked:
            found = [
                memory.lookup(f"{kind} {word}").records
                for kind in ("note", "entity", "alias", "moment")
            ]
            if not all(found):
                yield f"{word} was acknowledged and is lost: {[len(one) for one in found]}"
            if [one[0].id for one in (found[0], found[1], found[3]) if one] != [
                id for id in ids if id
            ][:3]:
                yield f"{word} has other ids than were told"
            if not any(edge.dst == "the-first" for edge in memory.get_edges(f"entity {word}")):
                yield f"the edge of {word} is lost"
        for _, word, _ in acked[-3:]:
            if len(memory.search_text(word).records) < 2:
                yield f"{word} is not found by its words"


class Singles(Kind):
    """One record a call; every other one is deleted again."""

    def work(self, life: Life) -> None:
        from remloom import Edge, Entity, Moment, Resource

        with life.open(embedder="none") as memory:
            life.say("began")
            for i in range(8):
                word = f"single{life.number}x{i}"
                life.say("id", word, memory.create_entity(Entity(name=f"entity {word}")))
                life.say(
                    "id", word, memory.create_resource(Resource(name=f"note {word}", content=word))
                )
                life.say(
                    "id", word, memory.create_moment(Moment(name=f"moment {word}", summary=word))
                )
                memory.create_edge(Edge(src=f"entity {word}", rel_type="is", dst="The first"))
                life.say("edge", word)
                if i % 2:
                    life.say("ending", word)
                    memory.admin.delete_edge(f"entity {word}", "is", "The first")
                    life.say("ended", word)

    def seen(self, memory: Any, life: Life, acked: Acked) -> Iterable[str]:
        for told in acked:
            if told[0] == "id" and memory.admin.store.records.get(None, told[2]) is None:
                yield f"{told} was acknowledged and is lost"
        edges = {told[1] for told in acked if told[0] == "edge"} - {
            told[1] for told in acked if told[0] == "ending"
        }
        ended = {told[1] for told in acked if told[0] == "ended"}
        there = {
            edge.src.removeprefix("entity-")
            for edge in memory.get_edges("The first", direction="in")
        }
        if lost := edges - there:
            yield f"edges were acknowledged and are lost: {sorted(lost)}"
        if back := ended & there:
            yield f"edges were deleted and are there again: {sorted(back)}"


class Updates(Kind):
    """Properties merged into one entity."""

    def work(self, life: Life) -> None:
        with life.open(embedder="none") as memory:
            life.say("began")
            id = memory.lookup("The first").records[0].id
            for i in range(20):
                memory.update_entity(id, {f"p{life.number}x{i}": i})
                life.say("merged", f"p{life.number}x{i}", i)

    def seen(self, memory: Any, life: Life, acked: Acked) -> Iterable[str]:
        properties = memory.lookup("The first").records[0].record.properties
        lost = [name for _, name, value in acked if properties.get(name) != value]
        if lost:
            yield f"properties were acknowledged and are lost: {lost}"


class Reading(Kind):
    """A folder of documents, of several chunks each."""

    def work(self, life: Life) -> None:
        with life.open(embedder="none") as memory:
            life.say("began")
            memory.read(life.scratch / f"docs-{life.number}")
            life.say("read", life.number)

    def before(self, life: Life) -> None:
        folder = emptied(life.scratch / f"docs-{life.number}")
        for k in range(2):
            parts = (
                f"Part{n}of{life.number}x{k} is told here. "
                + "Tea was poured again and again. " * 30
                for n in range(4)
            )
            (folder / f"d{k}.md").write_text("\n\n".join(parts))

    def seen(self, memory: Any, life: Life, acked: Acked) -> Iterable[str]:
        from remloom.predicates import Eq, Query

        numbers = {told[1] for told in acked}
        for number in numbers:
            for k in range(2):
                if not memory.search_text(f"Part3of{number}x{k}").records:
                    yield f"document {k} of reading {number} was acknowledged and is lost"
        folder = life.scratch / f"docs-{life.number}"
        for k, path in enumerate(sorted(folder.iterdir())):
            records = memory.query_resources(Query().filter(Eq("uri", str(path))))
            told = sum(
                f"Part{n}of{life.number}x{k}" in "".join(record.content for record in records)
                for n in range(4)
            )
            if told not in (0, 4):
                yield f"half a document was written: {told} of 4 parts"
        again = memory.read(folder)
        if any(item.status not in ("read", "unchanged") for item in again.items):
            yield f"reading again failed: {again.items}"
        if any(not memory.search_text(f"Part3of{life.number}x{k}").records for k in range(2)):
            yield "reading again did not complete it"


class Chat(Kind):
    """One turn after another."""

    def work(self, life: Life) -> None:
        from remloom import Message

        with life.open(embedder="none") as memory:
            life.say("began")
            for i in range(10):
                text = f"Turn{life.number}x{i} is about tea with Sarah Chen."
                memory.read_chat(
                    [Message(speaker=("Ann", "Ben")[i % 2], text=text)], uri="chat/1", append=True
                )
                life.say("turn", f"Turn{life.number}x{i}")

    def seen(self, memory: Any, life: Life, acked: Acked) -> Iterable[str]:
        from remloom.predicates import Eq, Query

        turns = memory.query_resources(Query().filter(Eq("uri", "chat/1")).order_by("ordinal"))
        said = "\n".join(turn.content for turn in turns)
        places = [said.find(f"{word} ") for _, word in acked]
        if -1 in places:
            yield f"turns were acknowledged and are lost: {[word for _, word in acked if f'{word} ' not in said]}"
        elif places != sorted(places):
            yield "turns are in another order than they were said in"
        if len({turn.ordinal for turn in turns}) != len(turns):
            yield "two turns have one place"


class Forgetting(Kind):
    """What was written is forgotten: by its name, by its source, a turn of a chat, and what was
    derived from it."""

    def before(self, life: Life) -> None:
        from remloom import Edge, Entity, Message, Resource

        with life.open(embedder="none") as memory:
            for i in range(4):
                word = f"secret{life.number}x{i}"
                _, note, *_ = memory.write([
                    Entity(name=f"Mr {word}", aliases=(f"alias{word}",), summary=f"The summary of {word}."),
                    Resource(name=f"note {word}", content=f"It tells of {word}.", uri=f"{word}.md"),
                    Edge(src=f"Mr {word}", rel_type=f"rel{word}", dst="The first", properties={"why": word}),
                ])  # fmt: skip
                memory.write(
                    [
                        Resource(
                            name=f"derived {word}",
                            content=f"So {word}!",
                            kind="synthesis",
                            parents=(note,),
                        )
                    ]
                )
                memory.read_chat(
                    [Message(speaker="Ann", text=f"I know {word}.")], uri=f"chat/{word}"
                )
            memory.admin.optimize()

    def work(self, life: Life) -> None:
        with life.open(embedder="none") as memory:
            life.say("began")
            for i in range(4):
                word = f"secret{life.number}x{i}"
                life.say("forgetting", word)
                receipt = memory.forget(f"Mr {word}", f"{word}.md", f"chat/{word}")
                if not receipt.verified:
                    life.say("trouble", f"forgetting {word}: {receipt.remaining}")
                life.say("forgot", word)

    def look(self, life: Life, acked: Acked) -> list[str]:
        wrong = super().look(life, acked)
        forgotten = {told[1] for told in acked if told[0] == "forgot"}
        if "://" not in life.home:
            wrong += _in_files(life, forgotten)
        return wrong

    def seen(self, memory: Any, life: Life, acked: Acked) -> Iterable[str]:
        from remloom.errors import NotFoundError

        forgotten = {told[1] for told in acked if told[0] == "forgot"}
        begun = {told[1] for told in acked if told[0] == "forgetting"} - forgotten
        for word in forgotten:
            yield from _still(memory, word)
        told = _exported(memory)
        yield from (
            f"{word} was forgotten and is exported" for word in forgotten if word.encode() in told
        )
        # it went, or it did not: and then it can still be forgotten
        for word in begun:
            for target in (f"Mr {word}", f"{word}.md", f"chat/{word}"):
                try:
                    memory.forget(target)
                except NotFoundError:
                    continue
            yield from _still(memory, word)
            acked.append(("forgot", word))
        for i in range(4):
            word = f"secret{life.number}x{i}"
            if (
                word not in forgotten
                and word not in begun
                and not memory.lookup(f"Mr {word}").records
            ):
                yield f"{word} was not forgotten and is gone"


def _still(memory: Any, word: str) -> Iterable[str]:
    if memory.lookup(f"Mr {word}", f"note {word}", f"alias{word}", f"derived {word}").records:
        yield f"{word} was forgotten and is looked up"
    if memory.search_text(word).records:
        yield f"{word} was forgotten and is found"
    if any(word in hit.record.name for hit in memory.fuzzy(f"Mr {word}", threshold=0.9).records):
        yield f"{word} was forgotten and is nearly found"


def _in_files(life: Life, words: Iterable[str]) -> list[str]:
    """After the last one closed it, no file has a byte of it."""
    from remloom.testing.disk import on_disk

    held = on_disk(Path(life.home) / "tenants" / life.tenant)
    return [f"{word} was forgotten and is on disk" for word in words if word.encode() in held]


def _exported(memory: Any) -> bytes:
    stream = io.BytesIO()
    memory.admin.export(stream)
    return stream.getvalue()


class Embedding(Kind):
    """Vectors for what was written without."""

    def work(self, life: Life) -> None:
        from remloom import Resource

        with life.open() as memory:
            life.say("began")
            for i in range(3):
                words = [f"vector{life.number}x{i}x{k}" for k in range(5)]
                memory.write([Resource(name=word, content=f"Of {word} and tea.") for word in words])
                life.say("wrote", words)
                memory.embed_pending()
                life.say("embedded", words)

    def seen(self, memory: Any, life: Life, acked: Acked) -> Iterable[str]:
        if len(acked) == 0:
            return
        memory.embed_pending()
        for _, words in acked[-4:]:
            hit = memory.search(f"Of {words[0]} and tea.", limit=1).records
            if not hit or hit[0].record.name != words[0]:
                yield f"{words[0]} is not found by its vector"


class Reembedding(Kind):
    """All vectors made anew, by another model."""

    def base(self, life: Life) -> None:
        from remloom import Resource

        super().base(life)
        with life.open() as memory:
            memory.write(
                [Resource(name=f"text {n}", content=f"Word{n} and tea.") for n in range(30)]
            )
            memory.embed_pending()

    def work(self, life: Life) -> None:
        with life.open(embedder=self._embedder(life)) as memory:
            life.say("began")
            memory.admin.reembed(self._embedder(life))
            life.say("made", life.number)

    def look(self, life: Life, acked: Acked) -> list[str]:
        with life.open(embedder=self._embedder(life)) as memory:
            if memory.admin.reembed(self._embedder(life)) and ("made", life.number) in acked:
                return ["vectors were acknowledged and were made again"]
            wrong = [f"check: {line}" for line in memory.admin.check()]
            hits = [memory.search(f"Word{n} and tea.", limit=1).records for n in (0, 13, 29)]
            return wrong + [f"{n} is not found" for n, hit in zip((0, 13, 29), hits, strict=True)
                            if not hit or hit[0].record.name != f"text {n}"]  # fmt: skip

    @staticmethod
    def _embedder(life: Life) -> Any:
        from remloom.testing.embedder import WordEmbedder

        return WordEmbedder(f"words-{life.number}")


class Settling(Kind):
    """Snapshots of the indexes, while more is written."""

    def work(self, life: Life) -> None:
        from remloom import Entity

        with life.open(embedder="none") as memory:
            life.say("began")
            for i in range(4):
                words = [f"settled{life.number}x{i}x{k}" for k in range(20)]
                memory.write([Entity(name=word, summary=f"Of {word}.") for word in words])
                life.say("wrote", words)
                memory.admin.optimize()

    def seen(self, memory: Any, life: Life, acked: Acked) -> Iterable[str]:
        for _, words in acked[-6:]:
            if (
                not memory.search_text(words[7]).records
                or not memory.fuzzy(words[7], threshold=0.99).records
            ):
                yield f"{words[7]} is not found by an index"
            if len(memory.lookup(*words).records) != len(words):
                yield f"of {words[0]} some are lost"


class Jobs(Kind):
    """The queue of what is done later."""

    def work(self, life: Life) -> None:
        with life.open(embedder="none") as memory:
            life.say("began")
            for i in range(10):
                job = memory.jobs.add("moments", {"hours": i + 1}, key=f"j{life.number}x{i}")
                life.say("job", job.id)
                if i % 3 == 2:
                    life.say("removing", job.id)
                    memory.jobs.remove(job.id)
                    life.say("removed", job.id)

    def seen(self, memory: Any, life: Life, acked: Acked) -> Iterable[str]:
        there = {job.id for job in memory.jobs.list()}
        told = {
            kind: {told[1] for told in acked if told[0] == kind}
            for kind in ("job", "removing", "removed")
        }
        if lost := told["job"] - told["removing"] - there:
            yield f"jobs were acknowledged and are lost: {lost}"
        if back := told["removed"] & there:
            yield f"jobs were removed and are there again: {back}"


class Importing(Kind):
    """An export, written into a new tenant."""

    def base(self, life: Life) -> None:
        from remloom import Edge, Entity, Resource

        super().base(life)
        with life.open(embedder="none") as memory:
            for n in range(30):
                memory.write([
                    Resource(name=f"note {n}", content=f"Word{n}."), Entity(name=f"entity {n}"),
                    Edge(src=f"entity {n}", rel_type="is", dst="The first"),
                ])  # fmt: skip
            memory.admin.export(life.scratch / "whole.jsonl")

    def work(self, life: Life) -> None:
        with life.open(f"{life.tenant}-copy-{life.number}", embedder="none") as memory:
            life.say("began")
            memory.admin.import_(life.scratch / "whole.jsonl")
            life.say("imported", life.number)

    def look(self, life: Life, acked: Acked) -> list[str]:
        with life.open(embedder="none") as memory:
            source = _content(memory)
        with life.open(f"{life.tenant}-copy-{life.number}", embedder="none") as memory:
            wrong = [f"check: {line}" for line in memory.admin.check()]
            if ("imported", life.number) in acked and _content(memory) != source:
                wrong.append("an import was acknowledged and is not whole")
            memory.admin.import_(life.scratch / "whole.jsonl")
            if _content(memory) != source:
                wrong.append("importing again did not complete it")
            return wrong


def _content(memory: Any) -> set[bytes]:
    """The lines of records and edges, without the header and the last line with counts."""
    return {
        line
        for line in _exported(memory).splitlines()
        if line.startswith((b'{"line":"record"', b'{"line":"edge"'))
    }


class Exporting(Importing):
    """An export is whole, or it is not taken for one."""

    def work(self, life: Life) -> None:
        path = life.scratch / f"export-{life.number}.jsonl"
        with life.open(embedder="none") as memory:
            life.say("began")
            memory.admin.export(path)
            life.say("exported", life.number)

    def look(self, life: Life, acked: Acked) -> list[str]:
        from remloom import RemloomError

        path = life.scratch / f"export-{life.number}.jsonl"
        with life.open(embedder="none") as memory:
            source = _content(memory)
        if not path.exists():
            return (
                ["an export was acknowledged and is not there"]
                if ("exported", life.number) in acked
                else []
            )
        with life.open(f"{life.tenant}-of-{life.number}", embedder="none") as memory:
            try:
                memory.admin.import_(path)
            except RemloomError as error:
                return (
                    [f"an export was acknowledged: {error}"]
                    if ("exported", life.number) in acked
                    else []
                )
            return (
                [] if _content(memory) == source else ["half an export was imported without a word"]
            )


class BackingUp(Importing):
    """A backup is whole, or it cannot be opened."""

    def work(self, life: Life) -> None:
        with life.open(embedder="none") as memory:
            life.say("began")
            memory.admin.backup(life.scratch / f"backup-{life.number}" / "tenants" / life.tenant)
            life.say("backed up", life.number)

    def look(self, life: Life, acked: Acked) -> list[str]:
        from remloom import Memory, RemloomError

        with life.open(embedder="none") as memory:
            source = _content(memory)
        backup = life.scratch / f"backup-{life.number}"
        try:
            with Memory.open(backup, tenant=life.tenant, embedder="none", create=False) as memory:
                if memory.admin.check() or _content(memory) != source:
                    return ["half a backup was opened without a word"]
        except RemloomError as error:
            return (
                [f"a backup was acknowledged: {error}"]
                if ("backed up", life.number) in acked
                else []
            )
        return []


class Copying(Importing):
    """A tenant copied into another one: called again, it goes on."""

    def work(self, life: Life) -> None:
        from remloom import Home

        life.say("began")
        Home(life.home).copy(
            life.home, tenant=life.tenant, to_tenant=f"{life.tenant}-as-{life.number}"
        )
        life.say("copied", life.number)

    def look(self, life: Life, acked: Acked) -> list[str]:
        from remloom import Home

        Home(life.home).copy(
            life.home, tenant=life.tenant, to_tenant=f"{life.tenant}-as-{life.number}"
        )
        with (
            life.open(embedder="none") as memory,
            life.open(f"{life.tenant}-as-{life.number}", embedder="none") as other,
        ):
            wrong = [f"check: {line}" for line in other.admin.check()]
            return wrong + (
                [] if _content(memory) == _content(other) else ["a copy that went on is not whole"]
            )


class Tenants(Kind):
    """Tenants made, written to and deleted, with a key and without."""

    def work(self, life: Life) -> None:
        from remloom import Entity, Home

        life.say("began")
        for i in range(3):
            name = f"{life.tenant}-{life.number}-{i}"
            Home(life.home, key=self._key(life, i)).create(name)
            life.say("made", name, i)
            with life.open(name, embedder="none", key=self._key(life, i)) as memory:
                memory.create_entity(Entity(name="Kept"))
                life.say("wrote", name, i)
            if i != 1:
                life.say("deleting", name, i)
                Home(life.home).delete(name)
                life.say("deleted", name, i)

    def look(self, life: Life, acked: Acked) -> list[str]:
        from remloom import Home
        from remloom.errors import TenantNotFoundError

        mine = f"{life.tenant}-{life.number}-"
        told = {
            kind: {one[1]: one[2] for one in acked if one[0] == kind and one[1].startswith(mine)}
            for kind in ("made", "wrote", "deleting", "deleted")
        }
        there = {info.name for info in Home(life.home).tenants()}
        wrong = [f"{name} was deleted and is there" for name in told["deleted"] if name in there]
        for name, i in told["made"].items():
            if name not in told["deleting"]:
                with life.open(
                    name, embedder="none", key=self._key(life, i), create=False
                ) as memory:
                    wrong += [f"check: {line}" for line in memory.admin.check()]
                    if name in told["wrote"] and not memory.lookup("Kept").records:
                        wrong.append(f"what was written to {name} is lost")
        # what was begun can be ended, and begun again
        for i in range(3):
            name = f"{life.tenant}-{life.number}-{i}"
            if name in told["deleted"]:
                continue
            with suppress(TenantNotFoundError):
                Home(life.home).delete(name)
            Home(life.home, key=self._key(life, i)).create(name)
            with life.open(name, embedder="none", key=self._key(life, i)) as memory:
                if memory.lookup("Kept").records:
                    wrong.append(f"{name} was deleted and remembers")
            Home(life.home).delete(name)
        return wrong

    @staticmethod
    def _key(life: Life, i: int) -> str | None:
        return "correct horse battery staple" if i == 2 and "://" not in life.home else None


class Dreaming(Kind):
    """A run that makes records out of records. Finished, it can be taken back to what there was
    before."""

    chore = "learn"

    def base(self, life: Life) -> None:
        import scripted_models

        from remloom import Message

        folder = scripted_models.folder(emptied(life.scratch / "essays"))
        with self._open(life) as memory:
            memory.read(folder)
            said = [
                Message(speaker="Ann", text=f"Tea number {n} from Boston.", at=_at(n))
                for n in range(8)
            ]
            memory.read_chat(said, uri="chat/1")
            memory.embed_pending()
            (life.scratch / "before.jsonl").write_bytes(b"\n".join(sorted(_content(memory))))

    def work(self, life: Life) -> None:
        with self._open(life) as memory:
            life.say("began")
            self.do(memory, life)
            life.say("done", life.number)

    def look(self, life: Life, acked: Acked) -> list[str]:
        with self._open(life) as memory:
            wrong = [f"check: {line}" for line in memory.admin.check()]
            before = set((life.scratch / "before.jsonl").read_bytes().splitlines())
            if lost := len(before - _content(memory)) and not self._touches:
                wrong.append(f"{lost} of what it rests on is lost or changed")
            if ("done", life.number) in acked and memory.runs.list()[0].status != "done":
                wrong.append(f"a run was acknowledged and is {memory.runs.list()[0].status}")
            if ("done", life.number) not in acked:
                self.do(memory, life)
            if memory.runs.list()[0].status != "done":
                wrong.append(f"a run that was begun again is {memory.runs.list()[0].status}")
            for run in memory.runs.list():
                if run.status != "rolled_back":
                    memory.runs.rollback(run.id)
            wrong += [f"check: {line}" for line in memory.admin.check()]
            if _content(memory) != before:
                wrong.append("rolled back, it is not as it was before")
            return wrong

    _touches = True  # it may change what there was: a summary, an edge

    def do(self, memory: Any, life: Life) -> None:
        owner = memory if self.chore in ("learn", "dream") else memory.dreams
        getattr(owner, self.chore)(**self.given(life))

    def given(self, life: Life) -> dict[str, Any]:
        return {}

    @staticmethod
    def _open(life: Life) -> Any:
        import scripted_models

        from remloom.testing.models import ScriptedModel

        return life.open(llm=ScriptedModel(scripted_models.reply, latency=0.002))


class Learning(Dreaming):
    chore = "learn"
    _touches = False

    def given(self, life: Life) -> dict[str, Any]:
        return {"source": str(life.scratch / "essays"), "dreams": 2}


class Dreams(Dreaming):
    chore = "dream"
    _touches = False

    def given(self, life: Life) -> dict[str, Any]:
        return {"dreams": 4, "seed": "7"}


class Moments(Dreaming):
    chore = "moments"

    def given(self, life: Life) -> dict[str, Any]:
        return {"hours": None, "model": False}


class Affinity(Dreaming):
    chore = "affinity"

    def given(self, life: Life) -> dict[str, Any]:
        return {"min_score": 0.1, "neighbours": 3}


class Consolidating(Dreaming):
    chore = "consolidate"

    def base(self, life: Life) -> None:
        from remloom import Resource

        super().base(life)
        with self._open(life) as memory:
            said = [record.id for record in memory.admin.store.records.chunks("chat/1")]
            for n in range(4):
                twins = [Resource(name=f"twin {n} {k}", content=f"The insight of tea number {n}.", kind="synthesis",
                                  generation=1, parents=(said[n], said[n + k + 1])) for k in range(2)]  # fmt: skip
                memory.write(twins)
            memory.embed_pending()
            (life.scratch / "before.jsonl").write_bytes(b"\n".join(sorted(_content(memory))))

    def given(self, life: Life) -> dict[str, Any]:
        return {"model": False, "min_score": 0.8}


class RollingBack(Dreaming):
    """Taking a run back: all of it, or nothing; called again, all of it."""

    def before(self, life: Life) -> None:
        with self._open(life) as memory:
            memory.learn(str(life.scratch / "essays"), dreams=2)
            (life.scratch / "learned.jsonl").write_bytes(b"\n".join(sorted(_content(memory))))

    def do(self, memory: Any, life: Life) -> None:
        memory.runs.rollback(memory.runs.list()[0].id)

    def look(self, life: Life, acked: Acked) -> list[str]:
        with self._open(life) as memory:
            wrong = [f"check: {line}" for line in memory.admin.check()]
            before = set((life.scratch / "before.jsonl").read_bytes().splitlines())
            learned = set((life.scratch / "learned.jsonl").read_bytes().splitlines())
            now = _content(memory)
            if now not in (before, learned):
                wrong.append("half a run was taken back")
            if ("done", life.number) in acked and now != before:
                wrong.append("taking back was acknowledged and did not happen")
            if memory.runs.list()[0].status != "rolled_back":
                memory.runs.rollback(memory.runs.list()[0].id)
            if _content(memory) != before:
                wrong.append("rolled back, it is not as it was before")
            return wrong


def _at(n: int) -> Any:
    from datetime import UTC, datetime, timedelta

    return datetime(2021, 4, 1, 9, tzinfo=UTC) + timedelta(minutes=7 * n)


KINDS: dict[str, Kind] = {
    "batches": Batches(), "singles": Singles(), "updates": Updates(), "read": Reading(), "chat": Chat(),
    "forget": Forgetting(), "embed": Embedding(), "reembed": Reembedding(), "settle": Settling(), "jobs": Jobs(),
    "import": Importing(), "export": Exporting(), "backup": BackingUp(), "copy": Copying(), "tenants": Tenants(),
    "learn": Learning(), "dream": Dreams(), "moments": Moments(), "affinity": Affinity(),
    "consolidate": Consolidating(), "rollback": RollingBack(),
}  # fmt: skip
MODELLED = ("learn", "dream", "moments", "affinity", "consolidate", "rollback")
FOLDER_ONLY = ("backup",)
