"""Language models: one way to call them, whichever they are.

llm = LLM(model, kv=store.kv)
with llm.run("run-7", Budget(tokens=100_000), keep=True) as calls:
    text = calls.ask("synthesis", {"new_info": chunk, "existing_knowledge": neighbours})
"""

from __future__ import annotations

from .budget import Budget
from .client import LLM, Call
from .contract import Closing, Image, Model, Priced, Reply, Request, Turn
from .ledger import Usage, UsageLine, UsageReport
from .prompts import Quote, tasks
from .routing import open_llm, open_model

__all__ = [
    "LLM",
    "Budget",
    "Call",
    "Closing",
    "Image",
    "Model",
    "Priced",
    "Quote",
    "Reply",
    "Request",
    "Turn",
    "Usage",
    "UsageLine",
    "UsageReport",
    "open_llm",
    "open_model",
    "tasks",
]
