"""The table of commands: how each is typed, and what it calls.

The options of a command are the parameters of the method or function that it calls, and its help is
their docstring: see `frame.parameters`. A row says only what cannot be derived.
"""

from __future__ import annotations

from click import FloatRange, IntRange

from .frame.command import Command, Option
from .frame.options import SCOPES, NameList, NumberOrAll, Time

_OF_ID = "SLOT may be an id that `remloom profile` shows, too, such as 3f0a."
_COUNT = Option(type=IntRange(1))
_SPAN = Option(type=FloatRange(min=0, min_open=True))
_COUNTS_THERE = Option(
    "--scope", f"Only what counts there; repeat it for several: {SCOPES}", "SCOPE"
)
_KNOWN = "profile.known"
_NAMED = "profile.named"
_EDITED = "profile.edited"
_STALE = "changes.name_stale"
_KEEP = Option(help="Say what would go, and keep it.")


def _edit(method: str, **options: Option) -> Command:
    """A command that edits what is believed, and says how that is taken back."""
    return Command(method, prepare=_NAMED, finish=_EDITED, options=options, notes=_OF_ID)


def _mark(method: str, argument: str, help: str) -> Command:
    """A command that marks a belief, or with --undo takes the mark off."""
    options = {argument: Option("--undo", help)}
    return Command(method, prepare=_NAMED, options=options, notes=_OF_ID)


# sections of the program's help, and of each the usage of its commands
TABLE: dict[str, dict[str, Command]] = {
    "Start here": {"demo": Command(function="demo.demo"), "shell": Command(function="shell.shell")},
    "Remember": {
        "read PATH...": Command(
            "read",
            function="records.read",
            skip=("progress", "recursive", "uri"),
            finish=_STALE,
            creates=True,
        ),
        "remember TEXT": Command(
            function="changes.remember",
            options={
                "replaces": Option(metavar="ID"),
                "amends": Option(metavar="ID"),
                "since": Option(metavar="TIME"),
                "about": Option(metavar="NAME"),
                "rests_on": Option(metavar="WHAT"),
            },
            creates=True,
        ),
        "unreplace ID": Command("unreplace", function="changes.unreplace"),
        "import FILE": Command("admin.import_", function="records.import_", creates=True),
        "forget ID|LABEL|URI...": Command(
            "forget", function="records.forget", options={"dry_run": _KEEP}
        ),
    },
    "Ask": {
        "ask QUESTION": Command(
            "ask",
            function="queries.ask",
            skip=("now",),
            options={"budget_tokens": Option("--budget")},
            llm=True,
        ),
        "recall QUESTION": Command(
            "recall",
            function="queries.recall",
            options={
                "budget_tokens": Option("--budget"),
                "history": Option("--said"),
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
            function="reader.reader",
            options={
                "questions": Option("--question -q"),
                "turns": Option("--turns -i", type=IntRange(1)),
                "budget": _COUNT,
                "seconds": _SPAN,
                "words": _COUNT,
            },
            llm=True,
        ),
        "lookup LABEL...": Command("lookup", function="queries.lookup"),
        "fuzzy TEXT": Command(
            "fuzzy",
            options={
                "type": Option(help="Only of this type, such as person."),
                "threshold": Option(help="Likeness at least, 0 to 1."),
            },
        ),
        "search TEXT": Command(
            "search",
            function="queries.search",
            options={
                "schema": Option("--in"),
                "min_score": Option("--min"),
                "by_words": Option("--text"),
            },
        ),
        "traverse LABEL": Command(
            "traverse",
            function="queries.traverse",
            skip=("edge_type",),
            options={
                "edge_types": Option(
                    "--edges", "Follow only edges of these types.", type=NameList()
                ),
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
        "query STATEMENT": Command("query", function="queries.query"),
        "show ID|LABEL": Command("admin.describe", function="changes.show"),
        "history ID|LABEL": Command("history", function="changes.history"),
    },
    "Share": {
        "grant TENANT": Command(
            "home.grant",
            function="home.grant",
            options={"may": Option(type=NameList()), "schemas": Option(type=NameList())},
        ),
        "grants": Command("home.grants", function="home.grants"),
        "revoke TENANT": Command("home.revoke", function="home.revoke"),
    },
    "Follow databases": {
        "discover URL": Command(
            "schemas.discover",
            function="databases.discover",
            options={"output": Option("--output -o")},
            phases=("tables",),
        ),
        "register FILE": Command(
            "schemas.register",
            function="databases.register",
            options={"mappings": Option("--mapping"), "entities": Option("--entity")},
            creates=True,
        ),
        "sync SOURCE": Command("schemas.sync", skip=("history",), finish=_STALE, phases=("rows",)),
        "drift SOURCE": Command("schemas.drift"),
        "schemas [NAME]": Command("schemas.list", function="databases.schemas"),
        "schema drop NAME": Command(
            "schemas.drop",
            skip=("keep_away",),
            options={"rows": Option(help="Forget its rows, too.")},
            view="databases.draw_dropped",
            notes="Refused while it has rows, unless --rows is given.",
        ),
        "identify SCHEMA": Command(
            "schemas.identify",
            options={"by": Option(type=NameList())},
            message="the next sync unites rows by this",
        ),
        "unite FIRST SECOND": Command("schemas.unite", message="{0}"),
        "separate FIRST SECOND": Command("schemas.separate", message="{first} is not {second}"),
        "schema migrate NAME": Command("schemas.migrate", phases=("rows",)),
    },
    "Dream": {
        "learn [PATH]": Command(
            "learn", function="dreams.learn", skip=("window", "neighbours"), creates=True, llm=True
        ),
        "dream": Command(
            "dream",
            function="dreams.dream",
            skip=("neighbours",),
            options={
                "period": Option(metavar="MONTH|YEAR"),
                "dry_run": Option(
                    help="Write nothing, and print what would be written. Calls the model."
                ),
            },
            llm=True,
        ),
        "dream runs": Command("runs.list", function="dreams.runs"),
        "dream rollback RUN": Command(
            "runs.rollback",
            view="dreams.draw_rollback",
            notes=(
                "RUN is its id, or one end of it that no other has. Refused when later runs build "
                "on it."
            ),
        ),
        "moments": Command(
            "dreams.moments",
            function="dreams.moments",
            skip=("hours",),
            options={"everything": Option("--all")},
            phases=("sessions",),
            llm=True,
        ),
        "affinity": Command(
            "dreams.affinity",
            function="dreams.affinity",
            skip=("hours",),
            phases=("resources",),
            llm=True,
        ),
        "consolidate": Command("dreams.consolidate", phases=("summaries",), llm=True),
        "refresh [ID...]": Command(
            "dreams.refresh", function="dreams.refresh", phases=("records",), llm=True
        ),
        "confirm ID...": Command(
            "confirm", function="dreams.confirm", view="dreams.draw_confirmed"
        ),
        "metrics": Command("dreams.metrics", function="dreams.metrics"),
    },
    "Know the user": {
        "profile": Command("profile.show", function="profile.show_user"),
        "profile show": Command(
            "profile.show",
            function="profile.show",
            prepare=_KNOWN,
            options={"scopes": _COUNTS_THERE},
        ),
        "profile why SLOT [VALUE]": Command(
            "profile.why",
            function="profile.why",
            options={
                "scope": Option(help="Only in this one; '' is everywhere. [default: in each]")
            },
            notes=_OF_ID,
        ),
        "profile history SLOT": Command("profile.history", prepare=_KNOWN),
        "profile changes": Command(
            "profile.changes",
            prepare=_KNOWN,
            options={"since": Option(help="Only since then. [default: all]", metavar="TIME")},
        ),
        "profile context [QUERY]": Command(
            "profile.context",
            prepare=_KNOWN,
            options={
                "purpose": Option(help="For what. [default: as QUERY tells]"),
                "budget_tokens": Option(
                    "--budget", "Of the text, at most. [default: 600]", type=IntRange(1)
                ),
                "scope": _COUNTS_THERE,
            },
        ),
        "profile export [FILE]": Command(
            "profile.export", function="profile.export", skip=("format",), prepare=_KNOWN
        ),
        "profile import FILE": Command(
            "profile.import_",
            view="profile.draw_imported",
            creates=True,
            notes="What was forgotten here stays forgotten. Makes the tenant if need be.",
        ),
        "profile subjects": Command("profile.subjects", view="profile.draw_subjects"),
        "profile learned": Command("profile.learned"),
        "profile set SLOT VALUE": Command(
            "profile.set",
            options={"since": Option(help="When that began. [default: now]")},
            finish=_EDITED,
            creates=True,
            notes="What no slot is for goes under extras.NAME. Makes the tenant if need be.",
        ),
        "profile confirm SLOT [VALUE]": _edit("profile.confirm"),
        "profile reject SLOT [VALUE]": _edit("profile.reject"),
        "profile correct SLOT VALUE": _edit(
            "profile.correct",
            reason=Option(help="It has changed, or never was so."),
            since=Option(help="When it changed. [default: now]"),
        ),
        "profile retire SLOT [VALUE]": _edit(
            "profile.retire", at=Option(help="When it ended. [default: now]")
        ),
        "profile pin SLOT [VALUE]": _mark("profile.pin", "pinned", "Pin it no longer."),
        "profile hide SLOT [VALUE]": _mark("profile.hide", "hidden", "Hide it no longer."),
        "profile forget SLOT [VALUE]": Command(
            "profile.forget",
            function="profile.forget",
            options={"dry_run": _KEEP},
            prepare=_NAMED,
            notes=_OF_ID,
        ),
        "profile scan [PATH]": Command(
            "profile.observe",
            phases=("passages", "asking"),
            creates=True,
            llm=True,
            notes=(
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
        "profile slots [NAME]": Command("profile.slots", function="profile.slots"),
        "profile define ID": Command(
            "profile.define_slot",
            function="profile.define",
            options={"values": Option("--value"), "aliases": Option("--alias"), "half_life": _SPAN},
            creates=True,
        ),
        "profile undefine ID": Command("profile.remove_slot", function="profile.undefine"),
        "profile candidates": Command(
            "profile.candidates", notes="`remloom profile promote` makes a slot of one of them."
        ),
        "profile promote EXTRA": Command(
            "profile.promote",
            function="profile.promote",
            options={
                "id": Option(help="Of the slot. [default: own.NAME]"),
                "label": Option(help="What people read. [default: that of the extra]"),
            },
        ),
    },
    "Serve": {
        "mcp": Command(function="mcp.mcp"),
        "serve": Command(function="serving.serve"),
        "openapi": Command(function="serving.openapi"),
        "keys create NAME": Command(
            "keys.create",
            function="home.create_key",
            options={"scopes": Option(help="Of read, write, forget, dream, admin, metrics.")},
        ),
        "keys list": Command("keys.list"),
        "keys revoke ID": Command("keys.revoke", function="home.revoke_key"),
        "audit": Command("admin.audit", function="home.audit", options={"limit": _COUNT}),
    },
    "Care": {
        "stats": Command("admin.stats"),
        "usage": Command(
            "admin.usage", function="dreams.usage", skip=("since",), options={"days": _SPAN}
        ),
        "jobs list": Command("jobs.list", options={"state": Option(help="Only these.")}),
        "jobs add KIND [NAME=VALUE]...": Command(
            "jobs.add",
            function="jobs.add",
            options={"key": Option(metavar="NAME"), "at": Option(type=Time())},
            message="added {0.kind} as {0.id}; `remloom schedule run` does it",
            creates=True,
        ),
        "jobs retry ID": Command("jobs.retry", message="{0.kind} {0.id} is due now"),
        "jobs remove ID": Command("jobs.remove", function="jobs.remove"),
        "schedule add CRON KIND [NAME=VALUE]...": Command(
            "jobs.add", function="jobs.schedule", creates=True
        ),
        "schedule list": Command(
            "jobs.list", function="jobs.scheduled", view="lists.draw_schedule"
        ),
        "schedule remove NAME": Command("jobs.remove", function="jobs.unschedule"),
        "schedule run": Command(
            "jobs.work",
            function="jobs.work",
            skip=("on_job", "stop"),
            options={
                "until_idle": Option(
                    "--once",
                    "Do what is due, then end; else go on until interrupted or terminated.",
                ),
                "kinds": Option("--kind"),
            },
        ),
        "install CLIENT...": Command(
            function="hooks.install",
            options={"mcp": Option("--no-mcp", "Leave out the MCP server.")},
        ),
        "uninstall CLIENT...": Command(function="hooks.uninstall"),
        "hooks status": Command(function="hooks.status"),
        "hooks doctor": Command(function="hooks.doctor"),
        "hooks on": Command(function="hooks.on"),
        "hooks off": Command(function="hooks.off"),
        "hooks log": Command(function="hooks.log", options={"limit": _COUNT}),
        "doctor": Command("admin.check", function="doctor.doctor"),
        "bench [DATA]": Command(
            function="bench.bench",
            options={
                "memories": Option("--memory"),
                "k": Option(type=IntRange(1)),
                "budget": _COUNT,
                "deadline": _SPAN,
            },
            phases=("asking",),
        ),
        "tenant list": Command("home.tenants", function="home.tenants"),
        "tenant create NAME": Command("home.create", function="home.create"),
        "tenant adopt NAME": Command("home.adopt", function="home.adopt"),
        "tenant delete NAME": Command("home.delete", function="home.delete"),
        "tenant key [FILE]": Command("home.new_key", function="home.key"),
        "migrate": Command("home.migrate", function="home.migrate"),
        "copy SOURCE TARGET": Command(
            "home.copy",
            function="home.copy",
            skip=("tenant",),
            options={"to_tenant": Option("--as", metavar="NAME")},
            phases=("copying",),
        ),
        "export FILE": Command("admin.export", function="records.export"),
        "backup FOLDER": Command("admin.backup", function="records.backup"),
        "reembed": Command("admin.reembed", function="records.reembed", phases=("embedding",)),
        "sweep": Command("admin.sweep", options={"limit": _COUNT}, view="answers.draw_swept"),
    },
}

# the help of groups that are not commands themselves
GROUPS = {
    "hooks": "Memory in coding agents: what is installed, what was given; on, off, what is wrong.",
    "jobs": "Work for later: list it, add to it, retry or remove it.",
    "keys": "Make, list and revoke API keys: who may call a server, and what they may do.",
    "schedule": "Do things at set times: add and list them, and run the worker that does them.",
    "schema": "Change a schema that is registered.",
    "tenant": "List, create, adopt and delete tenants; make a key for them.",
}
