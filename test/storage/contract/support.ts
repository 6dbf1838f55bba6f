import { expect } from 'vitest'
import {
  type ErrorCode,
  isUndertextError,
  type NewMessage,
  type Store,
  type Summarizer,
  type SummaryAnswer,
  type SummaryRequest,
  type UndertextError,
} from '../../../src/index.ts'

/** A store under test, and how to come back to what it keeps. */
export type Opened = {
  readonly store: Store
  /** Opens the same data again, in another store object. */
  readonly reopen?: () => Promise<Store>
}
export type StoreFactory = () => Promise<Opened>

/** What a storage keeps besides the conversation itself. The pure model keeps none of it. */
export type Keeps = {
  /** Audit entries, failed attempts, and what is noted of summaries. */
  readonly audit: boolean
  readonly leases: boolean
  /** Whether `sessions.verify` looks at anything. */
  readonly verify: boolean
  /** Whether whole sessions can be had as records and made of them. */
  readonly histories: boolean
  readonly search: boolean
}
export const KEEPS_ALL: Keeps = { audit: true, leases: true, verify: true, histories: true, search: true }

/** What each part of the contract is given. Stores are cleaned up after each test. */
export type Contract = {
  readonly open: () => Promise<Store>
  readonly openBoth: StoreFactory
  readonly keeps: Keeps
}

/** The session most tests use. */
export const S = 's'

/**
 * Tokens of a history by hand: `units` are the sums of ceil(length / 4), a margin of 1.15 on all of them, 4 tokens
 * a message and 24 a conversation. For openai, whose multiplier is 1.
 */
export function historyTokens(units: number, messages: number): number {
  return Math.ceil((units * 115) / 100) + 4 * messages + 24
}

/** A promise that must be refused with one of our errors; answers the error. */
export async function refusal<C extends ErrorCode>(
  promise: Promise<unknown> | (() => unknown),
  code: C,
): Promise<UndertextError<C>> {
  let error: unknown
  try {
    await (typeof promise === 'function' ? promise() : promise)
  } catch (thrown) {
    error = thrown
  }
  expect(error, `expected ${code}, and nothing was thrown`).toBeDefined()
  if (!isUndertextError(error)) throw error
  expect(error.code).toBe(code)
  return error as UndertextError<C>
}

/** Appends messages and answers their ids. */
export async function appendAll(
  store: Store,
  messages: readonly NewMessage[],
  session = S,
): Promise<string[]> {
  return (await store.append(session, messages)).messages.map(({ id }) => id)
}

/** The view in short: position or kind of each entry. */
export async function shape(store: Store, session = S): Promise<(number | 'summary' | 'marker')[]> {
  const view = await store.getEffectiveHistory(session)
  return view.map(({ position, kind }) => position ?? (kind as 'summary' | 'marker'))
}

/** The texts the view shows, one string a message: text parts and results, in order. */
export async function texts(store: Store, session = S): Promise<string[]> {
  return (await store.getEffectiveHistory(session)).map(({ content }) =>
    typeof content === 'string'
      ? content
      : content
          .map((part) => {
            if (part.type === 'text') return part.text
            if (part.type === 'tool-result')
              return 'value' in part.output && typeof part.output.value === 'string' ? part.output.value : '?'
            return `<${part.type}>`
          })
          .join(''),
  )
}

/** Everything a session says of itself to a caller; what an undo must bring back. */
export async function standing(store: Store, session = S): Promise<unknown> {
  return {
    view: await store.getEffectiveHistory(session, { provenance: true }),
    stats: await store.getContextStats(session),
  }
}

/** Every fact of a session that a refused verb must not change. */
export async function everything(store: Store, session = S): Promise<unknown> {
  const { updatedAt: _updatedAt, version: _version, ...fields } = await store.sessions.get(session)
  return {
    fields,
    rows: await store.getMessages(session),
    compactions: await store.listCompactions(session),
    view: await store.getEffectiveHistory(session, { provenance: true }),
  }
}

/** A summarizer that pretends to call a model, and notes what it was asked. */
export type FakeModel = Summarizer & { readonly requests: SummaryRequest[] }

export function fakeModel(
  answer: string | ((request: SummaryRequest) => unknown) = 'In short: they talked.',
  extra: Partial<SummaryAnswer> & { readonly maxInputTokens?: number } = {},
): FakeModel {
  const { maxInputTokens, ...rest } = extra
  const requests: SummaryRequest[] = []
  return {
    name: 'fake',
    usesModel: true,
    ...(maxInputTokens !== undefined && { maxInputTokens }),
    requests,
    async summarize(request) {
      requests.push(request)
      if (typeof answer === 'string') return { text: answer, ...rest }
      const given = await answer(request)
      return typeof given === 'string' ? { text: given, ...rest } : (given as SummaryAnswer)
    },
  }
}

/** A summarizer that waits: `asked` resolves when it is called, `answer` lets it go on. */
export function waitingModel(text = 'In short: they talked.'): {
  summarizer: FakeModel
  asked: Promise<void>
  answer: () => void
} {
  const asked = signal()
  const gate = signal()
  const summarizer = fakeModel(async () => {
    asked.give()
    await gate.given
    return text
  })
  return { summarizer, asked: asked.given, answer: gate.give }
}

/** A promise, and the function that resolves it. */
function signal(): { given: Promise<void>; give: () => void } {
  let give: () => void = () => undefined
  const given = new Promise<void>((resolve) => {
    give = resolve
  })
  return { given, give: () => give() }
}

/** Only one stage, so that a test is about that one. */
export const ONLY = {
  prune: { enableDeduplicate: false, enableSummarize: false, enableTruncate: false },
  deduplicate: { enablePrune: false, enableSummarize: false, enableTruncate: false },
  summarize: { enablePrune: false, enableDeduplicate: false, enableTruncate: false },
  truncate: { enablePrune: false, enableDeduplicate: false, enableSummarize: false, emergencyCut: false },
} as const
