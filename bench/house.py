"""How easily the source is lived in, in figures: python -m bench.house [FOLDER].

They show a direction, and are no goal: where one of them would make the code worse, keep the better
code.
"""

from __future__ import annotations

import argparse
import ast
import io
import subprocess
import sys
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
COLUMNS = 100
COMPLEXITY = 12
PARAMETERS = 8
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

    def imports(self, known: set[str]) -> set[str]:
        """The modules of the source that it imports, at load or later; not for types alone."""
        found = set()
        for node in _run(self.tree):
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


def circles(modules: list[Module]) -> list[set[str]]:
    """Groups of modules that import each other, directly or not (Tarjan's components of two and
    more)."""
    known = {module.name for module in modules}
    graph = {module.name: module.imports(known) for module in modules}
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
    """Rows of the table of words that a newcomer has to learn."""
    page = (ROOT / "docs" / "concepts.md").read_text(encoding="utf-8")
    table = page.partition("\n## Words\n")[2]
    return sum(line.startswith("| ") for line in table.splitlines()) - 1  # without its head


def figures(folder: Path) -> dict[str, str]:
    """Each figure by what it counts."""
    modules = [Module(path, folder) for path in sorted(folder.rglob("*.py"))]
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
    rings = circles(modules)
    repeated = sum(len(at) > 2 for at in declared.values())
    long = sum(len(line) > COLUMNS for line in lines)
    return {
        "modules": f"{len(modules)}",
        "lines of source": f"{len(lines):,}",
        "lines of code": f"{code:,}",
        "tokens per line of code": f"{tokens / code:.1f}",
        "comments of their own line, per 100 lines of code": f"{100 * comments / code:.1f}",
        f"lines over {COLUMNS} columns": f"{long} ({100 * long / len(lines):.1f} %)",
        f"functions of a complexity over {COMPLEXITY}": f"{complex_functions(folder)}",
        f"private functions of more than {PARAMETERS} parameters": f"{many}",
        "circles of imports": f"{len(rings)} ({sum(map(len, rings))} modules)",
        "signatures of over three parameters declared more than twice": f"{repeated}",
        "methods that only pass on": f"{methods[True]}",
        "words of our own in docs/concepts.md": f"{glossary_words()}",
        "file names that occur more than once": (
            f"{sum(count > 1 for count in _names(modules).values())}"
        ),
    }


def _names(modules: list[Module]) -> Counter[str]:
    return Counter(module.path.name for module in modules if module.path.name != "__init__.py")


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def main() -> None:
    parser = argparse.ArgumentParser(description="Count how easily the source is lived in.")
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT / "src" / "remloom")
    chosen = parser.parse_args()
    found = figures(chosen.folder)
    width = max(map(len, found))
    for what, figure in found.items():
        print(f"{what:{width}}  {figure}")


if __name__ == "__main__":
    main()
