"""An agent with nothing but the default tools: it sees what changed under a decision, and acts."""

import os
import sys
from contextlib import closing
from datetime import UTC, datetime

import anyio
import apsw
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from remloom.store.sqlite.file.sealing import unlock

WORD = "quokkaberg"
FIRST = f"Seoyun of {WORD} leads team Orion."
QUESTION = "Who gets the code reviews of Orion?"


def bytes_of(home):
    """All pages of the database, their unused parts too: in the file itself they are sealed."""
    (path,) = home.rglob("memory.db")
    with closing(apsw.Connection(str(path))) as connection:
        unlock(connection, "")
        return connection.serialize("main")


def test_an_agent_sees_what_changed_and_acts_on_it(tmp_path):
    environment = {**os.environ, "REMLOOM_HOME": str(tmp_path), "REMLOOM_EMBEDDER": "none"}
    command = ["-m", "remloom", "mcp"]
    server = StdioServerParameters(command=sys.executable, args=command, env=environment)

    async def run(work):
        async with Client(stdio_client(server)) as client:

            async def call(tool, **arguments):
                result = await client.call_tool(tool, arguments)
                assert not result.is_error, result.content[0].text
                return result.content[0].text

            async def remember(text, **more):
                told = await call("remember", text=text, **more)
                return told.partition("ids: ")[2][:8], told

            return await work(call, remember)

    async def change(call, remember):
        lead, _ = await remember(FIRST)
        await remember("Team Orion has its office in Busan.")
        await remember("Team Orion ships on Fridays.")
        reviews, _ = await remember("Code reviews of Orion go to its lead.", rests_on=[lead])
        before = datetime.now(UTC)
        assert "may not hold" not in await call("recall", question=QUESTION)

        newer, told = await remember("Jihoon leads team Orion.", replaces=lead)
        assert (
            f"1 thing rests on what you replaced, and may not hold any more:\n> {reviews}" in told
        )

        # the mark, the old and the new
        seen = await call("recall", question=QUESTION)
        mark = next(line for line in seen.splitlines() if "may not hold any more" in line)
        assert reviews in mark
        assert f"{FIRST} was replaced by {newer}" in mark
        assert "Jihoon leads team Orion." in seen
        shown = await call("show", what=reviews)
        assert "[now]" in shown
        assert "> Jihoon leads team Orion." in shown
        known = await call("lookup", labels=[lead])
        assert f"> was: {FIRST}" in known
        chain = (await call("show", what=lead)).partition("history:\n")[2]
        assert chain == (
            f"> {lead} {FIRST} (changed: replaced by {newer})\n> {newer} Jihoon leads team Orion."
        )
        explained = await call("recall", question=QUESTION, explain=True)
        assert "> why: " in explained
        assert "Found by: text" in explained
        past = f"LOOKUP '{FIRST}' AS OF '{before.isoformat()}'"
        assert f"> {FIRST}" in await call("query", statement=past)

        # what it wrote itself only it can confirm; a replacement is taken back, and made again
        assert f"> {reviews}" in await call("refresh", dry_run=True)
        assert "yours: replace or confirm it" in await call("refresh")
        assert f"> {reviews}" in await call("confirm", what=[reviews])
        assert await call("refresh") == "All holds that is remembered."
        assert "may not hold" not in await call("recall", question=QUESTION)
        assert "Holds again" in await call("confirm", what=[lead])
        assert f"> {FIRST}" in await call("recall", question="Who leads team Orion?")
        _, told = await remember("Jihoon leads team Orion.", replaces=lead)
        assert "may not hold" not in told  # the decision was confirmed of Jihoon
        return lead

    async def forget(call, remember):
        assert "Would go: 3 records (2 of them derived)" in await call("forget", what=[lead])
        done = await call("forget", what=[lead], dry_run=False)
        assert "Nothing of it remains." in done
        assert WORD not in await call("recall", question="Who led team Orion before?")
        assert "Not known" in await call("lookup", labels=[lead])

    lead = anyio.run(run, change)
    assert WORD.encode() in bytes_of(tmp_path)
    anyio.run(run, forget)
    assert WORD.encode() not in bytes_of(tmp_path)
