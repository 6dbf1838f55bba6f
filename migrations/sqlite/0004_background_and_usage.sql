CREATE TABLE `undertext_circuits` (
	`session` integer PRIMARY KEY NOT NULL,
	`failures` integer NOT NULL,
	`view_epoch` integer NOT NULL,
	`model` text NOT NULL,
	`error` text NOT NULL,
	`open_until` integer,
	`changed_at` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `undertext_jobs` (
	`no` integer PRIMARY KEY NOT NULL,
	`id` text NOT NULL,
	`session` integer NOT NULL,
	`state` text NOT NULL,
	`request` text,
	`position` integer NOT NULL,
	`view_epoch` integer NOT NULL,
	`run` text,
	`attempts` integer DEFAULT 0 NOT NULL,
	`not_before` integer NOT NULL,
	`holder` text,
	`expires` integer,
	`error` text,
	`created_at` integer NOT NULL,
	`changed_at` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `undertext_jobs_id` ON `undertext_jobs` (`id`);--> statement-breakpoint
CREATE UNIQUE INDEX `undertext_jobs_open` ON `undertext_jobs` (`session`) WHERE state in ('queued', 'running');--> statement-breakpoint
CREATE INDEX `undertext_jobs_session` ON `undertext_jobs` (`session`,`no`);--> statement-breakpoint
CREATE TABLE `undertext_usage` (
	`session` integer NOT NULL,
	`provider` text NOT NULL,
	`model` text NOT NULL,
	`requests` integer NOT NULL,
	`input_tokens` integer NOT NULL,
	`cache_read_tokens` integer NOT NULL,
	`cache_creation_tokens` integer NOT NULL,
	`output_tokens` integer NOT NULL,
	`last_cache_read_tokens` integer,
	`last_cache_creation_tokens` integer,
	`at` integer NOT NULL,
	PRIMARY KEY(`session`, `provider`, `model`)
);
--> statement-breakpoint
CREATE INDEX `undertext_compactions_summaries` ON `undertext_compactions` (`created_at`) WHERE summarizer is not null;