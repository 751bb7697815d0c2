-- The bytes of the texts that a SELECT joins, with what stands between them: not more than it may hold in memory.
CREATE FUNCTION remloom.held_step(p_before bigint, p_text text, p_between text) RETURNS bigint LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
    held bigint := p_before + coalesce(octet_length(p_text) + octet_length(p_between), 0);
BEGIN
    IF held > 32000000 THEN
        RAISE SQLSTATE 'RL002' USING MESSAGE = 'the joined texts are too long';
    END IF;
    RETURN held;
END $$;
CREATE AGGREGATE remloom.held (text, text) (SFUNC = remloom.held_step, STYPE = bigint, INITCOND = '0', PARALLEL = SAFE);

-- The first value that is not NULL, in the order that the call names.
CREATE FUNCTION remloom.first_of_step(p_first jsonb, p_value jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS
    'SELECT p_first';
CREATE AGGREGATE remloom.first_of (jsonb) (SFUNC = remloom.first_of_step, STYPE = jsonb, PARALLEL = SAFE);

REVOKE EXECUTE ON FUNCTION
    remloom.held_step, remloom.held, remloom.first_of_step, remloom.first_of FROM PUBLIC;
GRANT EXECUTE ON FUNCTION
    remloom.held_step, remloom.held, remloom.first_of_step, remloom.first_of TO remloom_tenant, remloom_reader;
