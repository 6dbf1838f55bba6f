import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'vitest'
import { openStore } from '../../src/index.ts'
import { expectAllUndone, expectWholeLog, problemsNow } from './checks.ts'
import type { Crew } from './crew.ts'
import type { LifeOptions } from './live.ts'
import { expectPaidOnce, type PaidFigures, readPaid } from './paid.ts'

/* A session under load: some processes live on it while one looks on; then the file is held to all they did. */

export type Load = Pick<
  LifeOptions,
  'turns' | 'loops' | 'inBackground' | 'delayMs' | 'faults' | 'answerMs' | 'seed'
> & {
  readonly processes: number
  /** How long the one who looks on waits between two looks, milliseconds. */
  readonly lookEveryMs: number
}

export type LoadFigures = {
  readonly seconds: number
  readonly turns: number
  readonly messages: number
  readonly requests: number
  readonly runs: number
  readonly paid: PaidFigures
  readonly offline: number
  readonly truncated: number
  /** Jobs in the background, by how they ended. */
  readonly jobs: Readonly<Record<string, number>>
  readonly looks: number
  readonly retried: Readonly<Record<string, number>>
}

export async function underLoad({ live }: Crew, load: Load): Promise<LoadFigures> {
  const folder = mkdtempSync(join(tmpdir(), 'undertext-load-'))
  try {
    return await held(load, folder, live)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function held(
  { processes, lookEveryMs, ...life }: Load,
  folder: string,
  live: Crew['live'],
): Promise<LoadFigures> {
  const [file, log, session] = [join(folder, 'chats.db'), join(folder, 'paid'), 's']
  const store = await openStore(file, { durability: 'normal' })
  await store.sessions.create({ id: session })
  const start = performance.now()
  const options = Array.from({ length: processes }, (_, process) => ({
    ...life,
    file,
    log,
    session,
    process,
  }))
  const living = live(options)
  const isOver = living.then(
    () => true,
    () => true,
  )
  let looks = 0
  const reader = await openStore(file, { readonly: true })
  for (let over = false; !over; looks++) {
    expect(await problemsNow(reader, session), `look ${looks}`).toEqual([])
    over = await Promise.race([isOver, pause(lookEveryMs)])
  }
  await reader.close()
  const reports = await living
  const seconds = (performance.now() - start) / 1_000

  for (const { process, problems } of reports) expect(problems, `process ${process}`).toEqual([])
  expect(await problemsNow(store, session)).toEqual([])
  const rows = await store.getMessages(session)
  const positionOf = expectWholeLog(rows, processes, life.turns)
  const compactions = await store.listCompactions(session)
  const ended = compactions.filter(({ status }) => status !== 'running')
  expect(ended, 'no attempt is left running').toEqual(compactions)
  const paid = expectPaidOnce(readPaid(log), compactions, positionOf)
  const jobs: Record<string, number> = {}
  for (const { state, error } of await store.jobs.list(session)) {
    jobs[state] = (jobs[state] ?? 0) + 1
    // One whose model failed waits for its next try: nothing else is left open.
    if (state === 'queued') expect(error, 'a job that waits was tried').toBeDefined()
  }
  expect(jobs.running, 'nobody works any more').toBeUndefined()
  await store.jobs.cancel({ session })
  await expectAllUndone(store, session, life.loops === 'open')
  await store.close()
  const inForce = compactions.filter(({ status }) => status === 'active')
  const retried: Record<string, number> = {}
  for (const report of reports)
    for (const [code, count] of Object.entries(report.retried)) retried[code] = (retried[code] ?? 0) + count
  return {
    seconds: Math.round(seconds * 10) / 10,
    turns: processes * life.turns,
    messages: positionOf.size,
    requests: reports.reduce((sum, { requests }) => sum + requests, 0),
    runs: new Set(inForce.map(({ runId }) => runId)).size,
    paid,
    offline: inForce.filter(({ kind, summarizer }) => kind === 'condense' && summarizer !== 'load').length,
    truncated: inForce.filter(({ kind }) => kind === 'truncate').length,
    jobs,
    looks,
    retried,
  }
}

function pause(ms: number): Promise<false> {
  return new Promise((resolve) => setTimeout(() => resolve(false), ms))
}
