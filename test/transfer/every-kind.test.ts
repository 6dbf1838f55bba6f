import { join } from 'node:path'
import { expect, it } from 'vitest'
import { COMPACTION_KINDS, type CompactionKind } from '../../src/core/model/plan.ts'
import { neurolinkEstimator } from '../../src/core/tokens/index.ts'
import { type NewMessage, openStore, type Store } from '../../src/index.ts'
import { exportHtml, exportMarkdown } from '../../src/transfer/index.ts'
import { call, chat, result, say, units } from '../support/conversation.ts'
import { newFolder } from '../support/temporary.ts'
import { whole } from './sessions.ts'
import { elementsOf, readStrictly, textOf } from './strict-html.ts'

type Case = {
  readonly messages: readonly NewMessage[]
  readonly compact?: (store: Store) => Promise<unknown>
  /** What a document that shows hidden rows says of it. */
  readonly said: RegExp
}

const small = { targetTokens: 1 }
const read = (id: string): NewMessage[] => [
  call(id, 'read', { path: 'a.ts' }),
  result(id, units(500), 'read'),
]
const block = {
  type: 'provider',
  provider: 'anthropic',
  data: { type: 'compaction', content: 'So far.' },
} as const

/** Each kind of compaction, made by the verb that makes it. */
const CASES: { readonly [K in CompactionKind]: Case } = {
  prune: {
    messages: [say('user', 'Go'), ...read('a'), say('assistant', 'Done'), say('user', 'And?')],
    compact: (store) =>
      store.compactSession('s', { stages: [{ stage: 'clear_tool_results', keep: 0 }], ...small }),
    said: /Result of `read`\*\* \(`a`\), shown differently by compaction 1 \(prune, in force\), in place of 2,000 characters/,
  },
  deduplicate: {
    messages: [say('user', 'Look'), ...read('a'), ...read('b'), say('user', 'Thanks')],
    compact: (store) => store.compactSession('s', { stages: ['deduplicate'], ...small }),
    said: /shown differently by compaction 1 \(deduplicate, in force\), in place of 2,000 characters/,
  },
  condense: {
    messages: chat(4),
    compact: (store) => store.compactSession('s', { range: { from: 1, to: 4 }, summary: 'Hi.' }),
    said: /### Summary of positions 1–4 · .*\n\n\*Inserted by compaction 1 \(condense, in force\)\.\*\n\nHi\./,
  },
  truncate: {
    messages: chat(8, 200),
    compact: (store) => store.compactSession('s', { stages: ['truncate'], targetTokens: 500 }),
    said: /\*Hidden, it was truncated: compaction 1 \(truncate, in force\)\.\*/,
  },
  cut: {
    messages: [say('user', 'word '.repeat(37_200))],
    compact: (store) => store.compactSession('s', { provider: 'openai', model: 'gpt-4' }),
    said: /\*\*Part\*\*, shown differently by compaction 1 \(cut, in force\), in place of 186,000 characters/,
  },
  manual: {
    messages: chat(2),
    compact: (store) => store.rewind('s', { from: 'start' }),
    said: /\*Hidden, it was rewound: compaction 1 \(manual, in force\)\.\*/,
  },
  provider: {
    messages: [...chat(3, 100), { role: 'assistant', content: [block, { type: 'text', text: 'On we go.' }] }],
    said: /\*Inserted by compaction 1 \(provider, in force\)\.\*\n\nSo far\./,
  },
  preview: {
    messages: [say('user', 'Go'), call('a', 'ls'), result('a', 'line\n'.repeat(3_000), 'ls')],
    said: /Result of `ls`\*\* \(`a`\), shown differently by compaction 1 \(preview, in force\), in place of 15,000 characters/,
  },
  repair: {
    messages: [say('user', 'A \u0000 b.')],
    compact: (store) =>
      store.withOverflowRecovery('s', (_, attempt) => {
        if (attempt === 1)
          throw Object.assign(new Error('messages.0.content.0: invalid character'), { status: 400 })
      }),
    said: /\*\*Part\*\*, shown differently by compaction 1 \(repair, in force\), in place of 6 characters/,
  },
}

it.each(COMPACTION_KINDS)('%s is listed, in force and undone', async (kind) => {
  const { messages, compact, said } = CASES[kind]
  await using store = await openStore(':memory:', { estimator: 'neurolink' })
  await store.append('s', messages)
  await compact?.(store)
  const [made] = await store.listCompactions('s')
  expect(made!.kind).toBe(kind)
  expect(await whole(exportMarkdown(store, 's', { hidden: 'show' }))).toMatch(said)
  const linked = elementsOf(readStrictly(await whole(exportHtml(store, 's'))), 'a').filter(
    (a) => a.attributes.get('href') === '#c-1',
  )
  expect(linked.length).toBeGreaterThan(0)

  await store.undoCompaction('s', made!.id)
  const page = readStrictly(await whole(exportHtml(store, 's')))
  const [entry] = elementsOf(page, 'li').filter((li) => li.attributes.get('id') === 'c-1')
  expect(textOf(entry!)).toContain(`1 ${kind} undone`)
  const view = await store.getEffectiveHistory('s')
  const shown = readStrictly(await whole(exportHtml(store, 's', { hidden: 'omit' })))
  expect(elementsOf(shown, 'article')).toHaveLength(view.length)
})

it('leaves tokens out where the store does not know how the session counts', async () => {
  const folder = newFolder()
  const path = join(folder, 'chats.db')
  const theirs = await openStore(path, { estimator: { ...neurolinkEstimator, name: 'theirs' } })
  await theirs.append('s', chat(2))
  expect(await whole(exportMarkdown(theirs, 's'))).toContain('**Tokens:**')
  await theirs.close()
  const store = await openStore(path)
  expect(await whole(exportMarkdown(store, 's'))).not.toContain('**Tokens:**')
  expect(elementsOf(readStrictly(await whole(exportHtml(store, 's'))), 'article')).toHaveLength(4)
  await store.close()
})
