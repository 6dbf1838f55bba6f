import { CLAUDE, EVERY_FORM, type Rule } from './rule.ts'
import { allBlocks, type Block, blocksOf, type Request, type Turn, textField } from './wire.ts'

/* Rules about reasoning, ids that a provider assigned, and cache marks. */

/** Returns whether a text is complete base64 in either alphabet: a text that was cut has another length. */
function isWholeBase64(text: string): boolean {
  return text.length % 4 === 0 && /^[A-Za-z0-9+/_-]+={0,2}$/.test(text)
}

/** Returns whether the request is to a model that signs its reasoning. Other models on Bedrock don't. */
function isClaude({ form, model }: Request): boolean {
  return form !== 'converse' || model === undefined || /claude|anthropic/i.test(model)
}

/** Returns the blocks of an assistant message that the API reads as content. */
function contentOf({ blocks }: Turn): readonly Block[] {
  return blocks.filter(({ kind }) => kind !== 'other')
}

function isTool({ kind }: Block): boolean {
  return kind === 'call' || kind === 'own-call' || kind === 'own-result' || kind === 'result'
}

const THINKING_TYPES = new Set(['thinking', 'redacted_thinking'])

/** The prefixes of ids, by the type of their item. */
const PREFIXES: ReadonlyMap<string, readonly string[]> = new Map([
  ['message', ['msg']],
  ['reasoning', ['rs']],
  ['function_call', ['fc']],
])

export const REASONING_RULES: readonly Rule[] = [
  {
    id: 'thinking-signed',
    scopes: ['messages', 'converse'],
    description: 'A thinking block has its text and its complete base64 signature.',
    check: (request, report) => {
      if (!isClaude(request)) return
      for (const { path, raw, signature } of blocksOf(request, 'thinking')) {
        if (typeof signature === 'object' && signature !== null) continue
        if (typeof signature !== 'string' || signature === '') report(path, 'thinking without a signature')
        else if (!isWholeBase64(signature)) report(path, "a signature that isn't complete base64")
        else if (raw.type === 'thinking' && typeof raw.thinking !== 'string')
          report(path, 'thinking without text')
      }
    },
  },
  {
    id: 'thinking-last',
    scopes: CLAUDE,
    description: "The last block of an assistant message isn't thinking.",
    check: ({ turns }, report) => {
      for (const turn of turns) {
        const last = turn.role === 'assistant' ? contentOf(turn).at(-1) : undefined
        if (last?.kind === 'thinking') report(last.path, 'thinking at the end of a message')
      }
    },
  },
  {
    id: 'thinking-one-response',
    scopes: CLAUDE,
    description:
      'A message has the signed thinking of only one response: no two adjacent thinking blocks, no thinking after text without a tool between them, and no thinking in two messages that the API joins.',
    check: (request, report) => {
      let before: Block | undefined
      let hasThinking = false
      for (const [i, turn] of request.turns.entries()) {
        if (turn.role !== 'assistant') continue
        const joins = request.turns[i - 1]?.role === 'assistant'
        if (!joins) {
          before = undefined
          hasThinking = false
        }
        let isNew = joins
        for (const block of contentOf(turn)) {
          if (block.kind === 'thinking') {
            const isPair = before?.kind === 'thinking' && before.isPlain && block.isPlain
            const isLate = before !== undefined && before.kind !== 'thinking' && !isTool(before)
            if (hasThinking && (isPair || isLate || isNew)) report(block.path, 'thinking of another response')
            hasThinking = true
          } else if (isTool(block)) isNew = false
          before = block
        }
      }
    },
  },
  {
    id: 'thinking-leads',
    scopes: ['messages', 'converse'],
    description:
      'In a message with calls, thinking comes first; if `thinking` is enabled, the last message before results begins with it.',
    check: ({ body, turns }, report) => {
      for (const turn of turns) {
        if (turn.role !== 'assistant') continue
        const blocks = contentOf(turn).filter(({ kind }) => kind !== 'compaction')
        const first = blocks.findIndex(({ kind }) => kind === 'thinking')
        if (first > 0 && !blocks.slice(0, first).some(isTool) && blocks.some(({ kind }) => kind === 'call'))
          report(blocks[first]!.path, 'thinking after other content, in a message with calls')
      }
      const { thinking } = body
      const isEnabled =
        typeof thinking === 'object' && thinking !== null && 'type' in thinking && thinking.type === 'enabled'
      if (!isEnabled) return
      const last = turns.findLast(({ role }) => role === 'assistant')
      const blocks = last === undefined ? [] : contentOf(last)
      if (blocks.some(({ kind }) => kind === 'call') && blocks[0]?.kind !== 'thinking')
        report(
          blocks[0]!.path,
          "a message with calls that doesn't begin with thinking, although thinking is enabled",
        )
    },
  },
  {
    id: 'foreign-block',
    scopes: EVERY_FORM,
    description:
      'Every block has a type that the API knows; thinking of another provider, for example, is unknown.',
    check: (request, report) => {
      for (const block of allBlocks(request))
        if (block.kind === 'unknown') report(block.path, "a type that the API doesn't know")
    },
  },
  {
    id: 'reasoning-followed',
    scopes: ['responses'],
    description: 'A reasoning item is followed by the item of its answer or call.',
    check: ({ turns }, report) => {
      let waiting: string[] = []
      for (const { blocks, path, role } of turns) {
        if (blocks[0]?.kind === 'thinking') waiting.push(path)
        else {
          if (role !== 'assistant')
            for (const at of waiting) report(at, 'reasoning without the item that follows it')
          waiting = []
        }
      }
      for (const at of waiting) report(at, 'reasoning without the item that follows it')
    },
  },
  {
    id: 'reasoning-whole',
    scopes: ['responses'],
    description: 'A reasoning item has a summary, and its encrypted content is unchanged base64.',
    check: ({ turns }, report) => {
      for (const { blocks, path, raw } of turns) {
        const block = blocks[0]
        if (block?.kind !== 'thinking') continue
        if (!Array.isArray(raw.summary)) report(path, 'reasoning without a summary array')
        const { signature } = block
        if (typeof signature === 'string' ? !/^[A-Za-z0-9+/_=-]*$/.test(signature) : signature != null)
          report(path, "encrypted content that isn't base64")
      }
    },
  },
  {
    id: 'item-not-stored',
    scopes: ['responses'],
    description:
      'A request with `store: false` has the encrypted content of each reasoning item, and no item references.',
    check: ({ body, turns }, report) => {
      if (body.store !== false) return
      for (const { blocks, path, raw } of turns) {
        const [block] = blocks
        if (raw.type === 'item_reference') report(path, "a reference to an item that isn't stored")
        else if (block?.kind === 'thinking' && raw.id != null && !block.signature)
          report(path, "a reasoning item that isn't stored, without its encrypted content")
      }
    },
  },
  {
    id: 'reasoning-missing',
    scopes: ['chat: deepseek'],
    description:
      'If the model thinks (`thinking` is enabled, or deepseek-reasoner), a message with calls has its `reasoning_content`.',
    check: ({ body, model, turns }, report) => {
      const { thinking } = body
      const thinks =
        typeof thinking === 'object' && thinking !== null && 'type' in thinking
          ? thinking.type === 'enabled'
          : model !== undefined && /reasoner/i.test(model)
      if (!thinks) return
      // The older models only require the reasoning of the current turn.
      const words = turns.findLastIndex(({ role }) => role === 'user')
      for (const { blocks, path, raw } of turns.slice(words + 1))
        if (blocks.some(({ kind }) => kind === 'call') && typeof raw.reasoning_content !== 'string')
          report(path, 'a message with calls but without reasoning_content')
    },
  },
  {
    id: 'thought-signature',
    scopes: ['gemini'],
    description: 'Thought signatures are complete base64.',
    check: ({ turns }, report) => {
      for (const { blocks } of turns)
        for (const { path, raw } of blocks) {
          const signature = raw.thoughtSignature ?? raw.thought_signature
          if (signature === undefined || signature === null) continue
          if (
            typeof signature !== 'string' ||
            !/^[A-Za-z0-9+/_-]+={0,2}$/.test(signature) ||
            unpadded(signature) % 4 === 1
          )
            report(path, "a signature that isn't complete base64")
        }
    },
  },
  {
    id: 'thought-signature-missing',
    scopes: ['gemini'],
    description:
      "For Gemini 3 and later, the first call of every answer since the user's last message has its thought signature.",
    check: ({ model, turns }, report) => {
      if (model === undefined || !/gemini-(?:[3-9]|\d\d)/i.test(model)) return
      const words = turns.findLastIndex(
        ({ blocks, role }) => role === 'user' && !blocks.some(({ kind }) => kind === 'result'),
      )
      for (const { blocks, role } of turns.slice(words + 1)) {
        const first = role === 'model' ? blocks.find(({ kind }) => kind === 'call') : undefined
        if (first !== undefined && !(first.raw.thoughtSignature ?? first.raw.thought_signature))
          report(first.path, 'a call without its thought signature')
      }
    },
  },
  {
    id: 'numbered-once',
    scopes: [...CLAUDE, 'responses', 'gemini', 'sdk: google-ai openai azure'],
    description: 'Item ids, signatures, thought signatures and encrypted reasoning are sent only once.',
    check: ({ assignedIds }, report) => {
      const seen = new Set<string>()
      for (const { path, what, value } of assignedIds) {
        const key = `${what} ${value}`
        if (seen.has(key)) report(path, `the same ${what} as earlier in the request`)
        seen.add(key)
      }
    },
  },
  {
    id: 'item-id',
    scopes: ['responses'],
    description:
      'Item ids consist of at most 64 letters, digits, `_` and `-`, and begin with the prefix of their type (`msg`, `rs`, `fc`).',
    check: ({ turns }, report) => {
      for (const { path, raw, role } of turns) {
        const { id } = raw
        if (id === undefined || id === null) continue
        const type = textField(raw.type ?? 'message')
        const prefixes = type === 'message' && role !== 'assistant' ? undefined : PREFIXES.get(type)
        if (typeof id !== 'string' || !/^[A-Za-z0-9_-]{1,64}$/.test(id)) report(path, 'an invalid id')
        else if (prefixes?.some((prefix) => id.startsWith(prefix)) === false)
          report(path, "the id doesn't begin with the prefix of its type")
      }
    },
  },
  {
    id: 'cache-marks',
    scopes: CLAUDE,
    description: 'The tools, the system prompt and the messages together have at most four cache marks.',
    check: ({ marks }, report) => {
      if (marks.length > 4) report(marks[4]!.path, `${marks.length} cache marks; at most four are allowed`)
    },
  },
  {
    id: 'cache-mark-place',
    scopes: ['messages', 'converse'],
    description:
      "No thinking block has a cache mark; in Converse, a `cachePoint` follows other content, but no document that isn't a PDF.",
    check: ({ form, marks, turns }, report) => {
      for (const { on, path } of marks) if (THINKING_TYPES.has(on)) report(path, 'a cache mark on thinking')
      if (form !== 'converse') return
      for (const { blocks } of turns)
        for (const [i, { kind, path, raw }] of blocks.entries()) {
          if (kind !== 'other' || raw.cachePoint === undefined) continue
          const before = blocks[i - 1]
          const isDocument = before?.kind === 'media' && before.media.kind === 'file'
          if (before === undefined) report(path, 'a cachePoint without content before it')
          else if (isDocument && before.media.type !== 'document/pdf')
            report(path, "a cachePoint after a document that isn't a PDF")
        }
    },
  },
]

function unpadded(text: string): number {
  return text.length - (text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0)
}
