CREATE TABLE `undertext_calibrations` (
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
);
--> statement-breakpoint
CREATE TABLE `undertext_limits` (
	`provider` text NOT NULL,
	`model` text NOT NULL,
	`kind` text NOT NULL,
	`tokens` integer NOT NULL,
	`at` integer NOT NULL,
	PRIMARY KEY(`provider`, `model`, `kind`)
);
--> statement-breakpoint
CREATE TABLE `undertext_measurements` (
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
);
