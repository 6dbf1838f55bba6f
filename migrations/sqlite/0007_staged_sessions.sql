ALTER TABLE `undertext_sessions` ADD `staged_by` text;--> statement-breakpoint
CREATE INDEX `undertext_sessions_staged` ON `undertext_sessions` (`staged_by`) WHERE staged_by is not null;