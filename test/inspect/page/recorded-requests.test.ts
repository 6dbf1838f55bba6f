import { describe, expect, it } from 'vitest'
import { NO_ROWS } from '../../../src/core/model/coverage.ts'
import {
  inputOf,
  keptPages,
  listedRequests,
  notableLoss,
  requestOfAnswer,
  rowsInSight,
  sumOf,
} from '../../../src/inspect/page/recorded-requests.ts'
import type { AuditEntry, Compaction } from '../../../src/storage/storage.ts'
import type { RecordedRequest } from '../../../src/store/requests/recorded.ts'

type Usage = RecordedRequest['usage']

function request(audit: number, usage?: Usage, model = 'm'): RecordedRequest {
  return {
    ...{ id: `r${audit}`, sessionId: 's', provider: 'p', model, position: 1, audit },
    ...{ rendering: { provider: 'p' }, renderer: 1, hash: '', at: 0, ...(usage && { usage }) },
  }
}

function entry(no: number, event: string, compactionId?: string): AuditEntry {
  return { no, event, compactionId, runId: undefined, at: 0, actor: undefined, detail: undefined }
}

const compaction = (
  id: string,
  kind: Compaction['kind'],
  rewinds = false,
): Pick<Compaction, 'id' | 'kind' | 'coverage'> => ({
  id,
  kind,
  coverage: {
    ...{ hidden: NO_ROWS, beside: NO_ROWS, inserted: undefined, openCalls: false },
    ...(rewinds && ({ rewinds: true } as const)),
  },
})

describe('the list of requests', () => {
  it('says what happened to the view since the request before, and leaves out previews and pins', () => {
    const audit = [
      entry(1, 'created', 'a'),
      entry(2, 'pinned'),
      entry(3, 'created', 'b'),
      entry(4, 'undone', 'a'),
      entry(5, 'created', 'c'),
      entry(6, 'redone', 'a'),
    ]
    const compactions = [
      compaction('a', 'condense'),
      compaction('b', 'preview'),
      compaction('c', 'manual', true),
    ]
    const rows = listedRequests([request(0), request(2), request(3), request(5)], audit, compactions)
    expect(rows.map(({ no, before }) => [no, ...before])).toEqual([
      [1],
      [2, 'compaction'],
      [3],
      [4, 'undo', 'rewind'],
    ])
  })

  it('counts an entry of the audit for one request only', () => {
    const rows = listedRequests(
      [request(1), request(1), request(1)],
      [entry(1, 'created', 'a')],
      [compaction('a', 'condense')],
    )
    expect(rows.map(({ before }) => before.length)).toEqual([1, 0, 0])
  })

  it('reads a list again from before its end, because the newest requests may get an answer later', () => {
    expect(keptPages([1, 2, 3, 4], 2)).toEqual([1, 2])
    expect(keptPages([1, 2], 2)).toEqual([])
    expect(keptPages([1, 2], 0)).toEqual([1, 2])
  })

  it('makes elements only for the rows in sight, with a margin', () => {
    expect(rowsInSight({ top: 0, height: 100 }, 50, 5_000, 3)).toEqual({ from: 0, to: 5 })
    expect(rowsInSight({ top: 5_000, height: 100 }, 50, 5_000, 3)).toEqual({ from: 97, to: 105 })
    expect(rowsInSight({ top: 0, height: 100 }, 50, 1, 3)).toEqual({ from: 0, to: 1 })
    // The list became shorter than the place to which it was scrolled.
    expect(rowsInSight({ top: 9_000, height: 100 }, 50, 10, 3)).toEqual({ from: 6, to: 10 })
  })
})

describe('a lost cache', () => {
  const used = (inputTokens: number, cacheReadTokens?: number, cacheCreationTokens?: number, model = 'm') =>
    request(
      1,
      {
        ...{ inputTokens, outputTokens: 1 },
        ...(cacheReadTokens !== undefined && { cacheReadTokens }),
        ...(cacheCreationTokens !== undefined && { cacheCreationTokens }),
      },
      model,
    )

  it('is what the request before read and wrote, and this one did not read', () => {
    expect(notableLoss(used(10, 8_000, 2_000), used(8_000, 4_000))).toBe(6_000)
    expect(notableLoss(used(10, 8_000, 2_000), used(12_000, 0, 0, 'other'))).toBe(10_000)
  })

  it('is not more than the request, which a compaction may have shortened', () => {
    expect(notableLoss(used(10, 8_000, 2_000), used(2_500, 500))).toBe(2_500)
  })

  it('is marked from 1,024 tokens and a tenth of the request on', () => {
    expect(notableLoss(used(0, 1_024), used(1_024, 0))).toBe(1_024)
    expect(notableLoss(used(0, 1_023), used(1_023, 0))).toBe(0)
    expect(notableLoss(used(0, 100_000), used(10_000, 90_000))).toBe(10_000)
    expect(notableLoss(used(0, 100_000), used(9_999, 90_001))).toBe(0)
  })

  it('is unknown without usage, and for the first request', () => {
    expect(notableLoss(undefined, used(1, 0))).toBe(0)
    expect(notableLoss(used(10, 8_000), request(1))).toBe(0)
    expect(notableLoss(request(1), used(8_000, 0))).toBe(0)
  })
})

it('an answer belongs to the request whose range contains it; of two, to the one that ends first', () => {
  const answered = (id: string, from: number, to: number) => ({
    ...request(0),
    id,
    answerPositions: [from, to] as const,
  })
  const all = [answered('a', 2, 2), answered('b', 4, 9), answered('c', 5, 6), request(0)]
  const found = [1, 2, 4, 5, 6, 7, 10].map((position) => requestOfAnswer(all, position)?.id)
  expect(found).toEqual([undefined, 'a', 'b', 'c', 'c', 'b', undefined])
})

it('the input of a request is what was read, written and neither', () => {
  const input = inputOf(request(1, { inputTokens: 3, cacheReadTokens: 5, outputTokens: 7 }))
  expect(input).toEqual({ read: 5, written: 0, uncached: 3 })
  expect(sumOf(input!)).toBe(8)
  expect(inputOf(request(1))).toBeUndefined()
})
