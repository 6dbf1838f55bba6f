ALTER TABLE "undertext"."messages" ADD COLUMN "size_large" bigint DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "undertext"."replacements" ADD COLUMN "saved_large" bigint DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "undertext"."sessions" ADD COLUMN "size_large" bigint DEFAULT 0 NOT NULL;--> statement-breakpoint
-- The new columns of existing sessions are counted when the store is opened (recount.ts).
INSERT INTO "undertext"."meta" (key, value) SELECT 'uncounted media', '1' WHERE EXISTS (SELECT 1 FROM "undertext"."sessions")
  AND NOT EXISTS (SELECT 1 FROM "undertext"."meta" WHERE key = 'uncounted media');
