import { compactionBlock, lastBlockOf } from '../messages/compaction-block.ts'
import { defined } from '../messages/defined.ts'
import { endsInResult, type Message, type Part, partsOf } from '../messages/message.ts'
import { checkProviderName, readMessages } from '../messages/message-check.ts'
import { type CallRef, pairToolUse, toolUseOf } from '../messages/pairing.ts'
import {
  CALL_ID_FORMS,
  canonicalProvider,
  type ProviderProfile,
  providerProfile,
  wantsUniqueIds,
} from '../tokens/providers.ts'
import { holdsEmptyText } from './contents.ts'

/** The problems of a history, as sentences for people. */
const SENTENCES = {
  UNANSWERED_CALL: 'A tool call has no result.',
  RESULT_WITHOUT_CALL: 'A tool result has no call before it.',
  DUPLICATE_RESULT: 'A tool call has a second result.',
  RESULT_NOT_AFTER_CALL: 'A tool result is not directly after the message with its call.',
  RESULT_ORDER: 'Tool results are not in the order of their calls.',
  REPEATED_CALL_ID: 'Two tool calls have the same id, which this provider refuses.',
  MALFORMED_CALL_ID: 'The id of a tool call has a form this provider refuses.',
  MISPLACED_PART: 'A message holds a part that does not belong to its role.',
  EMPTY_MESSAGE: 'A message is empty.',
  EMPTY_TEXT: 'A message holds an empty text, which this provider refuses.',
  ORPHAN_REASONING: 'A message holds reasoning and nothing else.',
  ADJACENT_SAME_ROLE: 'Two consecutive messages have the same side, which this provider refuses.',
  USER_AFTER_RESULTS:
    'A user message follows tool results without an assistant message between, which this provider refuses.',
  FIRST_NOT_USER: "The first message is not the user's, which this provider refuses.",
  SYSTEM_INSIDE: 'A system message comes after other messages, which this provider refuses.',
} as const

/** The code of a problem of a history. */
export type ProblemCode = keyof typeof SENTENCES

/** One problem of a history. Holds no text of the conversation. */
export type Problem = {
  /** For programs. */
  readonly code: ProblemCode
  /** Which message of the list. */
  readonly index: number
  /** For people. */
  readonly message: string
  readonly toolCallId?: string
}

/**
 * Returns what a provider would refuse in a history, in the order of the messages; without a provider, what
 * every provider would. Judges roles and kinds of parts, not models, sizes or media. Changes nothing and takes
 * linear time. Throws `INVALID_INPUT` for a list that holds something else than messages.
 */
export function validateHistory(messages: readonly Message[], provider?: string): Problem[] {
  return readMessages(messages, 'validateHistory', () => {
    checkProviderName(provider, 'validateHistory')
    const profile = providerProfile(provider)
    const found = [
      ...findContentProblems(messages, profile),
      ...findToolProblems(messages),
      ...findIdProblems(messages, profile),
      ...findTurnProblems(messages, profile, provider),
    ]
    return found.sort((a, b) => a.index - b.index)
  })
}

function problem(code: ProblemCode, index: number, toolCallId?: string): Problem {
  return { code, index, message: SENTENCES[code], ...defined({ toolCallId }) }
}

function findContentProblems(messages: readonly Message[], profile: ProviderProfile): Problem[] {
  const { emptyText } = profile
  return messages.flatMap((message, index) => {
    const found: Problem[] = []
    const parts = partsOf(message)
    const texts = parts.flatMap((part) => (part.type === 'text' ? [part.text] : []))
    const isBlank = (text: string): boolean => (emptyText ? text : text.trim()) === ''
    const others = parts.filter((part) => part.type !== 'text')

    if (others.every((part) => part.type === 'reasoning') && texts.every(isBlank)) {
      found.push(problem(others.length > 0 ? 'ORPHAN_REASONING' : 'EMPTY_MESSAGE', index))
    } else if (
      !emptyText &&
      (texts.includes('') || (texts.length > 0 && texts.every(isBlank)) || parts.some(holdsEmptyText))
    ) {
      found.push(problem('EMPTY_TEXT', index))
    }
    if (parts.some((part) => isMisplaced(part, message.role, profile)))
      found.push(problem('MISPLACED_PART', index))
    return found
  })
}

function isMisplaced({ type }: Part, role: Message['role'], { assistantMedia }: ProviderProfile): boolean {
  switch (role) {
    case 'assistant':
      return !assistantMedia && (type === 'image' || type === 'file')
    case 'tool':
      return type !== 'tool-result' && type !== 'provider'
    case 'user':
      return type === 'tool-call' || type === 'reasoning'
    case 'system':
      return type === 'tool-call' || type === 'reasoning' || type === 'tool-result'
  }
}

function findToolProblems(messages: readonly Message[]): Problem[] {
  const { pairs, unanswered, orphans } = pairToolUse(messages.map((message) => toolUseOf(partsOf(message))))
  const found = [
    ...unanswered.map((call) => problem('UNANSWERED_CALL', call.row, call.id)),
    ...orphans.map(({ result, duplicateOf }) =>
      problem(duplicateOf === undefined ? 'RESULT_WITHOUT_CALL' : 'DUPLICATE_RESULT', result.row, result.id),
    ),
  ]
  const runs = findResultRuns(messages)
  const lastAnswered = new Map<number, number>()
  for (const { call, result } of pairs) {
    if (isInside(messages, call, result)) continue
    const run = runs[result.row]
    if (run === undefined || run.after !== call.row || result.part >= run.leading) {
      found.push(problem('RESULT_NOT_AFTER_CALL', result.row, result.id))
    } else if (call.part < (lastAnswered.get(call.row) ?? -1)) {
      found.push(problem('RESULT_ORDER', result.row, result.id))
    } else {
      lastAnswered.set(call.row, call.part)
    }
  }
  return found
}

/** Whether call and result are in one assistant message, as with tools that a provider runs itself. */
function isInside(messages: readonly Message[], call: CallRef, result: CallRef): boolean {
  const message = messages[call.row]
  if (message === undefined || call.row !== result.row || message.role !== 'assistant') return false
  const part = partsOf(message)[call.part]
  return part?.type === 'tool-call' && part.providerExecuted === true
}

/** For a message that begins with results: how many parts they take, and the message the run of results follows. */
type ResultRun = { readonly after: number; readonly leading: number }

function findResultRuns(messages: readonly Message[]): (ResultRun | undefined)[] {
  const runs: (ResultRun | undefined)[] = []
  let end = -1
  let unbroken = false
  for (const [index, { role, content }] of messages.entries()) {
    const parts = partsOf({ content })
    const goesAlong = (part: Part): boolean =>
      part.type === 'tool-result' || (part.type === 'provider' && role === 'tool')
    const firstOther = parts.findIndex((part) => !goesAlong(part))
    const leading = firstOther === -1 ? parts.length : firstOther
    const hasResults = parts.some((part, place) => place < leading && part.type === 'tool-result')
    const begins = hasResults && (role === 'tool' || role === 'user')

    if (!(begins && unbroken)) end = index - 1
    runs.push(begins ? { after: end, leading } : undefined)
    unbroken = begins && leading === parts.length
  }
  return runs
}

function findIdProblems(messages: readonly Message[], { callIds }: ProviderProfile): Problem[] {
  if (callIds === 'any') return []
  const form = CALL_ID_FORMS[callIds]
  const seen = new Set<string>()
  const found: Problem[] = []
  for (const [index, message] of messages.entries()) {
    for (const part of partsOf(message)) {
      if (part.type !== 'tool-call') continue
      const { toolCallId } = part
      if (!form.test(toolCallId)) found.push(problem('MALFORMED_CALL_ID', index, toolCallId))
      if (wantsUniqueIds(callIds) && seen.has(toolCallId))
        found.push(problem('REPEATED_CALL_ID', index, toolCallId))
      seen.add(toolCallId)
    }
  }
  return found
}

/** Whether a message holds the provider's own compaction block, which it accepts as the first message. */
function holdsBlock({ content }: Message, provider: string | undefined): boolean {
  const last = lastBlockOf(content)
  if (last === undefined || provider === undefined) return false
  return compactionBlock((content as readonly Part[])[last])!.provider === canonicalProvider(provider)
}

function findTurnProblems(
  messages: readonly Message[],
  profile: ProviderProfile,
  provider: string | undefined,
): Problem[] {
  const found: Problem[] = []
  const head = messages.findIndex(({ role }) => role !== 'system')
  if (
    profile.firstMustBeUser &&
    messages[head]?.role === 'assistant' &&
    !holdsBlock(messages[head], provider)
  )
    found.push(problem('FIRST_NOT_USER', head))

  for (const [index, message] of messages.entries()) {
    const before = messages[index - 1]
    if (message.role === 'system') {
      if (!profile.systemInside && head !== -1 && index > head) found.push(problem('SYSTEM_INSIDE', index))
      continue
    }
    if (!profile.strictAlternation) continue
    const [first, last] = sidesOf(message, profile)
    const lastBefore =
      before === undefined || before.role === 'system' ? undefined : sidesOf(before, profile)[1]
    // Where results are a side of their own, each may be a message.
    if (lastBefore === first && first !== 'results') found.push(problem('ADJACENT_SAME_ROLE', index))
    const afterResults =
      lastBefore === 'results' ||
      (lastBefore === 'assistant' && !profile.userAfterResults && endsInResult(partsOf(before!)))
    if ((afterResults && first === 'user') || (first === 'results' && last === 'user')) {
      found.push(problem('USER_AFTER_RESULTS', index))
    }
  }
  return found
}

type Side = 'assistant' | 'user' | 'results'

/** The side of the first and the last part. Results are a side only where a user message cannot follow them. */
function sidesOf(
  message: Message,
  { userAfterResults }: ProviderProfile,
): readonly [first: Side, last: Side] {
  if (message.role === 'assistant') return ['assistant', 'assistant']
  if (userAfterResults) return ['user', 'user']
  if (message.role === 'tool') return ['results', 'results']
  const parts = partsOf(message)
  const hasResults = parts.some((part) => part.type === 'tool-result')
  const hasWords = parts.some((part) => part.type !== 'tool-result')
  return [hasResults ? 'results' : 'user', hasWords || !hasResults ? 'user' : 'results']
}
