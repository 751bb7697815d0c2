-- A text that was remembered says which source it is from. One from before has a uri of that source and of the hash of its text: where
-- that is the hash of a chunk, the chunk is the whole of such a text. What only looks like it has none.
UPDATE records SET body = json_set(body, '$.origin', substr(body ->> '$.uri', 1, length(body ->> '$.uri') - 17))
WHERE schema = 'resources' AND body ->> '$.category' = 'note' AND starts IS NOT NULL
    AND substr(body ->> '$.uri', -17) = '/' || substr(body ->> '$.content_hash', 1, 16)
    AND substr(body ->> '$.uri', 1, length(body ->> '$.uri') - 17) NOT IN ('', 'remembered');

-- What came from a source beside its chunks: texts that were remembered one by one, and what stands for the source as a whole.
CREATE INDEX records_origin ON records (CASE schema
    WHEN 'resources' THEN body ->> '$.origin'
    WHEN 'entities' THEN body ->> '$.properties.uri'
    WHEN 'moments' THEN body ->> '$.metadata.uri'
END) WHERE CASE schema
    WHEN 'resources' THEN body ->> '$.origin'
    WHEN 'entities' THEN body ->> '$.properties.uri'
    WHEN 'moments' THEN body ->> '$.metadata.uri'
END IS NOT NULL;
