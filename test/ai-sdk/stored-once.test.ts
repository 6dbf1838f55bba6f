import { generateText, wrapLanguageModel } from 'ai'
import BetterSqlite3 from 'better-sqlite3'
import { expect, it, vi } from 'vitest'
import { undertext } from '../../src/adapters/ai-sdk/index.ts'
import { openStore, type Store, type Summarizer } from '../../src/index.ts'
import { CONFIG } from '../background/support.ts'
import { chat } from '../support/conversation.ts'
import { newFile } from '../support/temporary.ts'
import { logOf, scripted, text } from './models.ts'

/* What is stored is stored once, whatever fails behind it. */

it('an answer whose usage cannot be noted is passed on: it is stored, and the next try would store it again', async () => {
  const file = newFile()
  await using store = await openStore(file)
  const unrecorded: unknown[] = []
  const model = wrapLanguageModel({
    model: scripted([[text('one')], [text('two')], [text('two, edited')]]),
    middleware: undertext(store, 's', { onRecordError: (error) => unrecorded.push(error) }),
  })
  await generateText({ model, prompt: 'first' })
  const database = new BetterSqlite3(file)
  for (const action of ['insert', 'update'])
    database.exec(
      `create trigger no_${action} before ${action} on undertext_usage begin select raise(abort, 'no usage'); end`,
    )
  database.close()
  expect((await generateText({ model, prompt: 'second' })).text).toBe('two')
  const messages = ['first', 'one', 'second, edited'].map((content, index) => ({
    role: index === 1 ? ('assistant' as const) : ('user' as const),
    content,
  }))
  expect((await generateText({ model, messages })).text).toBe('two, edited')
  expect(unrecorded).toEqual([])
  expect(await logOf(store)).toEqual([
    'user: first',
    'assistant: one',
    'user: second',
    'assistant: two',
    'user: second, edited',
    'assistant: two, edited',
  ])
  // What was set aside for it stays so.
  const view = (await store.getEffectiveHistory('s')).map(({ content }) => content)
  expect(view).toEqual(['first', 'one', 'second, edited', 'two, edited'])
})

it('the same words in a later, unstored exchange are not matched with the earlier ones', async () => {
  await using store = await openStore(':memory:')
  const unrecorded: unknown[] = []
  const model = wrapLanguageModel({
    model: scripted([[text('ok')], [text('ok')]]),
    middleware: undertext(store, 's', { onRecordError: (error) => unrecorded.push(error) }),
  })
  await generateText({ model, prompt: 'yes' })
  vi.spyOn(store, 'recordResponse').mockRejectedValue(new Error('disk full'))
  await generateText({ model, prompt: 'yes' })
  expect(unrecorded).toHaveLength(1)
  expect(await logOf(store)).toEqual(['user: yes', 'assistant: ok'])
})

it('what onRecorded throws is neither an error of the call nor of the recording', async () => {
  await using store = await openStore(':memory:')
  const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined)
  const unrecorded: unknown[] = []
  const options = {
    onRecorded: () => {
      throw new RangeError('mine')
    },
    onRecordError: (error: unknown) => unrecorded.push(error),
  }
  const model = wrapLanguageModel({
    model: scripted([[text('one')]]),
    middleware: undertext(store, 's', options),
  })
  expect((await generateText({ model, prompt: 'first' })).text).toBe('one')
  expect(unrecorded).toEqual([])
  expect(warn.mock.calls.map(([message]) => message)).toEqual(['undertext: onRecorded threw RangeError'])
  warn.mockRestore()
})

it.each([26, 40])(
  'a summarizer that asks the wrapped model fails at once, and nothing of it is stored: %i exchanges',
  async (exchanges) => {
    const bare = scripted([])
    const summarizer: Summarizer = {
      name: 'wrapped',
      usesModel: true,
      summarize: async ({ signal }) => {
        const model = wrapLanguageModel({ model: bare, middleware: undertext(store, 's') })
        const { text: said } = await generateText({
          model,
          prompt: 'Sum up.',
          abortSignal: signal!,
          maxRetries: 0,
        })
        return { text: said }
      },
    }
    const store: Store = await openStore(':memory:', {
      estimator: 'neurolink',
      summarizer,
      config: CONFIG,
    })
    const history = chat(exchanges, 20)
    await store.append('s', history)
    const { jobId } = await store.jobs.start('s')
    expect(await store.jobs.whenIdle('s', { timeoutMs: 20_000 })).toBe(true)
    expect((await store.jobs.get(jobId)).error).toBe('COMPACTION_IN_PROGRESS')
    await store.jobs.cancel({ job: jobId })
    const result = await store.compactSession('s', { enableTruncate: false })
    expect(result?.failed.map(({ error }) => error)).toEqual(['COMPACTION_IN_PROGRESS'])
    expect(await store.getMessages('s')).toHaveLength(history.length)
    expect(bare.calls).toEqual([])
    await store.close()
  },
)
