-- A row is put together only if its texts are short enough: it takes several times their length.
CREATE OR REPLACE FUNCTION remloom.fits(p_length bigint) RETURNS boolean LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
    IF p_length > 8000000 THEN
        RAISE SQLSTATE 'RL003' USING MESSAGE = 'the row is too long';
    END IF;
    RETURN true;
END $$;

-- The rows of a SELECT, which gives one text a row, and no more of them than so many bytes. It reads only: not volatile.
-- A loop over a query would fetch fifty rows before it looks at one.
CREATE OR REPLACE FUNCTION remloom.fetch(p_sql text, p_values text[], p_bytes bigint) RETURNS SETOF text LANGUAGE plpgsql STABLE
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    answer refcursor;
    line text;
    spent bigint := 0;
BEGIN
    OPEN answer FOR EXECUTE p_sql USING p_values;
    LOOP
        FETCH answer INTO line;
        EXIT WHEN NOT FOUND;
        spent := spent + octet_length(line);
        IF spent > p_bytes THEN
            RAISE SQLSTATE 'RL001' USING MESSAGE = 'the rows are too long';
        END IF;
        RETURN NEXT line;
    END LOOP;
END $$;

-- As before, with its share of what all texts that a SELECT joins may have.
CREATE OR REPLACE FUNCTION remloom.held_step(p_before bigint, p_text text, p_between text, p_most bigint) RETURNS bigint
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
    held bigint := p_before + coalesce(octet_length(p_text) + octet_length(p_between), 0);
BEGIN
    IF held > p_most THEN
        RAISE SQLSTATE 'RL002' USING MESSAGE = 'the joined texts are too long';
    END IF;
    RETURN held;
END $$;
CREATE OR REPLACE AGGREGATE remloom.held (text, text, bigint) (SFUNC = remloom.held_step, STYPE = bigint, INITCOND = '0', PARALLEL = SAFE);

-- Those of before stay: a client that is open meanwhile calls them.
REVOKE EXECUTE ON FUNCTION
    remloom.fits, remloom.held_step (bigint, text, text, bigint), remloom.held (text, text, bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION
    remloom.fits, remloom.held_step (bigint, text, text, bigint), remloom.held (text, text, bigint) TO remloom_tenant, remloom_reader;
