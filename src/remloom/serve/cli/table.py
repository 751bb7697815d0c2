"""The table of commands: how each is typed, and what it calls.

The options of a command are the parameters of the method or function that it calls, and its help is
their docstring: see `frame.parameters`. A row says only what cannot be derived.
"""

from __future__ import annotations

from click import FloatRange, IntRange

from .frame.command import Command, Option
from .frame.shared_options import SCOPES
from .frame.types import Names, NumberOrAll, Time

_OF_ID = "SLOT may be an id that `remloom profile` shows, too, such as 3f0a."
_COUNT = Option(type=IntRange(1))
_SPAN = Option(type=FloatRange(min=0, min_open=True))
_COUNTS_THERE = Option(
    "--scope", f"Only what counts there; repeat it for several: {SCOPES}", "SCOPE"
)
_KNOWN = "commands.beliefs.known"
_NAMED = "commands.beliefs.named"
_EDITED = "commands.profile.edited"
_KEEP = Option(help="Say what would go, and keep it.")


def _edit(method: str, **options: Option) -> Command:
    """A command that edits what is believed, and says how that is taken back."""
    return Command(
        method,
        before=_NAMED,
        after=_EDITED,
        options=options,
        more=_OF_ID,
    )


def _mark(method: str, argument: str, help: str) -> Command:
    """A command that marks a belief, or with --undo takes the mark off."""
    options = {argument: Option("--undo", help)}
    return Command(method, before=_NAMED, options=options, more=_OF_ID)


# sections of the program's help, and of each the usage of its commands
TABLE: dict[str, dict[str, Command]] = {
    "Start here": {
        "demo": Command(by="interactive.demo.demo"),
        "shell": Command(by="interactive.shell.shell"),
    },
    "Remember": {
        "read PATH...": Command(
            "read",
            by="commands.reading.read",
            without=("progress", "recursive", "uri"),
            creates=True,
        ),
        "import FILE": Command("admin.import_", by="commands.records.import_", creates=True),
        "forget ID|LABEL|URI...": Command(
            "forget", by="commands.records.forget", options={"dry_run": _KEEP}
        ),
    },
    "Ask": {
        "ask QUESTION": Command(
            "ask",
            by="commands.queries.ask",
            without=("now",),
            options={"budget_tokens": Option("--budget")},
            llm=True,
        ),
        "recall QUESTION": Command(
            "recall",
            by="commands.queries.recall",
            options={
                "now": Option(type=Time()),
                "exclude": Option(
                    "--exclude --without",
                    "Leave out a part: text, vector, late, entity, graph, …",
                    "PART",
                ),
                "as_context": Option("--context"),
            },
            llm=True,
        ),
        "reader [FILE...]": Command(
            by="interactive.reader.reader",
            options={
                "questions": Option("--question -q"),
                "turns": Option("--turns -i", type=IntRange(1)),
                "budget": _COUNT,
                "seconds": _SPAN,
                "words": _COUNT,
            },
            llm=True,
        ),
        "lookup LABEL...": Command("lookup", by="commands.queries.lookup"),
        "fuzzy TEXT": Command(
            "fuzzy",
            options={
                "type": Option(help="Only of this type, such as person."),
                "threshold": Option(help="Likeness at least, 0 to 1."),
            },
        ),
        "search TEXT": Command(
            "search",
            by="commands.queries.search",
            options={
                "schema": Option("--in"),
                "min_score": Option("--min"),
                "by_words": Option("--text"),
            },
        ),
        "traverse LABEL": Command(
            "traverse",
            by="commands.queries.traverse",
            without=("edge_type",),
            options={
                "edge_types": Option("--edges", "Follow only edges of these types.", type=Names()),
                "max_depth": Option("--depth", "Steps from the start."),
                "direction": Option(help="Which way to follow edges."),
                "breadth": Option(
                    help="Edges followed at each record. [default: the limit, at least 9]",
                    type=NumberOrAll(),
                ),
                "order_by": Option(
                    help="Which come first: edge.created_at DESC (the default), node.name, …"
                ),
                "limit": Option(help="Records at most, besides the start."),
                "plan_memo": Option("--memo", "A note that every stage of the answer repeats."),
            },
        ),
        "query STATEMENT": Command("query", by="commands.queries.query"),
        "show ID|LABEL": Command("admin.describe", by="commands.records.show"),
    },
    "Share": {
        "grant TENANT": Command(
            "home.grant",
            by="commands.sharing.grant",
            options={"may": Option(type=Names()), "schemas": Option(type=Names())},
        ),
        "grants": Command("home.grants", by="commands.sharing.grants"),
        "revoke TENANT": Command("home.revoke", by="commands.sharing.revoke"),
    },
    "Follow databases": {
        "discover URL": Command(
            "schemas.discover",
            by="commands.databases.discover",
            options={"output": Option("--output -o")},
            phases=("tables",),
        ),
        "register FILE": Command(
            "schemas.register",
            by="commands.databases.register",
            options={"mappings": Option("--mapping"), "entities": Option("--entity")},
            creates=True,
        ),
        "sync SOURCE": Command("schemas.sync", without=("history",), phases=("rows",)),
        "drift SOURCE": Command("schemas.drift"),
        "schemas [NAME]": Command("schemas.list", by="commands.databases.schemas"),
        "schema drop NAME": Command(
            "schemas.drop",
            without=("keep_away",),
            options={"rows": Option(help="Forget its rows, too.")},
            view="schemas.draw_dropped",
            more="Refused while it has rows, unless --rows is given.",
        ),
        "schema migrate NAME": Command("schemas.migrate", phases=("rows",)),
    },
    "Dream": {
        "learn [PATH]": Command(
            "learn",
            by="commands.dream.learn",
            without=("window", "neighbours"),
            creates=True,
            llm=True,
        ),
        "dream": Command(
            "dream",
            by="commands.dream.dream",
            without=("neighbours",),
            options={
                "period": Option(metavar="MONTH|YEAR"),
                "dry_run": Option(
                    help="Write nothing, and print what would be written. Calls the model."
                ),
            },
            llm=True,
        ),
        "dream runs": Command("runs.list", by="commands.dream.runs"),
        "dream rollback RUN": Command(
            "runs.rollback",
            view="dreams.draw_rollback",
            more=(
                "RUN is its id, or one end of it that no other has. Refused when later runs build "
                "on it."
            ),
        ),
        "moments": Command(
            "dreams.moments",
            by="commands.maintenance.moments",
            without=("hours",),
            options={"everything": Option("--all")},
            phases=("sessions",),
            llm=True,
        ),
        "affinity": Command(
            "dreams.affinity",
            by="commands.maintenance.affinity",
            without=("hours",),
            phases=("resources",),
            llm=True,
        ),
        "consolidate": Command("dreams.consolidate", phases=("summaries",), llm=True),
        "metrics": Command("dreams.metrics", by="commands.maintenance.metrics"),
    },
    "Know the user": {
        "profile": Command("profile.show", by="commands.profile.show_user"),
        "profile show": Command(
            "profile.show",
            by="commands.profile.show",
            before=_KNOWN,
            options={"scopes": _COUNTS_THERE},
        ),
        "profile why SLOT [VALUE]": Command(
            "profile.why",
            by="commands.profile.why",
            options={
                "scope": Option(help="Only in this one; '' is everywhere. [default: in each]")
            },
            more=_OF_ID,
        ),
        "profile history SLOT": Command("profile.history", before=_KNOWN),
        "profile changes": Command(
            "profile.changes",
            before=_KNOWN,
            options={"since": Option(help="Only since then. [default: all]", metavar="TIME")},
        ),
        "profile context [QUERY]": Command(
            "profile.context",
            before=_KNOWN,
            options={
                "purpose": Option(help="For what. [default: as QUERY tells]"),
                "budget_tokens": Option(
                    "--budget", "Of the text, at most. [default: 600]", type=IntRange(1)
                ),
                "scope": _COUNTS_THERE,
            },
        ),
        "profile export [FILE]": Command(
            "profile.export", by="commands.profile.export", without=("format",), before=_KNOWN
        ),
        "profile import FILE": Command(
            "profile.import_",
            view="profile.draw_imported",
            creates=True,
            more="What was forgotten here stays forgotten. Makes the tenant if need be.",
        ),
        "profile subjects": Command("profile.subjects", view="profile.draw_subjects"),
        "profile learned": Command("profile.learned"),
        "profile set SLOT VALUE": Command(
            "profile.set",
            after=_EDITED,
            creates=True,
            more="What no slot is for goes under extras.NAME. Makes the tenant if need be.",
        ),
        "profile confirm SLOT [VALUE]": _edit("profile.confirm"),
        "profile reject SLOT [VALUE]": _edit("profile.reject"),
        "profile correct SLOT VALUE": _edit(
            "profile.correct", changed=Option(help="It was right, and has changed now.")
        ),
        "profile retire SLOT [VALUE]": _edit(
            "profile.retire", at=Option(help="When it ended. [default: now]")
        ),
        "profile pin SLOT [VALUE]": _mark("profile.pin", "pinned", "Pin it no longer."),
        "profile hide SLOT [VALUE]": _mark("profile.hide", "hidden", "Hide it no longer."),
        "profile forget SLOT [VALUE]": Command(
            "profile.forget",
            by="commands.profile.forget",
            options={"dry_run": _KEEP},
            before=_NAMED,
            more=_OF_ID,
        ),
        "profile scan [PATH]": Command(
            "profile.observe",
            phases=("passages", "asking"),
            creates=True,
            llm=True,
            more=(
                "PATH is read first. A scan that was interrupted goes on where it was; nothing is "
                "taken up twice."
            ),
        ),
        "profile bootstrap": Command("profile.bootstrap", phases=("passages", "asking"), llm=True),
        "profile staged": Command("profile.staged"),
        "profile normalise": Command(
            "profile.normalise",
            options={
                "now": Option(
                    "--due", "Only if ten claims wait, or the last time is six hours ago."
                )
            },
            phases=("claims",),
            llm=True,
        ),
        "profile slots [NAME]": Command("profile.slots", by="commands.profile.slots"),
        "profile define ID": Command(
            "profile.define_slot",
            by="commands.profile.define",
            options={
                "values": Option("--value"),
                "aliases": Option("--alias"),
                "half_life": _SPAN,
            },
            creates=True,
        ),
        "profile undefine ID": Command("profile.remove_slot", by="commands.profile.undefine"),
        "profile candidates": Command(
            "profile.candidates", more="`remloom profile promote` makes a slot of one of them."
        ),
        "profile promote EXTRA": Command(
            "profile.promote",
            by="commands.profile.promote",
            options={
                "id": Option(help="Of the slot. [default: own.NAME]"),
                "label": Option(help="What people read. [default: that of the extra]"),
            },
        ),
    },
    "Serve": {
        "mcp": Command(by="commands.mcp.mcp"),
        "serve": Command(by="commands.serving.serve"),
        "openapi": Command(by="commands.serving.openapi"),
        "keys create NAME": Command(
            "keys.create",
            by="commands.sharing.create_key",
            options={"scopes": Option(help="Of read, write, forget, dream, admin, metrics.")},
        ),
        "keys list": Command("keys.list"),
        "keys revoke ID": Command("keys.revoke", by="commands.sharing.revoke_key"),
        "audit": Command("admin.audit", by="commands.sharing.audit", options={"limit": _COUNT}),
    },
    "Care": {
        "stats": Command("admin.stats"),
        "usage": Command(
            "admin.usage",
            by="commands.maintenance.usage",
            without=("since",),
            options={"days": _SPAN},
        ),
        "jobs list": Command("jobs.list", options={"state": Option(help="Only these.")}),
        "jobs add KIND [NAME=VALUE]...": Command(
            "jobs.add",
            by="commands.jobs.add",
            options={"key": Option(metavar="NAME"), "at": Option(type=Time())},
            says="added {0.kind} as {0.id}; `remloom schedule run` does it",
            creates=True,
        ),
        "jobs retry ID": Command("jobs.retry", says="{0.kind} {0.id} is due now"),
        "jobs remove ID": Command("jobs.remove", by="commands.jobs.remove"),
        "schedule add CRON KIND [NAME=VALUE]...": Command(
            "jobs.add", by="commands.jobs.schedule", creates=True
        ),
        "schedule list": Command(
            "jobs.list", by="commands.jobs.scheduled", view="lists.draw_schedule"
        ),
        "schedule remove NAME": Command("jobs.remove", by="commands.jobs.unschedule"),
        "schedule run": Command(
            "jobs.work",
            by="commands.jobs.work",
            without=("on_job", "stop"),
            options={
                "until_idle": Option(
                    "--once",
                    "Do what is due, then end; else go on until interrupted or terminated.",
                ),
                "kinds": Option("--kind"),
            },
        ),
        "doctor": Command("admin.check", by="interactive.doctor.doctor"),
        "tenant list": Command("home.tenants", by="commands.home.tenants"),
        "tenant create NAME": Command("home.create", by="commands.home.create"),
        "tenant adopt NAME": Command("home.adopt", by="commands.home.adopt"),
        "tenant delete NAME": Command("home.delete", by="commands.home.delete"),
        "tenant key [FILE]": Command("home.new_key", by="commands.home.key"),
        "migrate": Command("home.migrate", by="commands.home.migrate"),
        "copy SOURCE TARGET": Command(
            "home.copy",
            by="commands.home.copy",
            without=("tenant",),
            options={"to_tenant": Option("--as", metavar="NAME")},
            phases=("copying",),
        ),
        "export FILE": Command("admin.export", by="commands.records.export"),
        "backup FOLDER": Command("admin.backup", by="commands.records.backup"),
        "reembed": Command("admin.reembed", by="commands.reading.reembed", phases=("embedding",)),
        "sweep": Command("admin.sweep", options={"limit": _COUNT}, view="answers.draw_swept"),
    },
}

# what a group of commands is for, where it is no command itself
GROUPS = {
    "jobs": "Work for later: list it, add to it, retry or remove it.",
    "keys": "Make, list and revoke API keys: who may call a server, and what they may do.",
    "schedule": "Do things at set times: add and list them, and run the worker that does them.",
    "schema": "Change a schema that is registered.",
    "tenant": "List, create, adopt and delete tenants; make a key for them.",
}
