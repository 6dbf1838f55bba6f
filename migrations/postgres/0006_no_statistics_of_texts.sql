-- The planner's statistics are samples of values, which stay after a purge. Texts, names and hashes have none; the plans need only those
-- of numbers. Citus gives them to the shards of new tables, and refuses the change of distributed ones.
SELECT set_config('citus.enable_ddl_propagation', 'off', true);
--> statement-breakpoint
ALTER TABLE "undertext".names ALTER COLUMN id SET STATISTICS 0;
--> statement-breakpoint
ALTER TABLE "undertext".sessions ALTER COLUMN id SET STATISTICS 0, ALTER COLUMN owner SET STATISTICS 0, ALTER COLUMN title SET STATISTICS 0, ALTER COLUMN provider SET STATISTICS 0, ALTER COLUMN model SET STATISTICS 0, ALTER COLUMN config SET STATISTICS 0, ALTER COLUMN metadata SET STATISTICS 0, ALTER COLUMN staged_by SET STATISTICS 0;
--> statement-breakpoint
ALTER TABLE "undertext".messages ALTER COLUMN id SET STATISTICS 0, ALTER COLUMN tools SET STATISTICS 0, ALTER COLUMN idempotency_key SET STATISTICS 0;
--> statement-breakpoint
ALTER TABLE "undertext".contents ALTER COLUMN content SET STATISTICS 0, ALTER COLUMN metadata SET STATISTICS 0, ALTER COLUMN blobs SET STATISTICS 0;
--> statement-breakpoint
ALTER TABLE "undertext".compactions ALTER COLUMN actor SET STATISTICS 0, ALTER COLUMN reason SET STATISTICS 0, ALTER COLUMN params SET STATISTICS 0, ALTER COLUMN requires SET STATISTICS 0, ALTER COLUMN model SET STATISTICS 0, ALTER COLUMN usage SET STATISTICS 0, ALTER COLUMN error SET STATISTICS 0, ALTER COLUMN turned SET STATISTICS 0;
--> statement-breakpoint
ALTER TABLE "undertext".replacements ALTER COLUMN text SET STATISTICS 0;
--> statement-breakpoint
ALTER TABLE "undertext".audit ALTER COLUMN actor SET STATISTICS 0, ALTER COLUMN detail SET STATISTICS 0;
--> statement-breakpoint
ALTER TABLE "undertext".measurements ALTER COLUMN provider SET STATISTICS 0, ALTER COLUMN model SET STATISTICS 0;
--> statement-breakpoint
ALTER TABLE "undertext".usage ALTER COLUMN provider SET STATISTICS 0, ALTER COLUMN model SET STATISTICS 0;
--> statement-breakpoint
ALTER TABLE "undertext".jobs ALTER COLUMN request SET STATISTICS 0, ALTER COLUMN error SET STATISTICS 0;
--> statement-breakpoint
ALTER TABLE "undertext".circuits ALTER COLUMN model SET STATISTICS 0, ALTER COLUMN error SET STATISTICS 0;
--> statement-breakpoint
ALTER TABLE "undertext".operations ALTER COLUMN id SET STATISTICS 0, ALTER COLUMN digest SET STATISTICS 0;
--> statement-breakpoint
ALTER TABLE "undertext".requests ALTER COLUMN provider SET STATISTICS 0, ALTER COLUMN model SET STATISTICS 0, ALTER COLUMN rendering SET STATISTICS 0, ALTER COLUMN hash SET STATISTICS 0, ALTER COLUMN system SET STATISTICS 0, ALTER COLUMN tools SET STATISTICS 0, ALTER COLUMN prompt SET STATISTICS 0, ALTER COLUMN files SET STATISTICS 0;
--> statement-breakpoint
ALTER TABLE "undertext".notes ALTER COLUMN owner SET STATISTICS 0, ALTER COLUMN key SET STATISTICS 0, ALTER COLUMN text SET STATISTICS 0, ALTER COLUMN metadata SET STATISTICS 0, ALTER COLUMN source_session SET STATISTICS 0, ALTER COLUMN source SET STATISTICS 0, ALTER COLUMN actor SET STATISTICS 0;
--> statement-breakpoint
ALTER TABLE "undertext".blobs ALTER COLUMN hash SET STATISTICS 0, ALTER COLUMN bytes SET STATISTICS 0;
--> statement-breakpoint
ALTER TABLE "undertext".words ALTER COLUMN words SET STATISTICS 0;
--> statement-breakpoint
-- Statistics that exist stay, whatever their target. Setting the type of a column removes them. Triggers that name the column are in the
-- way, and so are views and policies, which are not ours to change.
CREATE FUNCTION "undertext".forget_statistics() RETURNS void LANGUAGE plpgsql SET search_path = "undertext", pg_catalog AS $$
DECLARE
  one record;
  of_column record;
  definition text;
  definitions text[];
BEGIN
  FOR one IN SELECT a.attrelid, a.attnum, a.attrelid::regclass AS relation, a.attname, a.atttypid::regtype AS type
      FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
        JOIN pg_stats s ON s.schemaname = current_schema() AND s.tablename = c.relname AND s.attname = a.attname
      WHERE c.relnamespace = quote_ident(current_schema())::regnamespace AND a.attstattarget = 0
        AND c.relname IN ('names', 'sessions', 'messages', 'contents', 'compactions', 'replacements', 'audit', 'measurements', 'usage', 'jobs', 'circuits', 'operations', 'requests', 'notes', 'blobs', 'words') LOOP
    definitions = '{}';
    BEGIN
      FOR of_column IN SELECT t.tgname, pg_get_triggerdef(t.oid) AS definition FROM pg_trigger t
          WHERE t.tgrelid = one.attrelid AND one.attnum = ANY (t.tgattr) LOOP
        EXECUTE format('DROP TRIGGER %I ON %s', of_column.tgname, one.relation);
        definitions = definitions || of_column.definition;
      END LOOP;
      EXECUTE format('ALTER TABLE %s ALTER COLUMN %I TYPE %s', one.relation, one.attname, one.type);
      FOREACH definition IN ARRAY definitions LOOP
        EXECUTE definition;
      END LOOP;
    EXCEPTION WHEN feature_not_supported THEN
      RAISE WARNING 'undertext: the statistics of %.% stay, because a view or a policy names the column', one.relation, one.attname;
    END;
  END LOOP;
END $$;
--> statement-breakpoint
SELECT "undertext".forget_statistics();
--> statement-breakpoint
DROP FUNCTION "undertext".forget_statistics();
--> statement-breakpoint
SELECT set_config('citus.enable_ddl_propagation', 'on', true);
