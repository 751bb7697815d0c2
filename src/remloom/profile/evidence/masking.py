"""Secrets in what a profile is made of: no model sees them, and no evidence keeps them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from ...text.secrets import Masked, mask, mask_with_origins
from .claim import Claim, Value
from .evidence import Evidence
from .passages import Passage

_MASK = re.compile(r"\[secret: [^\]]*\]")
_WORD = re.compile(r"\w")


class MaskedPassages(Struct, frozen=True):
    """Passages whose secrets are masked.

    Args:
        passages: to be looked at.
        count: of secrets in them.
        texts: their texts by the ids of the records.
    """

    passages: tuple[Passage, ...]
    count: int
    texts: Mapping[str, Masked]

    def as_stored(self, claim: Claim, record_id: str) -> Claim:
        """The claim with the place of its quote in the passage as it is stored, secrets and all.

        A mask that the quote breaks off in is shown whole.
        """
        masked = self.texts[record_id]
        start, end = claim.span
        if masked.text[start:end] != claim.quote or not claim.quote:
            start = max(masked.text.find(claim.quote), 0)
            end = start + len(claim.quote)
        for found in _MASK.finditer(masked.text) if masked.secrets else ():
            if found.start() < end < found.end():
                end = found.end()
        span = masked.original_span(start, end)
        return replace(claim, quote=masked.text[start:end] or claim.quote, span=span)


def mask_passages(passages: Sequence[Passage]) -> MaskedPassages:
    """Mask the secrets in passages."""
    masked = {passage.record.id: mask_with_origins(passage.record.content) for passage in passages}
    shown = tuple(_with_text(passage, masked[passage.record.id]) for passage in passages)
    return MaskedPassages(shown, sum(one.secrets for one in masked.values()), masked)


def mask_evidence(evidence: Evidence) -> tuple[Evidence, int]:
    """Evidence with its words masked, and how many secrets were in them."""
    count = 0
    changes: dict[str, Value] = {}
    for name in ("key", "value", "quote", "note"):
        value = getattr(evidence, name)
        masked, secrets = mask(value) if isinstance(value, str) else (value, 0)
        if secrets:
            count += secrets
            changes[name] = masked
    return (replace(evidence, **changes) if changes else evidence), count


def is_only_secret(value: Value) -> bool:
    """Whether nothing is left of a masked value but masks."""
    if not isinstance(value, str) or _MASK.search(value) is None:
        return False
    return _WORD.search(_MASK.sub("", value)) is None


def _with_text(passage: Passage, masked: Masked) -> Passage:
    if not masked.secrets:
        return passage
    return replace(passage, record=replace(passage.record, content=masked.text))
