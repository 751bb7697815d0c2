"""`Memory`, `Home` and their nouns for asyncio, derived. Type checkers read `nouns.pyi`, which
`make stubs` writes.
"""

from __future__ import annotations

from ..dream.service import Dreams
from ..jobs.service import Jobs
from ..memory.admin import Admin
from ..memory.home import Home
from ..memory.memory import Memory
from ..profile.service import Profiles
from ..reader.reader import Reader
from ..runs.service import Runs
from ..schema.service import Schemas
from .threads import InThreads, asynchronous

AsyncRuns = asynchronous("AsyncRuns", Runs)
AsyncJobs = asynchronous("AsyncJobs", Jobs)
AsyncDreams = asynchronous("AsyncDreams", Dreams)
AsyncProfiles = asynchronous("AsyncProfiles", Profiles)
AsyncSchemas = asynchronous("AsyncSchemas", Schemas)
AsyncAdmin = asynchronous("AsyncAdmin", Admin)
AsyncReader = asynchronous("AsyncReader", Reader)
# bases: what they do in threads is written by hand
HomeInThreads = asynchronous("HomeInThreads", Home, InThreads)
MemoryInThreads = asynchronous("MemoryInThreads", Memory, InThreads)
