"""How easily the source is lived in, in figures: python -m bench.house [FOLDER].

They show a direction, and are not a goal: where one of them would make the code worse, keep the
better code. `bench/house.toml` has a budget for what must not grow, and of lines for each wing:
`--check` names what is over it.
"""

from __future__ import annotations

import argparse
import ast
import io
import subprocess
import sys
import tokenize
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
BUDGET = Path(__file__).with_suffix(".toml")
COLUMNS = 100
COMPLEXITY = 12
PARAMETERS = 8
FILES = 20  # in one folder
SMALL = 60  # lines of a file that one importer could hold
_LAYOUT = (
    tokenize.NEWLINE,
    tokenize.NL,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.COMMENT,
    tokenize.ENDMARKER,
)


class Module:
    """One file of the source: its lines, its tokens and its tree."""

    def __init__(self, path: Path, root: Path) -> None:
        self.path = path
        parts = path.relative_to(root.parent).with_suffix("").parts
        self.package = parts[:-1]
        self.name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        self.text = path.read_text(encoding="utf-8")
        self.tree = ast.parse(self.text)
        self.tokens = list(tokenize.generate_tokens(io.StringIO(self.text).readline))

    @property
    def lines(self) -> list[str]:
        return self.text.splitlines()

    @property
    def docstring_lines(self) -> set[int]:
        """The lines that docstrings stand in."""
        found: set[int] = set()
        for node in ast.walk(self.tree):
            if (
                isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
                and node.body
            ):
                first = node.body[0]
                if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                    found.update(range(first.lineno, (first.end_lineno or first.lineno) + 1))
        return found

    @property
    def functions(self) -> Iterator[ast.FunctionDef]:
        return (node for node in ast.walk(self.tree) if isinstance(node, ast.FunctionDef))

    @property
    def classes(self) -> Iterator[str]:
        """Its public classes."""
        return (
            node.name
            for node in self.tree.body
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
        )

    def imports(self, known: set[str], *, types: bool = False) -> set[str]:
        """The modules of the source that it imports, at load or later.

        Args:
            known: the names of all modules.
            types: whether those count that it imports for types alone.
        """
        found = set()
        for node in ast.walk(self.tree) if types else _run(self.tree):
            if isinstance(node, ast.ImportFrom) and node.level:
                base = self.package[: len(self.package) - node.level + 1]
                target = ".".join([*base, *(node.module or "").split(".")]).rstrip(".")
                inner = {f"{target}.{alias.name}" for alias in node.names} & known
                found |= inner or ({target} & known)
        return found - {self.name}


def _run(node: ast.AST) -> Iterator[ast.AST]:
    """A node and all below it, without what stands under `if TYPE_CHECKING`."""
    yield node
    for child in ast.iter_child_nodes(node):
        if not (isinstance(child, ast.If) and getattr(child.test, "id", "") == "TYPE_CHECKING"):
            yield from _run(child)


def circles(graph: dict[str, set[str]]) -> list[set[str]]:
    """Groups of modules that import each other, directly or not (Tarjan's components of two and
    more).

    Args:
        graph: the modules that each module imports.
    """
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[set[str]] = []

    def visit(name: str) -> None:
        index[name] = low[name] = len(index)
        stack.append(name)
        for other in graph[name]:
            if other not in index:
                visit(other)
                low[name] = min(low[name], low[other])
            elif other in stack:
                low[name] = min(low[name], index[other])
        if low[name] == index[name]:
            group = set(stack[stack.index(name) :])
            del stack[stack.index(name) :]
            if len(group) > 1:
                found.append(group)

    for name in graph:
        if name not in index:
            visit(name)
    return found


def passes_on(function: ast.FunctionDef) -> bool:
    """Whether a method does nothing but call one of something that its object holds."""
    arguments = function.args
    body = [node for node in function.body if not _is_docstring(node)]
    if len(body) != 1 or not arguments.args or arguments.args[0].arg != "self":
        return False
    call = body[0].value if isinstance(body[0], ast.Return | ast.Expr) else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return False
    holder = call.func.value
    held = (
        isinstance(holder, ast.Attribute)
        and isinstance(holder.value, ast.Name)
        and holder.value.id == "self"
    )
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    return held and all(isinstance(value, ast.Name) for value in given)


def signature(function: ast.FunctionDef) -> tuple[str, ...]:
    """The names of its parameters, without the object."""
    arguments = function.args
    return tuple(
        item.arg
        for item in (*arguments.args, *arguments.kwonlyargs)
        if item.arg not in ("self", "cls")
    )


def complex_functions(folder: Path) -> int:
    """Functions of a higher cyclomatic complexity, as ruff counts it."""
    command = [
        sys.executable,
        "-m",
        "ruff",
        "check",
        "--isolated",
        "--quiet",
        "--select",
        "C901",
        "--output-format",
        "concise",
        "--config",
        f"lint.mccabe.max-complexity={COMPLEXITY}",
        str(folder),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.stderr or done.returncode not in (0, 1):  # 1: there are some
        raise SystemExit(f"ruff did not run: {done.stderr.strip()}")
    return len(done.stdout.splitlines())


def glossary_words() -> int:
    """Items of the list of words that a newcomer has to learn."""
    page = (ROOT / "docs" / "concepts.md").read_text(encoding="utf-8")
    words = page.partition("\n## Words\n")[2]
    return sum(line.startswith("- ") for line in words.splitlines())


def figures(modules: list[Module], folder: Path) -> dict[str, float]:
    """Each figure by what it counts."""
    lines = [line for module in modules for line in module.lines]
    tokens = code = comments = 0
    for module in modules:
        inside = module.docstring_lines
        kept = [
            token
            for token in module.tokens
            if token.type not in _LAYOUT and token.start[0] not in inside
        ]
        tokens += len(kept)
        code += len({token.start[0] for token in kept})
        comments += sum(line.lstrip().startswith("#") for line in module.lines)
    declared = defaultdict(set)
    methods: Counter[bool] = Counter()
    many = 0
    for module in modules:
        for function in module.functions:
            if len(found := signature(function)) > 3:
                declared[function.name, found].add(module.name)
            many += function.name.startswith("_") and len(found) > PARAMETERS
            methods[passes_on(function)] += 1
    known = {module.name for module in modules}
    at_run = {module.name: module.imports(known) for module in modules}
    for_types = {module.name: module.imports(known, types=True) for module in modules}
    importers = Counter(other for imported in for_types.values() for other in imported)
    folders = Counter(module.path.parent for module in modules if module.path.name != "__init__.py")
    return {
        "modules": len(modules),
        "lines of source": len(lines),
        "lines of code": code,
        "tokens per line of code": round(tokens / code, 1),
        "comments of their own line, per 100 lines of code": round(100 * comments / code, 1),
        f"lines over {COLUMNS} columns": sum(len(line) > COLUMNS for line in lines),
        f"functions of a complexity over {COMPLEXITY}": complex_functions(folder),
        f"private functions of more than {PARAMETERS} parameters": many,
        "circles of imports": len(circles(at_run)),
        "circles of imports, those for types too": len(circles(for_types)),
        "signatures of over three parameters declared more than twice": sum(
            len(at) > 2 for at in declared.values()
        ),
        "methods that only pass on": methods[True],
        "words of our own in docs/concepts.md": glossary_words(),
        "file names that occur more than once": _repeated(
            module.path.name for module in modules if module.path.name != "__init__.py"
        ),
        "names of public classes that occur more than once": _repeated(
            name for module in modules for name in module.classes
        ),
        f"folders of more than {FILES} files": sum(count > FILES for count in folders.values()),
        f"files under {SMALL} lines with one importer": sum(
            len(module.lines) < SMALL
            and importers[module.name] == 1
            and module.path.name != "__init__.py"
            for module in modules
        ),
    }


def wings(modules: list[Module], folder: Path) -> dict[str, int]:
    """Lines of each folder of the source; "" are the files beside them."""
    lines: Counter[str] = Counter()
    for module in modules:
        wing, *inner = module.path.relative_to(folder).parts
        lines[wing if inner else ""] += len(module.lines)
    return dict(lines.most_common())


def over_budget(found: dict[str, float], lines: dict[str, int]) -> Iterator[str]:
    """What is more than `house.toml` allows, in words."""
    budget = tomllib.loads(BUDGET.read_text(encoding="utf-8"))
    for what, most in budget["figures"].items():
        if found[what] > most:
            yield f"{what}: {found[what]:,}, at most {most:,}"
    for wing in lines.keys() | budget["lines"].keys():
        count, most = lines.get(wing, 0), budget["lines"].get(wing, 0)
        if count > most:
            yield f"lines of {wing or 'the files beside the wings'}: {count:,}, at most {most:,}"


def _repeated(names: Iterable[str]) -> int:
    return sum(count > 1 for count in Counter(names).values())


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def main() -> None:
    parser = argparse.ArgumentParser(description="Count how easily the source is lived in.")
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT / "src" / "remloom")
    parser.add_argument("--check", action="store_true", help="fail where a budget is exceeded")
    chosen = parser.parse_args()
    modules = [Module(path, chosen.folder) for path in sorted(chosen.folder.rglob("*.py"))]
    found, lines = figures(modules, chosen.folder), wings(modules, chosen.folder)
    if chosen.check:
        if over := sorted(over_budget(found, lines)):
            over = [*over, f"make it smaller, or say in {BUDGET.name} why it may be larger"]
            raise SystemExit("\n".join(over))
        return
    width = max(map(len, found))
    for what, figure in found.items():
        print(f"{what:{width}}  {figure:,}")
    print()
    for wing, count in lines.items():
        print(f"{wing or '(beside the wings)':{width}}  {count:,}")


if __name__ == "__main__":
    main()
