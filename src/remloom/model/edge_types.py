"""Edge types that Remloom makes itself, each with its weight. Any other type is somebody's own.

The weights follow seed 5's guidelines: 1.0 owns or authored, 0.8 depends on, 0.5 references, 0.3
mentions.
"""

from __future__ import annotations

from msgspec import Struct


class EdgeType(Struct, frozen=True):
    """A type of edges and what one of them weighs."""

    name: str
    weight: float  # 0..1


# Made by reading.
MENTIONS = EdgeType("mentions", 0.3)  # a text names somebody or something
NEXT = EdgeType("next", 1.0)  # a part of a text is followed by another
PART_OF = EdgeType("part_of", 1.0)  # a chunk is of a document, a turn of a chat
SPOKEN_BY = EdgeType("spoken_by", 1.0)  # a turn was said by somebody
AUTHORED_BY = EdgeType("authored_by", 1.0)  # a document was written by somebody
REFERENCES = EdgeType("references", 0.5)  # a document links to another

# Made for moments.
ATTENDED_BY = EdgeType("attended_by", 1.0)
INCLUDES = EdgeType("includes", 1.0)
ABOUT = EdgeType("about", 0.5)

# Between rows of several sources that are one thing: one each way. See `store.united`.
SAME_AS = EdgeType("same_as", 1.0)

# Those that reading makes: they are forgotten together with the text they were read from.
READ = frozenset(
    kind.name for kind in (AUTHORED_BY, MENTIONS, NEXT, PART_OF, REFERENCES, SPOKEN_BY)
)
# Those that only tell how texts hang together. Recall does not take their ends for related things;
# it does follow "authored_by" and "references", which relate two things by what they are.
STRUCTURAL = frozenset(kind.name for kind in (MENTIONS, NEXT, PART_OF, SPOKEN_BY))
# Those whose properties Remloom fills in. Dreaming gives the last four their weight edge by edge.
MADE = (
    READ
    | {kind.name for kind in (ABOUT, ATTENDED_BY, INCLUDES)}
    | {"entity", "related", "summarizes", "temporal_proximity"}
)
