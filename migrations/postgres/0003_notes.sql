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
CREATE INDEX "notes_id" ON "undertext"."notes" USING btree ("id");--> statement-breakpoint
CREATE INDEX "notes_key" ON "undertext"."notes" USING btree ("family","session","owner","key") WHERE key is not null;--> statement-breakpoint
CREATE INDEX "notes_current" ON "undertext"."notes" USING btree ("family","session","owner","no") WHERE replaced_by is null and forgotten_at is null;