ALTER TABLE `undertext_compactions` ADD `copied_from` text;--> statement-breakpoint
ALTER TABLE `undertext_messages` ADD `source` integer;--> statement-breakpoint
CREATE INDEX `undertext_messages_source` ON `undertext_messages` (`source`) WHERE source is not null;--> statement-breakpoint
ALTER TABLE `undertext_sessions` ADD `forked_from` integer;--> statement-breakpoint
ALTER TABLE `undertext_sessions` ADD `forked_at` integer;--> statement-breakpoint
CREATE INDEX `undertext_sessions_forks` ON `undertext_sessions` (`forked_from`) WHERE forked_from is not null;