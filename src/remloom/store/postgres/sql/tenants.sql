-- name: lock_tenant
-- Lock a tenant for the one writer it may have, and read whether a record has expired, whether one rests on what is no
-- record, and its highest numbers.
SELECT made, EXISTS (
  SELECT FROM remloom.records r WHERE r.tenant_id = %(tenant)s AND r.expires <= %(now)s
), EXISTS (
  SELECT FROM remloom.journal j WHERE j.tenant_id = %(tenant)s AND j.kind = 'premise'
), seq, doc, names, sealed, unnamed, revision
FROM remloom.tenants WHERE tenant_id = %(tenant)s FOR UPDATE;

-- name: store_numbers
-- Store the highest numbers that a tenant has given out.
UPDATE remloom.tenants
SET seq = %(seq)s, doc = %(doc)s, names = %(names)s, sealed = %(sealed)s, unnamed = %(unnamed)s,
  revision = %(revision)s
WHERE tenant_id = %(tenant)s;

-- name: tenant_made
-- When a tenant was made.
SELECT made FROM remloom.tenants WHERE tenant_id = %(tenant)s;

-- name: insert_tenant
-- Make a tenant, unless it is there.
INSERT INTO remloom.tenants (tenant_id) VALUES (%(tenant)s) ON CONFLICT DO NOTHING;

-- name: tenant_names
-- Every tenant, by name.
SELECT tenant_id FROM remloom.tenants ORDER BY 1;

-- name: tenant_bytes
-- How many bytes the records of a tenant take.
SELECT coalesce(sum(pg_column_size(r.*)), 0) FROM remloom.records r WHERE tenant_id = %(tenant)s;

-- name: lock_existing_tenant
-- Lock a tenant, if it is there.
SELECT 1 FROM remloom.tenants WHERE tenant_id = %(tenant)s FOR UPDATE;

-- name: delete_rows_of_tenant
-- Delete the rows that a tenant has in a table.
DELETE FROM remloom.{table} WHERE tenant_id = %(tenant)s;

-- name: citus_available
-- Whether the server can be extended by Citus.
SELECT 1 FROM pg_available_extensions WHERE name = 'citus';

-- name: distributed_tables
-- The tables that are spread over the machines of a Citus cluster.
SELECT c.relname FROM pg_dist_partition p JOIN pg_class c ON c.oid = p.logicalrelid
WHERE c.relnamespace = 'remloom'::regnamespace;

-- name: distribute_table
-- Spread a table over a Citus cluster, the rows of a tenant where those of another table are.
SELECT create_distributed_table(%(table)s, 'tenant_id', colocate_with => %(colocated)s);

-- name: lock_definitions
-- Wait until nobody else changes what the database has.
SELECT pg_advisory_lock(%(lock)s);
