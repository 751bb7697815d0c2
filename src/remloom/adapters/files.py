"""Text files in folders, as resources of a memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from posixpath import dirname

from msgspec.structs import replace

from ..errors import ChangedError, NotFoundError
from ..memory import Memory
from ..model import Resource
from ..predicates import Query, StartsWith
from . import record_id

__all__ = ["Files"]

_KIND = "memory"
_FILE, _FOLDER = "memory-file", "memory-folder"  # categories


class Files:
    """Files by their absolute paths, `/` between names, below one root, which is always there.

    A file is a resource with its text, exactly, as content. A folder is one too, without content,
    and is there as well when a file is in it. Several processes may write at once: the one that
    is too late gets the error of a file system.

    Args:
        scheme: of the uris: `<scheme>:/memories/notes.md`.
        root: the path of the root, "/memories".
    """

    def __init__(self, memory: Memory, scheme: str, root: str) -> None:
        self._memory = memory
        self._scheme = scheme
        self.root = root

    def get(self, path: str) -> Resource | None:
        try:
            return self._memory.get_resource(self._id(path))
        except NotFoundError:
            return None

    def is_folder(self, path: str) -> bool:
        return path == self.root or bool(self._below(path, 1))

    def below(self, path: str) -> dict[str, Resource]:
        """Get what is below a folder, at any depth, by path; the path of a folder ends with /."""
        found = {resource.name: resource for resource in self._below(path)}
        for inner in list(found):
            above = dirname(inner.rstrip("/"))
            while len(above) > len(path):
                # some folders are there only by the files in them
                found.setdefault(f"{above}/", self._new(f"{above}/", ""))
                above = dirname(above)
        found.pop(f"{path}/", None)
        return found

    def create(self, path: str, text: str) -> None:
        """Write a new file, and the folders above it.

        Raises:
            FileExistsError: there is a file or folder at the path.
            NotADirectoryError: a file is where a folder is needed.
        """
        self._check_free(path)
        while not self._write([self._new(path, text)]):
            self._check_free(path)

    def change(self, file: Resource, text: str) -> None:
        """Give a file that was got another text.

        Raises:
            ChangedError: it was changed or removed meanwhile.
        """
        changed = replace(file, content=text)
        self._memory.write([changed], expected={file.id: file.revision})

    def remove(self, path: str) -> None:
        """Forget a file, or a folder with all that is in it.

        Raises:
            FileNotFoundError: there is none.
        """
        file = self.get(path)
        gone = [file] if file else self._below(path)
        self._forget(path, gone)

    def move(self, path: str, to: str) -> None:
        """Move a file, or a folder with all that is in it, and make the folders above.

        It is written at the new path before it is forgotten at the old one: a process that is
        killed in between leaves both.

        Raises:
            FileNotFoundError: there is none.
            FileExistsError: there is a file or folder where it is to go.
            NotADirectoryError: a file is where a folder is needed.
            ValueError: a folder cannot go into itself.
        """
        self._check_free(to)
        file = self.get(path)
        moved = [file] if file else self._below(path)
        if not moved:
            raise FileNotFoundError(path)
        if not file and to.startswith(f"{path}/"):
            raise ValueError(path)
        written = []
        for resource in moved:
            copy = self._new(to + resource.name[len(path) :], resource.content)
            written.append(replace(copy, created_at=resource.created_at))
        if not self._write(written, {old.id: old.revision for old in moved}):
            self.move(path, to)
            return
        self._forget(path, moved)

    def clear(self) -> None:
        if everything := self._below(self.root):
            self._forget(self.root, everything)

    def _below(self, path: str, limit: int | None = None) -> list[Resource]:
        """The resources of a folder, itself included, at any depth."""
        query = Query().filter(StartsWith("uri", f"{self._scheme}:{path}/")).order_by("uri")
        return self._memory.query_resources(query if limit is None else query.limit(limit))

    def _check_free(self, path: str) -> None:
        if self.get(path) or self.is_folder(path):
            raise FileExistsError(path)

    def _write(
        self, new: Sequence[Resource], expected: Mapping[str, int | None] | None = None
    ) -> bool:
        """Write files and folders, none of which is there, with the folders above them.

        Returns: false if somebody else wrote there meanwhile, and nothing was written.
        """
        absent = []
        above: set[str] = set()
        for resource in new:
            path = resource.name.rstrip("/")
            absent += [self._id(path), self._id(f"{path}/")]
            while (path := dirname(path)) != self.root:
                above.add(path)
        for path in above:
            if self.get(path):
                raise NotADirectoryError(path)
        absent += map(self._id, above)
        folders = [self._new(f"{path}/", "") for path in sorted(above)]
        records = {resource.id: resource for resource in (*folders, *new)}
        try:
            self._memory.write(
                records.values(), expected={**dict.fromkeys(absent), **(expected or {})}
            )
        except ChangedError:
            return False
        return True

    def _forget(self, path: str, gone: Sequence[Resource]) -> None:
        ids = [resource.id for resource in gone]
        try:
            forgotten = self._memory.forget(*ids, by="id").records if ids else 0
        except NotFoundError:
            # somebody else forgot some of them
            left = [id for id in ids if self._is_stored(id)]
            forgotten = self._memory.forget(*left, by="id").records if left else 0
        if not forgotten:
            raise FileNotFoundError(path)

    def _is_stored(self, id: str) -> bool:
        try:
            self._memory.get_resource(id)
        except NotFoundError:
            return False
        return True

    def _new(self, path: str, text: str) -> Resource:
        return Resource(
            id=self._id(path),
            name=path,
            content=text,
            category=_FOLDER if path.endswith("/") else _FILE,
            uri=f"{self._scheme}:{path}",
            kind=_KIND,
        )

    def _id(self, path: str) -> str:
        return record_id(self._scheme, path)
