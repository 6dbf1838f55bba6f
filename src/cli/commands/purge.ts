import { shownTitle } from '../../core/messages/title.ts'
import type { Context } from '../command.ts'
import type { Given } from '../declarations.ts'
import { CliError, EXIT } from '../errors.ts'
import { counted } from '../output/figures.ts'
import { report, sentence, writeLines } from '../output/layout.ts'
import { safeLine } from '../output/safe-text.ts'
import { openSession } from '../references.ts'

export async function purge(
  context: Context,
  given: string,
  { reason, actor, forks }: Given<'purge'>,
): Promise<number> {
  const { err, style } = context
  const { store, id: session } = await openSession(context, 'change', given)
  // A script that runs a second time must not purge another session whose id begins so.
  if (context.agreed && given !== session && given !== '@')
    throw new CliError(
      'WRONG_USE',
      `There is no session ${JSON.stringify(given)}, only one whose id begins with it; nothing was removed.`,
      { facts: { given, session }, hint: `With --yes, pass the whole id: ${session}` },
    )
  const { title, counts } = await store.sessions.get(session, { counts: true })
  const compactions = (await store.listCompactions(session)).length
  const name = title === undefined ? session : `${session} (${shownTitle(title)})`
  await agree(
    context,
    session,
    `${counted(counts.messages, 'message')} and ${counted(compactions, 'compaction')} of session ${name} will be removed permanently.`,
  )
  const removed = await store.sessions.purge(session, {
    reason,
    actor,
    ...(forks !== undefined && { forks }),
  })
  const parts = `${counted(removed.messages, 'message')}, ${counted(removed.compactions, 'compaction')}, ${counted(removed.blobs, 'stored file')}`
  report(context, { session, ...removed }, () => [
    style.green(`Removed: session ${safeLine(session)} (${parts}).`),
  ])
  if (removed.filesCleared === false)
    writeLines(err, [style.yellow(context.location.url === undefined ? LEFT_IN_FILES : LEFT_ON_SERVER)])
  return EXIT.done
}

export const LEFT_IN_FILES =
  'Parts of it may still be readable in the files: another program has the store open. They are cleared with the next change, or when the store is opened again.'
export const LEFT_ON_SERVER =
  'Parts of it may still be readable in the files of the server until it vacuums, and in its backups.'

/** Throws `DECLINED` unless the id was typed, or `--yes` given. */
async function agree(context: Context, session: string, what: string): Promise<void> {
  const { err, style } = context
  if (context.agreed) return
  writeLines(err, sentence(what, err, style.yellow))
  const typed = await context.ask('Type the id of the session to remove it')
  if (typed === undefined)
    throw new CliError('DECLINED', 'There is no terminal to ask for confirmation, so nothing was removed.', {
      hint: '--yes removes it without asking.',
    })
  if (typed.trim() !== session.trim())
    throw new CliError('DECLINED', "That isn't the id of the session, so nothing was removed.")
}
