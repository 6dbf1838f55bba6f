-- Rights for the role of an application. The owner of the schema opens the store first, and again after each update of the package;
-- the application's role then needs no right to create anything. Run this as the owner, or as a superuser.

-- 1. What undertext needs. With these rights alone, no content can be changed or removed, even without the triggers.
CREATE ROLE undertext_app NOLOGIN;
GRANT USAGE ON SCHEMA undertext TO undertext_app;
GRANT EXECUTE ON FUNCTION undertext.first_anchor(text), undertext.last_anchor(text) TO undertext_app;
GRANT SELECT ON ALL TABLES IN SCHEMA undertext TO undertext_app;
-- Written once.
GRANT INSERT ON undertext.contents, undertext.audit TO undertext_app;
-- Written once except for tags and figures.
GRANT INSERT, UPDATE (condense_parent, truncation_parent, retired_by, pinned, shown, tools, size_text, size_reasoning, size_calls,
  size_results, size_media) ON undertext.messages TO undertext_app;
GRANT INSERT, UPDATE (status, trigger, actor, reason, params, rows_hidden, parts_replaced, rows_inserted, tokens_before, tokens_after,
  summarizer, model, prompt_version, usage, cost, error, changed_at, rank, undone_with_run, turned)
  ON undertext.compactions TO undertext_app;
GRANT INSERT, UPDATE (saved_text, saved_reasoning, saved_results, saved_media) ON undertext.replacements TO undertext_app;
GRANT INSERT, UPDATE (replaced_by, forgotten_at) ON undertext.notes TO undertext_app;
GRANT INSERT, UPDATE (answer_first, answer_last) ON undertext.requests TO undertext_app;
GRANT INSERT, UPDATE (reference_count) ON undertext.blobs TO undertext_app;
-- Free.
GRANT INSERT, UPDATE, DELETE ON undertext.names, undertext.sessions, undertext.measurements, undertext.usage, undertext.jobs,
  undertext.circuits, undertext.operations, undertext.calibrations, undertext.limits, undertext.searched, undertext.words TO undertext_app;

-- 2. For purgeSession, for notes that are forgotten for good, and for imports that are given up. The triggers see to it that nothing else deletes.
GRANT DELETE ON undertext.messages, undertext.contents, undertext.compactions, undertext.replacements, undertext.audit,
  undertext.blobs, undertext.notes, undertext.requests TO undertext_app;
-- A purge that keeps forks gives them what they need of the purged session.
GRANT UPDATE (source) ON undertext.messages TO undertext_app;
GRANT UPDATE (copied_from) ON undertext.compactions TO undertext_app;

-- 3. Optional: each database role sees only the sessions whose owner has the role's name. The owner of the tables sees all.
-- Sessions without an owner are seen by the owner of the tables alone.
ALTER TABLE undertext.sessions ENABLE ROW LEVEL SECURITY;
CREATE POLICY by_owner ON undertext.sessions USING (owner = current_user);
CREATE POLICY by_owner ON undertext.messages USING (EXISTS (SELECT FROM undertext.sessions s
  WHERE s.family = messages.family AND s.no = messages.session)) WITH CHECK (true);
-- A fork refers to contents of the session that it was made of, which may have another owner.
CREATE POLICY by_owner ON undertext.contents USING (
  EXISTS (SELECT FROM undertext.messages m WHERE m.family = contents.family AND m.key = contents.key)
  OR EXISTS (SELECT FROM undertext.sessions s JOIN undertext.messages m ON m.family = s.family AND m.session = s.no
    WHERE s.family = contents.family AND m.source = contents.key)) WITH CHECK (true);
DO $$
DECLARE name text;
BEGIN
  FOREACH name IN ARRAY ARRAY['messages', 'contents', 'names', 'compactions', 'replacements', 'audit', 'measurements', 'usage',
    'jobs', 'circuits', 'operations', 'notes', 'requests', 'searched', 'words', 'blobs'] LOOP
    EXECUTE format('ALTER TABLE undertext.%I ENABLE ROW LEVEL SECURITY', name);
    CONTINUE WHEN name IN ('messages', 'contents');
    EXECUTE format('CREATE POLICY by_owner ON undertext.%I USING (EXISTS (SELECT FROM undertext.sessions s
      WHERE s.family = %1$I.family)) WITH CHECK (true)', name);
  END LOOP;
END $$;
-- A purge fails while a fork of another owner needs a content. Purge such a session as the owner of the tables, with forks: 'keep'.
CREATE FUNCTION undertext.refuse_needed(in_family bigint, content bigint, of_owner text) RETURNS boolean
  LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog AS $$
BEGIN
  IF EXISTS (SELECT FROM undertext.sessions s JOIN undertext.messages m ON m.family = s.family AND m.session = s.no
      WHERE s.family = in_family AND m.source = content AND s.owner IS DISTINCT FROM of_owner) THEN
    RAISE EXCEPTION 'a fork of another owner needs this content' USING ERRCODE = 'UT002';
  END IF;
  RETURN true;
END $$;
REVOKE EXECUTE ON FUNCTION undertext.refuse_needed(bigint, bigint, text) FROM public;
GRANT EXECUTE ON FUNCTION undertext.refuse_needed(bigint, bigint, text) TO undertext_app;
CREATE POLICY needed ON undertext.contents AS RESTRICTIVE FOR DELETE USING (undertext.refuse_needed(family, key, current_user));
-- Notes of an owner belong to no session.
CREATE POLICY by_name ON undertext.notes USING (owner = current_user);
