import { CliError } from '../cli-error.ts'
import type { Context } from '../command.ts'
import { EXIT } from '../exit-codes.ts'
import { counted } from '../output/figures.ts'
import { paragraph } from '../output/layout.ts'
import { safeLine } from '../output/safe-text.ts'

export type PurgeOptions = { readonly reason?: string; readonly actor?: string }

export async function purge(
  context: Context,
  given: string,
  { reason, actor }: PurgeOptions,
): Promise<number> {
  const store = await context.open('change')
  const session = await context.session(store, given)
  if (context.agreed && given !== session && given !== '@') throw onlyABeginning(given, session)
  const { title, messageCount } = await store.getSession(session)
  const compactions = (await store.listCompactions(session)).length
  const name = title === undefined ? session : `${session} (${title})`
  const what = `${counted(messageCount, 'message')} and ${counted(compactions, 'compaction')} of session ${name} will be removed for good.`
  await agree(context, session, what)
  const removed = await store.purgeSession(session, {
    ...(reason !== undefined && { reason }),
    ...(actor !== undefined && { actor }),
  })
  if (context.json) context.printJson({ session, ...removed })
  else write(context, session, removed)
  if (removed.filesCleared === false)
    context.err.write(
      `${context.style.yellow('Parts of it may still be readable in the files: another program has the store open. They are cleared with the next change, or when the store is opened again.')}\n`,
    )
  return EXIT.done
}

/** A script that purges a second time must not find another session whose id begins so. */
function onlyABeginning(given: string, session: string): CliError {
  const message = `There is no session ${JSON.stringify(given)}, only one that begins so, and nothing was removed.`
  return new CliError('WRONG_USE', message, {
    facts: { given, session },
    hint: `With --yes the whole id is needed: ${session}`,
  })
}

/** Throws `DECLINED` unless the id was typed, or `--yes` given. */
async function agree(context: Context, session: string, what: string): Promise<void> {
  const { err, style } = context
  if (context.agreed) return
  const lines = paragraph(safeLine(what), err).map((line) => style.yellow(line))
  err.write(`${lines.join('\n')}\n`)
  const typed = await context.ask('Type the id of the session to remove it')
  if (typed === undefined)
    throw new CliError('DECLINED', 'Nobody can be asked here, so nothing was removed.', {
      hint: '--yes removes it without asking.',
    })
  if (typed.trim() !== session.trim())
    throw new CliError('DECLINED', 'That is not the id of the session, so nothing was removed.')
}

function write(
  { out, style }: Context,
  session: string,
  { messages, compactions, blobs }: { messages: number; compactions: number; blobs: number },
): void {
  const parts = `${counted(messages, 'message')}, ${counted(compactions, 'compaction')}, ${counted(blobs, 'stored file')}`
  out.write(`${style.green(`Removed: session ${safeLine(session)} (${parts}).`)}\n`)
}
