ALTER TABLE `undertext_messages` ADD `size_images` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `undertext_messages` ADD `size_bytes` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `undertext_replacements` ADD `saved_images` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `undertext_replacements` ADD `saved_bytes` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `undertext_sessions` ADD `size_images` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `undertext_sessions` ADD `size_bytes` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
-- The new columns of existing sessions are counted when the store is opened (recount.ts).
INSERT INTO undertext_meta (key, value) SELECT 'uncounted media', '1' WHERE EXISTS (SELECT 1 FROM undertext_sessions);