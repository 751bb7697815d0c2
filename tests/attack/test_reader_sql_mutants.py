"""SQL over the lines of a reader that was changed to mean harm: answered or refused, but never with
what is no line, and nothing is written."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path

import pytest
from tried import Counted, Rounds

from remloom import Memory
from remloom.errors import RemloomError

READER = Path(__file__).parent.parent / "reader"
SECRET = "the-secret-in-a-file"
TOKENS = re.compile(r"\s+|\w+|'[^']*'|.", re.DOTALL)
HARM = [
    "read_text('{file}')", "read_csv_auto('{file}')", "'{file}'", "read_blob('{file}')", "glob('*')",
    "COPY documents TO '{file}.out'", "ATTACH '{file}.db' AS x", "INSTALL httpfs", "LOAD httpfs",
    "PRAGMA database_list", "SET memory_limit = '1TB'", "EXPORT DATABASE '{file}.d'", "CALL pragma_version()",
    "CREATE TABLE x AS", "DROP TABLE documents", "DELETE FROM documents", "INSERT INTO documents",
    "UPDATE documents SET text = 'x'", "information_schema.tables", "duckdb_tables()", "sqlite_master",
    "getenv('HOME')", "current_setting('threads')", "range(1000000000)", "repeat('x', 1000000000)",
    "generate_series(1, 1000000000)", "[x FOR x IN [1]]", "{'a': 1}", "query('SELECT 1')", "query_table('x')",
    "RECURSIVE", "LATERAL", "; ", "--", "/*", "*/", "'", '"', "$$", "main.documents", "rowid", "x -> x",
    "UNNEST([1])", "VALUES (1)", "TABLESAMPLE 1%", "PIVOT", "COLUMNS('.*')", "EXCLUDE (text)", "$1", "?",
    "documents", "block", "\\", "\0", "\ud800", "0x1F", "1e999", "::JSON", "::STRUCT(a INT)", "{file}",
]  # fmt: skip


def mutated(dice: random.Random, queries: list[str]) -> str:
    """A query of which some pieces are replaced by pieces of another, or by what means harm."""
    tokens = TOKENS.findall(dice.choice(queries))
    others = TOKENS.findall(dice.choice(queries))
    for _ in range(dice.randint(1, 4)):
        at = dice.randint(0, len(tokens))
        piece = dice.choice(HARM) if dice.random() < 0.6 else dice.choice(others)
        tokens[at : at + dice.randint(0, 3)] = [" ", piece, " "]
    return "".join(tokens)


@pytest.mark.crash
def test_no_mutated_query_over_lines_reads_a_file_or_changes_anything(
    tmp_path: Path, rounds: Rounds, counted: Counted, long: bool
) -> None:
    cases = json.loads((READER / "sql_cases.json").read_text())
    queries = [case["sql"] for case in cases]
    queries += json.loads((READER / "sql_samples.json").read_text())
    files = tmp_path / "files"
    files.mkdir()
    secret = files / "secret.csv"
    secret.write_text(f"text\n{SECRET}\n")
    dice = random.Random(20261123 if long else 3)
    tried = rounds(200, 15_000)
    answered = 0
    with Memory.open(tmp_path / "home", embedder="none") as memory, memory.reader() as reader:
        reader.open_text(
            "# Book\n\nA line, and\n- an item.\n\n## Terms\n\nPay at once.", name="book"
        )
        untouched = reader.sql("SELECT * FROM documents").rows
        for _ in range(tried):
            sql = mutated(dice, queries).replace("{file}", str(secret))
            try:
                shown = str(reader.sql(sql).rows)
                answered += 1
            except RemloomError as error:
                shown = str(error)
                # what the guard did not foresee
                assert "not SQL as it is read here" not in shown, sql
            assert SECRET not in shown, sql
        assert reader.sql("SELECT * FROM documents").rows == untouched
    assert sorted(files.iterdir()) == [secret]
    # else nothing but the parser would be tried
    assert answered > tried / 50
    counted("mutated SELECTs over the lines of a reader", tried)
