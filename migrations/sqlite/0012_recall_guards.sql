CREATE TRIGGER undertext_sources_are_written_once BEFORE UPDATE OF source ON undertext_messages
WHEN NOT EXISTS (SELECT 1 FROM undertext_meta WHERE key = 'purging')
BEGIN SELECT RAISE(ABORT, 'undertext: messages are written once'); END;
--> statement-breakpoint
-- A note is written once; what changes is whether it is in use. Only a purge removes it.
CREATE TRIGGER undertext_notes_are_written_once
BEFORE UPDATE OF id, session, owner, no, key, text, metadata, source_session, source, actor, created_at ON undertext_notes
BEGIN SELECT RAISE(ABORT, 'undertext: notes are written once'); END;
--> statement-breakpoint
CREATE TRIGGER undertext_notes_are_not_replaced BEFORE INSERT ON undertext_notes
WHEN EXISTS (SELECT 1 FROM undertext_notes WHERE session = NEW.session AND owner = NEW.owner AND no = NEW.no)
BEGIN SELECT RAISE(ABORT, 'undertext: this note is there already'); END;
--> statement-breakpoint
CREATE TRIGGER undertext_notes_are_kept BEFORE DELETE ON undertext_notes
WHEN NOT EXISTS (SELECT 1 FROM undertext_meta WHERE key = 'purging')
BEGIN SELECT RAISE(ABORT, 'undertext: notes are kept; a purge is the one way to remove them'); END;
--> statement-breakpoint
-- The index of the search. It holds words, not texts, and of each row only which words it has. The words come from src/core/search/words.ts, so
-- the tokenizer only splits them at spaces. A deleted row leaves its words in the file until the index is merged: residue.ts does that.
CREATE VIRTUAL TABLE undertext_words USING fts5(words, content='', contentless_delete=1, detail=none, tokenize="ascii tokenchars '_'");
--> statement-breakpoint
-- How many rows have a word.
CREATE VIRTUAL TABLE undertext_vocabulary USING fts5vocab(undertext_words, row);
