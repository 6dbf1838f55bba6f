import { expect, it } from 'vitest'
import { isUndertextError } from '../../src/index.ts'
import { messagesAfter, type RooMessage, rooSequences } from './roo-data.ts'
import { lawBreaks } from './roo-laws.ts'
import { type Imported, NotImportable, RooStore } from './roo-store.ts'
import { Tallies } from './tallies.ts'

/*
 * Tags in, view out: after every step of every sequence the messages Roo Code had stored are put into a session
 * with the tags they had. Where Roo Code had done nothing wrong, our view must be what it sent.
 */

const CLEAN = 'clean steps'
const OTHERS = 'other steps'

const sequences = rooSequences()
const tallies = new Tallies('roo-sequences')

it.skipIf(sequences.length === 0)('shows what Roo Code sent on every clean step', async () => {
  const roo = await RooStore.open()
  let waiting = 0
  for (const sequence of sequences) {
    for (const [at, { clean, order, effective }] of sequence.steps.entries()) {
      if (!clean) continue
      const messages = messagesAfter(sequence, at)
      let ours: Imported
      try {
        ours = await roo.import(messages)
      } catch (error) {
        // Law 4: our verbs leave a call that waits for a result where it is. Tags that hide one all the same hide it.
        if (!isUndertextError(error, 'PENDING_TOOL_CALLS')) throw error
        ours = await roo.import(messages, { laws: 'none' })
        waiting += 1
      }
      const keys = (await ours.shown()).map((index) => order[index])
      expect(keys, `sequence ${sequence.seed}, step ${at}`).toEqual(effective)
      tallies.count(CLEAN, 'equal')
    }
  }
  expect(waiting, 'clean steps that our own verbs refuse').toBe(38)
  await roo.close()
})

it.skipIf(sequences.length === 0)('keeps the laws where Roo Code did not', async () => {
  const roo = await RooStore.open()
  let impossible = 0
  for (const sequence of sequences) {
    for (const [at, { clean, order, effective }] of sequence.steps.entries()) {
      if (clean) continue
      const what = `sequence ${sequence.seed}, step ${at}`
      const messages = messagesAfter(sequence, at)
      const ours = await importAsFarAsLawful(roo, messages)
      if (ours === undefined) {
        impossible += 1
        tallies.count(OTHERS, 'different')
        continue
      }
      expect(await lawBreaks(roo.store, ours.sessionId), what).toEqual([])
      const shown = await ours.shown()
      const unmarked = shown.filter((index) => messages[index]!.isTruncationMarker !== true)
      expect(
        unmarked.sort((a, b) => a - b),
        what,
      ).toEqual(lawfullyVisible(messages))
      const keys = shown.map((index) => order[index])
      tallies.count(OTHERS, keys.join() === effective.join() ? 'equal' : 'different')
    }
  }
  expect(impossible, 'summaries of summaries with an open call between them').toBe(0)
  await roo.close()
})

/**
 * All the tags as they are, if the laws let them; else without what is refused. `undefined` where an open call stays between a summary
 * and what a later summary replaces with it: one summary cannot replace both.
 */
async function importAsFarAsLawful(
  roo: RooStore,
  messages: readonly RooMessage[],
): Promise<Imported | undefined> {
  try {
    return await roo.import(messages)
  } catch (error) {
    if (!isUndertextError(error) && !(error instanceof NotImportable)) throw error
    return roo.import(messages, { laws: 'yield' }).catch((second: unknown) => {
      if (second instanceof NotImportable) return undefined
      throw second
    })
  }
}

/**
 * The messages and summaries that tags leave visible when the laws hold: a summary hides what is tagged as its,
 * save a call without a result; a truncation hides what is tagged as its, save summaries and halves of pairs.
 */
function lawfullyVisible(messages: readonly RooMessage[]): number[] {
  const idsOf = ({ content }: RooMessage): string[] =>
    typeof content === 'string'
      ? []
      : (content as { id?: string; tool_use_id?: string }[]).flatMap(
          ({ id, tool_use_id }) => id ?? tool_use_id ?? [],
        )
  const open = openIndexes(messages)
  const isHidden = (message: RooMessage, index: number): boolean => {
    if (open.has(index)) return false
    if (message.condenseParent !== undefined) return true
    if (message.truncationParent === undefined || message.isSummary === true) return false
    const ids = idsOf(message)
    return messages
      .filter((other) => idsOf(other).some((id) => ids.includes(id)))
      .every(({ truncationParent }) => truncationParent === message.truncationParent)
  }
  return messages.flatMap((message, index) =>
    message.isTruncationMarker === true || isHidden(message, index) ? [] : [index],
  )
}

/** The messages with a call that no later message answers, since the last request that the assistant answered. */
function openIndexes(messages: readonly RooMessage[]): ReadonlySet<number> {
  const open = new Map<string, number>()
  for (const [index, { content }] of messages.entries()) {
    if (typeof content === 'string') continue
    for (const block of content as { name?: string; id?: string; tool_use_id?: string }[]) {
      if (block.name !== undefined && block.id !== undefined) open.set(block.id, index)
      if (block.tool_use_id !== undefined) open.delete(block.tool_use_id)
    }
  }
  const answer = messages.findLastIndex(({ role, isSummary }) => role === 'assistant' && isSummary !== true)
  const request = messages.slice(0, Math.max(0, answer)).findLastIndex(isRequest)
  return new Set([...open.values()].filter((index) => index >= request))
}

/** Whether the user speaks in a message, or it is a summary or a marker. */
function isRequest({ role, content, isSummary, isTruncationMarker }: RooMessage): boolean {
  if (isSummary === true || isTruncationMarker === true) return true
  const speaks =
    typeof content === 'string' || (content as { type?: string }[]).some(({ type }) => type !== 'tool_result')
  return role === 'user' && speaks
}

it.skipIf(sequences.length === 0)('is published as counted', () => {
  tallies.expectPublished(CLEAN, OTHERS)
})
