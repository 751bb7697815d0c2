-- What a SELECT finds by when it was made, and by a kind other than `chunk`.
CREATE INDEX records_created ON records (schema, created);
CREATE INDEX records_kind ON records (schema, body ->> '$.kind') WHERE schema = 'resources' AND body ->> '$.kind' IS NOT NULL;
