import { appendFileSync } from 'node:fs'
import type { Message, Summarizer, SummaryRequest } from '../../src/index.ts'
import { labelsIn } from './labels.ts'

/*
 * A model that writes summaries slowly and not always well, and leaves two lines in a file that all processes share: one
 * before it is asked, one when it has answered. Lines are written at once and at the end of the file, so their order is
 * the order of what happened, whatever the clocks say.
 */

/** How an answer came out. Only a good one can be committed; what has a cost was paid for. */
export type How = 'good' | 'empty' | 'inflated' | 'refused' | 'failed' | 'aborted'

export type PaidLine =
  | {
      readonly event: 'asked'
      /** The process and the number of the question. */
      readonly ask: string
      /** Labels of the messages it was shown. */
      readonly labels: readonly string[]
      /** Summaries it was shown, by the questions that made them. */
      readonly earlier: readonly string[]
    }
  | { readonly event: 'answered'; readonly ask: string; readonly how: How; readonly cost: number }

export type ModelOptions = {
  readonly log: string
  readonly process: number
  /** From 0 to 1, the same sequence for a seed. */
  readonly random: () => number
  /** Least and most it takes to answer, milliseconds. */
  readonly delayMs: readonly [least: number, most: number]
  /** Share of questions that come to nothing, all ways together. */
  readonly faults: number
  readonly maxInputTokens?: number
}

/** What a good, an empty and an inflated answer cost. Whole numbers, so that sums are exact. */
export const COSTS = { good: 16, empty: 1, inflated: 4 } as const
const BAD: readonly How[] = ['empty', 'inflated', 'refused', 'failed']

export function loadModel(options: ModelOptions): Summarizer {
  const { log, random, delayMs, faults, maxInputTokens } = options
  const note = (line: PaidLine): void => appendFileSync(log, `${JSON.stringify(line)}\n`)
  let asked = 0
  return {
    name: 'load',
    usesModel: true,
    ...(maxInputTokens !== undefined && { maxInputTokens }),
    summarize: async (request) => {
      const ask = `${options.process}-${++asked}`
      // A summary the offline summarizer wrote quotes the messages it stands for; those are not shown again.
      const shown = request.messages.filter(({ kind }) => kind === 'message')
      note({ event: 'asked', ask, labels: labelsIn(textOf(shown)), earlier: earlierIn(request) })
      const how: How = random() < faults ? BAD[Math.floor(random() * BAD.length)]! : 'good'
      const isOver = await waited(delayMs[0] + random() * (delayMs[1] - delayMs[0]), request.signal)
      if (!isOver) {
        note({ event: 'answered', ask, how: 'aborted', cost: 0 })
        throw new Error('aborted')
      }
      const cost = how === 'good' || how === 'empty' || how === 'inflated' ? COSTS[how] : 0
      note({ event: 'answered', ask, how, cost })
      if (how === 'failed') throw new Error('the connection was cut')
      if (how === 'refused') throw new Error('the model refused')
      return { text: answerOf(how, ask), cost, promptVersion: ask, model: 'load-1' }
    },
  }
}

function answerOf(how: How, ask: string): string {
  if (how === 'empty') return ''
  const text = `Summary <${ask}>: they asked for things and were answered.`
  return how === 'inflated' ? `${text} ${'And then much more was said about nothing. '.repeat(2_000)}` : text
}

/** The questions whose summaries a request builds on. */
function earlierIn({ messages, previousSummary = '' }: SummaryRequest): string[] {
  const text = `${previousSummary}\n${textOf(messages.filter(({ kind }) => kind === 'summary'))}`
  return [...text.matchAll(/Summary <(\d+-\d+)>/g)].map(([, ask]) => ask!)
}

function textOf(messages: readonly Message[]): string {
  return JSON.stringify(messages)
}

/** Answers false when the signal came first. */
function waited(ms: number, signal: AbortSignal | undefined): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(true), ms)
    const stop = (): void => {
      clearTimeout(timer)
      resolve(false)
    }
    if (signal?.aborted) stop()
    signal?.addEventListener('abort', stop, { once: true })
  })
}
