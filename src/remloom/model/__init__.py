"""Values that Remloom remembers and answers with: frozen, and built with keyword arguments.

Sources: DESIGN section 2; seed design 2 "Memory types"; seed design 5 "Data models" and "InlineEdge
structure". Times are timezone-aware; a naive one is refused when it is written. The values of which
there are many are kept from the garbage collector (`gc=False`): they form no cycles, and its rounds
cost a fifth of a bulk write.
"""

from .answers import Answer, Hit, LookupReport, SearchReport, SelectReport
from .definitions import KINDS, EdgeDefinition, Field, Kind, SchemaDefinition
from .edges import SHARES, SOURCE_FK, Direction, Edge, EdgeKey, Order
from .recall import Reason, Recall, RecallHit
from .records import (
    EXTRACTED,
    SESSION_GAP,
    Entity,
    Message,
    Moment,
    Person,
    Record,
    Resource,
    Row,
    Speaker,
    cited,
    is_written_after,
    label_of_record,
    record_dict,
    trust_of,
)
from .reports import (
    Copied,
    Exported,
    Imported,
    Migrated,
    ReadItem,
    ReadReport,
    Receipt,
    Registered,
    RowsMigrated,
    TenantInfo,
)
from .taxonomy import Taxonomy
from .traversal import (
    MAX_NODE_EDGES,
    Meaning,
    Node,
    ResolvedLabel,
    Stage,
    StageCounts,
    TargetKind,
    TraverseReport,
    TypeCount,
)

__all__ = [
    "EXTRACTED",
    "KINDS",
    "MAX_NODE_EDGES",
    "SESSION_GAP",
    "SHARES",
    "SOURCE_FK",
    "Answer",
    "Copied",
    "Direction",
    "Edge",
    "EdgeDefinition",
    "EdgeKey",
    "Entity",
    "Exported",
    "Field",
    "Hit",
    "Imported",
    "Kind",
    "LookupReport",
    "Meaning",
    "Message",
    "Migrated",
    "Moment",
    "Node",
    "Order",
    "Person",
    "ReadItem",
    "ReadReport",
    "Reason",
    "Recall",
    "RecallHit",
    "Receipt",
    "Record",
    "Registered",
    "ResolvedLabel",
    "Resource",
    "Row",
    "RowsMigrated",
    "SchemaDefinition",
    "SearchReport",
    "SelectReport",
    "Speaker",
    "Stage",
    "StageCounts",
    "TargetKind",
    "Taxonomy",
    "TenantInfo",
    "TraverseReport",
    "TypeCount",
    "cited",
    "is_written_after",
    "label_of_record",
    "record_dict",
    "trust_of",
]
