"""What an event is answered with, out of the memory of its project."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock, Thread

from msgspec.structs import replace

from ..memory import Memory
from ..settings import Settings
from . import brief, prompt, switch
from .events import Event
from .given import AgentContext
from .injections import Injected, Injections
from .project import Project, find_project

_KNOWN = 30.0  # seconds that what a folder belongs to is not asked again


class Answers:
    """The memories of a home, by project, open as long as the process."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._settings = Settings.load(home=str(folder.parent))
        self._injections = Injections(folder)
        self._memories: dict[str, Memory] = {}
        self._briefs: dict[str, AgentContext] = {}
        self._projects: dict[str, tuple[float, Project]] = {}
        self._lock = Lock()

    @property
    def encrypted(self) -> bool:
        """Whether nothing of a memory may stand in a file beside it."""
        return bool(self._settings.key)

    def close(self) -> None:
        with self._lock:
            for memory in self._memories.values():
                memory.close()
            self._memories.clear()

    def given(self, event: Event) -> AgentContext:
        """What the agent is given for an event."""
        if event.kind not in ("start", "prompt"):
            return AgentContext()
        begun = time.perf_counter()
        project = self._project(event.folder)
        if self._is_off(project, event):
            return AgentContext(why="hooks are off")
        memory = self._memory(project)
        if event.kind == "start":
            given = self._brief(memory, project)
        else:
            given = prompt.of(memory, event.prompt, self._injections.given(event.session))
        return replace(given, milliseconds=round((time.perf_counter() - begun) * 1000, 1))

    def log(self, event: Event, given: AgentContext) -> None:
        """Note that the agent was given it."""
        if event.kind in ("start", "prompt"):
            injection = Injected(
                at=datetime.now(UTC),
                client=event.client,
                kind=event.kind,
                session=event.session,
                tenant=self._project(event.folder).tenant,
                ids=given.ids,
                why=given.why,
                tokens=given.tokens,
                milliseconds=given.milliseconds,
            )
            self._injections.add(injection)

    def read(self, event: Event) -> None:
        """Read the transcript of a session into its project's memory."""
        project = self._project(event.folder)
        if self._is_off(project, event):
            return
        memory = self._memory(project)
        memory.read(event.transcript)
        self._briefs[project.tenant] = brief.make(memory, project)

    def still_holds(self, event: Event, given: AgentContext) -> bool:
        """Whether what a session began with is there as it was."""
        return brief.still_holds(self._memory(self._project(event.folder)), given)

    def _brief(self, memory: Memory, project: Project) -> AgentContext:
        made = self._briefs.get(project.tenant)
        if made is None or not brief.still_holds(memory, made):
            made = self._briefs[project.tenant] = brief.make(memory, project)
        return made

    def _is_off(self, project: Project, event: Event) -> bool:
        return switch.load(self._folder).is_off(project.tenant, event.session)

    def _project(self, folder: str) -> Project:
        now = time.monotonic()
        at, project = self._projects.get(folder, (0.0, None))
        if project is None or now - at > _KNOWN:
            project = find_project(folder, self._settings.hooks_projects)
            self._projects[folder] = (now, project)
        return project

    def _memory(self, project: Project) -> Memory:
        with self._lock:
            memory = self._memories.get(project.tenant)
            if memory is None:
                memory = Memory.open(str(self._folder.parent), tenant=project.tenant)
                self._memories[project.tenant] = memory
                # the models are loaded before the first prompt comes
                Thread(target=memory.recall, args=("what was decided",), daemon=True).start()
            return memory
