-- A label that is the handle of a row means that row, whatever else is called so. handle 1: the label is the handle of its record:
-- of a row (see `Row.is_identified`), or of the entity that stands for one which a foreign key names. total 0: it is another record's, whose are its edges.
ALTER TABLE names ADD COLUMN handle INTEGER NOT NULL DEFAULT 0;
-- As labels are compared: whatever their case, underscores, blanks.
UPDATE names SET handle = 1
    WHERE rank = 0 AND rid IN (
        SELECT rid FROM (
            SELECT rid, replace(replace(casefold(trim(body ->> '$.handle')), '_', '-'), ' ', '-') AS handle,
                   replace(replace(casefold(trim(body ->> '$.name')), '_', '-'), ' ', '-') AS name,
                   replace(replace(casefold(trim(type)), '_', '-'), ' ', '-') AS type,
                   replace(replace(casefold(trim(schema)), '_', '-'), ' ', '-') AS schema
            FROM records WHERE schema NOT IN ('resources', 'entities', 'moments')
        ) WHERE handle <> name OR instr(handle, type || '-') = 1 OR instr(handle, schema || '-') = 1
    );
CREATE INDEX names_handle ON names (lid) WHERE handle = 1;

-- What foreign keys name and no row is.
CREATE TEMP TABLE named AS
    SELECT lid, max(type) AS type FROM (
        SELECT dst AS lid, properties ->> '$.dst_entity_type' AS type FROM edges WHERE properties ->> '$.source_fk' IS NOT NULL
        UNION ALL SELECT src, NULL FROM edges WHERE properties ->> '$.source_fk' IS NOT NULL
    ) WHERE lid NOT IN (SELECT lid FROM names WHERE handle = 1) GROUP BY lid;
UPDATE names SET handle = 1
    WHERE lid IN (SELECT lid FROM named) AND (rank > 0 OR total = 1) AND rid IN (SELECT rid FROM records WHERE thin = 1);
-- A thin entity for each that others are called by.
CREATE TEMP TABLE absent AS
    SELECT s.rid + row_number() OVER (ORDER BY n.lid) AS rid, n.lid, l.key, coalesce(n.type, '') AS type,
           lower(hex(randomblob(16))) AS id, CAST(unixepoch('subsec') * 1000 AS INTEGER) * 1000 AS at
    FROM named n JOIN labels l USING (lid), sequence s
    WHERE n.lid NOT IN (SELECT lid FROM names WHERE handle = 1);
INSERT INTO records (rid, id, schema, type, thin, created, updated, body)
    SELECT rid, id, 'entities', nullif(type, ''), 1, at, at, json_object(
        'schema', 'entities', 'id', id, 'type', type, 'name', key, 'thin', json('true'),
        'created_at', strftime('%Y-%m-%dT%H:%M:%fZ', at / 1e6, 'unixepoch'),
        'updated_at', strftime('%Y-%m-%dT%H:%M:%fZ', at / 1e6, 'unixepoch')
    ) FROM absent;
INSERT INTO names (lid, rid, rank, total, handle) SELECT lid, rid, 0, 1, 1 FROM absent;
UPDATE sequence SET rid = max(rid, coalesce((SELECT max(rid) FROM absent), 0));
DROP TABLE named;
DROP TABLE absent;

UPDATE names SET total = 0 WHERE handle = 0 AND lid IN (SELECT lid FROM names WHERE handle = 1);
