-- The highest revision given to a record (see `encoding.next_revision`); a record from before has none.
ALTER TABLE remloom.tenants ADD COLUMN IF NOT EXISTS revision bigint NOT NULL DEFAULT 0;
