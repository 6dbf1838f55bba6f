CREATE TABLE `undertext_claims` (
	`session` integer NOT NULL,
	`position` integer NOT NULL,
	`call` text NOT NULL,
	`turn` text NOT NULL,
	`at` integer NOT NULL,
	PRIMARY KEY(`session`, `position`, `call`)
);
--> statement-breakpoint
CREATE TABLE `undertext_turns` (
	`session` integer PRIMARY KEY NOT NULL,
	`id` text NOT NULL,
	`holder` text NOT NULL,
	`expires` integer NOT NULL,
	`draft` text,
	`draft_turn` text,
	`draft_position` integer,
	`draft_at` integer
);
