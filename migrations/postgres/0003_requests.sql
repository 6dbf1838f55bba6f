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
CREATE INDEX "requests_answer" ON "undertext"."requests" USING btree ("family","session","answer_last") WHERE answer_last is not null;