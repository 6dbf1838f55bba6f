CREATE TABLE `undertext_notes` (
	`id` text NOT NULL,
	`session` integer NOT NULL,
	`owner` text NOT NULL,
	`no` integer NOT NULL,
	`key` text,
	`text` text NOT NULL,
	`metadata` text,
	`source_session` text,
	`source` text,
	`actor` text,
	`created_at` integer NOT NULL,
	`replaced_by` integer,
	`forgotten_at` integer,
	PRIMARY KEY(`session`, `owner`, `no`)
);
--> statement-breakpoint
CREATE INDEX `undertext_notes_id` ON `undertext_notes` (`id`);--> statement-breakpoint
CREATE INDEX `undertext_notes_key` ON `undertext_notes` (`session`,`owner`,`key`) WHERE key is not null;--> statement-breakpoint
CREATE INDEX `undertext_notes_current` ON `undertext_notes` (`session`,`owner`,`no`) WHERE replaced_by is null and forgotten_at is null;--> statement-breakpoint
CREATE TABLE `undertext_requests` (
	`session` integer NOT NULL,
	`no` integer NOT NULL,
	`position` integer NOT NULL,
	`audit` integer NOT NULL,
	`provider` text NOT NULL,
	`model` text NOT NULL,
	`rendering` text,
	`renderer` integer NOT NULL,
	`hash` blob NOT NULL,
	`system` blob,
	`tools` blob,
	`prompt` blob,
	`files` blob,
	`prompt_first` integer,
	`prompt_last` integer,
	`answer_first` integer,
	`answer_last` integer,
	`input_tokens` integer,
	`cache_read_tokens` integer,
	`cache_creation_tokens` integer,
	`output_tokens` integer,
	`at` integer NOT NULL,
	PRIMARY KEY(`session`, `no`)
);
--> statement-breakpoint
CREATE INDEX `undertext_requests_answer` ON `undertext_requests` (`session`,`answer_last`) WHERE answer_last is not null;--> statement-breakpoint
CREATE TABLE `undertext_searched` (
	`session` integer PRIMARY KEY NOT NULL,
	`positions` integer NOT NULL,
	`ordinals` integer NOT NULL
);
--> statement-breakpoint
ALTER TABLE `undertext_compactions` ADD `copied_from` text;--> statement-breakpoint
ALTER TABLE `undertext_messages` ADD `source` integer;--> statement-breakpoint
CREATE INDEX `undertext_messages_source` ON `undertext_messages` (`session`,`source`) WHERE source is not null;--> statement-breakpoint
ALTER TABLE `undertext_sessions` ADD `forked_from` integer;--> statement-breakpoint
ALTER TABLE `undertext_sessions` ADD `forked_at` integer;--> statement-breakpoint
CREATE INDEX `undertext_sessions_forks` ON `undertext_sessions` (`forked_from`) WHERE forked_at is not null;