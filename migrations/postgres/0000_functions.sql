-- The anchors of the first and the last hidden row, as in SQLite: null for a coverage without rows, and for a text that is no
-- valid JSON. Only the built-in functions are used, so no search_path can change the result.
CREATE FUNCTION "undertext".first_anchor(coverage text) RETURNS bigint LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
BEGIN
  RETURN least((coverage::jsonb #>> '{p,0,0}')::bigint, (coverage::jsonb #>> '{i,0,0}')::bigint);
EXCEPTION WHEN others THEN
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE FUNCTION "undertext".last_anchor(coverage text) RETURNS bigint LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
BEGIN
  RETURN greatest((coverage::jsonb #>> '{p,-1,1}')::bigint, (coverage::jsonb #>> '{i,-1,0}')::bigint);
EXCEPTION WHEN others THEN
  RETURN NULL;
END $$;
