CREATE TABLE "undertext"."claims" (
	"family" bigint NOT NULL,
	"session" bigint NOT NULL,
	"position" bigint NOT NULL,
	"call" text NOT NULL,
	"turn" text NOT NULL,
	"at" bigint NOT NULL,
	CONSTRAINT "claims_pkey" PRIMARY KEY("family","session","position","call")
);
--> statement-breakpoint
CREATE TABLE "undertext"."turns" (
	"family" bigint NOT NULL,
	"session" bigint NOT NULL,
	"id" text NOT NULL,
	"holder" text NOT NULL,
	"expires" bigint NOT NULL,
	"draft" text,
	"draft_turn" text,
	"draft_position" bigint,
	"draft_at" bigint,
	CONSTRAINT "turns_pkey" PRIMARY KEY("family","session")
);

--> statement-breakpoint
ALTER TABLE "undertext".turns ALTER COLUMN id SET STATISTICS 0, ALTER COLUMN draft SET STATISTICS 0, ALTER COLUMN draft_turn SET STATISTICS 0;
--> statement-breakpoint
ALTER TABLE "undertext".claims ALTER COLUMN call SET STATISTICS 0, ALTER COLUMN turn SET STATISTICS 0;
