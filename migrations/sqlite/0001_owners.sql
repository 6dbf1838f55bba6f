DROP INDEX `undertext_sessions_id`;--> statement-breakpoint
CREATE UNIQUE INDEX `undertext_sessions_unowned` ON `undertext_sessions` (`id`) WHERE owner is null;--> statement-breakpoint
CREATE UNIQUE INDEX `undertext_sessions_id` ON `undertext_sessions` (`id`,`owner`);