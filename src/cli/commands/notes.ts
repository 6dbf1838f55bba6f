import { readQuery } from '../../core/search/query.ts'
import type { Note } from '../../storage/storage.ts'
import type { ListedNote } from '../../store/notes.ts'
import type { Store } from '../../store/store.ts'
import type { Context } from '../command.ts'
import type { Given } from '../declarations.ts'
import { CliError } from '../errors.ts'
import { shownTyped } from '../location.ts'
import { counted, time } from '../output/figures.ts'
import { shortIds } from '../output/ids.ts'
import { report, sentence } from '../output/layout.ts'
import { nulled, safeLine } from '../output/safe-text.ts'
import { type Column, table } from '../output/table.ts'
import { findSession } from '../references.ts'
import { noWordsText } from './search.ts'

type NotesOptions = Given<'notes'>

type Scope = { readonly session: string } | { readonly owner: string }

export async function notes(
  context: Context,
  action: 'list' | 'add' | 'forget',
  given: string | undefined,
  options: NotesOptions,
): Promise<number> {
  if (options.session !== undefined && options.owner !== undefined)
    throw wrongUse('A note belongs to a session or to an owner, not to both.')
  if (action === 'list') {
    if (given !== undefined) throw wrongUse('A list takes no text; --search finds notes by their words.')
    return listNotes(context, options)
  }
  if (given === undefined)
    throw wrongUse(action === 'add' ? 'The text of the note is missing.' : 'The id of the note is missing.')
  return action === 'add' ? addNote(context, given, options) : forgetNote(context, given, options)
}

function wrongUse(message: string): CliError {
  return new CliError('WRONG_USE', message, { hint: '`undertext help notes` shows the usage.' })
}

/** Whose notes: of the newest session, unless another or an owner is named. */
async function scopeOf(store: Store, { session, owner }: NotesOptions): Promise<Scope> {
  return owner === undefined ? { session: await findSession(store, session ?? '@') } : { owner }
}

async function listNotes(context: Context, options: NotesOptions): Promise<number> {
  const { search, key, all = false, limit } = options
  const store = await context.open('read')
  const scope = await scopeOf(store, options)
  const found = await store.notes.list({
    query: search,
    ...scope,
    ...(key !== undefined && { key }),
    ...{ all, limit: limit + 1 },
  })
  const shown = found.slice(0, limit)
  const more = found.length > limit
  const { words, leftOut } = readQuery(search ?? '')
  const noWords = search !== undefined && search.trim() !== '' && words.length === 0
  const notes = shown.map(noteJson)
  return report(context, { ...ofJson(scope), notes, more, ...(noWords && { noWords, leftOut }) }, () =>
    noWords
      ? sentence(noWordsText('note', leftOut), context.out)
      : noteLines(context, shown, found.length > limit),
  )
}

async function addNote(context: Context, text: string, options: NotesOptions): Promise<number> {
  if (options.session === undefined && options.owner === undefined)
    throw wrongUse('Pass --session or --owner to say whose note it is.')
  const { key, source, actor, reason } = options
  const store = await context.open('change')
  const note = await store.notes.add(text, {
    ...(await scopeOf(store, options)),
    ...{ key, source, actor, reason },
  })
  return report(context, { note: noteJson(note) }, () => [
    context.style.green(`Remembered: note ${note.id}.`),
  ])
}

async function forgetNote(context: Context, given: string, options: NotesOptions): Promise<number> {
  const { purge = false, actor, reason } = options
  const store = await context.open('change')
  const id = await noteNamed(store, given, options)
  if (purge && !(await context.confirm(`Permanently remove the text of note ${safeLine(id)}?`)))
    throw new CliError('DECLINED', 'Nothing was removed.', { hint: '--yes removes it without asking.' })
  const { changed, removed, filesCleared } = await store.notes.forget(id, { purge, actor, reason })
  const value = { noteId: id, changed, removed, ...(filesCleared === false && { filesCleared }) }
  const what = purge
    ? `Permanently removed: ${counted(removed, 'note')}.`
    : `Forgotten: note ${safeLine(id)}.`
  return report(context, value, () => [
    changed ? context.style.green(what) : 'Nothing was changed: the note is already out of use.',
  ])
}

/** The id, or the only one of the session or the owner that begins or ends so. */
async function noteNamed(store: Store, given: string, options: NotesOptions): Promise<string> {
  if (/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(given) || given === '') return given
  const scope = await scopeOf(store, options)
  const all = await store.notes.list({ ...scope, all: true, limit: 10_000 })
  const found = all.filter(({ id }) => id.startsWith(given) || id.endsWith(given)).map(({ id }) => id)
  if (found.length <= 1) return found[0] ?? shownTyped(given)
  throw new CliError('AMBIGUOUS', `${JSON.stringify(given)} matches ${counted(found.length, 'note')}.`, {
    facts: { given, found: found.slice(0, 10), count: found.length },
    hint: 'Type more of the id.',
  })
}

function ofJson(scope: Scope) {
  return 'session' in scope ? { session: scope.session, owner: null } : { session: null, owner: scope.owner }
}

function noteJson({ id, sessionId, owner, key, text, metadata, source, actor, createdAt, state }: Note) {
  return {
    ...nulled({ id, session: sessionId, owner, key, text }),
    ...nulled({ metadata, source, actor, createdAt, state }),
  }
}

const COLUMNS: readonly Column[] = [
  { title: 'NOTE' },
  { title: 'TEXT', flexible: 'wrap' },
  { title: 'KEY', flexible: 'clip', isExtra: true },
  { title: 'SCOPE', isExtra: true },
  { title: 'STATE', isExtra: true },
  { title: 'CREATED', isExtra: true },
]

function noteLines({ out, style }: Context, found: readonly ListedNote[], more: boolean): string[] {
  if (found.length === 0) return ['No notes.']
  const short = shortIds(found.map(({ id }) => id))
  const rows = found.map(({ id, text, key = '', owner, state, createdAt }) => [
    { text: out.isTerminal ? short.get(id)! : id, style: style.cyan },
    text,
    key,
    owner === undefined ? 'session' : 'owner',
    state === 'current' ? '' : state,
    { text: time(createdAt, out), style: style.dim },
  ])
  const next = `${counted(found.length, 'note')} shown; --limit shows more`
  return [...table(COLUMNS, rows, out, style), ...(more && out.isTerminal ? ['', style.dim(next)] : [])]
}
