-- A request is written once; where its answer is in the log is recorded when it is stored. Only a purge removes it.
CREATE TRIGGER undertext_requests_are_written_once
BEFORE UPDATE OF session, no, position, audit, provider, model, rendering, renderer, hash, system, tools, prompt, files, prompt_first,
  prompt_last, input_tokens, cache_read_tokens, cache_creation_tokens, output_tokens, at ON undertext_requests
BEGIN SELECT RAISE(ABORT, 'undertext: requests are written once'); END;
--> statement-breakpoint
CREATE TRIGGER undertext_requests_are_not_replaced BEFORE INSERT ON undertext_requests
WHEN EXISTS (SELECT 1 FROM undertext_requests WHERE session = NEW.session AND no = NEW.no)
BEGIN SELECT RAISE(ABORT, 'undertext: this request is there already'); END;
--> statement-breakpoint
CREATE TRIGGER undertext_requests_are_kept BEFORE DELETE ON undertext_requests
WHEN NOT EXISTS (SELECT 1 FROM undertext_meta WHERE key = 'purging')
BEGIN SELECT RAISE(ABORT, 'undertext: requests are kept; purgeSession is the one way to remove them'); END;
