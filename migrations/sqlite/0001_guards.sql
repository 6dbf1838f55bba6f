-- The promises of this package, kept by the database itself. A purge takes out a permit for its own
-- transaction: the row 'purging' of undertext_meta.
CREATE TRIGGER undertext_messages_are_written_once
BEFORE UPDATE OF key, session, anchor, ordinal, position, kind, role, flags, id, created_at, idempotency_key, inserted_by
ON undertext_messages
BEGIN SELECT RAISE(ABORT, 'undertext: messages are written once'); END;
--> statement-breakpoint
CREATE TRIGGER undertext_messages_are_kept BEFORE DELETE ON undertext_messages
WHEN NOT EXISTS (SELECT 1 FROM undertext_meta WHERE key = 'purging')
BEGIN SELECT RAISE(ABORT, 'undertext: messages are kept; purgeSession is the one way to remove them'); END;
--> statement-breakpoint
CREATE TRIGGER undertext_contents_are_written_once BEFORE UPDATE ON undertext_contents
BEGIN SELECT RAISE(ABORT, 'undertext: contents are written once'); END;
--> statement-breakpoint
CREATE TRIGGER undertext_contents_are_kept BEFORE DELETE ON undertext_contents
WHEN NOT EXISTS (SELECT 1 FROM undertext_meta WHERE key = 'purging')
BEGIN SELECT RAISE(ABORT, 'undertext: contents are kept; purgeSession is the one way to remove them'); END;
--> statement-breakpoint
CREATE TRIGGER undertext_compactions_cover_what_they_cover
BEFORE UPDATE OF no, id, session, run, kind, coverage, requires, created_at ON undertext_compactions
BEGIN SELECT RAISE(ABORT, 'undertext: what a compaction covers is written once'); END;
--> statement-breakpoint
CREATE TRIGGER undertext_compactions_are_kept BEFORE DELETE ON undertext_compactions
WHEN NOT EXISTS (SELECT 1 FROM undertext_meta WHERE key = 'purging')
BEGIN SELECT RAISE(ABORT, 'undertext: compactions are kept'); END;
--> statement-breakpoint
CREATE TRIGGER undertext_replacements_are_kept BEFORE DELETE ON undertext_replacements
WHEN NOT EXISTS (SELECT 1 FROM undertext_meta WHERE key = 'purging')
BEGIN SELECT RAISE(ABORT, 'undertext: replacements are kept'); END;
--> statement-breakpoint
CREATE TRIGGER undertext_audit_is_append_only BEFORE UPDATE ON undertext_audit
BEGIN SELECT RAISE(ABORT, 'undertext: the audit is append-only'); END;
--> statement-breakpoint
CREATE TRIGGER undertext_audit_is_kept BEFORE DELETE ON undertext_audit
WHEN NOT EXISTS (SELECT 1 FROM undertext_meta WHERE key = 'purging')
BEGIN SELECT RAISE(ABORT, 'undertext: the audit is kept'); END;
