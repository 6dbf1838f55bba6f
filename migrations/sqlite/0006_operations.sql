CREATE TABLE `undertext_operations` (
	`session` integer NOT NULL,
	`id` text NOT NULL,
	`digest` text NOT NULL,
	`compaction` integer,
	`positions` text NOT NULL,
	PRIMARY KEY(`session`, `id`)
) WITHOUT ROWID;
