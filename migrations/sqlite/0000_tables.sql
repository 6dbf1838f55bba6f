CREATE TABLE `undertext_audit` (
	`no` integer PRIMARY KEY NOT NULL,
	`session` integer NOT NULL,
	`event` text NOT NULL,
	`compaction` integer,
	`run` text,
	`at` integer NOT NULL,
	`actor` text,
	`detail` text
);
--> statement-breakpoint
CREATE INDEX `undertext_audit_session` ON `undertext_audit` (`session`,`no`);--> statement-breakpoint
CREATE TABLE `undertext_blobs` (
	`hash` blob PRIMARY KEY NOT NULL,
	`reference_count` integer NOT NULL,
	`bytes` blob NOT NULL
);
--> statement-breakpoint
CREATE TABLE `undertext_compactions` (
	`no` integer PRIMARY KEY NOT NULL,
	`id` text NOT NULL,
	`session` integer NOT NULL,
	`run` text NOT NULL,
	`kind` text NOT NULL,
	`status` text NOT NULL,
	`trigger` text NOT NULL,
	`actor` text,
	`reason` text,
	`params` text,
	`coverage` text NOT NULL,
	`requires` text,
	`rows_hidden` integer DEFAULT 0 NOT NULL,
	`parts_replaced` integer DEFAULT 0 NOT NULL,
	`rows_inserted` integer DEFAULT 0 NOT NULL,
	`tokens_before` integer NOT NULL,
	`tokens_after` integer NOT NULL,
	`summarizer` text,
	`model` text,
	`prompt_version` text,
	`usage` text,
	`cost` real,
	`error` text,
	`created_at` integer NOT NULL,
	`changed_at` integer NOT NULL,
	`rank` integer NOT NULL,
	`undone_with_run` integer
);
--> statement-breakpoint
CREATE UNIQUE INDEX `undertext_compactions_id` ON `undertext_compactions` (`id`);--> statement-breakpoint
CREATE INDEX `undertext_compactions_session` ON `undertext_compactions` (`session`,`no`);--> statement-breakpoint
CREATE INDEX `undertext_compactions_run` ON `undertext_compactions` (`run`);--> statement-breakpoint
CREATE TABLE `undertext_contents` (
	`key` integer PRIMARY KEY NOT NULL,
	`content` text NOT NULL,
	`metadata` text,
	`blobs` text
);
--> statement-breakpoint
CREATE TABLE `undertext_messages` (
	`key` integer PRIMARY KEY NOT NULL,
	`session` integer NOT NULL,
	`anchor` integer NOT NULL,
	`ordinal` integer DEFAULT 0 NOT NULL,
	`position` integer,
	`kind` integer DEFAULT 0 NOT NULL,
	`role` integer NOT NULL,
	`flags` integer DEFAULT 0 NOT NULL,
	`id` text,
	`size_text` integer NOT NULL,
	`size_reasoning` integer NOT NULL,
	`size_calls` integer NOT NULL,
	`size_results` integer NOT NULL,
	`size_media` integer NOT NULL,
	`tools` text,
	`created_at` integer NOT NULL,
	`idempotency_key` text,
	`inserted_by` integer,
	`condense_parent` integer,
	`truncation_parent` integer,
	`retired_by` integer,
	`pinned` integer DEFAULT 0 NOT NULL,
	`shown` text
);
--> statement-breakpoint
CREATE UNIQUE INDEX `undertext_log` ON `undertext_messages` (`session`,`position`,`ordinal`);--> statement-breakpoint
CREATE INDEX `undertext_visible` ON `undertext_messages` (`session`,`anchor`,`ordinal`) WHERE condense_parent is null and truncation_parent is null and retired_by is null;--> statement-breakpoint
CREATE UNIQUE INDEX `undertext_messages_id` ON `undertext_messages` (`session`,`id`) WHERE id is not null;--> statement-breakpoint
CREATE INDEX `undertext_messages_idempotency` ON `undertext_messages` (`session`,`idempotency_key`) WHERE idempotency_key is not null;--> statement-breakpoint
CREATE TABLE `undertext_meta` (
	`key` text PRIMARY KEY NOT NULL,
	`value` text NOT NULL
);
--> statement-breakpoint
CREATE TABLE `undertext_replacements` (
	`compaction` integer NOT NULL,
	`message` integer NOT NULL,
	`part` integer NOT NULL,
	`text` text NOT NULL,
	`saved_text` integer NOT NULL,
	`saved_results` integer NOT NULL,
	`saved_media` integer NOT NULL,
	PRIMARY KEY(`compaction`, `message`, `part`)
);
--> statement-breakpoint
CREATE INDEX `undertext_replacements_message` ON `undertext_replacements` (`message`,`part`,`compaction`);--> statement-breakpoint
CREATE TABLE `undertext_sessions` (
	`no` integer PRIMARY KEY NOT NULL,
	`id` text NOT NULL,
	`incarnation` text NOT NULL,
	`owner` text,
	`title` text,
	`provider` text,
	`model` text,
	`config` text,
	`metadata` text,
	`estimator` text NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	`archived_at` integer,
	`messages` integer DEFAULT 0 NOT NULL,
	`inserted` integer DEFAULT 0 NOT NULL,
	`visible` integer DEFAULT 0 NOT NULL,
	`size_text` integer DEFAULT 0 NOT NULL,
	`size_reasoning` integer DEFAULT 0 NOT NULL,
	`size_calls` integer DEFAULT 0 NOT NULL,
	`size_results` integer DEFAULT 0 NOT NULL,
	`size_media` integer DEFAULT 0 NOT NULL,
	`hidden_condensed` integer DEFAULT 0 NOT NULL,
	`hidden_truncated` integer DEFAULT 0 NOT NULL,
	`hidden_by_hand` integer DEFAULT 0 NOT NULL,
	`retired` integer DEFAULT 0 NOT NULL,
	`active_compactions` integer DEFAULT 0 NOT NULL,
	`version` integer DEFAULT 0 NOT NULL,
	`view_epoch` integer DEFAULT 0 NOT NULL,
	`lease_run` text,
	`lease_holder` text,
	`lease_expires` integer
);
--> statement-breakpoint
CREATE UNIQUE INDEX `undertext_sessions_id` ON `undertext_sessions` (`id`);--> statement-breakpoint
CREATE INDEX `undertext_sessions_owner` ON `undertext_sessions` (`owner`,`no`) WHERE owner is not null;