import { readFileSync } from 'node:fs'
import { fromAnthropic } from '../../src/adapters/anthropic/index.ts'
import { fromOpenAI } from '../../src/adapters/openai/index.ts'
import { BUILT_IN_ESTIMATORS, estimatorNamed, tokenizerEstimator } from '../../src/core/tokens/index.ts'
import { measurePart, NO_SIZES, SizesSum, tokensOf } from '../../src/core/tokens/measure.ts'
import type { Estimator, NewMessage } from '../../src/index.ts'
import { sharedPath } from '../support/shared.ts'
import { samples } from './samples.ts'

/** Estimators of the table; the byte modes and the additive margin differ from their kin by a constant only where it matters little. */
export const COLUMNS = ['neurolink', 'neuron', 'promptfleet', 'nca', 'calibrated', 'cl100k_base'] as const

/** Signed error of an estimator's tokens of a text against o200k, in percent, for provider `openai`. */
export type Row = { readonly kind: string; readonly tokens: number; readonly errors: readonly number[] }

export async function columns(): Promise<Estimator[]> {
  return await Promise.all(
    COLUMNS.map(async (name) => estimatorNamed(name) ?? (await tokenizerEstimator(name))),
  )
}

/** The rows of the sample texts. */
export async function sampleRows(): Promise<Row[]> {
  return await rowsOf(samples().map(([kind, text]) => [kind, [text]] as const))
}

/** The rows of what the corpora say, by kind of part; `undefined` without `shared`. */
export async function corpusRows(): Promise<Row[] | undefined> {
  const session = readSession()
  const airline = sharedPath('corpus/airline-support.openai.jsonl')
  if (session === undefined || airline === undefined) return undefined
  const texts = new Map<string, string[]>()
  const add = (kind: string, text: string): void => {
    const known = texts.get(kind)
    if (known === undefined) texts.set(kind, [text])
    else known.push(text)
    if (kind.startsWith('coding session')) (texts.get('coding session, all of it') ?? []).push(text)
  }
  texts.set('coding session, all of it', [])
  const conversations = readFileSync(airline, 'utf8')
    .trim()
    .split('\n')
    .map((line) => fromOpenAI((JSON.parse(line) as { messages: never }).messages))
  for (const [name, messages] of [
    ['coding session', session.messages],
    ['customer support', conversations.flat()],
  ] as const)
    for (const { content } of messages)
      for (const part of typeof content === 'string' ? [{ type: 'text', text: content } as const] : content) {
        if (part.type === 'text') add(`${name}: text`, part.text)
        else if (part.type === 'reasoning') add(`${name}: reasoning`, part.text)
        else if (part.type === 'tool-call') add(`${name}: arguments of calls`, JSON.stringify(part.input))
        else if (part.type === 'tool-result') {
          const { output } = part
          if (output.type === 'text' || output.type === 'error-text')
            add(`${name}: results of tools`, output.value)
          else if (output.type === 'content')
            for (const item of output.value)
              if (item.type === 'text') add(`${name}: results of tools`, item.text)
        }
      }
  return await rowsOf([...texts].sort(([a], [b]) => (a < b ? -1 : 1)))
}

async function rowsOf(kinds: readonly (readonly [string, readonly string[]])[]): Promise<Row[]> {
  const truth = await tokenizerEstimator('o200k_base')
  const estimators = await columns()
  return kinds.map(([kind, texts]) => {
    const sum = (measure: (text: string) => number): number =>
      texts.reduce((all, text) => all + measure(text), 0)
    const tokens = sum((text) => truth.measureText(text))
    const errors = estimators.map((one) => {
      const estimated = one.toTokens(
        sum((text) => one.measureText(text)),
        'openai',
      )
      return (estimated / tokens - 1) * 100
    })
    return { kind, tokens, errors }
  })
}

type Session = {
  readonly messages: readonly NewMessage[]
  /** Input tokens the provider reported before each message; `undefined` where it reported none. */
  readonly reported: readonly (number | undefined)[]
}

type Usage = {
  readonly input_tokens: number
  readonly cache_read_input_tokens?: number
  readonly cache_creation_input_tokens?: number
}

function readSession(): Session | undefined {
  const path = sharedPath('corpus/coding-session.anthropic.jsonl')
  if (path === undefined) return undefined
  const lines = readFileSync(path, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { role: 'user' | 'assistant'; content: never; usage?: Usage })
  const messages = lines.flatMap(({ role, content }) => fromAnthropic([{ role, content }]).slice(0, 1))
  const reported = lines.map(({ usage }) => {
    if (usage === undefined) return undefined
    const { input_tokens, cache_read_input_tokens = 0, cache_creation_input_tokens = 0 } = usage
    const tokens = input_tokens + cache_read_input_tokens + cache_creation_input_tokens
    return tokens === 0 ? undefined : tokens
  })
  return { messages, reported }
}

/** What is in the context besides the messages: system prompt and tools. The first report is 2,775 tokens for a prompt of some 200. */
const UNSEEN_TOKENS = 2_575

export type ContextError = {
  readonly name: string
  readonly answers: number
  readonly median: number
  readonly p5: number
  readonly p95: number
}

/**
 * The predicted size of the context against what the provider reported, in percent, over all answers. Where the
 * context shrank the session was compacted: from there on the report at that place stands for what came before.
 */
export async function contextErrors(): Promise<ContextError[] | undefined> {
  const session = readSession()
  if (session === undefined) return undefined
  const { messages, reported } = session
  const estimators = [
    ...BUILT_IN_ESTIMATORS.filter(({ name }) => COLUMNS.some((one) => one === name)),
    await tokenizerEstimator('o200k_base'),
  ]
  return estimators.map((estimator) => {
    const errors: number[] = []
    let base = UNSEEN_TOKENS
    let last = 0
    let sum = new SizesSum()
    let rows = 0
    messages.forEach(({ content }, at) => {
      const size = reported[at]
      if (size !== undefined) {
        if (size < last) {
          base = size
          sum = new SizesSum()
          rows = 0
        } else errors.push(((base + tokensOf(sum.value, rows, estimator, 'anthropic')) / size - 1) * 100)
        last = size
      }
      const parts = typeof content === 'string' ? [{ type: 'text', text: content } as const] : content
      for (const part of parts) sum.add(measurePart(part, estimator) ?? NO_SIZES)
      rows++
    })
    errors.sort((a, b) => a - b)
    const at = (share: number): number => errors[Math.floor(share * (errors.length - 1))] ?? 0
    return { name: estimator.name, answers: errors.length, median: at(0.5), p5: at(0.05), p95: at(0.95) }
  })
}
