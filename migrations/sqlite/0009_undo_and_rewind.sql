ALTER TABLE `undertext_audit` ADD `position` integer;--> statement-breakpoint
CREATE INDEX `undertext_audit_turned` ON `undertext_audit` (`session`,`position`) WHERE compaction is not null;--> statement-breakpoint
CREATE INDEX `undertext_audit_run_undone` ON `undertext_audit` (`run`) WHERE event = 'run undone';--> statement-breakpoint
ALTER TABLE `undertext_compactions` ADD `turned` text;--> statement-breakpoint
ALTER TABLE `undertext_compactions` ADD `first_anchor` integer GENERATED ALWAYS AS (case when json_valid(coverage) then min(ifnull(coverage ->> '$.p[0][0]', coverage ->> '$.i[0][0]'), ifnull(coverage ->> '$.i[0][0]', coverage ->> '$.p[0][0]')) end) VIRTUAL;--> statement-breakpoint
ALTER TABLE `undertext_compactions` ADD `last_anchor` integer GENERATED ALWAYS AS (case when json_valid(coverage) then max(ifnull(coverage ->> '$.p[#-1][1]', coverage ->> '$.i[#-1][0]'), ifnull(coverage ->> '$.i[#-1][0]', coverage ->> '$.p[#-1][1]')) end) VIRTUAL;--> statement-breakpoint
CREATE INDEX `undertext_compactions_spans` ON `undertext_compactions` (`session`,`status`,`first_anchor`,`last_anchor`,`rank`);--> statement-breakpoint
CREATE INDEX `undertext_compactions_replacing` ON `undertext_compactions` (`session`) WHERE status = 'active' and parts_replaced > 0;--> statement-breakpoint
CREATE INDEX `undertext_compactions_undone_with` ON `undertext_compactions` (`undone_with_run`) WHERE undone_with_run is not null;--> statement-breakpoint
ALTER TABLE `undertext_sessions` ADD `undone_automatic` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
CREATE INDEX `undertext_messages_inserted` ON `undertext_messages` (`inserted_by`) WHERE inserted_by is not null;