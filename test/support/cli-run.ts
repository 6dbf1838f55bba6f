import { PassThrough } from 'node:stream'
import { stripVTControlCharacters } from 'node:util'
import type { Io, Sink } from '../../src/cli/command.ts'
import { runProgram } from '../../src/cli/main.ts'

export type RunOptions = {
  /** Columns of a terminal; absent: the program writes to a pipe. */
  readonly columns?: number
  readonly rows?: number
  readonly env?: { readonly [name: string]: string }
  /** What is typed, when asked; absent: nobody can be. */
  readonly typed?: string
  /** What is piped in. */
  readonly piped?: string
  readonly signal?: AbortSignal
  readonly page?: NonNullable<Io['page']>
  /** What is done before data are written to `out`. */
  readonly beforePour?: () => Promise<void>
  readonly cwd?: string
  readonly dataFolder?: string
}

export type Ran = {
  readonly exit: number
  readonly out: string
  readonly err: string
  /** What was written to `out`, without colours, by line. */
  readonly lines: string[]
  readonly json: unknown
}

/** Runs the program within the test, as a terminal or a pipe would see it. */
export async function runCli(argv: readonly string[], options: RunOptions = {}): Promise<Ran> {
  const { columns, rows, env = {}, typed, signal = new AbortController().signal } = options
  const texts = { out: '', err: '' }
  const sink = (name: 'out' | 'err'): Sink => ({
    isTerminal: columns !== undefined,
    columns: columns ?? 80,
    ...(rows !== undefined && { rows }),
    write: (text) => {
      texts[name] += text
    },
  })
  const input = Object.assign(new PassThrough(), { isTTY: typed !== undefined, setRawMode: () => input })
  if (options.piped !== undefined) input.end(options.piped)
  if (typed !== undefined) setTimeout(() => input.write(typed), 20)
  const exit = await runProgram(argv, {
    out: sink('out'),
    err: sink('err'),
    input,
    env,
    cwd: options.cwd ?? process.cwd(),
    signal,
    version: '9.8.7',
    dataFolder: async () => options.dataFolder ?? '/nowhere/undertext',
    ...(options.page !== undefined && { page: options.page }),
    pour: async (text) => {
      await options.beforePour?.()
      texts.out += text
    },
  })
  return {
    exit,
    ...texts,
    lines: stripVTControlCharacters(texts.out).trimEnd().split('\n'),
    json: parsed(texts.out),
  }
}

/** What was written, where it is one JSON value. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
