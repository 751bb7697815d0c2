"""Where a wish holds: "for work mails" is a domain, "in project Apollo" a project."""

from __future__ import annotations

import re
from collections.abc import Iterator

__all__ = ["find_scope", "is_of_unnamed_project", "skip_scope"]

_BEHAVIOUR = (
    "anti_preferences.",
    "coding_contracts.",
    "communication_style.",
    "developer_posture.",
    "output_contract.",
    "runtime_environments.",
    "service_access.",
    "tooling_defaults.",
)
_CODE = r"(?:code|coding|programming|scripts|pull requests|code reviews?)"
_TEXTS = r"(?:e-?mails?|mails|letters|essays|reports|blog posts|documents|docs|articles)"
_KINDS = r"(?:(?:my|work|business|formal|official|all)\s+)*"
_DOMAINS = {
    "coding": (
        rf"(?:for|in|when (?:you )?writ(?:e|ing)) {_KINDS}{_CODE}|when (?:I’m |you’re )?coding"
    ),
    "debugging": r"(?:when|while|for) (?:you |I’m |you’re )?debug(?:ging)?",
    "writing": rf"(?:for|in|when (?:you )?(?:writ(?:e|ing)|draft(?:ing)?)) {_KINDS}{_TEXTS}",
    "research": r"(?:for|in|when doing) (?:my )?(?:research|literature reviews?)",
    "planning": r"(?:for|when) (?:trip |travel )?planning",
    "teaching": r"(?:for|in|when) (?:my )?(?:teaching|lessons|classes|lectures)",
}
_SCOPES = [
    (re.compile(rf"\b(?:{words})\b", re.IGNORECASE), f"domain:{domain}")
    for domain, words in _DOMAINS.items()
]
_FIRST = re.compile(rf"(?:{'|'.join(_DOMAINS.values())}),?\s+", re.IGNORECASE)
_PROJECT = re.compile(
    r"\b(?:[Ii]n|[Ff]or|[Oo]n) (?:(?:the )?project (?P<behind>[A-Z][\w-]+)"
    r"|the (?P<before>[A-Z][\w-]+) project)\b"
)
_UNNAMED = re.compile(
    r"\b(?:in|for|on) (?:this|the current|our) (?:project|repo|repository|codebase|chat)\b",
    re.IGNORECASE,
)


def find_scope(sentence: str, key: str) -> str:
    """The scope that a sentence gives to a claim of this key; empty is everywhere.

    Who somebody is holds everywhere, whatever their sentence is about.

    >>> find_scope("For work emails I prefer a formal tone", "output_contract.tone_constraints")
    'domain:writing'
    """
    if not key.startswith(_BEHAVIOUR):
        return ""
    return next(_scopes(sentence), "")


def skip_scope(clause: str) -> int:
    """Where a clause goes on behind the scope that it begins with; 0 if it begins with none."""
    first = _FIRST.match(clause)
    return first.end() if first else 0


def _scopes(sentence: str) -> Iterator[str]:
    for project in _PROJECT.finditer(sentence):
        yield f"project:{(project['behind'] or project['before']).casefold()}"
    for words, scope in _SCOPES:
        if words.search(sentence):
            yield scope


def is_of_unnamed_project(sentence: str) -> bool:
    """Whether it is about a project that only its place tells: "in this repo"."""
    return bool(_UNNAMED.search(sentence))
