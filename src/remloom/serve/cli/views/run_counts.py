"""What a run counted, in words."""

from __future__ import annotations

from collections.abc import Mapping

_UNHEARD = "unheard_"  # before the language of passages that are in one that is not heard


def counted(counts: Mapping[str, int]) -> str:
    """Write counts as a list: `2 passages, 1 call`; those of 0 are left out."""
    return ", ".join(
        f"{count:,} {words_of(name, count)}" for name, count in counts.items() if count
    )


def words_of(name: str, count: int) -> str:
    """Spell the name of a count, in the singular or plural."""
    if name.startswith(_UNHEARD):
        language = name.removeprefix(_UNHEARD)
        return f"{words_of('passages', count)} in {language}, which is not heard"
    plain = name.replace("_", " ")
    one, many = NOUNS.get(name, (plain, plain))
    return one if count == 1 else many


# names that are not what people would say; `pages/dreams.js` has the same
NOUNS = {
    "documents": ("document", "documents"),
    "sessions": ("session", "sessions"),
    "resources": ("resource", "resources"),
    "insights": ("insight", "insights"),
    "parts": ("part", "parts"),
    "told": ("moment told", "moments told"),
    "related": ("edge by likeness", "edges by likeness"),
    "entity": ("edge by names", "edges by names"),
    "passages": ("passage", "passages"),
    "calls": ("call", "calls"),
    "nothing": ("time nothing new", "times nothing new"),
    "synthesis": ("synthesis", "syntheses"),
    "entity_insight": ("insight", "insights"),
    "rem_dream": ("dream", "dreams"),
    "records": ("record", "records"),
    "edges": ("edge", "edges"),
    "removed": ("record removed", "records removed"),
    "unlinked": ("edge removed", "edges removed"),
    "kept": ("kept as it was changed since", "kept as they were changed since"),
    "merged": ("edge merged", "edges merged"),
    "updated": ("record changed", "records changed"),
    "superseded": ("record replaced", "records replaced"),
    "unchanged": ("there already", "there already"),
    "clusters": ("cluster", "clusters"),
    "summaries": ("summary", "summaries"),
    "duplicates": ("that says what an older one says", "that say what older ones say"),
    "ambiguous": ("whose name others bear too", "whose names others bear too"),
    "waiting": ("that still waits", "that still wait"),
    "answers": ("answer", "answers"),
    "parked": ("left for another time", "left for another time"),
    "forgotten": ("forgotten meanwhile", "forgotten meanwhile"),
    "deleted_before": (
        "left out, as it was forgotten before",
        "left out, as they were forgotten before",
    ),
    "asked": ("passage shown to the model", "passages shown to the model"),
    "evidence": ("piece of evidence", "pieces of evidence"),
    "staged": ("claim staged", "claims staged"),
    "normalised": ("claim normalised", "claims normalised"),
    "extras": ("of them an extra", "of them extras"),
    "secrets": ("secret masked", "secrets masked"),
    "refused": ("claim that only the user may make", "claims that only the user may make"),
    "fabricated": ("claim of words that nobody said", "claims of words that nobody said"),
    "unusable": ("claim that says nothing", "claims that say nothing"),
    "unknown_slot": ("claim for a slot that there is not", "claims for slots that there are not"),
    "invalid": (
        "claim of a value that its slot cannot have",
        "claims of values that their slots cannot have",
    ),
}
