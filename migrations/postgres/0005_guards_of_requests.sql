CREATE TRIGGER requests_are_written_once BEFORE UPDATE OF family, session, no, "position", audit, provider, model, rendering, renderer, hash, system, tools, prompt, files, prompt_first, prompt_last, input_tokens, cache_read_tokens, cache_creation_tokens, output_tokens, at ON "undertext".requests FOR EACH ROW EXECUTE FUNCTION "undertext".refuse('requests are written once');
--> statement-breakpoint
CREATE TRIGGER requests_are_kept BEFORE DELETE ON "undertext".requests FOR EACH ROW WHEN ((current_setting('undertext.purging'::text, true) IS DISTINCT FROM 'on'::text)) EXECUTE FUNCTION "undertext".refuse('requests are kept; purgeSession is the one way to remove them');
--> statement-breakpoint
CREATE TRIGGER requests_are_not_truncated BEFORE TRUNCATE ON "undertext".requests FOR EACH STATEMENT EXECUTE FUNCTION "undertext".refuse('requests are kept');
