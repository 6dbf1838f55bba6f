import { getEventListeners } from 'node:events'
import { expect, it } from 'vitest'
import { orAborted, pause } from '../../src/store/compaction/waiting.ts'
import { expectFailure, failureOf } from '../support/failures.ts'

it('a wait that is over listens to its signal no more, however it ended', async () => {
  const { signal } = new AbortController()
  for (let poll = 0; poll < 20; poll++) await orAborted('s', pause(0), signal)
  await failureOf(() => orAborted('s', Promise.reject(new Error('no')), signal))
  expect(getEventListeners(signal, 'abort')).toEqual([])
})

it('a wait ends with its signal', async () => {
  const controller = new AbortController()
  const waiting = failureOf(() => orAborted('s', new Promise<void>(() => {}), controller.signal))
  controller.abort()
  expectFailure(await waiting, 'ABORTED')
  expectFailure(await failureOf(() => orAborted('s', pause(0), controller.signal)), 'ABORTED')
  expect(getEventListeners(controller.signal, 'abort')).toEqual([])
})
