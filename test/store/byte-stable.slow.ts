import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type NewMessage, openStore, type Store, type SummaryPlace } from '../../src/index.ts'
import { call, calls, failure, result, say, units } from '../support/conversation.ts'
import { expectAccepted } from '../support/requests.ts'
import { newFolder } from '../support/temporary.ts'

/*
 * Between two compactions a view only grows at its end: not a byte before the last turn is another after appends, after reopening
 * the file, and when it is read again. Design 3.7; issue 6, "Prompt cache".
 */

const S = 's'
const PROVIDERS = ['anthropic', 'google-ai', 'mistral', 'openai', 'bedrock', 'nobody'] as const
const PLACES: readonly SummaryPlace[] = ['inline', 'after-system', 'in-system']
const RUNS = process.env.LONG === '1' ? 400 : 10

type Step =
  | { readonly do: 'append'; readonly messages: readonly NewMessage[] }
  | { readonly do: 'compact'; readonly stages: readonly string[]; readonly share: number }
  | { readonly do: 'preview' | 'undo' | 'reopen' }

/** A loop of calls as agents make them: parallel, failed, answered in any order, never answered, with reasoning. */
const loop: fc.Arbitrary<(id: string) => NewMessage[]> = fc
  .record({
    kind: fc.constantFrom('one', 'parallel', 'swapped', 'failed', 'missing', 'half', 'reasoned', 'said'),
    size: fc.integer({ min: 1, max: 80 }),
    path: fc.constantFrom('src/a.ts', 'src/b.ts'),
  })
  .map(({ kind, size, path }) => (id: string): NewMessage[] => {
    const text = `Contents of ${path}.\n${units(size)}`
    const pair = calls([`${id}a`, 'read', { path }], [`${id}b`, 'list'])
    switch (kind) {
      case 'parallel':
        return [pair, result(`${id}a`, text), result(`${id}b`, units(3))]
      case 'swapped':
        return [pair, result(`${id}b`, units(3)), result(`${id}a`, text)]
      case 'half':
        return [pair, result(`${id}b`, text)]
      case 'failed':
        return [call(id, 'run'), failure(id, text)]
      case 'missing':
        return [call(id, 'run')]
      case 'reasoned': {
        const [part] = call(id, 'read', { path }).content as Extract<
          NewMessage['content'],
          readonly unknown[]
        >
        return [{ role: 'assistant', content: [{ type: 'reasoning', text: 'hm' }, part!] }, result(id, text)]
      }
      case 'said':
        return [say('assistant', 'I look.'), call(id, 'read', { path }), result(id, text)]
      default:
        return [call(id, 'read', { path }), result(id, text)]
    }
  })

const turn = fc.record({
  size: fc.integer({ min: 1, max: 60 }),
  loops: fc.array(loop, { maxLength: 3 }),
  answered: fc.boolean(),
  system: fc.integer({ min: 0, max: 9 }).map((n) => n === 0),
})

const steps: fc.Arbitrary<Step[]> = fc
  .array(
    fc.oneof(
      { weight: 8, arbitrary: turn },
      {
        weight: 3,
        arbitrary: fc.record({
          do: fc.constant('compact' as const),
          stages: fc.constantFrom(
            ['prune'],
            ['deduplicate'],
            ['summarize'],
            ['truncate'],
            ['prune', 'deduplicate', 'summarize', 'truncate', 'cut'],
          ),
          share: fc.double({ min: 0.2, max: 0.8, noNaN: true }),
        }),
      },
      { weight: 3, arbitrary: fc.constantFrom('preview', 'undo', 'reopen').map((what) => ({ do: what })) },
    ),
    { minLength: 4, maxLength: 14 },
  )
  .map((made) =>
    made.map((one, at): Step => {
      if ('do' in one) return one as Step
      const messages = one.loops.flatMap((messagesOf, i) => messagesOf(`call_${at}_${i}`))
      return {
        do: 'append',
        messages: [
          ...(one.system ? [say('system', `Rule ${at}.`)] : []),
          say('user', units(one.size, 'u')),
          ...messages,
          ...(one.answered ? [say('assistant', units(one.size, 'a'))] : []),
        ],
      }
    }),
  )

/** A view in all its forms, a text a message. */
async function formsOf(store: Store): Promise<Map<string, string[]>> {
  const forms = new Map<string, string[]>()
  forms.set(
    'view',
    (await store.getEffectiveHistory(S)).map((row) => JSON.stringify(row)),
  )
  for (const provider of PROVIDERS) {
    for (const summaryPlace of PLACES) {
      const { messages } = await store.renderHistory(S, { provider, summaryPlace })
      expectAccepted(messages, provider, summaryPlace)
      forms.set(
        `${provider}, ${summaryPlace}`,
        messages.map((message) => JSON.stringify(message)),
      )
    }
  }
  return forms
}

/** How much of a form no append may change: all of a view; of a rendering what is before its last answer and what follows that. */
function settledLength(form: string, texts: readonly string[]): number {
  if (form === 'view') return texts.length
  const answer = texts.findLastIndex((text) => text.startsWith('{"role":"assistant"'))
  return answer === -1 ? Math.max(0, texts.length - 1) : answer
}

function expectPrefix(before: ReadonlyMap<string, string[]>, after: ReadonlyMap<string, string[]>): number {
  let settled = 0
  for (const [form, texts] of before) {
    const length = settledLength(form, texts)
    settled += length
    expect(after.get(form)!.slice(0, length), form).toEqual(texts.slice(0, length))
  }
  return settled
}

describe('the view between two compactions', () => {
  it('keeps every byte before the last turn, after appends, after reopening, and read twice', async () => {
    let [settled, appended, compacted] = [0, 0, 0]
    const folder = newFolder()
    let number = 0
    await fc.assert(
      fc.asyncProperty(steps, async (all) => {
        const file = join(folder, `${number++}.db`)
        let store = await openStore(file)
        try {
          await store.append(S, [say('system', 'Be brief.'), say('user', 'Go.')])
          let forms = await formsOf(store)
          for (const step of all) {
            switch (step.do) {
              case 'append':
                // Message by message: a request may go out behind each.
                for (const message of step.messages) {
                  await store.append(S, [message])
                  const longer = await formsOf(store)
                  settled += expectPrefix(forms, longer)
                  appended += 1
                  forms = longer
                }
                break
              case 'preview':
                await store.previewCompaction(S, { target: 0.1, targetTokens: 20 })
                expect(await formsOf(store)).toEqual(forms)
                break
              case 'reopen':
                await store.close()
                store = await openStore(file)
                expect(await formsOf(store)).toEqual(forms)
                break
              case 'undo': {
                const last = (await store.listCompactions(S)).findLast(({ status }) => status === 'active')
                if (last !== undefined) await store.undoCompaction(S, last.id, { cascade: true })
                forms = await formsOf(store)
                break
              }
              case 'compact': {
                const { estimated } = (await store.getContextStats(S))!
                const before = forms
                const run = await store.compactSession(S, {
                  stages: step.stages as never,
                  targetTokens: Math.floor(estimated * step.share),
                  pruneProtectTokens: 0,
                  pruneMinimumSavings: 0,
                })
                forms = await formsOf(store)
                if (run?.firstChanged === undefined) expect(forms).toEqual(before)
                else {
                  compacted += 1
                  // Everything before the first changed row is what it was, and that row is not.
                  const { index } = run.firstChanged
                  const rows = forms.get('view')!
                  expect(rows.slice(0, index)).toEqual(before.get('view')!.slice(0, index))
                  expect(rows[index]).not.toBe(before.get('view')![index])
                }
              }
            }
          }
          expect(await formsOf(store)).toEqual(forms)
        } finally {
          await store.close()
        }
      }),
      { numRuns: RUNS },
    )
    // Far below what is usual, so that the law is not kept by doing nothing.
    expect(appended).toBeGreaterThan(RUNS * 2)
    expect(settled).toBeGreaterThan(RUNS * 100)
    expect(compacted).toBeGreaterThan(0)
  })

  it('moves a late result after its call, and nothing before that call', async () => {
    const store = await openStore(':memory:')
    await store.append(S, [say('user', 'Go.'), say('assistant', 'Yes.'), say('user', 'Run it.')])
    await store.append(S, [call('c', 'run'), say('user', 'Still there?'), say('assistant', 'It runs.')])
    const before = await formsOf(store)
    await store.append(S, [result('c', 'Done.')])
    const after = await formsOf(store)
    for (const [form, texts] of before) {
      const settled = form === 'view' ? texts.length : 3
      expect(after.get(form)!.slice(0, settled), form).toEqual(texts.slice(0, settled))
    }
    await store.close()
  })
})
