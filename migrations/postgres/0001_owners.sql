-- A session is named by its id and its owner. The addresses are written again, because on a cluster no statement joins the two tables.
ALTER TABLE "undertext"."names" DROP CONSTRAINT "names_pkey";--> statement-breakpoint
ALTER TABLE "undertext"."names" ADD COLUMN "owner" text DEFAULT '' NOT NULL;--> statement-breakpoint
ALTER TABLE "undertext"."names" ALTER COLUMN "owner" SET STATISTICS 0;--> statement-breakpoint
DELETE FROM "undertext"."names";--> statement-breakpoint
INSERT INTO "undertext"."names" ("id", "owner", "family", "session") SELECT "id", coalesce("owner", ''), "family", "no" FROM "undertext"."sessions";--> statement-breakpoint
ALTER TABLE "undertext"."names" ADD CONSTRAINT "names_pkey" PRIMARY KEY("id","owner");--> statement-breakpoint
DROP INDEX "undertext"."sessions_id";--> statement-breakpoint
CREATE INDEX "sessions_id" ON "undertext"."sessions" USING btree ("family","id");
