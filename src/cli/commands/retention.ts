import { isObject, parsedJson } from '../../core/messages/json.ts'
import type { RetentionOptions, RetentionReport } from '../../store/retention.ts'
import type { Context } from '../command.ts'
import type { Given } from '../declarations.ts'
import { CliError, EXIT } from '../errors.ts'
import { readTextFile } from '../options.ts'
import { count, counted } from '../output/figures.ts'
import { report, sentence, writeLines } from '../output/layout.ts'
import { findSession } from '../references.ts'
import { LEFT_ON_SERVER } from './purge.ts'

const LEFT_IN_FILES =
  'Parts of it may still be readable in the files, until --clear-files or a purge clears them.'

export async function retention(
  context: Context,
  given: string | undefined,
  {
    rules: path,
    owner,
    dryRun = false,
    seconds,
    cursor,
    clearFiles = false,
    reason,
    actor,
  }: Given<'retention'>,
): Promise<number> {
  const { err, style } = context
  const store = await context.open(dryRun ? 'read' : 'change')
  const rules = path === undefined ? undefined : await rulesIn(context, path)
  const sessions = given === undefined ? undefined : [await findSession(store, given)]
  const where = { ...(owner !== undefined && { owner }), ...(sessions !== undefined && { sessions }) }
  const how = { ...where, ...(rules !== undefined && { rules }), ...(cursor !== undefined && { cursor }) }
  if (dryRun || !context.agreed) {
    const found = await store.privacy.applyRetention({ ...how, dryRun: true })
    if (dryRun) return report(context, found, () => linesOf(found))
    const [first, ...rest] = linesOf(found)
    writeLines(err, [...sentence(first!, err, style.yellow), ...rest])
    if (rest.length === 0) return EXIT.done
    if (!(await context.confirm('Remove it permanently?')))
      throw new CliError('DECLINED', 'Nothing was removed.', { hint: '--yes removes it without asking.' })
  }
  const budget = seconds === undefined ? {} : { budgetMs: seconds * 1_000 }
  const done = await store.privacy.applyRetention({ ...how, ...budget, clearFiles, reason, actor })
  report(context, done, () => linesOf(done))
  if (done.filesCleared === false && !context.json)
    writeLines(err, [style.yellow(context.location.url === undefined ? LEFT_IN_FILES : LEFT_ON_SERVER)])
  return EXIT.done
}

async function rulesIn(context: Context, path: string): Promise<NonNullable<RetentionOptions['rules']>> {
  const rules = parsedJson(await readTextFile(context.cwd, path))
  // Its content is checked by the method.
  if (isObject(rules)) return rules as NonNullable<RetentionOptions['rules']>
  throw new CliError('WRONG_USE', 'The file with the rules must be a JSON object.', {
    hint: 'docs/retention.md describes the rules.',
  })
}

const CLASSES: readonly (readonly [name: keyof RetentionReport['content'], one: string, many: string])[] = [
  ['toolOutputs', 'tool output', 'tool outputs'],
  ['reasoning', 'part of reasoning', 'parts of reasoning'],
  ['media', 'image or file', 'images or files'],
  ['hidden', 'part of hidden rows', 'parts of hidden rows'],
]

function linesOf(found: RetentionReport): string[] {
  const { content, subagents, archived, requests, audit, kept, isComplete, cursor, dryRun } = found
  const places = (sessions: number): string => `in ${counted(sessions, 'session')}`
  const lines = [
    ...CLASSES.flatMap(([name, ...words]) => {
      const { parts, bytes, sessions } = content[name]
      return parts === 0 ? [] : [`  ${counted(parts, ...words)} ${places(sessions)}, ${count(bytes)} bytes`]
    }),
    ...(subagents.sessions === 0
      ? []
      : [
          `  ${counted(subagents.sessions, 'session of a subagent', 'sessions of subagents')}, ${counted(subagents.messages, 'message')}`,
        ]),
    ...(archived.sessions === 0
      ? []
      : [`  ${counted(archived.sessions, 'archived session')}, ${counted(archived.messages, 'message')}`]),
    ...(requests.requests === 0
      ? []
      : [`  ${counted(requests.requests, 'recorded request')} ${places(requests.sessions)}`]),
    ...(audit.entries === 0
      ? []
      : [`  ${counted(audit.entries, 'entry', 'entries')} of the audit ${places(audit.sessions)}`]),
  ]
  const first = lines.length === 0 ? 'The rules remove nothing.' : dryRun ? 'The rules remove:' : 'Removed:'
  const stays = [
    ...(kept.withForks === 0 ? [] : [`${counted(kept.withForks, 'session')} with forks stayed.`]),
    ...(kept.pinned === 0 ? [] : [`${counted(kept.pinned, 'session')} with pinned messages stayed.`]),
  ]
  const more = isComplete ? [] : [`The time is over; --cursor ${cursor} continues.`]
  return [first, ...lines, ...stays, ...more]
}
