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
--> statement-breakpoint
CREATE TABLE "undertext"."audit" (
	"family" bigint NOT NULL,
	"no" bigint NOT NULL,
	"session" bigint NOT NULL,
	"event" text NOT NULL,
	"compaction" bigint,
	"run" text,
	"at" bigint NOT NULL,
	"actor" text,
	"detail" text,
	"position" bigint,
	CONSTRAINT "audit_pkey" PRIMARY KEY("family","no")
);
--> statement-breakpoint
CREATE TABLE "undertext"."blobs" (
	"family" bigint NOT NULL,
	"hash" "bytea" NOT NULL,
	"reference_count" bigint NOT NULL,
	"bytes" "bytea" NOT NULL,
	CONSTRAINT "blobs_pkey" PRIMARY KEY("family","hash")
);
--> statement-breakpoint
CREATE TABLE "undertext"."calibrations" (
	"provider" text NOT NULL,
	"model" text NOT NULL,
	"estimator" text NOT NULL,
	"grown_samples" bigint NOT NULL,
	"grown_measured" double precision NOT NULL,
	"grown_estimated" double precision NOT NULL,
	"whole_samples" bigint NOT NULL,
	"whole_measured" double precision NOT NULL,
	"whole_estimated" double precision NOT NULL,
	"at" bigint NOT NULL,
	CONSTRAINT "calibrations_pkey" PRIMARY KEY("provider","model","estimator")
);
--> statement-breakpoint
CREATE TABLE "undertext"."circuits" (
	"family" bigint NOT NULL,
	"session" bigint NOT NULL,
	"failures" integer NOT NULL,
	"view_epoch" bigint NOT NULL,
	"model" text NOT NULL,
	"error" text NOT NULL,
	"open_until" bigint,
	"changed_at" bigint NOT NULL,
	CONSTRAINT "circuits_pkey" PRIMARY KEY("family","session")
);
--> statement-breakpoint
CREATE TABLE "undertext"."compactions" (
	"family" bigint NOT NULL,
	"no" bigint NOT NULL,
	"id" text NOT NULL,
	"session" bigint NOT NULL,
	"run" text NOT NULL,
	"kind" text NOT NULL,
	"status" text NOT NULL,
	"trigger" text NOT NULL,
	"actor" text,
	"reason" text,
	"params" text,
	"coverage" text NOT NULL,
	"requires" text,
	"rows_hidden" bigint DEFAULT 0 NOT NULL,
	"parts_replaced" bigint DEFAULT 0 NOT NULL,
	"rows_inserted" bigint DEFAULT 0 NOT NULL,
	"tokens_before" bigint NOT NULL,
	"tokens_after" bigint NOT NULL,
	"summarizer" text,
	"model" text,
	"prompt_version" text,
	"usage" text,
	"cost" double precision,
	"error" text,
	"created_at" bigint NOT NULL,
	"changed_at" bigint NOT NULL,
	"rank" bigint NOT NULL,
	"undone_with_run" bigint,
	"turned" text,
	"copied_from" text,
	"first_anchor" bigint GENERATED ALWAYS AS ("undertext".first_anchor(coverage)) STORED,
	"last_anchor" bigint GENERATED ALWAYS AS ("undertext".last_anchor(coverage)) STORED,
	CONSTRAINT "compactions_pkey" PRIMARY KEY("family","no")
);
--> statement-breakpoint
CREATE TABLE "undertext"."contents" (
	"family" bigint NOT NULL,
	"key" bigint NOT NULL,
	"content" text NOT NULL,
	"metadata" text,
	"blobs" text,
	CONSTRAINT "contents_pkey" PRIMARY KEY("family","key")
);
--> statement-breakpoint
CREATE TABLE "undertext"."jobs" (
	"family" bigint NOT NULL,
	"no" bigint NOT NULL,
	"id" text NOT NULL,
	"session" bigint NOT NULL,
	"state" text NOT NULL,
	"request" text,
	"position" bigint NOT NULL,
	"view_epoch" bigint NOT NULL,
	"run" text,
	"attempts" integer DEFAULT 0 NOT NULL,
	"not_before" bigint NOT NULL,
	"holder" text,
	"expires" bigint,
	"error" text,
	"created_at" bigint NOT NULL,
	"changed_at" bigint NOT NULL,
	CONSTRAINT "jobs_pkey" PRIMARY KEY("family","no")
);
--> statement-breakpoint
CREATE TABLE "undertext"."limits" (
	"provider" text NOT NULL,
	"model" text NOT NULL,
	"kind" text NOT NULL,
	"tokens" bigint NOT NULL,
	"at" bigint NOT NULL,
	CONSTRAINT "limits_pkey" PRIMARY KEY("provider","model","kind")
);
--> statement-breakpoint
CREATE TABLE "undertext"."measurements" (
	"family" bigint NOT NULL,
	"session" bigint NOT NULL,
	"provider" text NOT NULL,
	"model" text NOT NULL,
	"estimator" text NOT NULL,
	"view_epoch" bigint NOT NULL,
	"tokens" bigint NOT NULL,
	"held" bigint NOT NULL,
	"history" bigint NOT NULL,
	"standing" bigint NOT NULL,
	"pending" bigint NOT NULL,
	"first_tokens" bigint,
	"first_estimate" bigint NOT NULL,
	"at" bigint NOT NULL,
	CONSTRAINT "measurements_pkey" PRIMARY KEY("family","session","provider","model")
);
--> statement-breakpoint
CREATE TABLE "undertext"."messages" (
	"family" bigint NOT NULL,
	"key" bigint NOT NULL,
	"session" bigint NOT NULL,
	"anchor" bigint NOT NULL,
	"ordinal" bigint DEFAULT 0 NOT NULL,
	"position" bigint,
	"kind" smallint DEFAULT 0 NOT NULL,
	"role" smallint NOT NULL,
	"flags" integer DEFAULT 0 NOT NULL,
	"id" text,
	"size_text" bigint NOT NULL,
	"size_reasoning" bigint NOT NULL,
	"size_calls" bigint NOT NULL,
	"size_results" bigint NOT NULL,
	"size_media" bigint NOT NULL,
	"size_images" bigint DEFAULT 0 NOT NULL,
	"size_bytes" bigint DEFAULT 0 NOT NULL,
	"size_large" bigint DEFAULT 0 NOT NULL,
	"tools" text,
	"created_at" bigint NOT NULL,
	"idempotency_key" text,
	"inserted_by" bigint,
	"condense_parent" bigint,
	"truncation_parent" bigint,
	"retired_by" bigint,
	"pinned" smallint DEFAULT 0 NOT NULL,
	"shown" text,
	"source" bigint,
	CONSTRAINT "messages_pkey" PRIMARY KEY("family","key")
);
--> statement-breakpoint
CREATE TABLE "undertext"."meta" (
	"key" text PRIMARY KEY NOT NULL,
	"value" text NOT NULL
);
--> statement-breakpoint
CREATE TABLE "undertext"."names" (
	"id" text PRIMARY KEY NOT NULL,
	"family" bigint NOT NULL,
	"session" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "undertext"."notes" (
	"family" bigint NOT NULL,
	"id" text NOT NULL,
	"session" bigint NOT NULL,
	"owner" text NOT NULL,
	"no" bigint NOT NULL,
	"key" text,
	"text" text NOT NULL,
	"metadata" text,
	"source_session" text,
	"source" text,
	"actor" text,
	"created_at" bigint NOT NULL,
	"replaced_by" bigint,
	"forgotten_at" bigint,
	CONSTRAINT "notes_pkey" PRIMARY KEY("family","session","owner","no")
);
--> statement-breakpoint
CREATE TABLE "undertext"."operations" (
	"family" bigint NOT NULL,
	"session" bigint NOT NULL,
	"id" text NOT NULL,
	"digest" text NOT NULL,
	"compaction" bigint,
	"positions" text NOT NULL,
	CONSTRAINT "operations_pkey" PRIMARY KEY("family","session","id")
);
--> statement-breakpoint
CREATE TABLE "undertext"."replacements" (
	"family" bigint NOT NULL,
	"compaction" bigint NOT NULL,
	"message" bigint NOT NULL,
	"part" integer NOT NULL,
	"text" text NOT NULL,
	"saved_text" bigint NOT NULL,
	"saved_reasoning" bigint DEFAULT 0 NOT NULL,
	"saved_results" bigint NOT NULL,
	"saved_media" bigint NOT NULL,
	"saved_images" bigint DEFAULT 0 NOT NULL,
	"saved_bytes" bigint DEFAULT 0 NOT NULL,
	"saved_large" bigint DEFAULT 0 NOT NULL,
	CONSTRAINT "replacements_pkey" PRIMARY KEY("family","compaction","message","part")
);
--> statement-breakpoint
CREATE TABLE "undertext"."requests" (
	"family" bigint NOT NULL,
	"session" bigint NOT NULL,
	"no" bigint NOT NULL,
	"position" bigint NOT NULL,
	"audit" bigint NOT NULL,
	"provider" text NOT NULL,
	"model" text NOT NULL,
	"rendering" text,
	"renderer" integer NOT NULL,
	"hash" "bytea" NOT NULL,
	"system" "bytea",
	"tools" "bytea",
	"prompt" "bytea",
	"files" "bytea",
	"prompt_first" bigint,
	"prompt_last" bigint,
	"answer_first" bigint,
	"answer_last" bigint,
	"input_tokens" bigint,
	"cache_read_tokens" bigint,
	"cache_creation_tokens" bigint,
	"output_tokens" bigint,
	"at" bigint NOT NULL,
	CONSTRAINT "requests_pkey" PRIMARY KEY("family","session","no")
);
--> statement-breakpoint
CREATE TABLE "undertext"."searched" (
	"family" bigint NOT NULL,
	"session" bigint NOT NULL,
	"positions" bigint NOT NULL,
	"ordinals" bigint NOT NULL,
	CONSTRAINT "searched_pkey" PRIMARY KEY("family","session")
);
--> statement-breakpoint
CREATE TABLE "undertext"."sessions" (
	"family" bigint NOT NULL,
	"no" bigint NOT NULL,
	"id" text NOT NULL,
	"incarnation" text NOT NULL,
	"owner" text,
	"title" text,
	"provider" text,
	"model" text,
	"config" text,
	"metadata" text,
	"estimator" text NOT NULL,
	"created_at" bigint NOT NULL,
	"updated_at" bigint NOT NULL,
	"archived_at" bigint,
	"messages" bigint DEFAULT 0 NOT NULL,
	"inserted" bigint DEFAULT 0 NOT NULL,
	"visible" bigint DEFAULT 0 NOT NULL,
	"size_text" bigint DEFAULT 0 NOT NULL,
	"size_reasoning" bigint DEFAULT 0 NOT NULL,
	"size_calls" bigint DEFAULT 0 NOT NULL,
	"size_results" bigint DEFAULT 0 NOT NULL,
	"size_media" bigint DEFAULT 0 NOT NULL,
	"size_images" bigint DEFAULT 0 NOT NULL,
	"size_bytes" bigint DEFAULT 0 NOT NULL,
	"size_large" bigint DEFAULT 0 NOT NULL,
	"hidden_condensed" bigint DEFAULT 0 NOT NULL,
	"hidden_truncated" bigint DEFAULT 0 NOT NULL,
	"hidden_manual" bigint DEFAULT 0 NOT NULL,
	"retired" bigint DEFAULT 0 NOT NULL,
	"active_compactions" bigint DEFAULT 0 NOT NULL,
	"undone_automatic" bigint DEFAULT 0 NOT NULL,
	"version" bigint DEFAULT 0 NOT NULL,
	"view_epoch" bigint DEFAULT 0 NOT NULL,
	"lease_run" text,
	"lease_holder" text,
	"lease_expires" bigint,
	"compacted" bigint DEFAULT 0 NOT NULL,
	"audited" bigint DEFAULT 0 NOT NULL,
	"jobbed" bigint DEFAULT 0 NOT NULL,
	"added" bigint DEFAULT (extract(epoch from clock_timestamp()) * 1000000)::bigint NOT NULL,
	"last_write" text,
	"staged_by" text,
	"forked_from" bigint,
	"forked_at" bigint,
	"purged_no" bigint DEFAULT 0 NOT NULL,
	CONSTRAINT "sessions_pkey" PRIMARY KEY("family","no")
);
--> statement-breakpoint
CREATE TABLE "undertext"."usage" (
	"family" bigint NOT NULL,
	"session" bigint NOT NULL,
	"provider" text NOT NULL,
	"model" text NOT NULL,
	"requests" bigint NOT NULL,
	"input_tokens" bigint NOT NULL,
	"cache_read_tokens" bigint NOT NULL,
	"cache_creation_tokens" bigint NOT NULL,
	"output_tokens" bigint NOT NULL,
	"last_cache_read_tokens" bigint,
	"last_cache_creation_tokens" bigint,
	"at" bigint NOT NULL,
	CONSTRAINT "usage_pkey" PRIMARY KEY("family","session","provider","model")
);
--> statement-breakpoint
CREATE TABLE "undertext"."words" (
	"family" bigint NOT NULL,
	"session" bigint NOT NULL,
	"place" bigint NOT NULL,
	"part" smallint NOT NULL,
	"words" "tsvector" NOT NULL,
	"added" bigint DEFAULT (extract(epoch from clock_timestamp()) * 1000000)::bigint NOT NULL,
	CONSTRAINT "words_pkey" PRIMARY KEY("family","session","place","part")
);
--> statement-breakpoint
CREATE INDEX "audit_session" ON "undertext"."audit" USING btree ("family","session","no");
--> statement-breakpoint
CREATE INDEX "audit_turned" ON "undertext"."audit" USING btree ("family","session","position") WHERE compaction is not null;
--> statement-breakpoint
CREATE INDEX "audit_run_undone" ON "undertext"."audit" USING btree ("family","run") WHERE event = 'run undone';
--> statement-breakpoint
CREATE INDEX "compactions_spans" ON "undertext"."compactions" USING btree ("family","session","status","first_anchor","last_anchor","rank");
--> statement-breakpoint
CREATE INDEX "compactions_replacing" ON "undertext"."compactions" USING btree ("family","session") WHERE status = 'active' and parts_replaced > 0;
--> statement-breakpoint
CREATE INDEX "compactions_undone_with" ON "undertext"."compactions" USING btree ("family","undone_with_run") WHERE undone_with_run is not null;
--> statement-breakpoint
CREATE UNIQUE INDEX "compactions_id" ON "undertext"."compactions" USING btree ("family","id","session");
--> statement-breakpoint
CREATE INDEX "compactions_session" ON "undertext"."compactions" USING btree ("family","session","no");
--> statement-breakpoint
CREATE INDEX "compactions_run" ON "undertext"."compactions" USING btree ("family","run");
--> statement-breakpoint
CREATE INDEX "compactions_summaries" ON "undertext"."compactions" USING btree ("created_at") WHERE summarizer is not null;
--> statement-breakpoint
CREATE INDEX "compactions_running" ON "undertext"."compactions" USING btree ("family","session") WHERE status = 'running';
--> statement-breakpoint
CREATE UNIQUE INDEX "jobs_id" ON "undertext"."jobs" USING btree ("family","id");
--> statement-breakpoint
CREATE UNIQUE INDEX "jobs_open" ON "undertext"."jobs" USING btree ("family","session") WHERE state in ('queued', 'running');
--> statement-breakpoint
CREATE INDEX "jobs_session" ON "undertext"."jobs" USING btree ("family","session","no");
--> statement-breakpoint
CREATE UNIQUE INDEX "log" ON "undertext"."messages" USING btree ("family","session","position","ordinal");
--> statement-breakpoint
CREATE INDEX "visible" ON "undertext"."messages" USING btree ("family","session","anchor","ordinal") WHERE condense_parent is null and truncation_parent is null and retired_by is null;
--> statement-breakpoint
CREATE UNIQUE INDEX "messages_id" ON "undertext"."messages" USING btree ("family","session","id") WHERE id is not null;
--> statement-breakpoint
CREATE INDEX "messages_idempotency" ON "undertext"."messages" USING btree ("family","session","idempotency_key") WHERE idempotency_key is not null;
--> statement-breakpoint
CREATE INDEX "messages_inserted" ON "undertext"."messages" USING btree ("family","inserted_by") WHERE inserted_by is not null;
--> statement-breakpoint
CREATE INDEX "messages_source" ON "undertext"."messages" USING btree ("family","session","source") WHERE source is not null;
--> statement-breakpoint
CREATE INDEX "notes_id" ON "undertext"."notes" USING btree ("id");
--> statement-breakpoint
CREATE INDEX "notes_key" ON "undertext"."notes" USING btree ("family","session","owner","key") WHERE key is not null;
--> statement-breakpoint
CREATE INDEX "notes_current" ON "undertext"."notes" USING btree ("family","session","owner","no") WHERE replaced_by is null and forgotten_at is null;
--> statement-breakpoint
CREATE INDEX "replacements_message" ON "undertext"."replacements" USING btree ("family","message","part","compaction");
--> statement-breakpoint
CREATE INDEX "requests_answer" ON "undertext"."requests" USING btree ("family","session","answer_last") WHERE answer_last is not null;
--> statement-breakpoint
CREATE UNIQUE INDEX "sessions_id" ON "undertext"."sessions" USING btree ("family","id");
--> statement-breakpoint
CREATE INDEX "sessions_forks" ON "undertext"."sessions" USING btree ("family","forked_from") WHERE forked_at is not null;
--> statement-breakpoint
CREATE INDEX "sessions_staged" ON "undertext"."sessions" USING btree ("family","staged_by") WHERE staged_by is not null;
--> statement-breakpoint
CREATE INDEX "sessions_incarnation" ON "undertext"."sessions" USING btree ("incarnation");
--> statement-breakpoint
CREATE INDEX "sessions_added" ON "undertext"."sessions" USING btree ("added","family","no");
--> statement-breakpoint
CREATE INDEX "sessions_owner" ON "undertext"."sessions" USING btree ("owner","added","family","no") WHERE owner is not null;
--> statement-breakpoint
CREATE INDEX "words_words" ON "undertext"."words" USING gin ("words");
--> statement-breakpoint
-- Half of a page stays free, so that the counters of a session change without a change of its indexes.
ALTER TABLE "undertext".sessions SET (fillfactor = 50);
--> statement-breakpoint
-- The planner's statistics are samples of values, which stay after a purge. Texts, names and hashes have none; the plans need only those
-- of numbers. Citus gives the setting to the shards when it distributes a table.
ALTER TABLE "undertext".names ALTER COLUMN id SET STATISTICS 0;
--> statement-breakpoint
ALTER TABLE "undertext".sessions ALTER COLUMN id SET STATISTICS 0, ALTER COLUMN owner SET STATISTICS 0, ALTER COLUMN title SET STATISTICS 0, ALTER COLUMN provider SET STATISTICS 0, ALTER COLUMN model SET STATISTICS 0, ALTER COLUMN config SET STATISTICS 0, ALTER COLUMN metadata SET STATISTICS 0, ALTER COLUMN staged_by SET STATISTICS 0;
--> statement-breakpoint
ALTER TABLE "undertext".messages ALTER COLUMN id SET STATISTICS 0, ALTER COLUMN tools SET STATISTICS 0, ALTER COLUMN idempotency_key SET STATISTICS 0;
--> statement-breakpoint
ALTER TABLE "undertext".contents ALTER COLUMN content SET STATISTICS 0, ALTER COLUMN metadata SET STATISTICS 0, ALTER COLUMN blobs SET STATISTICS 0;
--> statement-breakpoint
ALTER TABLE "undertext".compactions ALTER COLUMN actor SET STATISTICS 0, ALTER COLUMN reason SET STATISTICS 0, ALTER COLUMN params SET STATISTICS 0, ALTER COLUMN requires SET STATISTICS 0, ALTER COLUMN model SET STATISTICS 0, ALTER COLUMN usage SET STATISTICS 0, ALTER COLUMN error SET STATISTICS 0, ALTER COLUMN turned SET STATISTICS 0;
--> statement-breakpoint
ALTER TABLE "undertext".replacements ALTER COLUMN text SET STATISTICS 0;
--> statement-breakpoint
ALTER TABLE "undertext".audit ALTER COLUMN actor SET STATISTICS 0, ALTER COLUMN detail SET STATISTICS 0;
--> statement-breakpoint
ALTER TABLE "undertext".measurements ALTER COLUMN provider SET STATISTICS 0, ALTER COLUMN model SET STATISTICS 0;
--> statement-breakpoint
ALTER TABLE "undertext".usage ALTER COLUMN provider SET STATISTICS 0, ALTER COLUMN model SET STATISTICS 0;
--> statement-breakpoint
ALTER TABLE "undertext".jobs ALTER COLUMN request SET STATISTICS 0, ALTER COLUMN error SET STATISTICS 0;
--> statement-breakpoint
ALTER TABLE "undertext".circuits ALTER COLUMN model SET STATISTICS 0, ALTER COLUMN error SET STATISTICS 0;
--> statement-breakpoint
ALTER TABLE "undertext".operations ALTER COLUMN id SET STATISTICS 0, ALTER COLUMN digest SET STATISTICS 0;
--> statement-breakpoint
ALTER TABLE "undertext".requests ALTER COLUMN provider SET STATISTICS 0, ALTER COLUMN model SET STATISTICS 0, ALTER COLUMN rendering SET STATISTICS 0, ALTER COLUMN hash SET STATISTICS 0, ALTER COLUMN system SET STATISTICS 0, ALTER COLUMN tools SET STATISTICS 0, ALTER COLUMN prompt SET STATISTICS 0, ALTER COLUMN files SET STATISTICS 0;
--> statement-breakpoint
ALTER TABLE "undertext".notes ALTER COLUMN owner SET STATISTICS 0, ALTER COLUMN key SET STATISTICS 0, ALTER COLUMN text SET STATISTICS 0, ALTER COLUMN metadata SET STATISTICS 0, ALTER COLUMN source_session SET STATISTICS 0, ALTER COLUMN source SET STATISTICS 0, ALTER COLUMN actor SET STATISTICS 0;
--> statement-breakpoint
ALTER TABLE "undertext".blobs ALTER COLUMN hash SET STATISTICS 0, ALTER COLUMN bytes SET STATISTICS 0;
--> statement-breakpoint
ALTER TABLE "undertext".words ALTER COLUMN words SET STATISTICS 0;
--> statement-breakpoint
-- Guarantees of this package, enforced by the database. A purge records a permit for its own transaction:
-- set_config('undertext.purging', 'on', true). Inserts need no guard as in SQLite: a second row with a key is rejected, or is an update.
-- The triggers are written as pg_get_triggerdef prints them, because the runner compares them with that.
CREATE FUNCTION "undertext".refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'undertext: %', tg_argv[0] USING ERRCODE = 'UT001';
END $$;
--> statement-breakpoint
CREATE TRIGGER messages_are_written_once BEFORE UPDATE OF family, key, session, anchor, ordinal, "position", kind, role, flags, id, created_at, idempotency_key, inserted_by ON "undertext".messages FOR EACH ROW EXECUTE FUNCTION "undertext".refuse('messages are written once');
--> statement-breakpoint
CREATE TRIGGER sources_are_written_once BEFORE UPDATE OF source ON "undertext".messages FOR EACH ROW WHEN ((current_setting('undertext.purging'::text, true) IS DISTINCT FROM 'on'::text)) EXECUTE FUNCTION "undertext".refuse('messages are written once');
--> statement-breakpoint
CREATE TRIGGER messages_are_kept BEFORE DELETE ON "undertext".messages FOR EACH ROW WHEN ((current_setting('undertext.purging'::text, true) IS DISTINCT FROM 'on'::text)) EXECUTE FUNCTION "undertext".refuse('messages are kept; only sessions.purge removes them');
--> statement-breakpoint
CREATE TRIGGER contents_are_written_once BEFORE UPDATE ON "undertext".contents FOR EACH ROW EXECUTE FUNCTION "undertext".refuse('contents are written once');
--> statement-breakpoint
CREATE TRIGGER contents_are_kept BEFORE DELETE ON "undertext".contents FOR EACH ROW WHEN ((current_setting('undertext.purging'::text, true) IS DISTINCT FROM 'on'::text)) EXECUTE FUNCTION "undertext".refuse('contents are kept; only sessions.purge removes them');
--> statement-breakpoint
CREATE TRIGGER compactions_cover_what_they_cover BEFORE UPDATE OF family, no, id, session, run, kind, coverage, requires, created_at ON "undertext".compactions FOR EACH ROW EXECUTE FUNCTION "undertext".refuse('the coverage of a compaction is written once');
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
CREATE TRIGGER requests_are_written_once BEFORE UPDATE OF family, session, no, "position", audit, provider, model, rendering, renderer, hash, system, tools, prompt, files, prompt_first, prompt_last, input_tokens, cache_read_tokens, cache_creation_tokens, output_tokens, at ON "undertext".requests FOR EACH ROW EXECUTE FUNCTION "undertext".refuse('requests are written once');
--> statement-breakpoint
CREATE TRIGGER requests_are_kept BEFORE DELETE ON "undertext".requests FOR EACH ROW WHEN ((current_setting('undertext.purging'::text, true) IS DISTINCT FROM 'on'::text)) EXECUTE FUNCTION "undertext".refuse('requests are kept; only sessions.purge removes them');
--> statement-breakpoint
CREATE TRIGGER requests_are_not_truncated BEFORE TRUNCATE ON "undertext".requests FOR EACH STATEMENT EXECUTE FUNCTION "undertext".refuse('requests are kept');
--> statement-breakpoint
CREATE TRIGGER notes_are_written_once BEFORE UPDATE OF family, id, session, owner, no, key, text, metadata, source_session, source, actor, created_at ON "undertext".notes FOR EACH ROW EXECUTE FUNCTION "undertext".refuse('notes are written once');
--> statement-breakpoint
CREATE TRIGGER notes_are_kept BEFORE DELETE ON "undertext".notes FOR EACH ROW WHEN ((current_setting('undertext.purging'::text, true) IS DISTINCT FROM 'on'::text)) EXECUTE FUNCTION "undertext".refuse('notes are kept; only a purge removes them');
--> statement-breakpoint
CREATE TRIGGER notes_are_not_truncated BEFORE TRUNCATE ON "undertext".notes FOR EACH STATEMENT EXECUTE FUNCTION "undertext".refuse('notes are kept');
