import { CHAT_MAX, MAX_ARGUMENTS_LENGTH } from './limits.ts'
import { CLAUDE, EVERY_FORM, OPENAI_HOSTS, type Report, type Rule } from './rule.ts'
import { isObject, type Plain } from './snapshot.ts'
import { type BlockOf, blocksOf, type Form, type Request, type Turn } from './wire.ts'

/* Rules about tool calls and their results. */

/** Returns the allowed characters and length of ids; `undefined` for forms whose ids are free. */
function idForm(
  form: Form,
  provider: string,
): { readonly form: RegExp; readonly description: string } | undefined {
  if (form === 'messages' || (form === 'sdk' && provider === 'anthropic'))
    return { form: /^[a-zA-Z0-9_-]+$/, description: 'letters, digits, _ and -' }
  if (form === 'converse' || (form === 'sdk' && provider === 'bedrock'))
    return { form: /^[a-zA-Z0-9_-]{1,64}$/, description: '1 to 64 letters, digits, _ and -' }
  if (form === 'responses') return { form: /^[\s\S]{1,64}$/, description: '1 to 64 characters' }
  if (form === 'chat' && provider === 'mistral')
    return { form: /^[a-zA-Z0-9]{9}$/, description: '9 letters and digits' }
  if (form === 'chat' && OPENAI_HOSTS.includes(provider))
    return { form: /^[\s\S]{1,40}$/, description: '1 to 40 characters' }
  return form === 'chat' ? { form: /^[\s\S]+$/, description: 'at least one character' } : undefined
}

/** Returns the pattern for names of tools. Gemini also accepts dots and colons. */
function nameForm(form: Form, provider: string): RegExp {
  if (form === 'gemini' || (form === 'sdk' && provider === 'google-ai'))
    return /^[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}$/
  if (form === 'converse' || (form === 'sdk' && provider === 'bedrock')) return /^[a-zA-Z0-9_-]{1,64}$/
  return /^[a-zA-Z0-9_-]{1,200}$/
}

function isObjectText(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
  } catch {
    return false
  }
}

function kindOf(value: Plain | undefined): string {
  if (value === undefined) return 'nothing'
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'an array'
  return `a ${typeof value}`
}

/** Checks calls of Anthropic's own tools and their results, in one message; a paused turn may end in a call. */
function checkOwnTools({ turns }: Request, report: Report): void {
  const called = new Set<string>()
  for (const [at, { blocks, role }] of turns.entries()) {
    if (role !== 'assistant') continue
    const waiting = new Map<string, string>()
    for (const block of blocks) {
      if (block.kind === 'own-call' && typeof block.id === 'string') {
        called.add(block.id)
        waiting.set(block.id, block.path)
      } else if (block.kind === 'own-result') {
        if (typeof block.id === 'string' && called.has(block.id)) waiting.delete(block.id)
        else report(block.path, 'a result without a call before it')
      }
    }
    // A program that the provider runs waits for the application's tools, and its result comes in a later answer.
    const waits = at === turns.length - 1 || blocks.some(({ kind }) => kind === 'call')
    if (!waits)
      for (const path of waiting.values()) report(path, 'a call without a result in the same message')
  }
}

function isResultTurn({ blocks }: Turn): boolean {
  return blocks.some(({ kind }) => kind === 'result')
}

export const CALL_RULES: readonly Rule[] = [
  {
    id: 'call-unanswered',
    scopes: EVERY_FORM,
    description:
      'Every call has its result where the API expects it: in the next message, or (Responses) anywhere after it.',
    check: (request, report) => {
      for (const call of pairedCalls(request).unanswered) report(call.path, 'a call without a result')
    },
  },
  {
    id: 'result-without-call',
    scopes: EVERY_FORM,
    description: 'Every result has its call: directly before it, or (Responses) anywhere before it.',
    check: (request, report) => {
      for (const { path } of pairedCalls(request).orphans) report(path, 'a result without a call')
    },
  },
  {
    id: 'result-twice',
    scopes: EVERY_FORM,
    description: 'Every call has only one result.',
    check: (request, report) => {
      for (const { path } of pairedCalls(request).repeated) report(path, 'a second result for the same call')
    },
  },
  {
    id: 'results-first',
    scopes: ['messages', 'converse'],
    description: 'In a user message with results, the results come first.',
    check: ({ turns }, report) => {
      for (const { blocks, role } of turns) {
        if (role !== 'user') continue
        let others = false
        for (const { kind, path } of blocks)
          if (kind !== 'result') others ||= kind !== 'other'
          else if (others) report(path, 'a result after other content')
      }
    },
  },
  {
    id: 'result-order',
    scopes: ['gemini'],
    description: 'Results without ids are in the order of their calls and have the same names.',
    check: ({ turns }, report) => {
      for (const [i, turn] of turns.entries()) {
        if (!isResultTurn(turn)) continue
        const calls = (turns[i - 1]?.blocks ?? []).filter((block) => block.kind === 'call')
        const results = turn.blocks.filter((block) => block.kind === 'result')
        const wrong = results.find(
          ({ id, name }, at) => id === undefined && calls[at] !== undefined && calls[at].name !== name,
        )
        if (wrong !== undefined) report(wrong.path, 'a result with a different name than its call')
      }
    },
  },
  {
    id: 'call-id-form',
    scopes: [...CLAUDE, 'chat', 'responses'],
    description:
      'Call ids have the form that the provider requires. Messages: letters, digits, `_` and `-`; Converse: the same, at most 64; Mistral: 9 letters and digits; OpenAI: at most 40 characters; Responses API: at most 64.',
    check: (request, report) => {
      const rule = idForm(request.form, request.provider)
      if (rule === undefined) return
      for (const { id, path, isOld } of blocksOf(request, 'call'))
        if (isOld !== true && !(typeof id === 'string' && rule.form.test(id)))
          report(path, `the id must consist of ${rule.description}`)
    },
  },
  {
    id: 'call-id-twice',
    scopes: [...CLAUDE, 'chat: mistral'],
    description: 'No two calls of a request have the same id.',
    check: (request, report) => {
      const seen = new Set<Plain>()
      for (const { id, path } of blocksOf(request, 'call')) {
        if (id === undefined) continue
        if (seen.has(id)) report(path, 'the same id as an earlier call')
        seen.add(id)
      }
    },
  },
  {
    id: 'call-name',
    scopes: EVERY_FORM,
    description:
      'Tool names in calls consist of letters, digits, `_` and `-` (Gemini: also dots and colons): at most 64 for Bedrock, 128 for Gemini, 200 elsewhere.',
    check: (request, report) => {
      const form = nameForm(request.form, request.provider)
      for (const { name, path } of blocksOf(request, 'call'))
        if (!(typeof name === 'string' && form.test(name))) report(path, 'an invalid tool name')
    },
  },
  {
    id: 'input-object',
    scopes: [...CLAUDE, 'gemini', 'sdk: google-ai'],
    description: 'The input of a call is an object.',
    check: (request, report) => {
      for (const { input, path } of blocksOf(request, 'call'))
        if (input !== undefined && !isObject(input)) report(path, `the input is ${kindOf(input)}`)
    },
  },
  {
    id: 'arguments-json',
    scopes: ['chat', 'responses'],
    description: 'The arguments of a call are a string with a JSON object.',
    check: (request, report) => {
      for (const { json, path } of blocksOf(request, 'call')) {
        if (json === undefined) continue
        if (typeof json !== 'string') report(path, `the arguments are ${kindOf(json)}`)
        else if (!isObjectText(json)) report(path, "the arguments aren't a JSON object")
      }
    },
  },
  {
    id: 'arguments-length',
    scopes: ['chat: openai azure', 'responses'],
    description: 'The arguments of a call have at most 1,048,576 characters.',
    check: (request, report) => {
      for (const { json, path } of blocksOf(request, 'call'))
        if (typeof json === 'string' && json.length > MAX_ARGUMENTS_LENGTH)
          report(path, `${json.length} characters; at most ${MAX_ARGUMENTS_LENGTH} are allowed`)
    },
  },
  {
    id: 'own-tools',
    scopes: ['messages'],
    description:
      'Results of server tools have their call before them, and calls of server tools have their result.',
    check: checkOwnTools,
  },
  {
    id: 'tools-missing',
    scopes: ['converse'],
    description: 'A request with calls or results defines tools.',
    check: ({ hasTools, turns }, report) => {
      if (hasTools) return
      const found = turns
        .flatMap(({ blocks }) => blocks)
        .find(({ kind }) => kind === 'call' || kind === 'result')
      if (found !== undefined) report(found.path, 'a call or a result in a request without toolConfig')
    },
  },
  {
    id: 'empty-failure',
    scopes: ['messages'],
    description: "The result of a failed tool call isn't empty.",
    check: (request, report) => {
      for (const { blocks, path, raw } of blocksOf(request, 'result'))
        if (raw.is_error === true && blocks.every(isEmptyText)) report(path, 'an empty result with is_error')
    },
  },
  {
    id: 'failure-text',
    scopes: ['messages'],
    description: 'The result of a failed tool call contains only text.',
    check: (request, report) => {
      for (const { blocks, path, raw } of blocksOf(request, 'result'))
        if (raw.is_error === true && blocks.some(({ kind }) => kind !== 'text'))
          report(path, 'content other than text in a result with is_error')
    },
  },
  {
    id: 'result-name',
    scopes: ['gemini'],
    description: 'Every result has a valid tool name.',
    check: (request, report) => {
      const form = nameForm(request.form, request.provider)
      for (const { name, path } of blocksOf(request, 'result'))
        if (!(typeof name === 'string' && form.test(name))) report(path, 'a result without a valid tool name')
    },
  },
  {
    id: 'call-count',
    scopes: ['chat: openai azure'],
    description: 'A message has at most 128 calls.',
    check: ({ turns }, report) => {
      for (const { blocks, path } of turns) {
        const calls = blocks.filter(({ kind }) => kind === 'call').length
        if (calls > CHAT_MAX.calls) report(path, `${calls} calls; at most ${CHAT_MAX.calls} are allowed`)
      }
    },
  },
]

function isEmptyText(block: { readonly kind: string; readonly text?: unknown }): boolean {
  return block.kind === 'text' && block.text === ''
}

/** The calls and results of a request that don't belong together. */
type Pairs = {
  readonly unanswered: readonly BlockOf<'call'>[]
  readonly orphans: readonly BlockOf<'result'>[]
  readonly repeated: readonly BlockOf<'result'>[]
}

function pairedCalls(request: Request): Pairs {
  return request.form === 'responses' ? pairedAnywhere(request.turns) : pairedNext(request)
}

type Side = { role: string; calls: BlockOf<'call'>[]; results: BlockOf<'result'>[]; own: Set<Plain> }

/** Returns groups of turns that an API reads as one: turns of the same role in Anthropic's API, consecutive tool messages elsewhere. */
function sidesOf({ form, turns }: Request): Side[] {
  const joinsAll = form === 'messages' || form === 'converse'
  const sides: Side[] = []
  for (const { role, blocks } of turns) {
    const side = role === 'function' && form === 'chat' ? 'tool' : role
    const last = sides.at(-1)
    const joins = last?.role === side && (joinsAll || side === 'tool')
    const into: Side = joins ? last : { role: side, calls: [], results: [], own: new Set() }
    if (!joins) sides.push(into)
    for (const block of blocks) {
      if (block.kind === 'call') into.calls.push(block)
      if (block.kind === 'result') into.results.push(block)
      // The AI SDK puts results of provider-run tools into the answer.
      if (block.kind === 'own-call' && block.id !== undefined) into.own.add(block.id)
    }
  }
  return sides
}

/** Pairs each result with a call of the message directly before it. Gemini's results need no ids: they are paired by number. */
function pairedNext(request: Request): Pairs {
  const pairs = {
    unanswered: [] as BlockOf<'call'>[],
    orphans: [] as BlockOf<'result'>[],
    repeated: [] as BlockOf<'result'>[],
  }
  const sides = sidesOf(request)
  const isGemini = request.form === 'gemini'
  /** Ids of calls of the provider's own tools, whose results may come in the answer or after it. */
  const own = new Set<Plain>()
  for (const [i, side] of sides.entries()) {
    for (const id of side.own) own.add(id)
    const before = sides[i - 1]
    const calls = before?.calls ?? []
    if (isGemini && side.results.every(({ id }) => id === undefined)) {
      for (const orphan of side.results.slice(calls.length)) pairs.orphans.push(orphan)
      for (const call of calls.slice(side.results.length)) pairs.unanswered.push(call)
      continue
    }
    const open = new Map<Plain | undefined, number>()
    for (const { id } of calls) open.set(id, (open.get(id) ?? 0) + 1)
    for (const result of side.results) {
      const left = open.get(result.id)
      if (left === undefined) {
        if (!own.has(result.id ?? null)) pairs.orphans.push(result)
      } else if (left === 0) pairs.repeated.push(result)
      else open.set(result.id, left - 1)
    }
    for (const call of calls.toReversed()) {
      const left = open.get(call.id) ?? 0
      if (left === 0) continue
      open.set(call.id, left - 1)
      pairs.unanswered.push(call)
    }
  }
  for (const call of sides.at(-1)?.calls ?? []) pairs.unanswered.push(call)
  return pairs
}

/** Pairs each result with any earlier call. */
function pairedAnywhere(turns: readonly Turn[]): Pairs {
  const open = new Map<Plain | undefined, BlockOf<'call'>[]>()
  const orphans: BlockOf<'result'>[] = []
  const repeated: BlockOf<'result'>[] = []
  for (const { blocks } of turns)
    for (const block of blocks) {
      if (block.kind === 'call') {
        const calls = open.get(block.id)
        if (calls === undefined) open.set(block.id, [block])
        else calls.push(block)
      } else if (block.kind === 'result') {
        const calls = open.get(block.id)
        if (calls === undefined) orphans.push(block)
        else if (calls.pop() === undefined) repeated.push(block)
      }
    }
  return { unanswered: [...open.values()].flat(), orphans, repeated }
}
