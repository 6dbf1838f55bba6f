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
	"tools" text,
	"created_at" bigint NOT NULL,
	"idempotency_key" text,
	"inserted_by" bigint,
	"condense_parent" bigint,
	"truncation_parent" bigint,
	"retired_by" bigint,
	"pinned" smallint DEFAULT 0 NOT NULL,
	"shown" text,
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
	CONSTRAINT "replacements_pkey" PRIMARY KEY("family","compaction","message","part")
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
	"hidden_condensed" bigint DEFAULT 0 NOT NULL,
	"hidden_truncated" bigint DEFAULT 0 NOT NULL,
	"hidden_by_hand" bigint DEFAULT 0 NOT NULL,
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
CREATE INDEX "audit_session" ON "undertext"."audit" USING btree ("family","session","no");--> statement-breakpoint
CREATE INDEX "audit_turned" ON "undertext"."audit" USING btree ("family","session","position") WHERE compaction is not null;--> statement-breakpoint
CREATE INDEX "audit_run_undone" ON "undertext"."audit" USING btree ("family","run") WHERE event = 'run undone';--> statement-breakpoint
CREATE INDEX "compactions_spans" ON "undertext"."compactions" USING btree ("family","session","status","first_anchor","last_anchor","rank");--> statement-breakpoint
CREATE INDEX "compactions_replacing" ON "undertext"."compactions" USING btree ("family","session") WHERE status = 'active' and parts_replaced > 0;--> statement-breakpoint
CREATE INDEX "compactions_undone_with" ON "undertext"."compactions" USING btree ("family","undone_with_run") WHERE undone_with_run is not null;--> statement-breakpoint
CREATE UNIQUE INDEX "compactions_id" ON "undertext"."compactions" USING btree ("family","id");--> statement-breakpoint
CREATE INDEX "compactions_session" ON "undertext"."compactions" USING btree ("family","session","no");--> statement-breakpoint
CREATE INDEX "compactions_run" ON "undertext"."compactions" USING btree ("family","run");--> statement-breakpoint
CREATE INDEX "compactions_summaries" ON "undertext"."compactions" USING btree ("created_at") WHERE summarizer is not null;--> statement-breakpoint
CREATE INDEX "compactions_running" ON "undertext"."compactions" USING btree ("family","session") WHERE status = 'running';--> statement-breakpoint
CREATE UNIQUE INDEX "jobs_id" ON "undertext"."jobs" USING btree ("family","id");--> statement-breakpoint
CREATE UNIQUE INDEX "jobs_open" ON "undertext"."jobs" USING btree ("family","session") WHERE state in ('queued', 'running');--> statement-breakpoint
CREATE INDEX "jobs_session" ON "undertext"."jobs" USING btree ("family","session","no");--> statement-breakpoint
CREATE UNIQUE INDEX "log" ON "undertext"."messages" USING btree ("family","session","position","ordinal");--> statement-breakpoint
CREATE INDEX "visible" ON "undertext"."messages" USING btree ("family","session","anchor","ordinal") WHERE condense_parent is null and truncation_parent is null and retired_by is null;--> statement-breakpoint
CREATE UNIQUE INDEX "messages_id" ON "undertext"."messages" USING btree ("family","session","id") WHERE id is not null;--> statement-breakpoint
CREATE INDEX "messages_idempotency" ON "undertext"."messages" USING btree ("family","session","idempotency_key") WHERE idempotency_key is not null;--> statement-breakpoint
CREATE INDEX "messages_inserted" ON "undertext"."messages" USING btree ("family","inserted_by") WHERE inserted_by is not null;--> statement-breakpoint
CREATE INDEX "replacements_message" ON "undertext"."replacements" USING btree ("family","message","part","compaction");--> statement-breakpoint
CREATE UNIQUE INDEX "sessions_id" ON "undertext"."sessions" USING btree ("family","id");--> statement-breakpoint
CREATE INDEX "sessions_staged" ON "undertext"."sessions" USING btree ("family","staged_by") WHERE staged_by is not null;--> statement-breakpoint
CREATE INDEX "sessions_incarnation" ON "undertext"."sessions" USING btree ("incarnation");--> statement-breakpoint
CREATE INDEX "sessions_added" ON "undertext"."sessions" USING btree ("added","family","no");--> statement-breakpoint
CREATE INDEX "sessions_owner" ON "undertext"."sessions" USING btree ("owner","added","family","no") WHERE owner is not null;