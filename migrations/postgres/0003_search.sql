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
CREATE INDEX "words_words" ON "undertext"."words" USING gin ("words");