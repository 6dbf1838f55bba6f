import { isUndertextError } from '../../core/errors.ts'
import { isTokenizerName } from '../../core/tokens/tokenizer.ts'
import { contextOf } from '../../store/store.ts'
import type { MoveReport } from '../../transfer/move-store.ts'
import { moveStore } from '../../transfer/move-store.ts'
import type { Context } from '../command.ts'
import type { Given } from '../declarations.ts'
import { CliError, EXIT } from '../errors.ts'
import { locationNamed } from '../location.ts'
import { count, counted, listing } from '../output/figures.ts'
import { report } from '../output/layout.ts'
import { type Column, table } from '../output/table.ts'
import { allSessions } from '../references.ts'

/** Copies the store to another one. */
export async function move(context: Context, { to }: Given<'move'>): Promise<number> {
  const { location, signal } = context
  const there = locationNamed(to, 'option', context.cwd)
  if ((there.url ?? there.path) === (location.url ?? location.path))
    throw new CliError('WRONG_USE', "A store can't be copied to itself.", {
      hint: '--db names the source, --to the target.',
    })
  const source = await context.open('read')
  let messages = 0
  for await (const { messageCount } of allSessions(source)) messages += messageCount
  const known = [...contextOf(source).estimators.byName.values()]
  const estimators = known.filter(({ name }) => isTokenizerName(name))
  const target = await context.open('write', { at: there, estimators })
  const progress = await context.progress('scanning')
  const done = { sessions: 0, messages: 0 }
  const show = (): void =>
    progress.at(
      messages === 0 ? 0 : Math.min(1, done.messages / messages),
      `${counted(done.sessions, 'session')}, ${counted(done.messages, 'message')}`,
    )
  try {
    const moved = await moveStore(source, target, {
      signal,
      onMessages: (copied) => {
        done.messages += copied
        show()
      },
      onSession: ({ outcome, messages: passed }) => {
        done.sessions += 1
        if (outcome !== 'copied' && outcome !== 'replaced') done.messages += passed
        show()
      },
    })
    progress.end(counted(done.sessions, 'session'))
    report(context, jsonOf(context, there.path, moved), () => linesOf(context, there.path, moved))
    return moved.refused === 0 ? EXIT.done : EXIT.refused
  } catch (error) {
    progress.end(counted(done.sessions, 'session'))
    if (isUndertextError(error, 'ABORTED'))
      throw new CliError('INTERRUPTED', 'Interrupted. Run the same command again to continue.', {
        facts: done,
      })
    throw error
  }
}

/** Characters of an id that are shown. */
const SHOWN = 60

function shortened(id: string): string {
  return id.length <= SHOWN ? id : `${id.slice(0, SHOWN).toWellFormed()}…`
}

function jsonOf({ location }: Context, to: string, { problems, ...counts }: MoveReport) {
  return {
    from: location.path,
    to,
    ...counts,
    problems: problems.map(({ sessionId, code, detail }) => ({ session: sessionId, code, detail })),
  }
}

const PROBLEMS: readonly Column[] = [
  { title: 'SESSION', flexible: 'wrap', isName: true },
  { title: 'PROBLEM' },
  { title: 'WHY', flexible: 'wrap' },
]

function linesOf({ out, style }: Context, to: string, moved: MoveReport): string[] {
  const { copied, replaced, unchanged, refused, problems, messages } = moved
  const sessions = listing(
    `${counted(copied, 'session')} copied`,
    replaced > 0 && `${count(replaced)} replaced`,
    unchanged > 0 && `${count(unchanged)} unchanged`,
  )
  const what = `${sessions} to ${to} (${counted(messages, 'message')})`
  if (refused === 0) return [style.green(`✓ ${what}`)]
  const rows = problems.map(({ sessionId, code, detail }) => [shortened(sessionId), code, detail])
  const end = style.red(`✗ ${what}, ${counted(refused, 'session')} not copied`)
  return [...table(PROBLEMS, rows, out, style), '', end]
}
