-- The promises of this package, kept by the database itself. A purge takes out a permit for its own transaction:
-- set_config('undertext.purging', 'on', true). Inserts need no guard as in SQLite: a second row with a key is refused, or is an update.
-- The triggers are written as pg_get_triggerdef prints them, because the runner compares them with that.
CREATE FUNCTION "undertext".refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'undertext: %', tg_argv[0] USING ERRCODE = 'UT001';
END $$;
--> statement-breakpoint
CREATE TRIGGER messages_are_written_once BEFORE UPDATE OF family, key, session, anchor, ordinal, "position", kind, role, flags, id, created_at, idempotency_key, inserted_by ON "undertext".messages FOR EACH ROW EXECUTE FUNCTION "undertext".refuse('messages are written once');
--> statement-breakpoint
CREATE TRIGGER messages_are_kept BEFORE DELETE ON "undertext".messages FOR EACH ROW WHEN ((current_setting('undertext.purging'::text, true) IS DISTINCT FROM 'on'::text)) EXECUTE FUNCTION "undertext".refuse('messages are kept; purgeSession is the one way to remove them');
--> statement-breakpoint
CREATE TRIGGER contents_are_written_once BEFORE UPDATE ON "undertext".contents FOR EACH ROW EXECUTE FUNCTION "undertext".refuse('contents are written once');
--> statement-breakpoint
CREATE TRIGGER contents_are_kept BEFORE DELETE ON "undertext".contents FOR EACH ROW WHEN ((current_setting('undertext.purging'::text, true) IS DISTINCT FROM 'on'::text)) EXECUTE FUNCTION "undertext".refuse('contents are kept; purgeSession is the one way to remove them');
--> statement-breakpoint
CREATE TRIGGER compactions_cover_what_they_cover BEFORE UPDATE OF family, no, id, session, run, kind, coverage, requires, created_at ON "undertext".compactions FOR EACH ROW EXECUTE FUNCTION "undertext".refuse('what a compaction covers is written once');
--> statement-breakpoint
CREATE TRIGGER compactions_are_kept BEFORE DELETE ON "undertext".compactions FOR EACH ROW WHEN ((current_setting('undertext.purging'::text, true) IS DISTINCT FROM 'on'::text)) EXECUTE FUNCTION "undertext".refuse('compactions are kept');
--> statement-breakpoint
CREATE TRIGGER replacements_are_written_once BEFORE UPDATE OF family, compaction, message, part, text ON "undertext".replacements FOR EACH ROW EXECUTE FUNCTION "undertext".refuse('replacements are written once');
--> statement-breakpoint
CREATE TRIGGER replacements_are_kept BEFORE DELETE ON "undertext".replacements FOR EACH ROW WHEN ((current_setting('undertext.purging'::text, true) IS DISTINCT FROM 'on'::text)) EXECUTE FUNCTION "undertext".refuse('replacements are kept');
--> statement-breakpoint
CREATE TRIGGER blobs_are_written_once BEFORE UPDATE OF family, hash, bytes ON "undertext".blobs FOR EACH ROW EXECUTE FUNCTION "undertext".refuse('blobs are written once');
--> statement-breakpoint
CREATE TRIGGER blobs_are_kept BEFORE DELETE ON "undertext".blobs FOR EACH ROW WHEN (((old.reference_count > 0) AND (current_setting('undertext.purging'::text, true) IS DISTINCT FROM 'on'::text))) EXECUTE FUNCTION "undertext".refuse('blobs are kept while a message refers to them');
--> statement-breakpoint
CREATE TRIGGER audit_is_append_only BEFORE UPDATE ON "undertext".audit FOR EACH ROW EXECUTE FUNCTION "undertext".refuse('the audit is append-only');
--> statement-breakpoint
CREATE TRIGGER audit_is_kept BEFORE DELETE ON "undertext".audit FOR EACH ROW WHEN ((current_setting('undertext.purging'::text, true) IS DISTINCT FROM 'on'::text)) EXECUTE FUNCTION "undertext".refuse('the audit is kept');
--> statement-breakpoint
CREATE TRIGGER messages_are_not_truncated BEFORE TRUNCATE ON "undertext".messages FOR EACH STATEMENT EXECUTE FUNCTION "undertext".refuse('messages are kept');
--> statement-breakpoint
CREATE TRIGGER contents_are_not_truncated BEFORE TRUNCATE ON "undertext".contents FOR EACH STATEMENT EXECUTE FUNCTION "undertext".refuse('contents are kept');
--> statement-breakpoint
CREATE TRIGGER compactions_are_not_truncated BEFORE TRUNCATE ON "undertext".compactions FOR EACH STATEMENT EXECUTE FUNCTION "undertext".refuse('compactions are kept');
--> statement-breakpoint
CREATE TRIGGER replacements_are_not_truncated BEFORE TRUNCATE ON "undertext".replacements FOR EACH STATEMENT EXECUTE FUNCTION "undertext".refuse('replacements are kept');
--> statement-breakpoint
CREATE TRIGGER blobs_are_not_truncated BEFORE TRUNCATE ON "undertext".blobs FOR EACH STATEMENT EXECUTE FUNCTION "undertext".refuse('blobs are kept');
--> statement-breakpoint
CREATE TRIGGER audit_is_not_truncated BEFORE TRUNCATE ON "undertext".audit FOR EACH STATEMENT EXECUTE FUNCTION "undertext".refuse('the audit is kept');
--> statement-breakpoint
-- Half of a page stays free, so that the counters of a session change without a change of its indexes.
ALTER TABLE "undertext".sessions SET (fillfactor = 50);
