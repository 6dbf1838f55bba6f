ALTER TABLE `undertext_messages` ADD `size_large` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `undertext_replacements` ADD `saved_large` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `undertext_sessions` ADD `size_large` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
-- The new columns of existing sessions are counted when the store is opened (recount.ts).
INSERT OR IGNORE INTO undertext_meta (key, value) SELECT 'uncounted media', '1' WHERE EXISTS (SELECT 1 FROM undertext_sessions);
