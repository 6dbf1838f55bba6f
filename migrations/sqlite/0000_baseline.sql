CREATE TABLE `undertext_audit` (
	`no` integer PRIMARY KEY NOT NULL,
	`session` integer NOT NULL,
	`event` text NOT NULL,
	`compaction` integer,
	`run` text,
	`at` integer NOT NULL,
	`actor` text,
	`detail` text,
	`position` integer
);
--> statement-breakpoint
CREATE INDEX `undertext_audit_session` ON `undertext_audit` (`session`,`no`);
--> statement-breakpoint
CREATE INDEX `undertext_audit_turned` ON `undertext_audit` (`session`,`position`) WHERE compaction is not null;
--> statement-breakpoint
CREATE INDEX `undertext_audit_run_undone` ON `undertext_audit` (`run`) WHERE event = 'run undone';
--> statement-breakpoint
CREATE TABLE `undertext_blobs` (
	`hash` blob PRIMARY KEY NOT NULL,
	`reference_count` integer NOT NULL,
	`bytes` blob NOT NULL
);
--> statement-breakpoint
-- Small tables with a key of several columns need no second tree beside it: a page less each in every file.
CREATE TABLE `undertext_calibrations` (
	`provider` text NOT NULL,
	`model` text NOT NULL,
	`estimator` text NOT NULL,
	`grown_samples` integer NOT NULL,
	`grown_measured` real NOT NULL,
	`grown_estimated` real NOT NULL,
	`whole_samples` integer NOT NULL,
	`whole_measured` real NOT NULL,
	`whole_estimated` real NOT NULL,
	`at` integer NOT NULL,
	PRIMARY KEY(`provider`, `model`, `estimator`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `undertext_circuits` (
	`session` integer PRIMARY KEY NOT NULL,
	`failures` integer NOT NULL,
	`view_epoch` integer NOT NULL,
	`model` text NOT NULL,
	`error` text NOT NULL,
	`open_until` integer,
	`changed_at` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `undertext_compactions` (
	`no` integer PRIMARY KEY NOT NULL,
	`id` text NOT NULL,
	`session` integer NOT NULL,
	`run` text NOT NULL,
	`kind` text NOT NULL,
	`status` text NOT NULL,
	`trigger` text NOT NULL,
	`actor` text,
	`reason` text,
	`params` text,
	`coverage` text NOT NULL,
	`requires` text,
	`rows_hidden` integer DEFAULT 0 NOT NULL,
	`parts_replaced` integer DEFAULT 0 NOT NULL,
	`rows_inserted` integer DEFAULT 0 NOT NULL,
	`tokens_before` integer NOT NULL,
	`tokens_after` integer NOT NULL,
	`summarizer` text,
	`model` text,
	`prompt_version` text,
	`usage` text,
	`cost` real,
	`error` text,
	`created_at` integer NOT NULL,
	`changed_at` integer NOT NULL,
	`rank` integer NOT NULL,
	`undone_with_run` integer,
	`turned` text,
	`copied_from` text,
	`first_anchor` integer GENERATED ALWAYS AS (case when json_valid(coverage) then min(ifnull(coverage ->> '$.p[0][0]', coverage ->> '$.i[0][0]'), ifnull(coverage ->> '$.i[0][0]', coverage ->> '$.p[0][0]')) end) VIRTUAL,
	`last_anchor` integer GENERATED ALWAYS AS (case when json_valid(coverage) then max(ifnull(coverage ->> '$.p[#-1][1]', coverage ->> '$.i[#-1][0]'), ifnull(coverage ->> '$.i[#-1][0]', coverage ->> '$.p[#-1][1]')) end) VIRTUAL
);
--> statement-breakpoint
CREATE INDEX `undertext_compactions_spans` ON `undertext_compactions` (`session`,`status`,`first_anchor`,`last_anchor`,`rank`);
--> statement-breakpoint
CREATE INDEX `undertext_compactions_replacing` ON `undertext_compactions` (`session`) WHERE status = 'active' and parts_replaced > 0;
--> statement-breakpoint
CREATE INDEX `undertext_compactions_undone_with` ON `undertext_compactions` (`undone_with_run`) WHERE undone_with_run is not null;
--> statement-breakpoint
CREATE UNIQUE INDEX `undertext_compactions_id` ON `undertext_compactions` (`id`,`session`);
--> statement-breakpoint
CREATE INDEX `undertext_compactions_session` ON `undertext_compactions` (`session`,`no`);
--> statement-breakpoint
CREATE INDEX `undertext_compactions_run` ON `undertext_compactions` (`run`);
--> statement-breakpoint
CREATE INDEX `undertext_compactions_summaries` ON `undertext_compactions` (`created_at`) WHERE summarizer is not null;
--> statement-breakpoint
CREATE INDEX `undertext_compactions_running` ON `undertext_compactions` (`session`) WHERE status = 'running';
--> statement-breakpoint
CREATE TABLE `undertext_contents` (
	`key` integer PRIMARY KEY NOT NULL,
	`content` text NOT NULL,
	`metadata` text,
	`blobs` text
);
--> statement-breakpoint
CREATE TABLE `undertext_jobs` (
	`no` integer PRIMARY KEY NOT NULL,
	`id` text NOT NULL,
	`session` integer NOT NULL,
	`state` text NOT NULL,
	`request` text,
	`position` integer NOT NULL,
	`view_epoch` integer NOT NULL,
	`run` text,
	`attempts` integer DEFAULT 0 NOT NULL,
	`not_before` integer NOT NULL,
	`holder` text,
	`expires` integer,
	`error` text,
	`created_at` integer NOT NULL,
	`changed_at` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `undertext_jobs_id` ON `undertext_jobs` (`id`);
--> statement-breakpoint
CREATE UNIQUE INDEX `undertext_jobs_open` ON `undertext_jobs` (`session`) WHERE state in ('queued', 'running');
--> statement-breakpoint
CREATE INDEX `undertext_jobs_session` ON `undertext_jobs` (`session`,`no`);
--> statement-breakpoint
CREATE TABLE `undertext_limits` (
	`provider` text NOT NULL,
	`model` text NOT NULL,
	`kind` text NOT NULL,
	`tokens` integer NOT NULL,
	`at` integer NOT NULL,
	PRIMARY KEY(`provider`, `model`, `kind`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `undertext_measurements` (
	`session` integer NOT NULL,
	`provider` text NOT NULL,
	`model` text NOT NULL,
	`estimator` text NOT NULL,
	`view_epoch` integer NOT NULL,
	`tokens` integer NOT NULL,
	`held` integer NOT NULL,
	`history` integer NOT NULL,
	`standing` integer NOT NULL,
	`pending` integer NOT NULL,
	`first_tokens` integer,
	`first_estimate` integer NOT NULL,
	`at` integer NOT NULL,
	PRIMARY KEY(`session`, `provider`, `model`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `undertext_messages` (
	`key` integer PRIMARY KEY NOT NULL,
	`session` integer NOT NULL,
	`anchor` integer NOT NULL,
	`ordinal` integer DEFAULT 0 NOT NULL,
	`position` integer,
	`kind` integer DEFAULT 0 NOT NULL,
	`role` integer NOT NULL,
	`flags` integer DEFAULT 0 NOT NULL,
	`id` text,
	`size_text` integer NOT NULL,
	`size_reasoning` integer NOT NULL,
	`size_calls` integer NOT NULL,
	`size_results` integer NOT NULL,
	`size_media` integer NOT NULL,
	`size_images` integer DEFAULT 0 NOT NULL,
	`size_bytes` integer DEFAULT 0 NOT NULL,
	`size_large` integer DEFAULT 0 NOT NULL,
	`tools` text,
	`created_at` integer NOT NULL,
	`idempotency_key` text,
	`inserted_by` integer,
	`condense_parent` integer,
	`truncation_parent` integer,
	`retired_by` integer,
	`pinned` integer DEFAULT 0 NOT NULL,
	`shown` text,
	`source` integer
);
--> statement-breakpoint
CREATE UNIQUE INDEX `undertext_log` ON `undertext_messages` (`session`,`position`,`ordinal`);
--> statement-breakpoint
CREATE INDEX `undertext_visible` ON `undertext_messages` (`session`,`anchor`,`ordinal`) WHERE condense_parent is null and truncation_parent is null and retired_by is null;
--> statement-breakpoint
CREATE UNIQUE INDEX `undertext_messages_id` ON `undertext_messages` (`session`,`id`) WHERE id is not null;
--> statement-breakpoint
CREATE INDEX `undertext_messages_idempotency` ON `undertext_messages` (`session`,`idempotency_key`) WHERE idempotency_key is not null;
--> statement-breakpoint
CREATE INDEX `undertext_messages_inserted` ON `undertext_messages` (`inserted_by`) WHERE inserted_by is not null;
--> statement-breakpoint
CREATE INDEX `undertext_messages_source` ON `undertext_messages` (`session`,`source`) WHERE source is not null;
--> statement-breakpoint
CREATE TABLE `undertext_meta` (
	`key` text PRIMARY KEY NOT NULL,
	`value` text NOT NULL
);
--> statement-breakpoint
CREATE TABLE `undertext_notes` (
	`id` text NOT NULL,
	`session` integer NOT NULL,
	`owner` text NOT NULL,
	`no` integer NOT NULL,
	`key` text,
	`text` text NOT NULL,
	`metadata` text,
	`source_session` text,
	`source` text,
	`actor` text,
	`created_at` integer NOT NULL,
	`replaced_by` integer,
	`forgotten_at` integer,
	PRIMARY KEY(`session`, `owner`, `no`)
);
--> statement-breakpoint
CREATE INDEX `undertext_notes_id` ON `undertext_notes` (`id`);
--> statement-breakpoint
CREATE INDEX `undertext_notes_key` ON `undertext_notes` (`session`,`owner`,`key`) WHERE key is not null;
--> statement-breakpoint
CREATE INDEX `undertext_notes_current` ON `undertext_notes` (`session`,`owner`,`no`) WHERE replaced_by is null and forgotten_at is null;
--> statement-breakpoint
CREATE TABLE `undertext_operations` (
	`session` integer NOT NULL,
	`id` text NOT NULL,
	`digest` text NOT NULL,
	`compaction` integer,
	`positions` text NOT NULL,
	PRIMARY KEY(`session`, `id`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `undertext_replacements` (
	`compaction` integer NOT NULL,
	`message` integer NOT NULL,
	`part` integer NOT NULL,
	`text` text NOT NULL,
	`saved_text` integer NOT NULL,
	`saved_reasoning` integer DEFAULT 0 NOT NULL,
	`saved_results` integer NOT NULL,
	`saved_media` integer NOT NULL,
	`saved_images` integer DEFAULT 0 NOT NULL,
	`saved_bytes` integer DEFAULT 0 NOT NULL,
	`saved_large` integer DEFAULT 0 NOT NULL,
	PRIMARY KEY(`compaction`, `message`, `part`)
);
--> statement-breakpoint
CREATE INDEX `undertext_replacements_message` ON `undertext_replacements` (`message`,`part`,`compaction`);
--> statement-breakpoint
CREATE TABLE `undertext_requests` (
	`session` integer NOT NULL,
	`no` integer NOT NULL,
	`position` integer NOT NULL,
	`audit` integer NOT NULL,
	`provider` text NOT NULL,
	`model` text NOT NULL,
	`rendering` text,
	`renderer` integer NOT NULL,
	`hash` blob NOT NULL,
	`system` blob,
	`tools` blob,
	`prompt` blob,
	`files` blob,
	`prompt_first` integer,
	`prompt_last` integer,
	`answer_first` integer,
	`answer_last` integer,
	`input_tokens` integer,
	`cache_read_tokens` integer,
	`cache_creation_tokens` integer,
	`output_tokens` integer,
	`at` integer NOT NULL,
	PRIMARY KEY(`session`, `no`)
);
--> statement-breakpoint
CREATE INDEX `undertext_requests_answer` ON `undertext_requests` (`session`,`answer_last`) WHERE answer_last is not null;
--> statement-breakpoint
CREATE TABLE `undertext_searched` (
	`session` integer PRIMARY KEY NOT NULL,
	`positions` integer NOT NULL,
	`ordinals` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `undertext_sessions` (
	`no` integer PRIMARY KEY NOT NULL,
	`id` text NOT NULL,
	`incarnation` text NOT NULL,
	`owner` text,
	`title` text,
	`provider` text,
	`model` text,
	`config` text,
	`metadata` text,
	`estimator` text NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	`archived_at` integer,
	`messages` integer DEFAULT 0 NOT NULL,
	`inserted` integer DEFAULT 0 NOT NULL,
	`visible` integer DEFAULT 0 NOT NULL,
	`size_text` integer DEFAULT 0 NOT NULL,
	`size_reasoning` integer DEFAULT 0 NOT NULL,
	`size_calls` integer DEFAULT 0 NOT NULL,
	`size_results` integer DEFAULT 0 NOT NULL,
	`size_media` integer DEFAULT 0 NOT NULL,
	`size_images` integer DEFAULT 0 NOT NULL,
	`size_bytes` integer DEFAULT 0 NOT NULL,
	`size_large` integer DEFAULT 0 NOT NULL,
	`hidden_condensed` integer DEFAULT 0 NOT NULL,
	`hidden_truncated` integer DEFAULT 0 NOT NULL,
	`hidden_manual` integer DEFAULT 0 NOT NULL,
	`retired` integer DEFAULT 0 NOT NULL,
	`active_compactions` integer DEFAULT 0 NOT NULL,
	`undone_automatic` integer DEFAULT 0 NOT NULL,
	`version` integer DEFAULT 0 NOT NULL,
	`view_epoch` integer DEFAULT 0 NOT NULL,
	`lease_run` text,
	`lease_holder` text,
	`lease_expires` integer,
	`staged_by` text,
	`forked_from` integer,
	`forked_at` integer
);
--> statement-breakpoint
CREATE UNIQUE INDEX `undertext_sessions_id` ON `undertext_sessions` (`id`);
--> statement-breakpoint
CREATE INDEX `undertext_sessions_forks` ON `undertext_sessions` (`forked_from`) WHERE forked_at is not null;
--> statement-breakpoint
CREATE INDEX `undertext_sessions_incarnation` ON `undertext_sessions` (`incarnation`);
--> statement-breakpoint
CREATE INDEX `undertext_sessions_staged` ON `undertext_sessions` (`staged_by`) WHERE staged_by is not null;
--> statement-breakpoint
CREATE INDEX `undertext_sessions_owner` ON `undertext_sessions` (`owner`,`no`) WHERE owner is not null;
--> statement-breakpoint
CREATE TABLE `undertext_usage` (
	`session` integer NOT NULL,
	`provider` text NOT NULL,
	`model` text NOT NULL,
	`requests` integer NOT NULL,
	`input_tokens` integer NOT NULL,
	`cache_read_tokens` integer NOT NULL,
	`cache_creation_tokens` integer NOT NULL,
	`output_tokens` integer NOT NULL,
	`last_cache_read_tokens` integer,
	`last_cache_creation_tokens` integer,
	`at` integer NOT NULL,
	PRIMARY KEY(`session`, `provider`, `model`)
) WITHOUT ROWID;
--> statement-breakpoint
-- The index of the search. It holds words, not texts, and of each row only which words it has. The words come from src/core/search/words.ts, so
-- the tokenizer only splits them at spaces. A deleted row leaves its words in the file until the index is merged: residue.ts does that.
CREATE VIRTUAL TABLE undertext_words USING fts5(words, content='', contentless_delete=1, detail=none, tokenize="ascii tokenchars '_'");
--> statement-breakpoint
-- How many rows have a word.
CREATE VIRTUAL TABLE undertext_vocabulary USING fts5vocab(undertext_words, row);
--> statement-breakpoint
-- Guarantees of this package, enforced by the database. A purge records a permit for its own
-- transaction: the row 'purging' of undertext_meta.
-- The guards before inserts are against INSERT OR REPLACE, which deletes without firing the triggers that keep rows
-- when the connection has recursive_triggers off (SQLite's default, and a pragma of an application's connection is
-- its own). undertext_compactions has none: bringing an attempt to its end is an insert on conflict.
CREATE TRIGGER undertext_messages_are_written_once
BEFORE UPDATE OF key, session, anchor, ordinal, position, kind, role, flags, id, created_at, idempotency_key, inserted_by
ON undertext_messages
BEGIN SELECT RAISE(ABORT, 'undertext: messages are written once'); END;
--> statement-breakpoint
CREATE TRIGGER undertext_sources_are_written_once BEFORE UPDATE OF source ON undertext_messages
WHEN NOT EXISTS (SELECT 1 FROM undertext_meta WHERE key = 'purging')
BEGIN SELECT RAISE(ABORT, 'undertext: messages are written once'); END;
--> statement-breakpoint
CREATE TRIGGER undertext_messages_are_not_replaced BEFORE INSERT ON undertext_messages
WHEN EXISTS (SELECT 1 FROM undertext_messages WHERE key = NEW.key)
BEGIN SELECT RAISE(ABORT, 'undertext: this message already exists'); END;
--> statement-breakpoint
CREATE TRIGGER undertext_messages_are_kept BEFORE DELETE ON undertext_messages
WHEN NOT EXISTS (SELECT 1 FROM undertext_meta WHERE key = 'purging')
BEGIN SELECT RAISE(ABORT, 'undertext: messages are kept; only sessions.purge removes them'); END;
--> statement-breakpoint
CREATE TRIGGER undertext_contents_are_written_once BEFORE UPDATE ON undertext_contents
BEGIN SELECT RAISE(ABORT, 'undertext: contents are written once'); END;
--> statement-breakpoint
CREATE TRIGGER undertext_contents_are_not_replaced BEFORE INSERT ON undertext_contents
WHEN EXISTS (SELECT 1 FROM undertext_contents WHERE key = NEW.key)
BEGIN SELECT RAISE(ABORT, 'undertext: this content already exists'); END;
--> statement-breakpoint
CREATE TRIGGER undertext_contents_are_kept BEFORE DELETE ON undertext_contents
WHEN NOT EXISTS (SELECT 1 FROM undertext_meta WHERE key = 'purging')
BEGIN SELECT RAISE(ABORT, 'undertext: contents are kept; only sessions.purge removes them'); END;
--> statement-breakpoint
CREATE TRIGGER undertext_compactions_cover_what_they_cover
BEFORE UPDATE OF no, id, session, run, kind, coverage, requires, created_at ON undertext_compactions
BEGIN SELECT RAISE(ABORT, 'undertext: the coverage of a compaction is written once'); END;
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
BEGIN SELECT RAISE(ABORT, 'undertext: this replacement already exists'); END;
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
BEGIN SELECT RAISE(ABORT, 'undertext: this blob already exists'); END;
--> statement-breakpoint
CREATE TRIGGER undertext_blobs_are_kept BEFORE DELETE ON undertext_blobs
WHEN OLD.reference_count > 0 AND NOT EXISTS (SELECT 1 FROM undertext_meta WHERE key = 'purging')
BEGIN SELECT RAISE(ABORT, 'undertext: blobs are kept while a message refers to them'); END;
--> statement-breakpoint
CREATE TRIGGER undertext_audit_is_not_replaced BEFORE INSERT ON undertext_audit
WHEN EXISTS (SELECT 1 FROM undertext_audit WHERE no = NEW.no)
BEGIN SELECT RAISE(ABORT, 'undertext: this audit row already exists'); END;
--> statement-breakpoint
CREATE TRIGGER undertext_audit_is_append_only BEFORE UPDATE ON undertext_audit
BEGIN SELECT RAISE(ABORT, 'undertext: the audit is append-only'); END;
--> statement-breakpoint
CREATE TRIGGER undertext_audit_is_kept BEFORE DELETE ON undertext_audit
WHEN NOT EXISTS (SELECT 1 FROM undertext_meta WHERE key = 'purging')
BEGIN SELECT RAISE(ABORT, 'undertext: the audit is kept'); END;
--> statement-breakpoint
-- A request is written once; where its answer is in the log is recorded when it is stored. Only a purge removes it.
CREATE TRIGGER undertext_requests_are_written_once
BEFORE UPDATE OF session, no, position, audit, provider, model, rendering, renderer, hash, system, tools, prompt, files, prompt_first,
  prompt_last, input_tokens, cache_read_tokens, cache_creation_tokens, output_tokens, at ON undertext_requests
BEGIN SELECT RAISE(ABORT, 'undertext: requests are written once'); END;
--> statement-breakpoint
CREATE TRIGGER undertext_requests_are_not_replaced BEFORE INSERT ON undertext_requests
WHEN EXISTS (SELECT 1 FROM undertext_requests WHERE session = NEW.session AND no = NEW.no)
BEGIN SELECT RAISE(ABORT, 'undertext: this request already exists'); END;
--> statement-breakpoint
CREATE TRIGGER undertext_requests_are_kept BEFORE DELETE ON undertext_requests
WHEN NOT EXISTS (SELECT 1 FROM undertext_meta WHERE key = 'purging')
BEGIN SELECT RAISE(ABORT, 'undertext: requests are kept; only sessions.purge removes them'); END;
--> statement-breakpoint
-- A note is written once; what changes is whether it is in use. Only a purge removes it.
CREATE TRIGGER undertext_notes_are_written_once
BEFORE UPDATE OF id, session, owner, no, key, text, metadata, source_session, source, actor, created_at ON undertext_notes
BEGIN SELECT RAISE(ABORT, 'undertext: notes are written once'); END;
--> statement-breakpoint
CREATE TRIGGER undertext_notes_are_not_replaced BEFORE INSERT ON undertext_notes
WHEN EXISTS (SELECT 1 FROM undertext_notes WHERE session = NEW.session AND owner = NEW.owner AND no = NEW.no)
BEGIN SELECT RAISE(ABORT, 'undertext: this note already exists'); END;
--> statement-breakpoint
CREATE TRIGGER undertext_notes_are_kept BEFORE DELETE ON undertext_notes
WHEN NOT EXISTS (SELECT 1 FROM undertext_meta WHERE key = 'purging')
BEGIN SELECT RAISE(ABORT, 'undertext: notes are kept; only a purge removes them'); END;
