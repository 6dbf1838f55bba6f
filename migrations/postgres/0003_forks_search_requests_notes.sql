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
ALTER TABLE "undertext"."compactions" ADD COLUMN "copied_from" text;--> statement-breakpoint
ALTER TABLE "undertext"."messages" ADD COLUMN "source" bigint;--> statement-breakpoint
ALTER TABLE "undertext"."sessions" ADD COLUMN "forked_from" bigint;--> statement-breakpoint
ALTER TABLE "undertext"."sessions" ADD COLUMN "forked_at" bigint;--> statement-breakpoint
ALTER TABLE "undertext"."sessions" ADD COLUMN "purged_no" bigint DEFAULT 0 NOT NULL;--> statement-breakpoint
CREATE INDEX "notes_id" ON "undertext"."notes" USING btree ("id");--> statement-breakpoint
CREATE INDEX "notes_key" ON "undertext"."notes" USING btree ("family","session","owner","key") WHERE key is not null;--> statement-breakpoint
CREATE INDEX "notes_current" ON "undertext"."notes" USING btree ("family","session","owner","no") WHERE replaced_by is null and forgotten_at is null;--> statement-breakpoint
CREATE INDEX "requests_answer" ON "undertext"."requests" USING btree ("family","session","answer_last") WHERE answer_last is not null;--> statement-breakpoint
CREATE INDEX "words_words" ON "undertext"."words" USING gin ("words");--> statement-breakpoint
CREATE INDEX "messages_source" ON "undertext"."messages" USING btree ("family","session","source") WHERE source is not null;--> statement-breakpoint
CREATE INDEX "sessions_forks" ON "undertext"."sessions" USING btree ("family","forked_from") WHERE forked_at is not null;