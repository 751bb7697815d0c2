-- What came from a source beside its chunks: texts that were remembered one by one, and what stands for the source as a whole.
CREATE INDEX records_origin ON records (CASE schema
    WHEN 'resources' THEN CASE WHEN body ->> '$.uri' GLOB '*/[0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f]'
        THEN substr(body ->> '$.uri', 1, length(body ->> '$.uri') - 17) END
    WHEN 'entities' THEN body ->> '$.properties.uri'
    WHEN 'moments' THEN body ->> '$.metadata.uri'
END) WHERE CASE schema
    WHEN 'resources' THEN CASE WHEN body ->> '$.uri' GLOB '*/[0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f]'
        THEN substr(body ->> '$.uri', 1, length(body ->> '$.uri') - 17) END
    WHEN 'entities' THEN body ->> '$.properties.uri'
    WHEN 'moments' THEN body ->> '$.metadata.uri'
END IS NOT NULL;
