CREATE TRIGGER undertext_sources_are_written_once BEFORE UPDATE OF source ON undertext_messages
WHEN NOT EXISTS (SELECT 1 FROM undertext_meta WHERE key = 'purging')
BEGIN SELECT RAISE(ABORT, 'undertext: messages are written once'); END;
