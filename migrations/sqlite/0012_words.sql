-- The index of the search. It holds words, not texts, and of each row only which words it has. The words come from src/search/words.ts, so
-- the tokenizer only splits them at spaces. A deleted row leaves its words in the file until the index is merged: residue.ts does that.
CREATE VIRTUAL TABLE undertext_words USING fts5(words, content='', contentless_delete=1, detail=none, tokenize="ascii tokenchars '_'");
--> statement-breakpoint
-- How many rows have a word.
CREATE VIRTUAL TABLE undertext_vocabulary USING fts5vocab(undertext_words, row);
