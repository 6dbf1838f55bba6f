import type { SqliteStore } from '../store/open.ts'
import type { Context, JsonFields } from './command.ts'
import type { Io } from './io.ts'
import { locate } from './location.ts'
import { printable } from './output/print-json.ts'
import { createStyle, hasColours, sealed } from './output/style.ts'
import { page } from './pager.ts'

/** Letters that make a piece. */
const ENOUGH = 65_536

/** An object as `printable` tells it, with a line feed behind it, in pieces. A field whose value is an async iterable is a list. */
export async function* jsonPieces(fields: JsonFields): AsyncGenerator<string> {
  let text = ''
  let isFirst = true
  for (const [name, value] of Object.entries(fields)) {
    if (value === undefined) continue
    text += `${isFirst ? '{' : ','}\n  ${printable(name)}: `
    isFirst = false
    if (!isAsyncIterable(value)) {
      text += inner(value, '  ')
      continue
    }
    let isEmpty = true
    for await (const item of value) {
      text += `${isEmpty ? '[' : ','}\n    ${inner(item, '    ')}`
      isEmpty = false
      if (text.length < ENOUGH) continue
      yield text
      text = ''
    }
    text += isEmpty ? '[]' : '\n  ]'
  }
  yield `${text}${isFirst ? '{}' : '\n}'}\n`
}

/** A value further in. No line feed stands within the texts of JSON, so each begins a line of its layout. */
function inner(value: unknown, indent: string): string {
  return printable(value).replaceAll('\n', `\n${indent}`)
}

function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value
}

/** The options every command has, as commander reads them. */
export type GlobalOptions = {
  readonly db?: string
  readonly json?: boolean
  readonly yes?: boolean
  readonly color: boolean
  readonly pager: boolean
}

/** What a command is run in, and how to close what it opened. */
type OpenContext = { readonly context: Context; close(): Promise<void> }

/** The context of one run of a command. */
export async function createContext(io: Io, options: GlobalOptions): Promise<OpenContext> {
  const { env, input, cwd, signal } = io
  const colours = {
    out: hasColours(io.out, env, !options.color),
    err: hasColours(io.err, env, !options.color),
  }
  const out = sealed(io.out, colours.out)
  const err = sealed(io.err, colours.err)
  const location = await locate(io, options.db)
  const stores: SqliteStore[] = []
  const canAsk = input.isTTY === true && io.err.isTerminal
  const isYes = options.yes === true
  const style = createStyle(colours.out || colours.err)
  const context: Context = {
    out,
    err,
    input,
    style,
    env,
    cwd,
    version: io.version,
    signal,
    ...(io.readerLeft !== undefined && { readerLeft: io.readerLeft }),
    location,
    json: options.json === true,
    yes: isYes || !canAsk,
    agreed: isYes,
    open: async (access, { config } = {}) => {
      const { openAt } = await import('./open-at.ts')
      if (access !== 'read') io.changes?.()
      const given = { env, err, style, ...(config !== undefined && { config }) }
      const store = await openAt(location, access, given)
      stores.push(store)
      return store
    },
    session: async (store, given) => (await import('./references.ts')).findSession(store, given),
    compaction: async (store, sessionId, given) =>
      (await import('./references.ts')).findCompaction(store, sessionId, given),
    confirm: async (question) => {
      if (isYes || !canAsk) return isYes
      return (await import('./questions.ts')).confirm(io, question)
    },
    ask: async (question) => (canAsk ? (await import('./questions.ts')).ask(io, question) : undefined),
    pour: async (text) => {
      if (io.out.isTerminal) out.write(text)
      else if (io.pour === undefined) io.out.write(text)
      else await io.pour(text)
    },
    progress: async (text) => {
      const isShown = io.err.isTerminal && options.json !== true && env.TERM !== 'dumb'
      return (await import('./progress.ts')).startProgress(io, isShown, text)
    },
    page: (text) => page(io, context, colours.out, text, options.pager && options.json !== true),
    printJson: (value) => out.write(`${printable(value)}\n`),
    pourJson: async (value) => {
      // All of it before any of it: where something goes wrong, that is the one value.
      const whole: Uint8Array[] = []
      for await (const piece of jsonPieces(value)) whole.push(Buffer.from(piece))
      for (const piece of whole) await context.pour(Buffer.from(piece).toString())
    },
  }
  return { context, close: async () => void (await Promise.all(stores.map((store) => store.close()))) }
}
