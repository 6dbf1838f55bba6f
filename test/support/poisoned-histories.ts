import { expect } from 'vitest'
import { type NewMessage, openStore } from '../../src/index.ts'
import { chat } from './conversation.ts'
import { CONVERSATIONS } from './conversations.ts'
import { randomFrom } from './random.ts'
import { POISONS, PROVIDERS, serve } from './refusing-server.ts'
import { expectSessionAccepted } from './requests.ts'

/** How a poisoned history was answered. */
export type Answered = {
  readonly calls: number
  readonly attempts: number
  readonly repairs: number
  /** Messages without poison that a repair changed. */
  readonly besides: number
}

/**
 * Puts poison at random places of a history, and asks until it is answered, at most so many times. What people see must be unchanged byte
 * for byte, and undoing the repairs must restore the view.
 */
export async function answerPoisoned(
  seed: number,
  bases: readonly (readonly NewMessage[])[],
): Promise<Answered> {
  const random = randomFrom(seed)
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!
  const provider = PROVIDERS[seed % PROVIDERS.length]!
  let messages = pick(bases)
  const poisoned = new Set<string>()
  const count = 1 + Math.floor(random() * 3)
  for (let one = 0; one < count; one++) {
    const at = Math.floor(random() * (messages.length + 1))
    const poison = pick(POISONS).messages(`${seed}x${one}`)
    for (const message of poison) poisoned.add(JSON.stringify(message.content))
    messages = [...messages.slice(0, at), ...poison, ...messages.slice(at)]
  }
  await using store = await openStore(':memory:', { estimator: 'neurolink', env: false })
  await store.append('s', messages)
  const log = JSON.stringify(
    (await store.getMessages('s')).map(({ id, role, content }) => [id, role, content]),
  )
  const before = await store.getEffectiveHistory('s')
  const options = {
    provider: provider.name,
    prompt: 'Go on.',
    ...(random() < 0.5 && { system: 'Be brief.' }),
  }
  let attempts = 0
  let calls = 0
  for (let isAnswered = false; !isAnswered; ) {
    calls += 1
    try {
      await store.withOverflowRecovery(
        's',
        (request) => {
          attempts += 1
          serve(provider, request)
        },
        options,
      )
      isAnswered = true
    } catch (error) {
      if (calls >= 3) throw error
    }
  }
  // Large outputs are shortened when they are appended.
  const made = (await store.listCompactions('s')).filter(({ kind }) => kind !== 'preview')
  expect(made.every(({ kind }) => kind === 'repair')).toBe(true)
  expect(
    JSON.stringify((await store.getMessages('s')).map(({ id, role, content }) => [id, role, content])),
  ).toBe(log)
  expect((await store.sessions.verify('s')).findings).toEqual([])
  await expectSessionAccepted(store, 's', 's', [provider.name])
  const after = await store.getEffectiveHistory('s')
  const besides = before.filter(
    ({ content }, at) =>
      !poisoned.has(JSON.stringify(content)) &&
      JSON.stringify(after[at]!.content) !== JSON.stringify(content),
  ).length
  const inForce = made.filter(({ status }) => status === 'active')
  for (const { id } of inForce.toReversed()) await store.undoCompaction('s', id)
  expect(await store.getEffectiveHistory('s')).toEqual(before)
  return { calls, attempts, repairs: inForce.length, besides }
}

/** Histories that are part of the project. */
export const OWN_HISTORIES: readonly (readonly NewMessage[])[] = [
  chat(6, 20),
  ...Object.values(CONVERSATIONS).map((messages) => messages as readonly NewMessage[]),
]
