"""The memory tool of Claude, with its files in a memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from posixpath import basename, dirname, normpath
from typing import TYPE_CHECKING

from ..errors import ChangedError, InvalidInputError, MissingExtraError
from ..labels import storable
from ..memory import Memory
from ..model import Resource
from .files import Files

try:
    from anthropic.lib.tools import (
        BetaAbstractMemoryTool,
        BetaAsyncAbstractMemoryTool,
        ToolError,
    )
    from anyio.to_thread import run_sync
except ImportError as error:
    raise MissingExtraError("the memory tool of Claude", "anthropic") from error

if TYPE_CHECKING:
    from anthropic.types.beta import (
        BetaCacheControlEphemeralParam,
        BetaMemoryTool20250818CreateCommand,
        BetaMemoryTool20250818DeleteCommand,
        BetaMemoryTool20250818InsertCommand,
        BetaMemoryTool20250818RenameCommand,
        BetaMemoryTool20250818StrReplaceCommand,
        BetaMemoryTool20250818ViewCommand,
    )

__all__ = ["AsyncRemloomMemoryTool", "RemloomMemoryTool"]


ROOT = "/memories"
_MOST_LINES = 999_999
_MOST_BYTES = 255  # of a name
_FOLDER_BYTES = 4096  # what a folder is said to take, as most file systems do
_DEPTH = 2  # levels of folders that are listed
_AROUND = 2  # lines shown before and after one that changed


class RemloomMemoryTool(BetaAbstractMemoryTool):
    """The memory tool (`memory_20250818`) over a memory: each file is a resource of it.

    Its replies are those of the SDK's own tool for a folder, word for word. What Claude writes is
    found by `recall` as soon as it is written; what it deletes is forgotten. Commands that come at
    once, of several processes too, lose nothing.

    Args:
        memory: where the files go; it is not closed here.
        cache_control: of the tool, as the SDK has it.
    """

    def __init__(
        self, memory: Memory, *, cache_control: BetaCacheControlEphemeralParam | None = None
    ) -> None:
        super().__init__(cache_control=cache_control)
        self._files = Files(memory, "memory-tool", ROOT)

    def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        """Show a file with the numbers of its lines, or what is in a folder."""
        path = _resolve(command.path)
        file = self._files.get(path)
        if file:
            return _shown_file(command.path, file.content, command.view_range)
        if not self._files.is_folder(path):
            raise _missing(command.path)
        return _shown_folder(command.path, path, self._files.below(path))

    def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        """Write a new file."""
        path = _resolve(command.path)
        try:
            self._files.create(path, command.file_text)
        except FileExistsError as error:
            raise ToolError(f"File {command.path} already exists") from error
        except NotADirectoryError as error:
            raise _not_a_folder(error) from error
        except InvalidInputError as error:
            raise _not_storable(command.path, error) from error
        return f"File created successfully at: {command.path}"

    def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        """Replace a text that is in a file once."""
        position = 0

        def replace_once(text: str) -> str:
            nonlocal position
            position = _only_position(text, command.old_str, command.path)
            end = position + len(command.old_str)
            return text[:position] + command.new_str + text[end:]

        text = self._change(command.path, replace_once)
        changed = text.count("\n", 0, position)
        first = max(0, changed - _AROUND)
        shown = text.split("\n")[first : changed + _AROUND + 1]
        return (
            "The memory file has been edited. "
            "Here is the snippet showing the change (with line numbers):\n"
            + _numbered(shown, first + 1)
        )

    def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        """Insert lines behind a line of a file; behind line 0, at its beginning."""

        def insert_lines(text: str) -> str:
            lines = text.removesuffix("\n").split("\n") if text else []
            if not 0 <= command.insert_line <= len(lines):
                raise ToolError(
                    f"Invalid `insert_line` parameter: {command.insert_line}. "
                    f"It should be within the range [0, {len(lines)}]."
                )
            inserted = command.insert_text.rstrip("\n")
            lines.insert(command.insert_line, inserted)
            joined = "\n".join(lines)
            return joined if joined.endswith("\n") else joined + "\n"

        self._change(command.path, insert_lines)
        return f"The file {command.path} has been edited."

    def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        """Forget a file, or a folder with all that is in it."""
        path = _resolve(command.path)
        if path == ROOT:
            raise ToolError(f"Cannot delete the {ROOT} directory itself")
        try:
            self._files.remove(path)
        except FileNotFoundError as error:
            raise ToolError(f"The path {command.path} does not exist") from error
        return f"Successfully deleted {command.path}"

    def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        """Move a file or folder."""
        path, to = _resolve(command.old_path), _resolve(command.new_path)
        if path == ROOT:
            raise ToolError(f"Cannot rename the {ROOT} directory itself")
        try:
            self._files.move(path, to)
        except FileExistsError as error:
            raise ToolError(f"The destination {command.new_path} already exists") from error
        except FileNotFoundError as error:
            raise ToolError(f"The path {command.old_path} does not exist") from error
        except NotADirectoryError as error:
            raise _not_a_folder(error) from error
        except ValueError as error:
            raise ToolError(f"Cannot move {command.old_path} into itself") from error
        return f"Successfully renamed {command.old_path} to {command.new_path}"

    def clear_all_memory(self) -> str:
        """Forget all files and folders."""
        self._files.clear()
        return "All memory cleared"

    def _change(self, path: str, change: Callable[[str], str]) -> str:
        """Change the text of a file by what it is; give what it is now."""
        resolved = _resolve(path)
        while True:
            file = self._files.get(resolved)
            if file is None:
                if self._files.is_folder(resolved):
                    raise ToolError(f"The path {path} is not a file.")
                raise _missing(path)
            changed = change(file.content)
            try:
                self._files.change(file, changed)
            except ChangedError:
                # somebody else was quicker: look at what they wrote
                continue
            except InvalidInputError as error:
                raise _not_storable(path, error) from error
            return changed


class AsyncRemloomMemoryTool(BetaAsyncAbstractMemoryTool):
    """`RemloomMemoryTool` for the asynchronous client: each command runs in a thread."""

    def __init__(
        self, memory: Memory, *, cache_control: BetaCacheControlEphemeralParam | None = None
    ) -> None:
        super().__init__(cache_control=cache_control)
        self._tool = RemloomMemoryTool(memory)

    async def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        return await run_sync(self._tool.view, command)

    async def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        return await run_sync(self._tool.create, command)

    async def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        return await run_sync(self._tool.str_replace, command)

    async def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        return await run_sync(self._tool.insert, command)

    async def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        return await run_sync(self._tool.delete, command)

    async def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        return await run_sync(self._tool.rename, command)

    async def clear_all_memory(self) -> str:
        return await run_sync(self._tool.clear_all_memory)


def _resolve(path: str) -> str:
    """The path without `.`, `..`, and slashes that say nothing."""
    if not path.startswith(ROOT):
        raise ToolError(f"Path must start with {ROOT}, got: {path}")
    inner = path.removeprefix(ROOT).lstrip("/")
    resolved = normpath(f"{ROOT}/{inner}")
    if resolved != ROOT and not resolved.startswith(f"{ROOT}/"):
        raise ToolError(f"Path {path} would escape {ROOT} directory")
    if any(len(name.encode(errors="replace")) > _MOST_BYTES for name in resolved.split("/")):
        raise ToolError(f"Path {path[:100]}… has a name of more than {_MOST_BYTES} bytes")
    if not storable(resolved):
        raise ToolError(f"Path {path!r} has characters that no file name can have")
    return resolved


def _only_position(text: str, target: str, path: str) -> int:
    places = []
    position = text.find(target)
    while position >= 0:
        places.append(position)
        position = text.find(target, position + 1)
    count = text.count(target)
    if count == 0:
        raise ToolError(
            f"No replacement was performed, old_str `{target}` did not appear verbatim in {path}."
        )
    if count > 1:
        lines = ", ".join(str(text.count("\n", 0, position) + 1) for position in places)
        raise ToolError(
            f"No replacement was performed. Multiple occurrences of old_str `{target}` in lines: "
            f"{lines}. Please ensure it is unique"
        )
    return places[0]


def _shown_file(path: str, text: str, view_range: Sequence[int] | None) -> str:
    lines = text.split("\n")
    if len(lines) > _MOST_LINES:
        raise ToolError(f"File {path} exceeds maximum line limit of {_MOST_LINES:,} lines.")
    first, last = 0, len(lines)
    if view_range and len(view_range) == 2:
        first = max(1, view_range[0]) - 1
        last = last if view_range[1] == -1 else view_range[1]
    shown = _numbered(lines[first:last], first + 1)
    return f"Here's the content of {path} with line numbers:\n{shown}"


def _numbered(lines: Sequence[str], first: int) -> str:
    width = len(str(_MOST_LINES))
    return "\n".join(f"{number:>{width}}\t{line}" for number, line in enumerate(lines, first))


def _shown_folder(shown: str, path: str, below: Mapping[str, Resource]) -> str:
    inside: dict[str, list[str]] = {}
    for inner in sorted(below, key=lambda inner: inner.rstrip("/")):
        inside.setdefault(dirname(inner.rstrip("/")), []).append(inner)
    lines = [
        f"Here're the files and directories up to {_DEPTH} levels deep in {shown}, "
        "excluding hidden items:",
        f"{_size(_FOLDER_BYTES)}\t{shown}",
    ]

    def list_folder(folder: str, depth: int) -> None:
        for inner in inside.get(folder, ()):
            if basename(inner.rstrip("/")).startswith("."):
                continue
            is_folder = inner.endswith("/")
            count = _FOLDER_BYTES if is_folder else len(below[inner].content.encode())
            lines.append(f"{_size(count)}\t{shown}{inner.removeprefix(path)}")
            if is_folder and depth < _DEPTH:
                list_folder(inner.rstrip("/"), depth + 1)

    list_folder(path, 1)
    return "\n".join(lines)


def _size(count: int) -> str:
    """A number of bytes, short: 512B, 1.5K."""
    unit = min(max(count.bit_length() - 1, 0) // 10, 3)
    amount = count / 1024**unit
    return f"{int(amount) if amount == int(amount) else f'{amount:.1f}'}{'BKMG'[unit]}"


def _missing(path: str) -> ToolError:
    return ToolError(f"The path {path} does not exist. Please provide a valid path.")


def _not_storable(path: str, error: InvalidInputError) -> ToolError:
    return ToolError(f"{path} was not written: {error.message}")


def _not_a_folder(error: NotADirectoryError) -> ToolError:
    return ToolError(f"{error} is a file, not a directory")
