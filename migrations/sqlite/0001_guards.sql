-- The promises of this package, kept by the database itself. A purge takes out a permit for its own
-- transaction: the row 'purging' of undertext_meta.
-- The guards before inserts are against INSERT OR REPLACE, which deletes without firing the triggers that keep rows
-- when the connection has recursive_triggers off (SQLite's default, and a pragma of an application's connection is
-- its own). undertext_compactions has none: bringing an attempt to its end is an insert on conflict.
CREATE TRIGGER undertext_messages_are_written_once
BEFORE UPDATE OF key, session, anchor, ordinal, position, kind, role, flags, id, created_at, idempotency_key, inserted_by
ON undertext_messages
BEGIN SELECT RAISE(ABORT, 'undertext: messages are written once'); END;
--> statement-breakpoint
CREATE TRIGGER undertext_messages_are_not_replaced BEFORE INSERT ON undertext_messages
WHEN EXISTS (SELECT 1 FROM undertext_messages WHERE key = NEW.key)
BEGIN SELECT RAISE(ABORT, 'undertext: this message is there already'); END;
--> statement-breakpoint
CREATE TRIGGER undertext_messages_are_kept BEFORE DELETE ON undertext_messages
WHEN NOT EXISTS (SELECT 1 FROM undertext_meta WHERE key = 'purging')
BEGIN SELECT RAISE(ABORT, 'undertext: messages are kept; purgeSession is the one way to remove them'); END;
--> statement-breakpoint
CREATE TRIGGER undertext_contents_are_written_once BEFORE UPDATE ON undertext_contents
BEGIN SELECT RAISE(ABORT, 'undertext: contents are written once'); END;
--> statement-breakpoint
CREATE TRIGGER undertext_contents_are_not_replaced BEFORE INSERT ON undertext_contents
WHEN EXISTS (SELECT 1 FROM undertext_contents WHERE key = NEW.key)
BEGIN SELECT RAISE(ABORT, 'undertext: this content is there already'); END;
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
CREATE TRIGGER undertext_replacements_are_written_once
BEFORE UPDATE OF compaction, message, part, text ON undertext_replacements
BEGIN SELECT RAISE(ABORT, 'undertext: replacements are written once'); END;
--> statement-breakpoint
CREATE TRIGGER undertext_replacements_are_not_replaced BEFORE INSERT ON undertext_replacements
WHEN EXISTS (SELECT 1 FROM undertext_replacements
  WHERE compaction = NEW.compaction AND message = NEW.message AND part = NEW.part)
BEGIN SELECT RAISE(ABORT, 'undertext: this replacement is there already'); END;
--> statement-breakpoint
CREATE TRIGGER undertext_replacements_are_kept BEFORE DELETE ON undertext_replacements
WHEN NOT EXISTS (SELECT 1 FROM undertext_meta WHERE key = 'purging')
BEGIN SELECT RAISE(ABORT, 'undertext: replacements are kept'); END;
--> statement-breakpoint
CREATE TRIGGER undertext_blobs_are_written_once BEFORE UPDATE OF hash, bytes ON undertext_blobs
BEGIN SELECT RAISE(ABORT, 'undertext: blobs are written once'); END;
--> statement-breakpoint
CREATE TRIGGER undertext_blobs_are_not_replaced BEFORE INSERT ON undertext_blobs
WHEN EXISTS (SELECT 1 FROM undertext_blobs WHERE hash = NEW.hash)
BEGIN SELECT RAISE(ABORT, 'undertext: this blob is there already'); END;
--> statement-breakpoint
CREATE TRIGGER undertext_blobs_are_kept BEFORE DELETE ON undertext_blobs
WHEN OLD.reference_count > 0 AND NOT EXISTS (SELECT 1 FROM undertext_meta WHERE key = 'purging')
BEGIN SELECT RAISE(ABORT, 'undertext: blobs are kept while a message refers to them'); END;
--> statement-breakpoint
CREATE TRIGGER undertext_audit_is_not_replaced BEFORE INSERT ON undertext_audit
WHEN EXISTS (SELECT 1 FROM undertext_audit WHERE no = NEW.no)
BEGIN SELECT RAISE(ABORT, 'undertext: this row of the audit is there already'); END;
--> statement-breakpoint
CREATE TRIGGER undertext_audit_is_append_only BEFORE UPDATE ON undertext_audit
BEGIN SELECT RAISE(ABORT, 'undertext: the audit is append-only'); END;
--> statement-breakpoint
CREATE TRIGGER undertext_audit_is_kept BEFORE DELETE ON undertext_audit
WHEN NOT EXISTS (SELECT 1 FROM undertext_meta WHERE key = 'purging')
BEGIN SELECT RAISE(ABORT, 'undertext: the audit is kept'); END;
