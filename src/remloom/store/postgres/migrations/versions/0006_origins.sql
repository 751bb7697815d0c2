-- What came from a source beside its chunks: texts that were remembered one by one, and what stands for the source as a whole.
CREATE INDEX records_origin ON remloom.records (tenant_id, md5(CASE schema
  WHEN 'resources' THEN CASE WHEN uri ~ '/[0-9a-f]{16}$' THEN left(uri, -17) END
  WHEN 'entities' THEN body #>> '{properties,uri}'
  WHEN 'moments' THEN body #>> '{metadata,uri}'
END))
WHERE (CASE schema
  WHEN 'resources' THEN CASE WHEN uri ~ '/[0-9a-f]{16}$' THEN left(uri, -17) END
  WHEN 'entities' THEN body #>> '{properties,uri}'
  WHEN 'moments' THEN body #>> '{metadata,uri}'
END) IS NOT NULL;
