import {
  type JobEvent,
  type OpenOptions,
  openStore,
  type Store,
  type Summarizer,
  type SummaryRequest,
} from '../../src/index.ts'
import { chat } from '../support/conversation.ts'

/** The session of these tests. */
export const S = 's'

/** A window of 3,000 tokens, 2,000 of them for input; no wait between two runs. */
export const CONFIG = {
  contextWindows: { openai: 3_000 },
  maxOutputTokens: 1_000,
  backgroundMinIntervalMs: 0,
  enablePrune: false,
  enableDeduplicate: false,
  enableTruncate: false,
} as const

/**
 * 26 exchanges: 9 × 2 messages of 20 units, 17 × 2 of 21, so 1,074 units; ceil(1,074 × 1.15) + 4 × 52 + 24 = 1,468 tokens of the
 * 2,000. Over the soft threshold (1,400), below the hard one (1,600), over the target (1,200).
 */
export const FULL = chat(26, 20)
export const FULL_TOKENS = 1_468

export type Model = Summarizer & {
  /** What it was asked, in order. */
  readonly asked: SummaryRequest[]
}

/** A summarizer that counts as a model: `answer` says what it answers, or throws. */
export function model(
  answer: (request: SummaryRequest, call: number) => string | Promise<string> = () => 'In short.',
  name = 'model',
): Model {
  const asked: SummaryRequest[] = []
  return {
    name,
    usesModel: true,
    asked,
    summarize: async (request) => {
      asked.push(request)
      return {
        text: await answer(request, asked.length),
        model: 'm-1',
        usage: { inputTokens: 100, outputTokens: 10 },
        cost: 0.5,
      }
    },
  }
}

export type Held = {
  readonly model: Model
  readonly release: (text?: string) => void
  readonly begun: Promise<void>
}

/** One that answers when it is told to, however long that takes. */
export function held(): Held {
  let release = (_text?: string): void => undefined
  let begin = (): void => undefined
  const begun = new Promise<void>((resolve) => {
    begin = resolve
  })
  const answered = new Promise<string>((resolve) => {
    release = (text = 'In short.') => resolve(text)
  })
  return {
    model: model(() => {
      begin()
      return answered
    }),
    release: (text) => release(text),
    begun,
  }
}

const cleanups: (() => unknown)[] = []

/** Closes what `open` opened and removes its files. */
export async function cleanUp(): Promise<void> {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
}

/** A store in memory, or on a file. */
export async function open(
  summarizer: Summarizer | undefined,
  options: OpenOptions & { readonly file?: string } = {},
): Promise<Store> {
  const { file = ':memory:', config, ...rest } = options
  const store = await openStore(file, {
    durability: 'normal',
    estimator: 'neurolink',
    ...(summarizer !== undefined && { summarizer }),
    config: { ...CONFIG, ...config },
    ...rest,
  })
  cleanups.push(() => store.close())
  return store
}

/** The same with a session that is over the soft threshold. */
export async function openFull(
  summarizer: Summarizer | undefined,
  options: OpenOptions & { readonly file?: string } = {},
): Promise<Store> {
  const store = await open(summarizer, options)
  await store.append(S, FULL)
  return store
}

/** What is told of jobs, in short: phase and code. */
export function listen(store: Store): { readonly events: JobEvent[]; readonly phases: () => string[] } {
  const events: JobEvent[] = []
  store.on('job', (event) => events.push(event))
  return {
    events,
    phases: () =>
      events.map(({ phase, ...event }) => ('code' in event ? `${phase} ${String(event.code)}` : phase)),
  }
}

export async function states(store: Store): Promise<string[]> {
  return (await store.jobs.list(S)).map(({ state }) => state)
}

export async function viewOf(store: Store): Promise<string> {
  return JSON.stringify(await store.getEffectiveHistory(S))
}
