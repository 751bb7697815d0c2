-- name: label_no
-- The number of a label.
SELECT lid FROM labels WHERE key = :key;

-- name: label_nos
-- The numbers of some labels.
SELECT l.key, l.lid FROM json_each(:keys) k CROSS JOIN labels l ON l.key = k.value;

-- name: label_key
-- The key of a label.
SELECT key FROM labels WHERE lid = :label_no;

-- name: label_keys
-- The keys of some labels.
SELECT l.lid, l.key FROM json_each(:label_nos) n CROSS JOIN labels l ON l.lid = n.value;

-- name: record_labels
-- The labels of a record whose edges are its own.
SELECT lid FROM names WHERE rid = :record_no AND total > 0;

-- name: aliases
-- The other labels of the records that have one of some labels.
SELECT a.lid, b.lid FROM json_each(:label_nos) n
CROSS JOIN names a INDEXED BY names_aliased ON a.lid = n.value AND a.total > 1
CROSS JOIN names b ON b.rid = a.rid AND b.lid <> a.lid AND b.total > 0;

-- name: degree_out
-- How many edges leave a label.
SELECT leaves FROM degrees WHERE lid = :label_no;

-- name: degree_in
-- How many edges enter a label.
SELECT enters FROM degrees WHERE lid = :label_no;

-- name: degrees_out
-- How many edges leave each of some labels.
SELECT n.value, coalesce(d.leaves, 0) FROM json_each(:label_nos) n LEFT JOIN degrees d ON d.lid = n.value;

-- name: degrees_in
-- How many edges enter each of some labels.
SELECT n.value, coalesce(d.enters, 0) FROM json_each(:label_nos) n LEFT JOIN degrees d ON d.lid = n.value;

-- name: inner_edges
-- How many edges in force have both ends among some labels.
SELECT count(*) FROM json_each(:label_nos) n CROSS JOIN edges e INDEXED BY edges_out ON e.src = n.value
WHERE e.dst IN (SELECT value FROM json_each(:label_nos)) AND {in_force};

-- name: count_by_type
-- How many edges in force there are at one end of some labels, by type.
SELECT e.rel, count(*) FROM json_each(:label_nos) n CROSS JOIN edges e INDEXED BY edges_{end} ON e.{own} = n.value
WHERE {in_force} GROUP BY e.rel;

-- name: edges
-- The edges in force at one end of a label, whole, with what the order goes by and what tells ties apart.
SELECT e.src, e.rel, e.dst, e.weight, e.created, e.valid_from, e.valid_to, e.properties, {by}
FROM edges e INDEXED BY edges_{end} WHERE {in_force} AND e.{own} = :label_no ORDER BY {order} LIMIT {limit};

-- name: edge_keys
-- Of each of some labels, lists in a list: the ends and the types of its edges in force at one end, with the same behind.
SELECT n.value, (
  SELECT json_array(json_group_array(src), json_group_array(rel), json_group_array(dst), {lists}) FROM (
    SELECT e.src AS src, e.rel AS rel, e.dst AS dst, {by} FROM edges e INDEXED BY edges_{end}
    WHERE {in_force} AND e.{own} = n.value ORDER BY {order} LIMIT {limit}
  )
)
FROM json_each(:label_nos) n;

-- name: count_at
-- How many edges in force there are at one end of a label.
SELECT count(*) FROM edges e INDEXED BY edges_{end} WHERE {in_force} AND e.{own} = :label_no;

-- name: neighbours
-- Of each of some labels, lists in a list: the labels at the far ends of its edges in force, what the order goes by, and what tells ties apart.
-- One statement for many labels, not one each: a third of the time.
SELECT n.value, (
  SELECT json_array(json_group_array(other), {lists}) FROM (
    SELECT e.{other} AS other, {by} FROM edges e INDEXED BY edges_{end}
    WHERE {in_force} AND e.{own} = n.value ORDER BY {order} LIMIT {limit}
  )
)
FROM json_each(:label_nos) n;

-- name: edge_types
-- The edge types in use, by name.
SELECT name, rel FROM rels ORDER BY name;

-- name: edge_type
-- The name of an edge type.
SELECT name FROM rels WHERE rel = :type_no;

-- name: edge_type_no
-- The number of an edge type.
SELECT rel FROM rels WHERE name = :name;

-- name: all_edges
-- Every edge, in the order of its keys. Full scan.
SELECT e.src, e.rel, e.dst, e.weight, e.created, e.valid_from, e.valid_to, e.properties, s.key, t.name, d.key
FROM edges e JOIN labels s ON s.lid = e.src JOIN rels t USING (rel) JOIN labels d ON d.lid = e.dst
ORDER BY s.key, t.name, d.key;

-- name: stored_edges_out
-- Every edge that leaves one of some labels, whatever its validity.
SELECT s.key, t.name, d.key, e.weight, e.created, e.valid_from, e.valid_to, e.properties
FROM json_each(:keys) k CROSS JOIN labels l ON l.key = k.value CROSS JOIN edges e INDEXED BY edges_out ON e.src = l.lid
JOIN labels s ON s.lid = e.src JOIN rels t ON t.rel = e.rel JOIN labels d ON d.lid = e.dst;

-- name: stored_edges_in
-- Every edge that enters one of some labels, whatever its validity.
SELECT s.key, t.name, d.key, e.weight, e.created, e.valid_from, e.valid_to, e.properties
FROM json_each(:keys) k CROSS JOIN labels l ON l.key = k.value CROSS JOIN edges e INDEXED BY edges_in ON e.dst = l.lid
JOIN labels s ON s.lid = e.src JOIN rels t ON t.rel = e.rel JOIN labels d ON d.lid = e.dst;

-- name: stored_edge
-- One edge by its ends and type, whatever its validity.
SELECT s.key, t.name, d.key, e.weight, e.created, e.valid_from, e.valid_to, e.properties FROM edges e
JOIN labels s ON s.lid = e.src JOIN rels t ON t.rel = e.rel JOIN labels d ON d.lid = e.dst
WHERE e.src = (SELECT lid FROM labels WHERE key = :src) AND e.rel = (SELECT rel FROM rels WHERE name = :rel_type)
  AND e.dst = (SELECT lid FROM labels WHERE key = :dst);

-- name: has_dated_edges
-- Whether some edge does not hold for ever.
SELECT EXISTS (SELECT 1 FROM edges INDEXED BY edges_until WHERE valid_to IS NOT NULL)
  OR EXISTS (SELECT 1 FROM edges INDEXED BY edges_since WHERE valid_from IS NOT NULL);

-- name: next_change
-- When the next edge begins or ends, or the next record expires.
SELECT min(at) FROM (
  SELECT min(valid_to) AS at FROM edges INDEXED BY edges_until WHERE valid_to > :now
  UNION ALL SELECT min(valid_from) FROM edges INDEXED BY edges_since WHERE valid_from > :now
  UNION ALL SELECT min(expires) FROM records WHERE expires > :now
);

-- name: expired_labels
-- The labels that only records have which have expired.
SELECT n.lid FROM records r CROSS JOIN names n ON n.rid = r.rid
WHERE r.expires <= :now AND NOT EXISTS (
  SELECT 1 FROM names o CROSS JOIN records p ON p.rid = o.rid
  WHERE o.lid = n.lid AND o.total > 0 AND (p.expires IS NULL OR p.expires > :now)
);

-- name: has_aliases
-- Whether some record has several labels.
SELECT EXISTS (SELECT 1 FROM names INDEXED BY names_aliased WHERE total > 1);
