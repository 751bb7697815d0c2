"""What happens in a coding agent, whichever program it is."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

Kind = Literal["start", "prompt", "failure", "stop", "compact", "end"]


class Event(Struct, frozen=True, kw_only=True):
    """One call of a hook."""

    client: str  # claude-code | codex | gemini | opencode | cursor | copilot
    kind: Kind
    session: str
    folder: str  # in which the agent works
    transcript: str = ""  # path of the session's transcript, if the program says it
    prompt: str = ""
    source: str = ""  # of a start: startup | resume | clear | compact
