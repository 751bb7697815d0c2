"""What coding agents' programs add to a user's words, and what is left without it."""

from __future__ import annotations

import re

from ...text.private import without_private
from ...text.secrets import mask

_TAGS = (
    # Claude Code
    "system-reminder", "command-name", "command-message", "command-args", "command-contents",
    "local-command-stdout", "local-command-stderr", "local-command-caveat", "bash-input",
    "bash-stdout", "bash-stderr", "task-notification", "ide_opened_file", "ide_selection",
    "ide_diagnostics", "user-prompt-submit-hook", "session-start-hook",
    # Codex
    "environment_context", "user_instructions", "permissions instructions", "turn_aborted",
    "user_shell_command", "skill", "skills_instructions", "subagent_notification",
    "collaboration_mode",
    # Gemini CLI
    "hook_context", "session_context", "state_snapshot", "untrusted_context",
    # Copilot CLI
    "current_datetime", "reminder", "system_notification", "tagged_files",
    # Cursor
    "additional_data", "attached_files", "open_and_recently_viewed_files", "user_info", "rules",
    "git_status", "project_layout", "system_reminder", "agent_transcripts", "agent_skills",
    "timestamp", "external_links", "cursor_commands", "always_applied_workspace_rules",
)  # fmt: skip
_OPENING = re.compile(rf"<(?P<name>{'|'.join(map(re.escape, _TAGS))})(?:\s[^<>]*)?>")
# around what the user typed
_WRAPPERS = re.compile(r"</?(?:user-memory-input|user_query)>")
_QUERY = re.compile(r"<user_query>(.*?)(?:</user_query>|\Z)", re.DOTALL)
# lines around the files that a prompt of Gemini CLI refers to
_FILES = re.compile(
    r"\n?--- Content from referenced files ---.*?(?:--- End of content ---|\Z)", re.DOTALL
)
_BEGINNINGS = ("[Request interrupted by user", "# AGENTS.md instructions")
_TITLE = 80  # characters of the first prompt that name a session


def typed(text: str) -> str:
    """What the user typed of a text; empty: nothing.

    >>> typed("Two berths.<system-reminder>Be brief.</system-reminder>")
    'Two berths.'
    """
    queries = _QUERY.findall(text)
    if queries:
        text = "\n".join(queries)
    parts: list[str] = []
    end = 0
    unclosed: set[str] = set()
    for opening in _OPENING.finditer(text):
        name = opening["name"]
        if opening.start() < end or name in unclosed:
            continue
        closing = text.find(f"</{name}>", opening.end())
        if closing < 0:
            unclosed.add(name)
            continue
        parts.append(text[end : opening.start()])
        end = closing + len(name) + 3
    text = _FILES.sub("", "".join([*parts, text[end:]]))
    text = without_private(_WRAPPERS.sub("", text)).text.strip()
    return "" if text.startswith(_BEGINNINGS) else text


def title_of(prompt: str) -> str:
    """A title for a session that begins with a prompt, without secrets that it may cut through."""
    words = mask(without_private(prompt).text)[0].split()
    title = " ".join(words)
    if len(title) <= _TITLE:
        return title
    return title[: _TITLE + 1].rpartition(" ")[0] or title[:_TITLE]
