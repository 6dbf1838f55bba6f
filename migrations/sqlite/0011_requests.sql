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
CREATE INDEX `undertext_requests_answer` ON `undertext_requests` (`session`,`answer_last`) WHERE answer_last is not null;