"""`Memory` and its nouns over a connection, derived. Type checkers read `nouns.pyi`, which
`make stubs` writes.
"""

from __future__ import annotations

from ..dream.service import Dreams
from ..jobs.service import Jobs
from ..memory.admin import Admin
from ..memory.memory import Memory
from ..profile.service import Profiles
from ..reader.reader import Reader
from ..runs.service import Runs
from ..schema.service import Schemas
from .methods import over_a_connection

ClientRuns, AsyncClientRuns = over_a_connection("ClientRuns", Runs, "runs")
ClientJobs, AsyncClientJobs = over_a_connection("ClientJobs", Jobs, "jobs")
ClientDreams, AsyncClientDreams = over_a_connection("ClientDreams", Dreams, "dreams")
ClientProfiles, AsyncClientProfiles = over_a_connection("ClientProfiles", Profiles, "profile")
ClientSchemas, AsyncClientSchemas = over_a_connection("ClientSchemas", Schemas, "schemas")
ClientAdmin, AsyncClientAdmin = over_a_connection("ClientAdmin", Admin, "admin")
# bases: how they begin and end is written by hand
ReaderMethods, AsyncReaderMethods = over_a_connection("ReaderMethods", Reader, "reader")
ClientMethods, AsyncClientMethods = over_a_connection("ClientMethods", Memory)
