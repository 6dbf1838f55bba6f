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
CREATE INDEX `undertext_notes_current` ON `undertext_notes` (`session`,`owner`,`no`) WHERE replaced_by is null and forgotten_at is null;