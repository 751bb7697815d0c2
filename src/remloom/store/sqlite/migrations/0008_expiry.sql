-- When a record expires (microseconds since 1970 UTC), for the few that do: it is in `body` too.
ALTER TABLE records ADD COLUMN expires INTEGER;
CREATE INDEX records_expires ON records (expires) WHERE expires IS NOT NULL;
