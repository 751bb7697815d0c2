"""Values that Remloom remembers and answers with: frozen, and built with keyword arguments.

Sources: DESIGN section 2; seed design 2 "Memory types"; seed design 5 "Data models" and "InlineEdge
structure". Times are timezone-aware; a naive one is refused when it is written. The values of which
there are many are kept from the garbage collector (`gc=False`): they form no cycles, and its rounds
cost a fifth of a bulk write.
"""

from .answers import Answer, Hit, Stage
from .edges import SHARES, Direction, Edge, Order
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
    Speaker,
    cited,
    record_dict,
)
from .reports import Copied, ReadItem, ReadReport, Receipt, TenantInfo

__all__ = [
    "EXTRACTED",
    "SESSION_GAP",
    "SHARES",
    "Answer",
    "Copied",
    "Direction",
    "Edge",
    "Entity",
    "Hit",
    "Message",
    "Moment",
    "Order",
    "Person",
    "ReadItem",
    "ReadReport",
    "Reason",
    "Recall",
    "RecallHit",
    "Receipt",
    "Record",
    "Resource",
    "Speaker",
    "Stage",
    "TenantInfo",
    "cited",
    "record_dict",
]
