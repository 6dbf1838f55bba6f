import { resolve } from 'node:path'
import type { Backup } from '../../storage/storage.ts'
import type { Store } from '../../store/store.ts'
import type { Context } from '../command.ts'
import type { Given } from '../declarations.ts'
import { EXIT } from '../errors.ts'
import { bytes, counted } from '../output/figures.ts'
import { report } from '../output/layout.ts'

/** Copies the store to a file. */
export async function backup(context: Context, file: string, { force }: Given<'backup'>): Promise<number> {
  const store = await context.open('read')
  const { path, ...facts } = await copyTo(context, store, resolve(context.cwd, file), force)
  report(context, { file: path, ...facts }, () => [
    context.style.green(`✓ ${counted(facts.sessions, 'session')} copied to ${path} (${bytes(facts.bytes)})`),
  ])
  return EXIT.done
}

/** Copies a store, with a progress bar. */
export async function copyTo(
  context: Context,
  store: Store,
  path: string,
  force: boolean | undefined,
): Promise<Backup> {
  const progress = await context.progress('copying')
  let done = 'not copied'
  try {
    const made = await store.backup(path, {
      overwrite: force === true,
      signal: context.signal,
      onProgress: ({ pages, totalPages }) =>
        progress.at(pages / totalPages, `${counted(pages, 'page')} of ${totalPages}`),
    })
    done = counted(made.pages, 'page')
    return made
  } finally {
    progress.end(done)
  }
}
