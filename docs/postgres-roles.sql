-- Rights for the role of an application. The owner of the schema opens the store first, and again after each update of the package;
-- the application's role then needs no right to create anything. Run this as the owner, or as a superuser, and run it again after each
-- update: it replaces what it made before.

-- 1. What undertext needs. With these rights alone, no content can be changed or removed, even without the triggers.
DO $$
BEGIN
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'undertext_app') THEN
    CREATE ROLE undertext_app NOLOGIN;
  END IF;
END $$;
GRANT USAGE ON SCHEMA undertext TO undertext_app;
GRANT EXECUTE ON FUNCTION undertext.first_anchor(text), undertext.last_anchor(text) TO undertext_app;
GRANT SELECT ON ALL TABLES IN SCHEMA undertext TO undertext_app;
-- Written once.
GRANT INSERT ON undertext.contents, undertext.audit TO undertext_app;
-- Written once except for tags and figures.
GRANT INSERT, UPDATE (condense_parent, truncation_parent, retired_by, pinned, shown, tools, size_text, size_reasoning, size_calls,
  size_results, size_media, size_images, size_bytes, size_large) ON undertext.messages TO undertext_app;
GRANT INSERT, UPDATE (status, trigger, actor, reason, params, rows_hidden, parts_replaced, rows_inserted, tokens_before, tokens_after,
  summarizer, model, prompt_version, usage, cost, error, changed_at, rank, undone_with_run, turned)
  ON undertext.compactions TO undertext_app;
GRANT INSERT, UPDATE (saved_text, saved_reasoning, saved_results, saved_media, saved_images, saved_bytes, saved_large) ON undertext.replacements TO undertext_app;
GRANT INSERT, UPDATE (replaced_by, forgotten_at) ON undertext.notes TO undertext_app;
GRANT INSERT, UPDATE (answer_first, answer_last) ON undertext.requests TO undertext_app;
GRANT INSERT, UPDATE (reference_count) ON undertext.blobs TO undertext_app;
-- Free.
GRANT INSERT, UPDATE, DELETE ON undertext.names, undertext.sessions, undertext.measurements, undertext.usage, undertext.jobs,
  undertext.circuits, undertext.operations, undertext.calibrations, undertext.limits, undertext.searched, undertext.words TO undertext_app;

-- 2. For sessions.purge, for notes that are removed permanently, and for discarded imports. The triggers prevent all other deletions.
GRANT DELETE ON undertext.messages, undertext.contents, undertext.compactions, undertext.replacements, undertext.audit,
  undertext.blobs, undertext.notes, undertext.requests TO undertext_app;
-- A purge that keeps forks gives them what they need of the purged session.
GRANT UPDATE (source) ON undertext.messages TO undertext_app;
GRANT UPDATE (copied_from) ON undertext.compactions TO undertext_app;

-- 3. Optional: each database role sees only the sessions whose owner has the role's name. The owner of the tables sees all. For an
-- application with one role for all of its users, run postgres-owners.sql after this: then a setting of the transaction names the owner.
-- Sessions without an owner are seen by the owner of the tables alone. Blobs (images, files, texts of requests) are shared by the forks
-- of a session, and so they are seen by the owners of all of them. Set jit = off for roles that log in (ALTER ROLE app SET jit = off):
-- the planner takes these checks for expensive and would compile each view.
BEGIN;
-- Whose sessions the current role sees.
CREATE OR REPLACE FUNCTION undertext.current_owner() RETURNS text LANGUAGE sql STABLE SET search_path = pg_catalog AS $$
  SELECT current_user::text
$$;
GRANT EXECUTE ON FUNCTION undertext.current_owner() TO undertext_app;
-- A fork refers to contents and long replacements of the session that it was made of, which may have another owner. A row's key is its
-- session's number less one, times 2^34, and its place in the session, which is the same in a fork.
CREATE OR REPLACE FUNCTION undertext.uses_text(of_owner text, in_family bigint, in_compaction bigint, in_message bigint, in_part integer,
  by_others boolean) RETURNS boolean LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog AS $$
BEGIN
  RETURN EXISTS (SELECT FROM undertext.sessions s JOIN undertext.replacements r ON r.family = s.family
      AND r.message = ((s.no - 1) << 34) + (in_message & 17179869183) AND r.part = in_part
    WHERE s.family = in_family AND s.forked_at IS NOT NULL AND (s.owner IS DISTINCT FROM of_owner) = by_others
      AND CASE WHEN left(r.text, 1) = '[' THEN (r.text::json ->> 0)::bigint = in_compaction AND (r.text::json ->> 1)::bigint = in_message END);
END $$;
-- A purge fails while a fork of another owner needs a content or a text. Purge such a session as the owner of the tables, with
-- forks: 'keep'.
CREATE OR REPLACE FUNCTION undertext.refuse_needed(in_family bigint, content bigint, of_owner text) RETURNS boolean
  LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog AS $$
BEGIN
  IF EXISTS (SELECT FROM undertext.sessions s JOIN undertext.messages m ON m.family = s.family AND m.session = s.no
      WHERE s.family = in_family AND m.source = content AND s.owner IS DISTINCT FROM of_owner) THEN
    RAISE EXCEPTION 'a fork of another owner needs this content' USING ERRCODE = 'UT002';
  END IF;
  RETURN true;
END $$;
CREATE OR REPLACE FUNCTION undertext.refuse_needed_text(of_owner text, in_family bigint, in_compaction bigint, in_message bigint,
  in_part integer) RETURNS boolean LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog AS $$
BEGIN
  IF undertext.uses_text(of_owner, in_family, in_compaction, in_message, in_part, true) THEN
    RAISE EXCEPTION 'a fork of another owner needs this text' USING ERRCODE = 'UT002';
  END IF;
  RETURN true;
END $$;
REVOKE EXECUTE ON FUNCTION undertext.uses_text(text, bigint, bigint, bigint, integer, boolean),
  undertext.refuse_needed(bigint, bigint, text), undertext.refuse_needed_text(text, bigint, bigint, bigint, integer) FROM public;
GRANT EXECUTE ON FUNCTION undertext.uses_text(text, bigint, bigint, bigint, integer, boolean),
  undertext.refuse_needed(bigint, bigint, text), undertext.refuse_needed_text(text, bigint, bigint, bigint, integer) TO undertext_app;
DO $$
DECLARE
  one record;
  seen text;
BEGIN
  FOR one IN SELECT p.tablename, p.policyname FROM pg_policies p
      WHERE p.schemaname = 'undertext' AND p.policyname IN ('by_owner', 'by_name', 'needed') LOOP
    EXECUTE format('DROP POLICY %I ON undertext.%I', one.policyname, one.tablename);
  END LOOP;
  -- The rows of sessions: each table with a family, so also those of later versions.
  FOR one IN SELECT c.relname, EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = 'session' AND NOT a.attisdropped)
        AS has_session
      FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'family' AND NOT a.attisdropped
      WHERE c.relnamespace = 'undertext'::regnamespace AND c.relkind = 'r' LOOP
    seen = CASE
      WHEN one.relname = 'sessions' THEN 'owner = undertext.current_owner()'
      WHEN one.has_session THEN 'EXISTS (SELECT FROM undertext.sessions s WHERE s.family = %1$I.family AND s.no = %1$I.session)'
      WHEN one.relname = 'contents' THEN 'EXISTS (SELECT FROM undertext.sessions s WHERE s.family = contents.family AND s.no = (contents.key >> 34) + 1)
        OR EXISTS (SELECT FROM undertext.sessions s JOIN undertext.messages m ON m.family = s.family AND m.session = s.no
          WHERE s.family = contents.family AND s.forked_at IS NOT NULL AND m.source = contents.key)'
      WHEN one.relname = 'replacements' THEN 'EXISTS (SELECT FROM undertext.sessions s
          WHERE s.family = replacements.family AND s.no = (replacements.compaction >> 34) + 1)
        OR undertext.uses_text(undertext.current_owner(), family, compaction, message, part, false)'
      ELSE 'EXISTS (SELECT FROM undertext.sessions s WHERE s.family = %1$I.family)'
    END;
    EXECUTE format('ALTER TABLE undertext.%I ENABLE ROW LEVEL SECURITY', one.relname);
    EXECUTE format('CREATE POLICY by_owner ON undertext.%1$I USING (' || seen || ')'
      || CASE WHEN one.relname = 'sessions' THEN '' ELSE ' WITH CHECK (true)' END, one.relname);
  END LOOP;
END $$;
CREATE POLICY needed ON undertext.contents AS RESTRICTIVE FOR DELETE USING (undertext.refuse_needed(family, key, undertext.current_owner()));
CREATE POLICY needed ON undertext.replacements AS RESTRICTIVE FOR DELETE
  USING (undertext.refuse_needed_text(undertext.current_owner(), family, compaction, message, part));
-- Not the last reference of a session: the blob may be another's.
CREATE POLICY needed ON undertext.blobs AS RESTRICTIVE FOR DELETE USING (reference_count <= 0);
-- Notes of an owner belong to no session.
CREATE POLICY by_name ON undertext.notes USING (owner = undertext.current_owner());
COMMIT;
