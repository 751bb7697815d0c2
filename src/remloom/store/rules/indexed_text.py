"""What of a record is searched and embedded."""

from __future__ import annotations

from ...model import Entity, Moment, Record, Resource


def searchable_text(record: Record) -> str:
    """Return what text search indexes: `embedded_text`, and behind it, if there is any, the context
    of a resource."""
    text = embedded_text(record)
    if text and isinstance(record, Resource) and record.context:
        return f"{text}\n{record.context}"
    return text


def origin(record: Record) -> tuple[object, ...]:
    """Return what kind of text a resource has, and who says it: a text that is taken for another is
    another, and gets a number of its own."""
    if isinstance(record, Resource):
        return record.category, record.metadata.get("speaker")
    return ()


def content_key(resource: Resource) -> tuple[object, ...]:
    """Return what a resource says, and who: what evidence that it gives rests on."""
    return resource.content, *origin(resource)


def embedded_text(record: Record) -> str:
    """Return what is embedded. Empty for what only its name says: FUZZY finds that."""
    if isinstance(record, Resource):
        return record.content
    if isinstance(record, Entity):
        return f"{record.name}: {record.summary}" if record.summary else ""
    if isinstance(record, Moment):
        tags = " ".join(record.topic_tags + record.emotion_tags + record.classifications)
        return "\n".join(part for part in (record.name, record.summary, tags) if part)
    searched = (_words(record.fields.get(name)) for name in record.searched)
    # a name that is only the handle says nothing in words
    name = record.name if record.name != record.handle else ""
    return "\n".join(part for part in (name, record.summary, *searched) if part)


def _words(value: object) -> str:
    """Return the words of a field, or of each that a list holds."""
    if isinstance(value, list):
        return " ".join(filter(None, map(_words, value)))
    return value if isinstance(value, str) else ""
