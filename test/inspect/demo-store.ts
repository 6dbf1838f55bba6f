import type { Summarizer } from '../../src/core/summarizers/index.ts'
import { type NewMessage, openStore, type Part, type Store } from '../../src/index.ts'
import { DemoClock } from './demo-clock.ts'
import * as contents from './demo-contents.ts'
import { invoicePicture } from './demo-png.ts'
import { DemoTalk, type Speaker, type Step } from './demo-talk.ts'

/*
 * Makes the store that the tests and pictures of the inspector show: an agent that mends a web shop, with everything that can happen to a
 * session, and smaller ones.
 */

export const DEMO_SESSION = 'checkout-rounding'

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
/** 26 November 2026, 08:00 in UTC. */
export const DEMO_START = Date.UTC(2026, 10, 26, 8)

const SONNET: Speaker = {
  provider: 'anthropic',
  model: 'claude-sonnet-4-5',
  system: contents.SYSTEM,
  tools: contents.TOOLS,
}
const MINI: Speaker = { ...SONNET, provider: 'openai', model: 'gpt-5-mini' }
/** Small enough that the demo fills it. */
const WINDOW = 60_000
const LATER_WINDOW = 40_000

/** A summarizer whose model always answers. */
const writer: Summarizer = {
  name: 'demo-writer',
  usesModel: true,
  summarize: ({ messages }) => ({
    text: contents.SUMMARY('Find out why totals in the checkout are one cent short, and mend it.'),
    model: 'claude-haiku-4-5',
    usage: { inputTokens: messages.length * 700, outputTokens: 310 },
    cost: 0.0124,
    finishReason: 'end_turn',
  }),
}
/** A summarizer whose model is out of reach. */
const failing: Summarizer = {
  name: 'demo-writer',
  usesModel: true,
  summarize: () => {
    throw Object.assign(new Error('Overloaded'), { status: 529 })
  },
}

/** Makes the store in a new file. Times are the same each time. */
export async function makeDemoStore(path: string): Promise<void> {
  const clock = new DemoClock(DEMO_START - 4 * DAY)
  await clock.during(async () => {
    const store = await openStore(path, { env: false })
    try {
      await makeSmallSessions(store, clock)
      clock.set(DEMO_START)
      await makeShop(store, clock)
    } finally {
      await store.close()
    }
  })
}

const say = (clock: DemoClock, ...texts: readonly string[]): NewMessage[] =>
  texts.map((content, at) => {
    clock.advance(30 * SECOND)
    return { role: at % 2 === 0 ? 'user' : 'assistant', content, createdAt: clock.now }
  })

async function makeSmallSessions(store: Store, clock: DemoClock): Promise<void> {
  await store.sessions.create({
    ...{ id: 'old-notes', title: 'Notes of last year', provider: 'openai', model: 'gpt-4o' },
    metadata: { project: '/home/kim/notes' },
  })
  await store.append(
    'old-notes',
    say(clock, 'Keep these notes: the key of the shed is under the pot.', 'Noted.'),
  )
  await store.sessions.archive('old-notes')

  clock.advance(3 * HOUR)
  await store.sessions.create({
    id: 'kyoto-trip',
    title: '京都への旅',
    provider: 'openai',
    model: 'gpt-4o',
    owner: 'aiko',
  })
  const trip = say(
    clock,
    '東京から京都まで、三日間の旅を計画してください。',
    '一日目は東京、二日目は箱根、三日目は京都はいかがでしょうか。',
    'いいですね。予算は十万円です。',
    'では、宿を二泊で四万円、列車を三万円、残りを食事と入場料にしましょう。',
  )
  await store.forOwner('aiko').append('kyoto-trip', trip)

  clock.advance(5 * HOUR)
  const poem = say(
    clock,
    'Four lines on a machine that forgets nothing, please.',
    'It keeps what you said,\nthe first draft and the last;\nwhat is hidden is not dead,\nonly resting in the past.',
  )
  await store.sessions.create({
    id: 'poem',
    title: 'A poem',
    provider: 'ollama',
    model: 'llama3.2',
    owner: 'kim',
  })
  await store.forOwner('kim').append('poem', poem)

  clock.advance(20 * HOUR)
  await makePorto(store, clock)
  await store.sessions.create({
    id: 'empty',
    title: 'An empty session',
    provider: 'openai',
    model: 'gpt-5-mini',
  })
  clock.advance(DAY)
  const untitled = say(
    clock,
    'Which port does the development server use?',
    'Port 5173, unless it is in use.',
  )
  await store.append('0199-untitled', untitled)
}

/** A session that its provider compacted. */
async function makePorto(store: Store, clock: DemoClock): Promise<void> {
  await store.sessions.create({
    ...{ id: 'porto-trip', title: 'A trip to Porto', provider: 'anthropic', model: 'claude-sonnet-4-5' },
    metadata: { project: '/home/kim/travel' },
  })
  await store.append(
    'porto-trip',
    say(
      clock,
      'Plan the trip to Porto, and keep to 900 euros.',
      'Three days, two museums, one tasting.',
      'Add a day at the sea.',
      'The third day is now Matosinhos, by tram.',
      'And the hotel?',
    ),
  )
  clock.advance(MINUTE)
  const block = {
    type: 'compaction',
    content: 'A trip to Porto: four days, one at the sea, 900 euros. Next: the hotel.',
  }
  await store.append('porto-trip', [
    {
      role: 'assistant',
      content: [
        { type: 'provider', provider: 'anthropic', data: block },
        { type: 'text', text: 'A small hotel at the Ribeira: 95 euros a night.' },
      ],
      createdAt: clock.now,
    },
  ])
}

const read = (path: string, lines: number, words: Partial<Step> = {}): Step => ({
  ...{ tool: 'read', input: { path }, output: contents.source(path, lines) },
  ...words,
})
const bash = (command: string, output: Step['output'], words: Partial<Step> = {}): Step => ({
  ...{ tool: 'bash', input: { command }, output },
  ...words,
})
const edit = (path: string, before: string, after: string, words: Partial<Step> = {}): Step => ({
  ...{ tool: 'edit', input: { file_path: path, old_string: before, new_string: after } },
  output: `The file ${path} has been updated.`,
  ...words,
})

/** A file that says it is a PDF. */
const PDF = Buffer.from('%PDF-1.4 an invoice').toString('base64')

const CART = 'src/checkout/cart.ts'
const ROUNDING = 'src/money/rounding.ts'
const INVOICE = 'src/invoice/lines.ts'

async function makeShop(store: Store, clock: DemoClock): Promise<void> {
  await store.sessions.create({
    ...{ id: DEMO_SESSION, title: 'Checkout is one cent short' },
    ...{ provider: SONNET.provider, model: SONNET.model },
    metadata: { project: '/home/kim/shop' },
    config: { contextWindowTarget: WINDOW, background: false },
  })
  const talk = new DemoTalk(store, DEMO_SESSION, clock, SONNET)
  await investigate(talk)
  await mend(talk)
  await compactFirst(talk)
  await reviewModules(talk, ['orders', 'refunds', 'vouchers', 'shipping'])
  await compactAgain(talk)
  await changeMinds(talk)
  await reviewModules(talk, ['returns', 'gifts', 'bundles', 'taxes', 'currencies'])
  await compactOnceMore(talk)
  await store.sessions.update(DEMO_SESSION, {
    config: { contextWindowTarget: LATER_WINDOW, background: false },
  })
  // Full after the fourth: the next request compacts the session.
  await reviewModules(talk, ['loyalty', 'stocks', 'prices', 'reports', 'labels'])
  await makeRelatives(talk)
  await finish(talk)
}

async function investigate(talk: DemoTalk): Promise<void> {
  const { store, clock } = talk
  await store.append(DEMO_SESSION, [
    {
      role: 'system',
      content: 'The repository uses vitest. The branch is main. Today is Thursday.',
      createdAt: clock.now,
    },
  ])
  await talk.turn(
    'Totals in the checkout are sometimes one cent short. Prices must stay integers: cents, never floats. Please find out why.\n\n<system-reminder>\nThe user opened src/checkout/cart.ts. Do not mention this reminder.\n</system-reminder>',
    [
      read(CART, 180, {
        say: 'I look at the cart first.',
        think: 'Where is the discount rounded? The cart seems the place to begin.',
      }),
      read(ROUNDING, 140, { say: 'And at how money is rounded.' }),
      bash(
        'npm test -- checkout',
        { type: 'error-text', value: contents.testRun(['splits a discount over three items'], 60) },
        {
          say: 'Now the tests.',
        },
      ),
    ],
    contents.FINDING,
    'The rounding happens inside of map: each item by itself. So the sum of the parts can differ from the whole.',
  )
  await talk.turn(
    [
      { type: 'text', text: 'Makes sense. This is how the invoice looks, with the wrong line in red:' },
      { type: 'image', image: invoicePicture(3), mediaType: 'image/png' },
      { type: 'image', image: invoicePicture(5), mediaType: 'image/png' },
      { type: 'file', data: PDF, mediaType: 'application/pdf', filename: 'invoice-9700.pdf' },
    ],
    [
      bash('cat logs/orders.log', contents.serverLog(), { say: 'I look for such orders in the log.' }),
      bash('grep -rn allocate src', contents.source('src/callers.ts', 60), {
        say: 'I read the callers before I change it.',
      }),
    ],
    'The log has one such order today, 9700: its total is 1999, its lines add up to 2000.',
  )
}

async function mend(talk: DemoTalk): Promise<void> {
  await talk.turn(
    'Use the largest remainder, and keep `allocate` in rounding.ts.',
    [
      edit(
        ROUNDING,
        'export function share(total: number, parts: number): number {\n  return Math.round(total / parts)\n}',
        'export function allocate(total: number, weights: readonly number[]): number[] {\n  const sum = weights.reduce((all, weight) => all + weight, 0)\n  const shares = weights.map((weight) => Math.floor((total * weight) / sum))\n  return distribute(total, shares)\n}',
        {
          say: 'I write `allocate`.',
          think: 'The name is given. It must take weights, not a number of parts.',
        },
      ),
      {
        ...{ tool: 'MultiEdit', say: 'And call it once for the whole discount.' },
        input: {
          file_path: CART,
          edits: [
            {
              old_string: "import { share } from '../money/rounding.ts'",
              new_string: "import { allocate } from '../money/rounding.ts'",
            },
            {
              old_string: 'items.map((item) => share(discount, items.length))',
              new_string: 'allocate(discount, items.map(({ cents }) => cents))',
            },
          ],
        },
        output: `Applied 2 edits to ${CART}.`,
      },
      read(ROUNDING, 150, { say: 'I read it again, whole.' }),
      bash('npm test -- checkout', contents.testRun([], 61), { say: 'The tests again.' }),
    ],
    'All 61 pass. `allocate` gives the remainder to the largest shares, and the sum is always exact.',
  )
  await talk.turn(
    'Good. Now the invoices: they must show the same cents.',
    [
      read(INVOICE, 160, { say: 'I look at the invoice.' }),
      read(CART, 180, { say: 'The cart once more, for the order of items.' }),
      {
        tool: 'apply_patch',
        say: 'The invoice takes the cents from the cart.',
        input: { input: contents.PATCH },
        output: 'Done: 1 file updated, 1 added.',
      },
      bash('npm run invoice -- --sample', {
        type: 'json',
        value: { lines: [1200, 433, 366], total: 1999, agrees: true },
      }),
    ],
    'The invoice rounded by itself. It now takes the cents from the cart, so that both say the same.',
  )
  await talk.turn(
    'Yes. And add a test that compares the two for a thousand random carts.',
    [
      {
        ...{ tool: 'write', say: 'I add it.' },
        input: {
          file_path: 'test/invoice.test.ts',
          content:
            "import { expect, test } from 'vitest'\nimport { linesOf } from '../src/invoice/lines.ts'\n\ntest('cart and invoice agree for a thousand random carts', () => {\n  for (let at = 0; at < 1_000; at++) {\n    const cart = randomCart(at)\n    expect(sum(linesOf(cart))).toBe(cart.total)\n  }\n})\n",
        },
        output: 'Wrote test/invoice.test.ts (10 lines).',
      },
      bash('npm test', contents.testRun([], 64), { say: 'And run everything.' }),
    ],
    'The thousand random carts are among the 64 tests that pass. Cart and invoice agree to the cent.',
  )
}

/** Media, prune, deduplicate, an attempt that failed, and the first summary. */
async function compactFirst(talk: DemoTalk): Promise<void> {
  const { store, clock } = talk
  const rows = await store.getMessages(DEMO_SESSION)
  const rule = rows.find(({ role }) => role === 'user')!
  await store.messages.pin(DEMO_SESSION, [rule.id], { actor: 'kim', reason: 'The rule about cents' })
  clock.advance(MINUTE)
  await store.compactSession(DEMO_SESSION, {
    stages: [{ stage: 'media', keep: 1 }],
    target: 0.05,
    actor: 'kim',
  })
  clock.advance(20 * SECOND)
  await store.compactSession(DEMO_SESSION, {
    ...{ stages: ['deduplicate'], target: 0.05, deduplicateMinimumSavings: 0.01, actor: 'agent' },
  })
  clock.advance(20 * SECOND)
  const pruned = await store.compactSession(DEMO_SESSION, {
    ...{ stages: ['prune'], target: 0.05, pruneProtectTokens: 9_000, pruneMinimumSavings: 0, actor: 'agent' },
  })
  clock.advance(30 * SECOND)
  if (pruned?.compacted) {
    await store.undoCompaction(DEMO_SESSION, pruned.runId, { actor: 'kim', reason: 'I need these outputs' })
    clock.advance(30 * SECOND)
    await store.redoCompaction(DEMO_SESSION, pruned.runId, { actor: 'kim' })
  }
  await store.compactSession(DEMO_SESSION, {
    stages: ['summarize'],
    target: 0.1,
    summarizer: failing,
    keepRecentTokens: 6_000,
  })
  clock.advance(MINUTE)
  await store.compactSession(DEMO_SESSION, {
    ...{
      stages: ['summarize'],
      target: 0.1,
      summarizer: writer,
      keepRecentTokens: 6_000,
      actor: 'kim',
      reason: 'Before the modules',
    },
  })
}

/** A turn for each module: read, edit, test. Long outputs fill the window. */
async function reviewModules(talk: DemoTalk, modules: readonly string[]): Promise<void> {
  for (const [at, name] of modules.entries()) {
    const path = `src/${name}/totals.ts`
    const think = at % 2 === 0 ? `Does ${name} round for each line, too?` : undefined
    await talk.turn(
      `Next: ${name}.${at === 1 ? '\n\n<ide_selection>Lines 40 to 52 of src/money/rounding.ts</ide_selection>' : ''}`,
      [
        read(path, 120, { say: `I read ${name}.`, ...(think !== undefined && { think }) }),
        bash(`grep -rn "Math.round" src/${name}`, contents.source(`src/${name}/grep`, 30)),
        edit(
          path,
          `  return lines.map((line) => Math.round(line.cents * rate))`,
          `  return allocate(Math.round(total * rate), lines.map(({ cents }) => cents))`,
        ),
        bash(`npm test -- ${name}`, contents.testRun([], 40 + at)),
        read(path, 122, { say: 'I read it once more.' }),
      ],
      at === 2 ? contents.IN_PYTHON : `\`${path}\` shares out its total once; ${40 + at} tests pass.`,
    )
  }
}

/** The second summary, over the first; then a truncation that is undone. */
async function compactAgain(talk: DemoTalk): Promise<void> {
  const { store, clock } = talk
  clock.advance(MINUTE)
  await store.compactSession(DEMO_SESSION, {
    ...{ stages: ['summarize'], target: 0.1, summarizer: writer, keepRecentTokens: 7_000 },
  })
  clock.advance(MINUTE)
  const truncated = await store.compactSession(DEMO_SESSION, {
    ...{ stages: [{ stage: 'sliding_window', last: 6 }], target: 0.02, actor: 'agent' },
  })
  clock.advance(MINUTE)
  if (truncated?.compacted)
    await store.undoCompaction(DEMO_SESSION, truncated.runId, { actor: 'kim', reason: 'Too much' })
}

/** The user edits a message, an answer is made again, and the model, the system prompt and the pace change. */
async function changeMinds(talk: DemoTalk): Promise<void> {
  const { clock } = talk
  const asked = await talk.turn(
    'Which modules are left? Answer with a table, please.',
    [],
    '| module | left |\n| --- | --- |\n| returns | yes |\n| gifts | yes |',
  )
  clock.advance(MINUTE)
  await rewindTo(talk, asked - 1)
  const again = await talk.turn(
    'Which modules are left? A list, please.',
    [],
    '- returns\n- gifts\n- bundles\n- taxes',
  )
  clock.advance(MINUTE)
  await rewindTo(talk, again)
  await talk.answer('These are left:\n\n- returns\n- gifts\n- bundles\n- taxes\n- currencies')
  const third = await talk.answer('Five modules: returns, gifts, bundles, taxes, currencies.')
  clock.advance(MINUTE)
  await rewindTo(talk, third)

  talk.speaker = MINI
  await talk.turn(
    'A cheaper model may do the next one. What is `allocate` called in the tests?',
    [bash('grep -rn allocate test | head -3', contents.source('test/allocate', 8))],
    'It keeps its name: `allocate`.',
  )
  talk.speaker = SONNET
  await talk.turn('Back to the larger model. Is the name used elsewhere?', [], 'No, only there.')
  talk.speaker = { ...SONNET, system: `${contents.SYSTEM} Answer in at most three sentences.` }
  await talk.turn(
    'Be brief from now on.',
    [bash('git status --short', ' M src/checkout/cart.ts\n M src/money/rounding.ts')],
    'I will.',
  )
  clock.advance(HOUR + 10 * MINUTE)
  await talk.turn(
    'I am back from lunch. Where were we?',
    [bash('git log --oneline | head -3', 'a1b2c3d Share out discounts once')],
    'Five modules are left.',
  )
}

async function rewindTo({ store, clock }: DemoTalk, position: number): Promise<void> {
  await store.rewind(DEMO_SESSION, { from: { beforeMessage: position }, actor: 'kim' })
  clock.advance(10 * SECOND)
}

/** Hidden by hand, cleared by the provider, shortened by cut, and truncated. */
async function compactOnceMore(talk: DemoTalk): Promise<void> {
  const { store, clock } = talk
  clock.advance(MINUTE)
  const edits = [{ type: 'clear_tool_uses_20250919', cleared_tool_uses: 3, cleared_input_tokens: 4_000 }]
  await store.compactions.recordProvider(DEMO_SESSION, { appliedEdits: edits })
  clock.advance(MINUTE)
  const rows = await store.getMessages(DEMO_SESSION, { visible: true })
  const lunch = rows.findIndex(({ content }) => textIn(content).startsWith('I am back from lunch'))
  const hidden = rows.slice(lunch, lunch + 4).map(({ id }) => id)
  if (lunch >= 0) await store.compactions.hide(DEMO_SESSION, hidden, { actor: 'kim', reason: 'Small talk' })
  clock.advance(MINUTE)
  await store.compactSession(DEMO_SESSION, {
    stages: ['truncate'],
    target: 0.3,
    truncationFraction: 0.3,
    actor: 'agent',
  })
  clock.advance(MINUTE)
  await store.compactSession(DEMO_SESSION, {
    stages: ['cut'],
    target: 0.1,
    contextWindowTarget: 9_000,
    actor: 'agent',
  })
}

const textIn = (content: string | readonly Part[]): string =>
  typeof content === 'string'
    ? content
    : content.map((part) => (part.type === 'text' ? part.text : '')).join('')

/** Forks, one of which is brought back, and the session of a subagent. */
async function makeRelatives({ store, clock }: DemoTalk): Promise<void> {
  clock.advance(5 * MINUTE)
  const fork = {
    id: 'checkout-rounding-fork',
    title: 'Try banker’s rounding instead',
    at: { afterMessage: 40 },
    actor: 'kim',
  }
  await store.sessions.fork(DEMO_SESSION, fork)
  await store.append(
    fork.id,
    say(clock, 'Try banker’s rounding instead.', 'It is off by one cent in 3 of 1,000 carts.'),
  )
  clock.advance(MINUTE)
  await store.sessions.bringBack(fork.id, {
    text: 'Banker’s rounding is off by one cent in 3 of 1,000 carts: not used.',
    actor: 'kim',
  })
  await store.sessions.fork(DEMO_SESSION, { id: 'checkout-in-rust', title: 'The same in Rust', actor: 'kim' })
  await store.sessions.create({
    ...{ id: 'search-callers', title: 'Find all callers of round', provider: 'openai', model: 'gpt-5-mini' },
    metadata: { project: '/home/kim/shop', undertext: { subagentOf: DEMO_SESSION } },
  })
  const agent = new DemoTalk(store, 'search-callers', clock, MINI)
  await agent.turn(
    'Find all callers of Math.round in src, and list them by module.',
    [bash('grep -rn "Math.round" src', contents.source('src/round', 80), { say: 'I search.' })],
    'There are 14 callers in 9 modules.',
  )
}

async function finish(talk: DemoTalk): Promise<void> {
  const { store, clock } = talk
  await talk.turn(
    'Great. Write the changelog line, please.\n\n<system-reminder>The todo list is empty.</system-reminder>',
    [
      edit(
        'CHANGELOG.md',
        '## Unreleased\n',
        '## Unreleased\n\n- Totals and invoices add up to the cent.\n',
        { say: 'I add it.' },
      ),
      bash('npm test', contents.testRun([], 64)),
    ],
    '- Totals and invoices add up to the cent: discounts are shared out by the **largest remainder**.',
  )
  const rows = await store.getMessages(DEMO_SESSION, { order: 'backward', limit: 1 })
  await store.messages.pin(DEMO_SESSION, [rows[0]!.id], { actor: 'kim' })
  clock.advance(2 * MINUTE)
  await talk.turn(
    'And thanks. Anything else?',
    [],
    'Two things: `src/legacy/price.ts` still uses floats, and the README names `share`.',
  )
}

/** How many messages one append of a large session has. */
const BATCH = 1_000

/** A session `large` of so many messages, with a tool call in every second exchange. */
export async function makeLargeSession(path: string, messages = 100_000): Promise<void> {
  const clock = new DemoClock(DEMO_START)
  await clock.during(async () => {
    const store = await openStore(path, { env: false })
    await store.sessions.create({
      id: 'large',
      title: 'A large session',
      provider: 'anthropic',
      model: 'claude-sonnet-4-5',
    })
    for (let from = 0; from < messages; from += BATCH) {
      const count = Math.min(BATCH, messages - from)
      await store.append(
        'large',
        Array.from({ length: count }, (_, at) => largeMessage(from + at, clock)),
      )
    }
    await store.close()
  })
}

function largeMessage(at: number, clock: DemoClock): NewMessage {
  clock.advance(3 * SECOND)
  const common = { id: `m${at + 1}`, createdAt: clock.now }
  const toolCallId = `call_${Math.floor(at / 4)}`
  switch (at % 4) {
    case 0:
      return { ...common, role: 'user', content: `Request ${at + 1}: please look at module ${at % 97}.` }
    case 1:
      return {
        ...common,
        role: 'assistant',
        content: [{ type: 'tool-call', toolCallId, toolName: 'read', input: { path: `src/${at % 97}.ts` } }],
      }
    case 2:
      return {
        ...common,
        role: 'tool',
        content: [
          {
            type: 'tool-result',
            toolCallId,
            toolName: 'read',
            output: { type: 'text', value: contents.source(`${at}`, at % 12) },
          },
        ],
      }
    default:
      return {
        ...common,
        role: 'assistant',
        content: `Answer ${at + 1}: the module is **fine**. ${'It adds up. '.repeat(at % 9)}`,
      }
  }
}

/** So many sessions, `session-1` the oldest, of four projects, two messages each. */
export async function makeManySessions(path: string, count: number): Promise<void> {
  const clock = new DemoClock(DEMO_START - count * MINUTE)
  await clock.during(async () => {
    const store = await openStore(path, { env: false })
    for (let at = 1; at <= count; at++) {
      clock.advance(MINUTE)
      const id = `session-${at}`
      const project = `/home/kim/project-${at % 4}`
      await store.sessions.create({
        id,
        title: `Session ${at}`,
        provider: 'openai',
        model: 'gpt-5-mini',
        metadata: { project },
      })
      await store.append(id, say(clock, `Question ${at}?`, `Answer ${at}.`))
    }
    await store.close()
  })
}
