import { type ChatMessage, type JsonObject, type NewMessage, openStore } from 'undertext'
import type { Conversation } from './conversations.ts'
import { identifiersOf, Words } from './identifiers.ts'
import { isComplete, keptIn, LOOK_AHEAD } from './measure.ts'
import { textOf, wordsOfAssistant } from './parts.ts'
import { aligned } from './table.ts'
import { newestWindow, tokensOf } from './window.ts'

/*
 * What a store still shows late in a long life. One conversation is lived again and again, each time with
 * other names for its files and code, so that what is older is in the way and little of it is needed. A turn
 * is a request of the user with all that follows it: the coding session has 58 in 962 messages, so 1,100
 * turns are 19 of it. The store compacts whenever it reports that this is due: by its default settings, and by settings that use the
 * window. The default settings reserve 35 % of it for the answer, and reduce the rest to 40 %.
 */

const TURNS = 1_100
const WINDOW = 64_000
const PLACES = 20
const ID = 'life'
const PROVIDER = 'anthropic'
/** Messages before a place that may be in a window: many times what 64,000 tokens hold. */
const MOST_IN_WINDOW = 2_000

const SETTINGS: readonly JsonObject[] = [{}, { maxOutputTokens: 8_000, target: 0.95, threshold: 1 }]

/** At one place, the identifiers needed next, and how many of them the view and a window of its size show. */
type Found = {
  readonly used: number
  readonly kept: number
  readonly keptByWindow: number
  readonly tokens: number
}

/** Lets stores with several settings live through a conversation, and returns what their views kept. */
export async function longLife(conversation: Conversation): Promise<string> {
  const tables: string[] = []
  for (const config of SETTINGS) tables.push(`${JSON.stringify(config)}: ${await live(conversation, config)}`)
  return tables.join('\n')
}

async function live({ messages: once }: Conversation, config: JsonObject): Promise<string> {
  const messages = lived(once)
  const requests = messages.flatMap(({ role }, at) =>
    role === 'assistant' && at > 0 && isComplete(messages, at) ? [at] : [],
  )
  const later = requests.filter((at) => at >= messages.length / 2 && at + LOOK_AHEAD <= messages.length)
  const late = Array.from({ length: PLACES }, (_, i) => later[Math.floor((i * later.length) / PLACES)]!)
  // Where the store is young and the conversation just as far, nothing but the age differs.
  const early = late.map((at) => once.length + (at % once.length))
  const found = new Map<number, Found>()
  const known: Words[] = []
  let [appended, searched, compactions, compacting] = [0, 0, 0, 0]
  const start = performance.now()
  const store = await openStore(':memory:', { env: false, contextWindows: { [PROVIDER]: WINDOW } })
  try {
    await store.sessions.create({ id: ID, provider: PROVIDER, config })
    for (const at of requests) {
      await store.append(ID, messages.slice(appended, at) as NewMessage[])
      appended = at
      if (await store.needsCompaction(ID)) {
        const before = performance.now()
        const run = await store.compactSession(ID)
        compacting += performance.now() - before
        if (run?.compacted) compactions += 1
      }
      if (!early.includes(at) && !late.includes(at)) continue
      known.push(new Words(textOf(messages.slice(searched, at))))
      searched = at
      const used = identifiersOf(wordsOfAssistant(messages.slice(at, at + LOOK_AHEAD)))
      const wanted = [...used].filter((identifier) => known.some((words) => words.has(identifier)))
      const view = (await store.getEffectiveHistory(ID)) as readonly ChatMessage[]
      const tokens = tokensOf(view)
      const window = newestWindow(messages.slice(Math.max(0, at - MOST_IN_WINDOW), at), tokens)
      const [kept, keptByWindow] = [keptIn(view, wanted), keptIn(window, wanted)]
      found.set(at, { used: wanted.length, kept, keptByWindow, tokens })
    }
  } finally {
    await store.close()
  }
  const seconds = (milliseconds: number) => `${(milliseconds / 1_000).toFixed(1)} s`
  const turns = messages.filter(({ role }) => role === 'user').length
  const at = (places: readonly number[]) => places.map((place) => found.get(place)!)
  const table = aligned([
    ['places', 'identifiers', 'tokens of a view', 'kept', 'kept by the window', 'loss'],
    rowOf(`${PLACES} in the second half`, at(late)),
    rowOf('the same in the second repetition', at(early)),
  ])
  const times = `in ${seconds(compacting)}, ${seconds(performance.now() - start)} with reading and measuring`
  return `${turns} turns, ${messages.length} messages, ${compactions} compactions ${times}\n${table}`
}

function rowOf(label: string, found: readonly Found[]): string[] {
  const sum = (of: (one: Found) => number) => found.reduce((total, one) => total + of(one), 0)
  const used = sum((one) => one.used)
  const kept = sum((one) => one.kept)
  const keptByWindow = sum((one) => one.keptByWindow)
  const shares = [kept / used, keptByWindow / used, (used - kept) / (used - keptByWindow)]
  const tokens = sum((one) => one.tokens) / found.length
  return [label, String(used), tokens.toFixed(0), ...shares.map((share) => share.toFixed(3))]
}

/** A conversation repeated until it has all turns, with other names in each repetition. */
function lived(messages: readonly ChatMessage[]): readonly ChatMessage[] {
  const turns = messages.filter(({ role }) => role === 'user').length
  return Array.from({ length: Math.ceil(TURNS / turns) }, (_, i) => renamed(messages, i + 1)).flat()
}

/** Base names of files, and names of code in camelCase and PascalCase. */
const NAME =
  /[\w-]+(?=\.(?:[cm]?[jt]sx?|jsonl?|md|sh|html|css)\b)|\b[a-z]+\d*[A-Z]\w*\b|\b[A-Z]+[a-z\d]+[A-Z]\w*\b/g

/** A value with a number after each name and each id of a call in its texts. */
function renamed<T>(value: T, repetition: number): T {
  if (typeof value === 'string') return value.replace(NAME, `$&${repetition}`) as T
  if (Array.isArray(value)) return value.map((one) => renamed(one, repetition)) as T
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([field, inner]) => {
      if (field === 'toolCallId') return [field, `${inner}-${repetition}`]
      const isPlain = field === 'role' || field === 'type' || field === 'toolName'
      return [field, isPlain ? inner : renamed(inner, repetition)]
    }),
  ) as T
}
