ALTER TABLE "undertext"."compactions" ADD COLUMN "copied_from" text;--> statement-breakpoint
ALTER TABLE "undertext"."messages" ADD COLUMN "source" bigint;--> statement-breakpoint
ALTER TABLE "undertext"."sessions" ADD COLUMN "forked_from" bigint;--> statement-breakpoint
ALTER TABLE "undertext"."sessions" ADD COLUMN "forked_at" bigint;--> statement-breakpoint
ALTER TABLE "undertext"."sessions" ADD COLUMN "purged_no" bigint DEFAULT 0 NOT NULL;--> statement-breakpoint
CREATE INDEX "messages_source" ON "undertext"."messages" USING btree ("family","source") WHERE source is not null;--> statement-breakpoint
CREATE INDEX "sessions_forks" ON "undertext"."sessions" USING btree ("family","forked_from") WHERE forked_from is not null;