import { expect, it } from 'vitest'
import { indexMessage } from '../../src/core/model/message-parts.ts'
import { View } from '../../src/core/model/view.ts'
import type { ViewRow } from '../../src/core/model/view-row.ts'
import type { BareContext } from '../../src/core/stages/stage.ts'
import { summarize } from '../../src/core/stages/summarize.ts'
import { neurolinkEstimator } from '../../src/core/tokens/measure.ts'
import { units } from '../support/conversation.ts'

it('a summary that filled its target is merged with messages that fit beside a usual one', () => {
  // 100 units are 115 tokens, and 4 for a message: the summary takes 694, each message 119, the view 1,170.
  const view = new View(
    [600, 100, 100, 100, 100].map((size, at): ViewRow => {
      const kind = at === 0 ? 'summary' : 'message'
      const role = at % 2 === 1 ? 'user' : 'assistant'
      const index = indexMessage({ content: units(size) }, neurolinkEstimator)
      const place = {
        key: at,
        id: `m${at}`,
        kind,
        position: at || undefined,
        anchor: at,
        ordinal: 0,
      } as const
      return { ...place, ...index, role, pinned: false, shown: [] }
    }),
    neurolinkEstimator,
    '',
  )
  const settings = { summaryRoomTokens: 500, summaryMaxTokens: 900 } as BareContext['settings']
  const context = { settings, targetTokens: 1_000, limitTokens: 1_100, media: undefined }
  const tasks = summarize.summaries(view, context as never) as readonly {
    readonly rows: readonly ViewRow[]
  }[]
  // 1,000 - 694 leaves room for one turn of 238.
  expect(tasks.map(({ rows }) => rows.map(({ id }) => id))).toEqual([['m0', 'm1', 'm2']])
})
