-- name: snapshot_header
-- The highest tombstone that a snapshot has applied, and what else is recorded of it.
SELECT dead, meta FROM snapshots WHERE kind = ? AND part = 0;

-- name: snapshot_parts
-- The data of a snapshot, part by part.
SELECT data FROM snapshots WHERE kind = ? ORDER BY part;

-- name: delete_snapshot
-- Deletes the snapshot of an index.
DELETE FROM snapshots WHERE kind = ?;

-- name: add_snapshot_part
-- Stores a part of a snapshot.
INSERT INTO snapshots VALUES (?, ?, ?, ?, ?, ?);

-- name: tombstones_after
-- The numbers that were deleted from an index after a tombstone.
SELECT number FROM dead WHERE kind = ? AND seq > ?;

-- name: has_tombstone_after
-- Whether anything was deleted from an index after a tombstone.
SELECT 1 FROM dead WHERE seq > ? AND kind = ? LIMIT 1;

-- name: oldest_tombstone
-- The number of the oldest tombstone.
SELECT min(seq) FROM dead;
