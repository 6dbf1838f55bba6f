import { describe, expect, it } from 'vitest'
import { NO_ROWS } from '../../../src/core/model/coverage.ts'
import {
  inputOf,
  keptPages,
  listedRequests,
  lostTokens,
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
  const cached = request(1, {
    inputTokens: 10,
    cacheReadTokens: 8_000,
    cacheCreationTokens: 2_000,
    outputTokens: 1,
  })

  it('is what the request before read and wrote, and this one did not read', () => {
    const after = request(1, { inputTokens: 10, cacheReadTokens: 4_000, outputTokens: 1 })
    expect(lostTokens(cached, after)).toBe(6_000)
  })

  it('is nothing if the cache was read except for a rounding, for the first request, and for another model', () => {
    const rounded = request(1, { inputTokens: 900, cacheReadTokens: 9_100, outputTokens: 1 })
    expect(lostTokens(cached, rounded)).toBe(0)
    expect(lostTokens(undefined, cached)).toBe(0)
    expect(lostTokens(cached, request(1, { inputTokens: 1, outputTokens: 1 }, 'other'))).toBe(0)
    expect(lostTokens(cached, request(1))).toBe(0)
    expect(lostTokens(request(1), cached)).toBe(0)
  })

  it('of less than a tenth is a rounding in a large request too', () => {
    const large = request(1, { inputTokens: 0, cacheReadTokens: 100_000, outputTokens: 1 })
    const [ninth, tenth] = [90_001, 90_000].map((cacheReadTokens) =>
      request(1, { inputTokens: 0, cacheReadTokens, outputTokens: 1 }),
    )
    expect(lostTokens(large, ninth!)).toBe(0)
    expect(lostTokens(large, tenth!)).toBe(10_000)
  })
})

it('the input of a request is what was read, written and neither', () => {
  const input = inputOf(request(1, { inputTokens: 3, cacheReadTokens: 5, outputTokens: 7 }))
  expect(input).toEqual({ read: 5, written: 0, uncached: 3 })
  expect(sumOf(input!)).toBe(8)
  expect(inputOf(request(1))).toBeUndefined()
})
