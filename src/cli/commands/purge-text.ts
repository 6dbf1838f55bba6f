import type { PurgedText, TextScope } from '../../store/purge-text.ts'
import type { Context } from '../command.ts'
import type { Given } from '../declarations.ts'
import { CliError, EXIT } from '../errors.ts'
import { readTextFile } from '../options.ts'
import { counted } from '../output/figures.ts'
import { report, sentence, writeLines } from '../output/layout.ts'
import { safeLine } from '../output/safe-text.ts'
import { findSession } from '../references.ts'
import { LEFT_IN_FILES, LEFT_ON_SERVER } from './purge.ts'

type Options = Given<'purge-text'>

/** Longer input isn't a text to remove but a mistake. */
const MAX_INPUT_BYTES = 1_000_000

export async function purgeText(
  context: Context,
  given: string | undefined,
  options: Options,
): Promise<number> {
  const { err, style } = context
  const { owner, all, dryRun = false, actor, reason, replacement } = options
  if ([given, owner, all].filter((one) => one !== undefined).length !== 1)
    throw wrongUse('Name a session, or pass either --owner or --all.')
  const store = await context.open(dryRun ? 'read' : 'change')
  const scope: TextScope =
    owner !== undefined
      ? { owner }
      : given === undefined
        ? 'all'
        : { session: await findSession(store, given) }
  const pattern = patternOf(await textOf(context, options), options)
  const how = { actor, reason, ...(replacement !== undefined && { replacement }) }
  const found = await store.privacy.purgeText(scope, pattern, { ...how, dryRun: true })
  if (dryRun || found.matches === 0) {
    report(context, found, () => linesOf(found))
    return EXIT.done
  }
  const what = `${placesOf(found)} will be changed permanently.`
  if (!context.agreed) writeLines(err, sentence(what, err, style.yellow))
  if (!(await context.confirm('Remove the text?')))
    throw new CliError('DECLINED', 'Nothing was removed.', { hint: '--yes removes it without asking.' })
  const removed = await store.privacy.purgeText(scope, pattern, how)
  report(context, removed, () => linesOf(removed))
  if (removed.filesCleared === false)
    writeLines(err, [style.yellow(context.location.url === undefined ? LEFT_IN_FILES : LEFT_ON_SERVER)])
  return EXIT.done
}

function wrongUse(message: string): CliError {
  return new CliError('WRONG_USE', message, { hint: '`undertext help purge-text` shows the usage.' })
}

/** The text: from a file, from a pipe, or typed, without showing it. */
async function textOf(context: Context, { file }: Options): Promise<string> {
  if (file !== undefined) return withoutBreak(await readTextFile(context.cwd, file))
  const typed = await context.ask('The text to remove (it is not shown)', true)
  if (typed !== undefined) return typed
  if (context.input.isTTY === true) throw wrongUse('There is no terminal to ask for the text; pass --file.')
  const pieces: Buffer[] = []
  let length = 0
  for await (const piece of context.input) {
    pieces.push(Buffer.from(piece))
    length += piece.length
    if (length > MAX_INPUT_BYTES) throw wrongUse('The text on the standard input is too long.')
  }
  return withoutBreak(Buffer.concat(pieces).toString('utf8'))
}

function withoutBreak(text: string): string {
  return text.replace(/\r?\n$/, '')
}

function patternOf(text: string, { regex }: Options): string | RegExp {
  if (text === '') throw wrongUse('The text is empty.')
  if (regex !== true) return text
  try {
    return new RegExp(text, 'u')
  } catch {
    // The error of the engine would repeat the expression.
    throw wrongUse("The text isn't a regular expression.")
  }
}

function placesOf(found: PurgedText): string {
  const { messages, summaries, replacements, notes, requests, compactions, jobs, audit, fields } = found
  const kinds: readonly (readonly [count: number, one: string, many?: string])[] = [
    [messages, 'message'],
    [summaries, 'summary', 'summaries'],
    [replacements, 'replaced text'],
    [notes, 'note'],
    [requests, 'request'],
    [compactions, 'compaction'],
    [jobs, 'job'],
    [audit, 'audit entry', 'audit entries'],
    [fields, 'session field'],
  ]
  return kinds.flatMap(([count, ...names]) => (count > 0 ? [counted(count, ...names)] : [])).join(', ')
}

function linesOf(found: PurgedText): string[] {
  const { matches, dryRun, sessions } = found
  const kept = [...found.kept, ...sessions.flatMap((one) => one.kept)]
  const names = kept.reduce((sum, { count }) => sum + count, 0)
  const ofNames =
    names === 0
      ? []
      : [
          `${counted(names, 'name')} with the text stayed: ${[...new Set(kept.map(({ kind }) => kind))].join(', ')}.`,
        ]
  if (matches === 0) return ["The text wasn't found.", ...ofNames]
  const verb = dryRun ? 'Found' : 'Removed'
  const changed = sessions.filter((one) => one.matches > 0)
  return [
    `${verb} ${counted(matches, 'time')}: ${placesOf(found)}.`,
    ...changed.map((one) => `  ${safeLine(one.sessionId)}: ${counted(one.matches, 'time')}`),
    ...ofNames,
  ]
}
