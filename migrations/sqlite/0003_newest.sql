ALTER TABLE `undertext_sessions` ADD `newest_at` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
-- Until now the time was computed from the last message and the last change.
UPDATE `undertext_sessions` SET `newest_at` = coalesce((SELECT min(m.`created_at`, `undertext_sessions`.`updated_at`) FROM `undertext_messages` m WHERE m.`session` = `undertext_sessions`.`no` AND m.`position` = `undertext_sessions`.`messages` AND m.`ordinal` = 0), 0) WHERE `messages` > 0;--> statement-breakpoint
CREATE INDEX `undertext_sessions_newest` ON `undertext_sessions` (`newest_at`) WHERE archived_at is null and staged_by is null;--> statement-breakpoint
CREATE INDEX `undertext_sessions_archived` ON `undertext_sessions` (`newest_at`) WHERE archived_at is not null and staged_by is null;--> statement-breakpoint
CREATE INDEX `undertext_sessions_owner_newest` ON `undertext_sessions` (`owner`,`newest_at`) WHERE owner is not null and archived_at is null and staged_by is null;--> statement-breakpoint
CREATE INDEX `undertext_sessions_owner_archived` ON `undertext_sessions` (`owner`,`newest_at`) WHERE owner is not null and archived_at is not null and staged_by is null;