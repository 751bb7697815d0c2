-- name: entered
-- Enter a tenant, and read in it, with one statement.
-- The tenant comes out of the row that became it, so nothing of the statement is read before. To call
-- `remloom.enter` where this is all that it would do takes a tenth of a LOOKUP.
SELECT x.* FROM (
  SELECT CASE
    WHEN current_user = 'remloom_tenant' AND coalesce(current_setting('remloom.tenant', true), '') IN ('', %(tenant)s)
    THEN set_config('remloom.tenant', %(tenant)s, true) ELSE remloom.enter(%(tenant)s) END AS tenant OFFSET 0
) t CROSS JOIN LATERAL ({statement} OFFSET 0) x;

-- name: take_tenant_role
-- Take on the role that sees the rows of one tenant at a time, for as long as the connection lasts.
SELECT set_config('role', rolname, false) FROM pg_roles
WHERE rolname = 'remloom_tenant' AND pg_has_role(current_user, oid, 'MEMBER');
