import { readFileSync } from 'node:fs'
import { sharedPath } from '../support/shared.ts'

/* Roo Code's recorded data: its messages carry the same tags as our rows, under the same names. */

export type RooMessage = {
  readonly role: 'user' | 'assistant' | 'system'
  readonly content: string | readonly object[]
  readonly ts?: number | string
  readonly condenseParent?: string
  readonly truncationParent?: string
  readonly isSummary?: boolean
  readonly condenseId?: string
  readonly isTruncationMarker?: boolean
  readonly truncationId?: string
}

export type RooCase<Input, Expected> = {
  readonly fn: string
  readonly name: string
  readonly input: Input
  readonly expected: Expected
  readonly throws?: string
}

/** The cases of a function of a golden file, or of all its functions; none where the shared data is absent. */
export function rooCases<Input, Expected>(file: string, fn?: string): RooCase<Input, Expected>[] {
  const path = sharedPath(`golden/agents/${file}.json`)
  if (path === undefined) return []
  const { cases } = JSON.parse(readFileSync(path, 'utf8'), unfold) as { cases: RooCase<Input, Expected>[] }
  return fn === undefined ? cases : cases.filter((one) => one.fn === fn)
}

/** One step of a sequence: what was done, and how it stood afterwards. Keys: m3 a message, S:C1 a summary, T:T1 a marker. */
export type RooStep = (
  | { readonly op: 'append'; readonly messages: readonly (RooMessage & { readonly id: string })[] }
  | { readonly op: 'condense'; readonly condenseId?: string; readonly error?: string }
  | { readonly op: 'truncate'; readonly fraction: number; readonly truncationId?: string }
  | { readonly op: 'rewind'; readonly toBefore: string }
) & {
  readonly effective: readonly string[]
  readonly order: readonly string[]
  readonly condenseParent: { readonly [owner: string]: readonly string[] }
  readonly truncationParent: { readonly [owner: string]: readonly string[] }
  /** What Roo Code itself does wrong at this step. */
  readonly defects: readonly string[]
  /** Whether Roo Code itself did nothing wrong here or before in the sequence. */
  readonly clean: boolean
}

export type RooSequence = { readonly seed: number; readonly steps: readonly RooStep[] }

export function rooSequences(): RooSequence[] {
  const path = sharedPath('golden/agents/roo-sequences.json')
  return path === undefined
    ? []
    : (JSON.parse(readFileSync(path, 'utf8'), unfold) as { sequences: RooSequence[] }).sequences
}

/** The messages Roo Code had stored after a step of a sequence, tags included; their keys are `step.order`. */
export function messagesAfter(sequence: RooSequence, at: number): RooMessage[] {
  const { order, condenseParent, truncationParent } = sequence.steps[at]!
  const appended = new Map<string, RooMessage>()
  for (const step of sequence.steps.slice(0, at + 1)) {
    if (step.op === 'append') for (const message of step.messages) appended.set(message.id, message)
  }
  const ownerOf = (tags: RooStep['condenseParent'], key: string): string | undefined =>
    Object.keys(tags).find((owner) => tags[owner]!.includes(key))
  return order.map((key) => {
    const condensed = ownerOf(condenseParent, key)
    const truncated = ownerOf(truncationParent, key)
    return {
      ...(appended.get(key) ?? insertedAs(key)),
      ...(condensed !== undefined && { condenseParent: condensed }),
      ...(truncated !== undefined && { truncationParent: truncated }),
    }
  })
}

function insertedAs(key: string): RooMessage {
  const owner = key.slice(2)
  return key.startsWith('S:')
    ? { role: 'user', content: key, isSummary: true, condenseId: owner }
    : { role: 'user', content: key, isTruncationMarker: true, truncationId: owner }
}

/** Long texts are written as {"$repeat": [text, times]}. */
function unfold(_: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || !('$repeat' in value)) return value
  const [text, times] = value.$repeat as [string, number]
  return text.repeat(times)
}
