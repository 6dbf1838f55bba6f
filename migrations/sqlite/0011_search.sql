CREATE TABLE `undertext_searched` (
	`session` integer PRIMARY KEY NOT NULL,
	`positions` integer NOT NULL,
	`ordinals` integer NOT NULL
);
