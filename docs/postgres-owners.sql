-- Row-level security for an application with one database role for all of its users: each transaction names the owner whose rows it sees.
-- Run it as the owner of the tables, after postgres-roles.sql, and open the store with the application's role:
--   openStore(url, { strict: true, rowSecurity: true })
-- Every transaction of store.forOwner(owner) then begins with set_config('undertext.owner', owner, true). A transaction without an owner
-- sees no rows. The role can set any owner, so this protects against mistakes of the application, not against SQL that others inject
-- into it.
CREATE OR REPLACE FUNCTION undertext.current_owner() RETURNS text LANGUAGE sql STABLE SET search_path = pg_catalog AS $$
  SELECT nullif(current_setting('undertext.owner', true), '')
$$;
