-- One tenant. Integers stand for labels, records and edge types inside the file; none is ever reused, so an index
-- that is behind can tell what it has not seen by comparing numbers.

-- The highest number of each kind given out so far; one row.
CREATE TABLE sequence (
    rid INTEGER NOT NULL, lid INTEGER NOT NULL, vid INTEGER NOT NULL, doc INTEGER NOT NULL, dead INTEGER NOT NULL
);
INSERT INTO sequence VALUES (0, 0, 0, 0, 0);

-- A record of any schema. `body` is its JSON; `content` the zstd-compressed text when it is long.
-- `doc` numbers the text of the record and changes with it; NULL when there is none. Times are microseconds since 1970 UTC.
CREATE TABLE records (
    rid     INTEGER PRIMARY KEY,
    id      TEXT NOT NULL UNIQUE,
    schema  TEXT NOT NULL,
    type    TEXT,
    thin    INTEGER,
    starts  INTEGER,
    ends    INTEGER,
    created INTEGER NOT NULL,
    updated INTEGER NOT NULL,
    doc     INTEGER,
    body    TEXT NOT NULL,
    content BLOB
);
CREATE UNIQUE INDEX records_doc ON records (doc) WHERE doc IS NOT NULL;
CREATE INDEX records_type ON records (schema, type);
CREATE INDEX records_thin ON records (schema) WHERE thin = 1;
CREATE INDEX records_starts ON records (schema, starts) WHERE starts IS NOT NULL;
-- Moments of more than 31 days, apart, so that a window need not look back further than that for the others.
CREATE INDEX records_long ON records (ends, starts) WHERE ends - starts > 2678400000000;
-- Chunks of a source, for re-reading and forgetting it.
CREATE INDEX records_uri ON records (body ->> '$.uri') WHERE schema = 'resources' AND body ->> '$.uri' IS NOT NULL;

-- Every key by which something can be looked up. Each has at least one record (a thin entity if no other).
CREATE TABLE labels (
    lid    INTEGER NOT NULL UNIQUE,
    key    TEXT NOT NULL PRIMARY KEY,
    linked INTEGER NOT NULL -- 1 once an edge left it, so that a lookup need not ask of the others
) WITHOUT ROWID;
CREATE TABLE names (
    lid INTEGER NOT NULL, rid INTEGER NOT NULL,
    rank INTEGER NOT NULL, -- 0: the key of its name; 1…: of its aliases
    total INTEGER NOT NULL, -- keys of the record
    PRIMARY KEY (lid, rid)
) WITHOUT ROWID;
CREATE INDEX names_rid ON names (rid, rank);

CREATE TABLE rels (rel INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
-- edges_out and edges_in carry the validity, so that a walk never touches the table.
CREATE TABLE edges (
    src INTEGER NOT NULL, rel INTEGER NOT NULL, dst INTEGER NOT NULL,
    weight REAL NOT NULL, created INTEGER NOT NULL, valid_from INTEGER, valid_to INTEGER, properties TEXT,
    PRIMARY KEY (src, rel, dst)
) WITHOUT ROWID;
CREATE INDEX edges_out ON edges (src, created, valid_from, valid_to);
CREATE INDEX edges_until ON edges (valid_to) WHERE valid_to IS NOT NULL;
CREATE INDEX edges_since ON edges (valid_from) WHERE valid_from IS NOT NULL;
CREATE INDEX edges_in ON edges (dst, created, valid_from, valid_to);

-- How many edges leave and enter a label: counting those of a hub would cost a walk more than following them.
CREATE TABLE degrees (lid INTEGER PRIMARY KEY, leaves INTEGER NOT NULL, enters INTEGER NOT NULL);
CREATE TRIGGER edge_made AFTER INSERT ON edges BEGIN
    INSERT INTO degrees VALUES (new.src, 1, 0) ON CONFLICT (lid) DO UPDATE SET leaves = leaves + 1;
    INSERT INTO degrees VALUES (new.dst, 0, 1) ON CONFLICT (lid) DO UPDATE SET enters = enters + 1;
END;
CREATE TRIGGER edge_gone AFTER DELETE ON edges BEGIN
    UPDATE degrees SET leaves = leaves - 1 WHERE lid = old.src;
    UPDATE degrees SET enters = enters - 1 WHERE lid = old.dst;
    DELETE FROM degrees WHERE lid IN (old.src, old.dst) AND leaves = 0 AND enters = 0;
END;

CREATE TABLE models (model INTEGER PRIMARY KEY, name TEXT NOT NULL, dims INTEGER NOT NULL, current INTEGER NOT NULL);
-- One embedded window of a record: float16, unit length. `hash` is the start of the sha256 of the embedded text.
CREATE TABLE vectors (
    vid INTEGER PRIMARY KEY, rid INTEGER NOT NULL, model INTEGER NOT NULL,
    first INTEGER NOT NULL, last INTEGER NOT NULL, hash BLOB, data BLOB NOT NULL
);
CREATE INDEX vectors_rid ON vectors (rid);
CREATE INDEX vectors_hash ON vectors (hash) WHERE hash IS NOT NULL;
CREATE TABLE pending (rid INTEGER PRIMARY KEY, attempts INTEGER NOT NULL, error TEXT, parked INTEGER NOT NULL);
CREATE INDEX pending_next ON pending (attempts, rid) WHERE parked = 0;

-- Provenance. kind 0: the child was derived from the parent; 1: the child (a moment) refers to it.
CREATE TABLE parents (
    child INTEGER NOT NULL, parent INTEGER NOT NULL, kind INTEGER NOT NULL, PRIMARY KEY (child, parent)
) WITHOUT ROWID;
CREATE INDEX parents_parent ON parents (parent);

-- Derived indexes: a snapshot of all numbers up to `upto`, in parts, and the numbers that died since.
CREATE TABLE snapshots (
    kind TEXT NOT NULL, part INTEGER NOT NULL, upto INTEGER NOT NULL, dead INTEGER NOT NULL, meta TEXT NOT NULL, data BLOB NOT NULL,
    PRIMARY KEY (kind, part)
) WITHOUT ROWID;
CREATE TABLE dead (seq INTEGER PRIMARY KEY, kind TEXT NOT NULL, number INTEGER NOT NULL);
