"""Subjects: the people of whom something is known. The user is one, by any of their names."""

from __future__ import annotations

import unicodedata

from ...errors import InvalidInputError
from ...model.roles import ASSISTANT, NOBODY, role_of
from ...settings import Settings
from .evidence import ME, value_key

_LONGEST = 200  # characters of a name
# what nobody sees, or what changes how the text around it is seen; scripts need their joiners
_UNSEEN = frozenset(("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"))
_JOINERS = "\u200c\u200d"

# what programs call the user in chats
_USER = frozenset(("user", "human", "me", "myself", "you", "customer", "prompt"))


def check_name(name: str) -> str:
    """Return a person's name in its one form: compatible characters are one, controls are left out,
    and so is a colon at the end. Empty for nothing but blanks.

    Raises:
        InvalidInputError: it has more than 200 characters, or none that anybody can see.

    >>> check_name("Ａnna  Lee: "), check_name("Bob\\u202e")
    ('Anna Lee', 'Bob')
    """
    text = _clean(name)
    if len(name) > _LONGEST or (name.strip() and not text):
        raise InvalidInputError(
            f"{name[:80]!r} is not the name of a person",
            remedy=f"a name has up to {_LONGEST} characters, and some that can be seen",
        )
    return text


def resolve(name: str, settings: Settings) -> str:
    """The subject that a name stands for: the user for an empty one, and for each of theirs.

    Raises:
        InvalidInputError: see `check_name`.
    """
    text = check_name(name)
    own = (settings.profile_subject, *settings.profile_names.split(","))
    names = _USER.union(value_key(_clean(one)) for one in own)
    return ME if not text or value_key(text) in names else text


def subject_of_speaker(speaker: str, settings: Settings) -> str:
    """Of whom the words of a speaker tell; empty for a program's, and for what is not a name."""
    if role_of(value_key(_clean(speaker))) in (ASSISTANT, NOBODY):
        return ""
    try:
        return resolve(speaker, settings)
    except InvalidInputError:
        return ""


def _clean(name: str) -> str:
    # what is beyond a name's length is refused, and costs nothing
    text = unicodedata.normalize("NFKC", name[: _LONGEST + 1])
    seen = [char for char in text if char.isspace() or char in _JOINERS or not _is_unseen(char)]
    return " ".join("".join(seen).split()).rstrip(": ")


def _is_unseen(char: str) -> bool:
    return unicodedata.category(char) in _UNSEEN
