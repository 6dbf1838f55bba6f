import { jsonSchema, tool } from 'ai'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { openStore, type PrepareRequestOptions, type Store } from '../../src/index.ts'

/*
 * A meter shows `getContextStats(id)`, without a system prompt or tools. A scripted provider counts the whole request: a token for so many
 * characters of its texts and definitions. What the meter shows must be near what the provider counts for the next request.
 */

type Tools = NonNullable<PrepareRequestOptions['tools']>
const PROSE =
  'The kettle is cold, the plug is out of the wall, and the cable lies beside the sink where it should not be. '
const SYSTEM = PROSE.repeat(30)
const WORDS = 'Looks for a place in the book of the house, and returns the page and the line. '.repeat(6)

const shape = { type: 'object', properties: { place: { type: 'string', description: WORDS } } } as const
const many = <T>(count: number, made: (name: string) => T): T[] =>
  Array.from({ length: count }, (_, at) => made(`look_${at}`))
const named = (count: number, made: () => object): Tools =>
  Object.fromEntries(many(count, (name) => [name, made()] as const))

const FORMS: { readonly [form: string]: Tools } = {
  'a list for Chat Completions': many(12, (name) => ({
    type: 'function',
    function: { name, description: WORDS, parameters: shape },
  })),
  'a list for Messages': many(12, (name) => ({ name, description: WORDS, input_schema: shape })),
  'the AI SDK with zod': named(12, () =>
    tool({ description: WORDS, inputSchema: z.object({ place: z.string().describe(WORDS) }) }),
  ),
  'the AI SDK with jsonSchema': named(12, () => tool({ description: WORDS, inputSchema: jsonSchema(shape) })),
  'the AI SDK with a function': named(12, () => ({
    description: WORDS,
    inputSchema: () => z.object({ place: z.string().describe(WORDS) }),
  })),
  'tools that the provider runs': named(3, () => ({
    ...{ type: 'provider', id: 'openai.web_search', args: { filters: { allowedDomains: [WORDS] } } },
  })),
}
const [LIST, FEW] = [FORMS['a list for Chat Completions']!, FORMS['tools that the provider runs']!]

/** What a provider counts, with so many characters in a token. */
function counted(
  request: { readonly system?: unknown; readonly tools?: unknown; readonly messages: unknown },
  per = 4,
) {
  const { system = '', tools = [], messages } = request
  const texts = (messages as { content: unknown }[]).map(({ content }) =>
    typeof content === 'string'
      ? content
      : (content as { text?: string }[]).map(({ text = '' }) => text).join(''),
  )
  return Math.round((String(system).length + JSON.stringify(tools).length + texts.join('').length) / per)
}

const MODEL = { provider: 'openai', model: 'gpt-4o' }
const OTHER = { provider: 'anthropic', model: 'claude-sonnet-4-5' }
type Turn = {
  readonly tools?: Tools
  readonly system?: string
  readonly model?: typeof MODEL
  readonly per?: number
}

async function turn(store: Store, id: string, given: Turn = {}): Promise<void> {
  const { tools = LIST, system = SYSTEM, model = MODEL, per } = given
  const request = await store.prepareRequest(id, {
    ...model,
    system,
    tools,
    prompt: `Where? ${PROSE.repeat(8)}`,
  })
  const usage = { inputTokens: counted(request, per), outputTokens: 20 }
  await store.recordResponse(id, {
    request,
    usage,
    messages: [{ role: 'assistant', content: `There. ${PROSE.repeat(6)}` }],
  })
}

/** How far the meter is from what the provider counts for the next request with this system prompt and these tools. */
async function off(store: Store, id: string, given: Turn = {}, model?: typeof MODEL): Promise<number> {
  const { tools = LIST, system = SYSTEM, per } = given
  const stats = (await store.getContextStats(id, model?.provider, model?.model))!
  const request = await store.prepareRequest(id, { ...MODEL, system, tools, prompt: 'x', auto: false })
  const next = counted({ ...request, messages: request.messages.slice(0, -1) }, per)
  return stats.estimatedInputTokens / next - 1
}

async function session(turns: readonly Turn[]): Promise<Store> {
  const store = await openStore(':memory:')
  for (const each of turns) await turn(store, 's', each)
  return store
}
const times = (count: number, each: Turn = {}): Turn[] => Array.from({ length: count }, () => each)

type Case = readonly [name: string, run: () => Promise<number>]

const CASES: readonly Case[] = [
  ...Object.entries(FORMS).map(
    ([form, tools]): Case => [
      `tools as ${form}`,
      async () => off(await session(times(4, { tools })), 's', { tools }),
    ],
  ),
  ['the first turn', async () => off(await session(times(1)), 's')],
  [
    'other tools in the last request',
    async () => off(await session([...times(4), { tools: FEW }]), 's', { tools: FEW }),
  ],
  [
    'other tools in the last two requests',
    async () => off(await session([...times(4), ...times(2, { tools: FEW })]), 's', { tools: FEW }),
  ],
  [
    'two models in turn, by the first',
    async () =>
      off(
        await session([
          {},
          { model: OTHER, per: 3.5 },
          {},
          { model: OTHER, per: 3.5 },
          {},
          { model: OTHER, per: 3.5 },
        ]),
        's',
      ),
  ],
  [
    'two models in turn, by the other',
    async () =>
      off(
        await session([
          {},
          { model: OTHER, per: 3.5 },
          {},
          { model: OTHER, per: 3.5 },
          {},
          { model: OTHER, per: 3.5 },
        ]),
        's',
        { per: 3.5 },
        OTHER,
      ),
  ],
  [
    'a fork',
    async () => {
      const store = await session(times(4))
      await store.sessions.fork('s', { id: 'f' })
      return off(store, 'f')
    },
  ],
  [
    'a fork of an earlier moment',
    async () => {
      const store = await session(times(4))
      const [, , , fourth] = await store.getMessages('s', { limit: 4 })
      await store.sessions.fork('s', { id: 'f', at: { afterMessage: fourth!.id } })
      return off(store, 'f')
    },
  ],
  [
    'after hiding messages',
    async () => {
      const store = await session(times(5))
      const ids = (await store.getMessages('s', { limit: 4 })).map(({ id }) => id)
      await store.compactions.hide('s', ids)
      return off(store, 's')
    },
  ],
  [
    'after an undo',
    async () => {
      const store = await session(times(5))
      const ids = (await store.getMessages('s', { limit: 4 })).map(({ id }) => id)
      const { id } = await store.compactions.hide('s', ids)
      await turn(store, 's')
      await store.undoCompaction('s', id)
      return off(store, 's')
    },
  ],
  [
    'after a rewind',
    async () => {
      const store = await session(times(5))
      const [, , third] = await store.getMessages('s', { limit: 3 })
      await store.rewind('s', { from: { beforeMessage: third!.id } })
      return off(store, 's')
    },
  ],
  [
    'usage reported without the system prompt and tools',
    async () => {
      const store = await openStore(':memory:')
      await store.sessions.create({ id: 's', ...MODEL })
      let length = SYSTEM.length + JSON.stringify(LIST).length
      for (let at = 0; at < 5; at++) {
        const [asked, answered] = [`Where? ${PROSE.repeat(8)}`, `There. ${PROSE.repeat(6)}`]
        await store.append('s', [{ role: 'user', content: asked }])
        length += asked.length
        await store.requests.recordUsage('s', { ...MODEL, inputTokens: Math.round(length / 4) })
        await store.append('s', [{ role: 'assistant', content: answered }])
        length += answered.length
      }
      return off(store, 's')
    },
  ],
]

describe('a meter that names neither the system prompt nor the tools', () => {
  it.each(CASES)('is within 5 % of what the provider counts: %s', async (name, run) => {
    const share = await run()
    if (process.env.FIGURES !== undefined) console.log(`${(100 * share).toFixed(1)} % ${name}`)
    expect(Math.abs(share)).toBeLessThan(0.05)
  })
})
