"""A database of PostgreSQL with all that one may have, followed from discovery to forgetting: every
cell is in a record, or a plan or report names it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql

import postgres_server
from remloom import Memory
from remloom.model import Row
from remloom.schema.plan.plan import Plan
from remloom.schema.sync.report import SyncReport

_LONG = "n" * 63
_ODD = 'a "quoted" `name`\nof é 日本 😀 %s'
_MADE = f"""
    CREATE SCHEMA sales;
    CREATE TYPE mpaa_rating AS ENUM ('G', 'PG-13', 'it''s');
    CREATE TYPE place AS (street text, number integer);
    CREATE DOMAIN year AS integer CHECK (VALUE BETWEEN 1901 AND 2155);
    CREATE DOMAIN home AS place;
    CREATE TABLE language (language_id serial PRIMARY KEY, name char(20) NOT NULL);
    CREATE TABLE film (
        film_id serial PRIMARY KEY, title text NOT NULL, release_year year, language_id int NOT NULL REFERENCES language,
        rental_rate numeric(4, 2), rating mpaa_rating, ratings mpaa_rating[], special_features text[],
        fulltext tsvector, shown daterange, sessions tstzrange[], data jsonb, studio place, studios place[],
        runtime interval, poster bytea, last_update timestamptz, title_length int GENERATED ALWAYS AS (length(title)) STORED,
        ip inet, score float8, grid int[][]);
    CREATE TABLE actor (actor_id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, first_name text, last_name text);
    CREATE TABLE film_actor (actor_id int REFERENCES actor, film_id int REFERENCES film, note text, PRIMARY KEY (actor_id, film_id));
    CREATE TABLE payment (payment_id int, at date NOT NULL, amount numeric, PRIMARY KEY (payment_id, at)) PARTITION BY RANGE (at);
    CREATE TABLE payment_1 PARTITION OF payment FOR VALUES FROM ('2024-01-01') TO ('2024-07-01');
    CREATE TABLE payment_2 PARTITION OF payment FOR VALUES FROM ('2024-07-01') TO ('infinity');
    CREATE TABLE payment_rest PARTITION OF payment DEFAULT;
    CREATE TABLE vehicle (id int PRIMARY KEY, name text);
    CREATE TABLE car (doors int) INHERITS (vehicle);
    CREATE TABLE orders (id int PRIMARY KEY, name text);
    CREATE TABLE sales.orders (id int PRIMARY KEY, name text, film_id int REFERENCES film);
    CREATE TABLE "sales.orders" (id int PRIMARY KEY, name text);
    CREATE TABLE "select" ("from" int PRIMARY KEY, "where" text, "order" text);
    CREATE TABLE {_LONG} ({_LONG} int PRIMARY KEY, {_LONG[:-1]}x text);
    CREATE TABLE "{_ODD.replace('"', '""')}" (id int PRIMARY KEY, "{_ODD.replace('"', '""')}" text);
    CREATE TABLE spot (at place PRIMARY KEY, title text);
    CREATE TABLE dwelling (at home, n int, title text, PRIMARY KEY (at, n));
    CREATE TABLE stay (during daterange, room place, title text, PRIMARY KEY (during, room));
    CREATE TABLE secret (id int PRIMARY KEY, owner text, title text);
    ALTER TABLE secret ENABLE ROW LEVEL SECURITY;
    CREATE POLICY own ON secret USING (owner = current_user);
    CREATE TABLE hidden (id int PRIMARY KEY, title text);
    CREATE TABLE partly (id int PRIMARY KEY, title text, wage int);
    CREATE TABLE bare ();
    CREATE VIEW film_list AS SELECT title, rating FROM film;
    INSERT INTO language (name) VALUES ('English'), ('日本語');
    INSERT INTO film (title, release_year, language_id, rental_rate, rating, ratings, special_features, fulltext, shown,
        sessions, data, studio, studios, runtime, poster, last_update, ip, score, grid)
    SELECT 'Film ' || n, 2000 + n % 20, 1 + n % 2, 4.99, 'G', '{{G,it''s}}', '{{Trailers,NULL}}', 'a:1 b', '[2024-01-01,20000-01-01)',
        '{{"[2024-01-01,)"}}', '{{"a": 1}}', ROW('Lane', n::int)::place, ARRAY[ROW('Lane', n::int)::place], '1 mon', '\\x00',
        CASE n WHEN 3 THEN 'infinity' WHEN 4 THEN '20000-01-01' ELSE '2024-05-01'::timestamptz + n * interval '1 min' END,
        '10.0.0.1', CASE n WHEN 5 THEN 'NaN' ELSE 1.5 END, '{{{{1,2}},{{3,4}}}}' FROM generate_series(1, 60) n;
    INSERT INTO actor (first_name, last_name) SELECT 'Anna', 'Heron' || n FROM generate_series(1, 30) n;
    INSERT INTO film_actor SELECT 1 + n % 30, 1 + n % 59, 'Role ' || n FROM generate_series(1, 200) n ON CONFLICT DO NOTHING;
    INSERT INTO payment SELECT n, '2024-03-01'::date + n, n FROM generate_series(1, 200) n;
    INSERT INTO payment VALUES (900, 'infinity', 1), (901, '0044-03-15 BC', 'NaN');
    INSERT INTO vehicle SELECT n, 'Vehicle ' || n FROM generate_series(1, 2500) n;
    INSERT INTO car SELECT n, 'Car ' || n, n % 5 FROM generate_series(1, 2500, 3) n;
    INSERT INTO orders VALUES (1, 'Order main'); INSERT INTO sales.orders VALUES (1, 'Order sales', 1);
    INSERT INTO "sales.orders" VALUES (1, 'Order dotted');
    INSERT INTO "select" SELECT n, 'Where ' || n, 'x' FROM generate_series(1, 9) n;
    INSERT INTO {_LONG} SELECT n, 'Long ' || n FROM generate_series(1, 9) n;
    INSERT INTO "{_ODD.replace('"', '""')}" SELECT n, 'Odd ' || n FROM generate_series(1, 9) n;
    INSERT INTO spot SELECT ROW('Lane', n)::place, 'Spot ' || n FROM generate_series(1, 4500) n;
    INSERT INTO dwelling SELECT ROW('Lane ' || n, n)::place, n, 'Dwelling ' || n FROM generate_series(1, 2500) n;
    INSERT INTO stay SELECT daterange('2024-01-01', '2024-01-02'::date + n), ROW('A', n)::place, 'Stay ' || n FROM generate_series(1, 2500) n;
    INSERT INTO secret SELECT n, CASE n % 2 WHEN 0 THEN 'reader' ELSE 'somebody' END, 'Secret ' || n FROM generate_series(1, 9) n;
    INSERT INTO hidden VALUES (1, 'Hidden 1');
    INSERT INTO partly SELECT n, 'Partly ' || n, n FROM generate_series(1, 9) n;
    CREATE MATERIALIZED VIEW totals AS SELECT language_id, count(*) FROM film GROUP BY 1;
    CREATE MATERIALIZED VIEW later AS SELECT 1 AS one WITH NO DATA;
"""  # fmt: skip
# what is left out as a whole, and why
_NOT_TAKEN = {
    "film_list": "a view",
    "totals": "a view",
    "later": "not filled yet",
    "hidden": "may not read",
    "bare": "no columns",
}


@pytest.fixture
def pagila(postgres: str) -> Iterator[tuple[psycopg.Connection[Any], str]]:
    """A connection of the owner, and the address for a user who may read most of it."""
    with postgres_server.database(postgres) as url, postgres_server.connect(url) as owner:
        role = "reader_" + url.partition("?")[0][-12:]
        owner.execute(_MADE.replace("'reader'", f"'{role}'").replace("%s", "%s"))
        owner.execute(f"CREATE ROLE {role} LOGIN")
        owner.execute(f"GRANT USAGE ON SCHEMA sales TO {role}")
        owner.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA public, sales TO {role}")
        owner.execute(f"REVOKE ALL ON hidden, partly FROM {role}")
        owner.execute(f"GRANT SELECT (id, title) ON partly TO {role}")
        try:
            yield owner, _as_user(url, role)
        finally:
            owner.execute(f"DROP OWNED BY {role}; DROP ROLE {role}")


def _as_user(url: str, role: str) -> str:
    kept = [part for part in url.partition("?")[2].split("&") if not part.startswith("user=")]
    return f"{url.partition('?')[0]}?{'&'.join([*kept, f'user={role}'])}"


def test_a_whole_database_of_postgresql_is_followed_and_nothing_is_lost(
    pagila: tuple[psycopg.Connection[Any], str], tmp_path: Path
) -> None:
    owner, url = pagila
    with Memory.open(tmp_path / "home", embedder="none") as memory:
        plan = memory.schemas.discover(url, "pagila")
        left_out = {each.table: each.reason for each in plan.left_out if not each.column}
        assert left_out.keys() == _NOT_TAKEN.keys()
        assert all(why in left_out[name] for name, why in _NOT_TAKEN.items()), left_out
        asked = {
            each.table: each.evidence for each in plan.questions if "can be read" in each.question
        }
        assert "row-level security" in asked["secret"]
        assert "wage" in asked["partly"]
        assert [link.table for link in plan.links] == ["film_actor"]
        memory.schemas.register_from_discovery(plan, url=url)
        report = memory.schemas.sync("pagila", url=url)
        assert (report.faults, report.refused) == ({}, 0), [t.refusals[:3] for t in report.tables]
        with psycopg.connect(url) as reader:
            _check_against(reader, memory, plan, report)

        owner.execute("UPDATE film SET title = title || '!', shown = 'empty' WHERE film_id % 7 = 0")
        owner.execute("DELETE FROM spot WHERE (at).number % 3 = 0")
        owner.execute("INSERT INTO payment VALUES (902, '2030-01-01', 7)")
        owner.execute("UPDATE vehicle SET name = name || ' again' WHERE id % 5 = 0")
        owner.execute("DELETE FROM film_actor WHERE film_id < 20")
        again = memory.schemas.sync("pagila", url=url)
        assert (again.faults, again.refused) == ({}, 0)
        with psycopg.connect(url) as reader:
            _check_against(reader, memory, plan, again)

        gone = next(row for row in memory.admin.records("spot") if isinstance(row, Row))
        memory.forget(gone.handle)
        last = memory.schemas.sync("pagila", url=url)
        assert (last.forgotten, last.added, last.changed, last.deleted) == (1, 0, 0, 0)
        assert not memory.lookup(gone.handle).records
        owner.execute(f"REVOKE SELECT ON actor FROM {url.rpartition('user=')[2]}")
        assert memory.schemas.sync("pagila", url=url).faults == {
            "actor": "the table 'actor' cannot be read: the user may not read it"
        }
        assert memory.admin.check() == []


def _check_against(
    reader: psycopg.Connection[Any], memory: Memory, plan: Plan, report: SyncReport
) -> None:
    """Compare what a memory holds with what psycopg reads, cell by cell."""
    unplanned = {(each.table, each.column) for each in plan.left_out if each.column}
    tables = {each.table: each for each in report.tables}
    for table in plan.tables:
        place = [part.strip('"') for part in _parts(table.table)]
        only = "ONLY " if table.table == "vehicle" else ""
        from_ = sql.SQL(only + "{}").format(sql.Identifier(*place))  # type: ignore[arg-type]
        with reader.cursor() as cursor:
            # of the columns that this user may read
            all_of = "id, title" if table.table == "partly" else "*"
            cursor.execute(sql.SQL(f"SELECT {all_of} FROM {{}} LIMIT 0").format(from_))
            columns = [each.name for each in cursor.description or ()]
            listed = sql.SQL(", ").join(
                sql.SQL("{}::text").format(sql.Identifier(c)) for c in columns
            )
            there = cursor.execute(sql.SQL("SELECT {} FROM {}").format(listed, from_)).fetchall()
        rows = [row for row in memory.admin.records(table.schema_name) if isinstance(row, Row)]
        assert len(rows) == len(there), table.table
        fields = {each.column: each for each in table.fields}
        odd = Counter(each.reason.split()[0] for each in tables[table.table].left_out_values)
        for position, column in enumerate(columns):
            given = [row[position] for row in there if row[position] is not None]
            field = fields.get(column)
            if field is None:
                assert (table.table, column) in unplanned, (table.table, column)
                continue
            kept = [
                row.fields[field.name] for row in rows if row.fields.get(field.name) is not None
            ]
            if field.field.list:
                # of a list that is left out in part the rest is kept
                assert len(kept) >= len(given) - odd[field.name], (table.table, column)
                continue
            assert len(kept) + odd[field.name] == len(given), (table.table, column, odd)
            # what is written otherwise as text: an interval, an address without its network, char(20)
            is_text = field.field.kind in ("string", "enum", "integer")
            if is_text and column not in ("runtime", "ip"):
                lost = Counter(str(one).rstrip() for one in kept) - Counter(given)
                assert not lost, (table.table, column, lost)


def _parts(name: str) -> list[str]:
    """Schema and table of a name as discovery writes it."""
    if name.startswith('"'):
        return name[1:-1].split('"."')
    return name.split(".") if name.startswith("sales.") else [name]
