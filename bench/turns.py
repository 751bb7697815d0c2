"""Is this checkout slower than another commit? python -m bench.turns --help.

Two processes, one with the sources of each, do the same work in turns of some ten milliseconds, the
order changing, so that a busy machine slows both. What is compared is the CPU time of the calling
thread (on a server: wall time, for the work is not ours); a path counts as slower when both the
median of the paired turns and the fastest turns say so.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

ROOT = Path(__file__).parent.parent


class Side:
    """One of the two checkouts, at work."""

    def __init__(self, source: Path, home: str, tenant: str, size: int, *, own: bool) -> None:
        # The sources of one side, the benchmark of this checkout for both, unless names differ.
        bench = source if own else ROOT
        path = os.pathsep.join([str(source / "src"), str(bench)])
        self.process = subprocess.Popen(
            [sys.executable, "-m", "bench.hot", home, tenant, str(size)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=bench,
            env=os.environ | {"PYTHONPATH": path},
        )

    def ready(self) -> dict[str, int]:
        """The paths that it knows, with the calls of a turn."""
        line = self._line()
        if not line.startswith("ready\t"):
            raise SystemExit("a side could not fill its memory: see above")
        pairs = (part.rsplit("=", 1) for part in line.split("\t")[1].split(" | "))
        return {name: int(calls) for name, calls in pairs}

    def turn(self, path: str, calls: int) -> tuple[float, float] | str:
        """CPU and wall time of a call in microseconds, or why it failed."""
        assert self.process.stdin
        self.process.stdin.write(f"{path}\t{calls}\n")
        self.process.stdin.flush()
        line = self._line()
        if line.startswith("!") or not line:
            return line[2:] or "the process ended"
        cpu, wall = map(float, line.split())
        return cpu, wall

    def _line(self) -> str:
        assert self.process.stdout
        return self.process.stdout.readline().rstrip("\n")

    def end(self) -> None:
        if self.process.stdin:
            self.process.stdin.close()
        self.process.wait(60)


@contextmanager
def checkout(commit: str) -> Iterator[Path]:
    """A worktree of the commit, or the folder if it is one."""
    if Path(commit).is_dir():
        yield Path(commit).resolve()
        return
    folder = Path(tempfile.mkdtemp(prefix="remloom-turns-"))
    git = ["git", "-C", str(ROOT), "worktree"]
    subprocess.run([*git, "add", "--quiet", "--detach", str(folder / "tree"), commit], check=True)
    try:
        yield folder / "tree"
    finally:
        subprocess.run([*git, "remove", "--force", str(folder / "tree")], check=True)
        shutil.rmtree(folder)


class Compared:
    """The turns of one path, and what they say."""

    def __init__(self, path: str, calls: int, sides: tuple[Side, Side], *, server: bool) -> None:
        self._path, self._calls, self._sides = path, calls, sides
        self._judged = 1 if server else 0
        self._spent: tuple[list[tuple[float, float]], ...] = ([], [])
        self.failed = ""

    def run(self, rounds: int) -> None:
        for number in range(rounds):
            for place in (0, 1) if number % 2 else (1, 0):
                spent = self._sides[place].turn(self._path, self._calls)
                if isinstance(spent, str):
                    self.failed = f"{('this', 'the other')[place]} side: {spent}"
                    return
                self._spent[place].append(spent)

    @property
    def slower(self) -> bool:
        return bool(self.failed) or min(self._fastest(), self._median()) > 1.05

    def _times(self, place: int, which: int) -> list[float]:
        return [spent[which] for spent in self._spent[place]]

    def _fastest(self) -> float:
        return min(self._times(0, self._judged)) / min(self._times(1, self._judged))

    def _median(self) -> float:
        pairs = zip(self._times(0, self._judged), self._times(1, self._judged), strict=True)
        return statistics.median(a / b for a, b in pairs)

    def __str__(self) -> str:
        if self.failed:
            return f"{self._path:26} {self.failed}"
        ours, theirs = (min(self._times(place, self._judged)) for place in (0, 1))
        waited = statistics.median(self._times(0, 1)) / statistics.median(self._times(1, 1))
        ratios = f"{self._fastest():>8.2f} {self._median():>8.2f} {waited:>8.2f}"
        return f"{self._path:26} {ours:>10,.1f} {theirs:>10,.1f} {ratios}{'  SLOWER' * self.slower}"


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare hot paths with another commit, in turns.")
    parser.add_argument("commit", help="a commit, or a folder with a checkout of it")
    parser.add_argument(
        "--size", type=int, default=4_000, help="records of each kind (default 4,000)"
    )
    parser.add_argument("--rounds", type=int, default=25, help="turns of each path (default 25)")
    parser.add_argument("--only", default="", help="paths whose name has this in it")
    parser.add_argument(
        "--own", action="store_true", help="each side runs its own benchmark: public names differ"
    )
    parser.add_argument(
        "--url", default="", help="an empty PostgreSQL database for each side, with {} for its name"
    )
    chosen = parser.parse_args()
    began, failed = time.monotonic(), []
    with (
        checkout(chosen.commit) as other,
        tempfile.TemporaryDirectory() as scratch,
        ExitStack() as ending,
    ):
        sides = []
        for name, source in (("ours", ROOT), ("theirs", other)):
            home = chosen.url.format(name) if chosen.url else f"{scratch}/{name}"
            side = Side(source, home, "turns", chosen.size, own=chosen.own)
            ending.callback(side.end)
            sides.append(side)
        ours, theirs = sides
        paths, known = ours.ready(), theirs.ready()
        print(
            f"{'us a call':26} {'this':>10} {'other':>10} {'fastest':>8} {'median':>8} {'wall':>8}"
        )
        for path, calls in paths.items():
            if path in known and chosen.only.lower() in path.lower():
                compared = Compared(path, calls, (ours, theirs), server=bool(chosen.url))
                compared.run(1)  # what is loaded or compiled once
                compared = Compared(path, calls, (ours, theirs), server=bool(chosen.url))
                compared.run(chosen.rounds)
                if compared.slower and not compared.failed:
                    compared.run(3 * chosen.rounds)  # twice unlucky is rare
                failed += [path] * compared.slower
                print(compared, flush=True)
    print(
        f"{time.monotonic() - began:.0f} s; slower than 1.05 times: {', '.join(failed) or 'none'}"
    )
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
