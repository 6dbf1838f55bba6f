-- Small tables with a key of several columns need no second tree beside it: a page less each in every file.
CREATE TABLE `undertext_calibrations_keyed` (
	`provider` text NOT NULL,
	`model` text NOT NULL,
	`estimator` text NOT NULL,
	`grown_samples` integer NOT NULL,
	`grown_measured` real NOT NULL,
	`grown_estimated` real NOT NULL,
	`whole_samples` integer NOT NULL,
	`whole_measured` real NOT NULL,
	`whole_estimated` real NOT NULL,
	`at` integer NOT NULL,
	PRIMARY KEY(`provider`, `model`, `estimator`)
) WITHOUT ROWID;--> statement-breakpoint
INSERT INTO `undertext_calibrations_keyed` (`provider`, `model`, `estimator`, `grown_samples`, `grown_measured`, `grown_estimated`, `whole_samples`, `whole_measured`, `whole_estimated`, `at`) SELECT `provider`, `model`, `estimator`, `grown_samples`, `grown_measured`, `grown_estimated`, `whole_samples`, `whole_measured`, `whole_estimated`, `at` FROM `undertext_calibrations`;--> statement-breakpoint
DROP TABLE `undertext_calibrations`;--> statement-breakpoint
ALTER TABLE `undertext_calibrations_keyed` RENAME TO `undertext_calibrations`;--> statement-breakpoint
CREATE TABLE `undertext_limits_keyed` (
	`provider` text NOT NULL,
	`model` text NOT NULL,
	`kind` text NOT NULL,
	`tokens` integer NOT NULL,
	`at` integer NOT NULL,
	PRIMARY KEY(`provider`, `model`, `kind`)
) WITHOUT ROWID;--> statement-breakpoint
INSERT INTO `undertext_limits_keyed` (`provider`, `model`, `kind`, `tokens`, `at`) SELECT `provider`, `model`, `kind`, `tokens`, `at` FROM `undertext_limits`;--> statement-breakpoint
DROP TABLE `undertext_limits`;--> statement-breakpoint
ALTER TABLE `undertext_limits_keyed` RENAME TO `undertext_limits`;--> statement-breakpoint
CREATE TABLE `undertext_measurements_keyed` (
	`session` integer NOT NULL,
	`provider` text NOT NULL,
	`model` text NOT NULL,
	`estimator` text NOT NULL,
	`view_epoch` integer NOT NULL,
	`tokens` integer NOT NULL,
	`held` integer NOT NULL,
	`history` integer NOT NULL,
	`standing` integer NOT NULL,
	`pending` integer NOT NULL,
	`first_tokens` integer,
	`first_estimate` integer NOT NULL,
	`at` integer NOT NULL,
	PRIMARY KEY(`session`, `provider`, `model`)
) WITHOUT ROWID;--> statement-breakpoint
INSERT INTO `undertext_measurements_keyed` (`session`, `provider`, `model`, `estimator`, `view_epoch`, `tokens`, `held`, `history`, `standing`, `pending`, `first_tokens`, `first_estimate`, `at`) SELECT `session`, `provider`, `model`, `estimator`, `view_epoch`, `tokens`, `held`, `history`, `standing`, `pending`, `first_tokens`, `first_estimate`, `at` FROM `undertext_measurements`;--> statement-breakpoint
DROP TABLE `undertext_measurements`;--> statement-breakpoint
ALTER TABLE `undertext_measurements_keyed` RENAME TO `undertext_measurements`;--> statement-breakpoint
CREATE TABLE `undertext_usage_keyed` (
	`session` integer NOT NULL,
	`provider` text NOT NULL,
	`model` text NOT NULL,
	`requests` integer NOT NULL,
	`input_tokens` integer NOT NULL,
	`cache_read_tokens` integer NOT NULL,
	`cache_creation_tokens` integer NOT NULL,
	`output_tokens` integer NOT NULL,
	`last_cache_read_tokens` integer,
	`last_cache_creation_tokens` integer,
	`at` integer NOT NULL,
	PRIMARY KEY(`session`, `provider`, `model`)
) WITHOUT ROWID;--> statement-breakpoint
INSERT INTO `undertext_usage_keyed` (`session`, `provider`, `model`, `requests`, `input_tokens`, `cache_read_tokens`, `cache_creation_tokens`, `output_tokens`, `last_cache_read_tokens`, `last_cache_creation_tokens`, `at`) SELECT `session`, `provider`, `model`, `requests`, `input_tokens`, `cache_read_tokens`, `cache_creation_tokens`, `output_tokens`, `last_cache_read_tokens`, `last_cache_creation_tokens`, `at` FROM `undertext_usage`;--> statement-breakpoint
DROP TABLE `undertext_usage`;--> statement-breakpoint
ALTER TABLE `undertext_usage_keyed` RENAME TO `undertext_usage`;
