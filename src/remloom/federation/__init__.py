"""Federation: asking the memories of other tenants, as far as they permit it.

The stores stay sealed: each is opened as it is, asked through a view that has only what was granted
(`granted.py`), and what they answer is merged above them.
"""

from .answer import FederatedAnswer, FederatedHit, ReceivedGrant
from .federation import Federation

__all__ = ["FederatedAnswer", "FederatedHit", "Federation", "ReceivedGrant"]
