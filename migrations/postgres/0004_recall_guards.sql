CREATE TRIGGER sources_are_written_once BEFORE UPDATE OF source ON "undertext".messages FOR EACH ROW WHEN ((current_setting('undertext.purging'::text, true) IS DISTINCT FROM 'on'::text)) EXECUTE FUNCTION "undertext".refuse('messages are written once');
--> statement-breakpoint
CREATE TRIGGER notes_are_written_once BEFORE UPDATE OF family, id, session, owner, no, key, text, metadata, source_session, source, actor, created_at ON "undertext".notes FOR EACH ROW EXECUTE FUNCTION "undertext".refuse('notes are written once');
--> statement-breakpoint
CREATE TRIGGER notes_are_kept BEFORE DELETE ON "undertext".notes FOR EACH ROW WHEN ((current_setting('undertext.purging'::text, true) IS DISTINCT FROM 'on'::text)) EXECUTE FUNCTION "undertext".refuse('notes are kept; a purge is the one way to remove them');
--> statement-breakpoint
CREATE TRIGGER notes_are_not_truncated BEFORE TRUNCATE ON "undertext".notes FOR EACH STATEMENT EXECUTE FUNCTION "undertext".refuse('notes are kept');
