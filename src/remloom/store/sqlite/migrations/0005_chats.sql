-- Where a source is gone on with: its last chunks, and the turns of a chat by the ids that its messages had.
DROP INDEX records_uri;
CREATE INDEX records_uri ON records (body ->> '$.uri', coalesce(body ->> '$.ordinal', 0))
    WHERE schema = 'resources' AND body ->> '$.uri' IS NOT NULL;
CREATE INDEX records_message ON records (body ->> '$.uri', body ->> '$.metadata.message_ids[0]')
    WHERE schema = 'resources' AND body ->> '$.metadata.message_ids[0]' IS NOT NULL;
