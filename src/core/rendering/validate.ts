import { type CallRef, pairToolUse, toolUseOf } from '../messages/call-results.ts'
import { compactionBlock, lastBlockOf } from '../messages/compaction-block.ts'
import { defined } from '../messages/json.ts'
import { endsInResult, isReasoning, type Message, type Part, partsOf, textsOf } from '../messages/message.ts'
import { checkProviderName, readMessages } from '../messages/message-check.ts'
import {
  CALL_ID_FORMS,
  canonicalProvider,
  type ProviderProfile,
  providerProfile,
  wantsUniqueIds,
} from '../tokens/providers.ts'
import { holdsEmptyText } from './contents.ts'
import { draftOf, type Mend, type MendKind } from './draft.ts'
import { markableRows, mendParts } from './parts.ts'
import { settleEnds } from './reasoning.ts'
import { withoutPartedUse } from './repair-tool-use.ts'
import { withJoinedCalls } from './streamed-calls.ts'

/** The problems of a history, as sentences for people. */
const SENTENCES = {
  UNANSWERED_CALL: 'A tool call has no result.',
  RESULT_WITHOUT_CALL: 'A tool result has no call before it.',
  DUPLICATE_RESULT: 'A tool call has a second result.',
  RESULT_NOT_AFTER_CALL: "A tool result doesn't directly follow the message with its call.",
  RESULT_ORDER: "Tool results aren't in the order of their calls.",
  REPEATED_CALL_ID: 'Two tool calls have the same id, which this provider rejects.',
  MALFORMED_CALL_ID: 'The id of a tool call has a form that this provider rejects.',
  MISPLACED_PART: "A message contains a part that its role doesn't allow.",
  EMPTY_MESSAGE: 'A message is empty.',
  EMPTY_TEXT: 'A message contains an empty text, which this provider rejects.',
  ORPHAN_REASONING: 'A message contains only reasoning.',
  ADJACENT_SAME_ROLE: 'Two consecutive messages are from the same side, which this provider rejects.',
  USER_AFTER_RESULTS: 'A user message directly follows tool results, which this provider rejects.',
  FIRST_NOT_USER: "The first message isn't the user's, which this provider rejects.",
  SYSTEM_INSIDE: 'A system message comes after other messages, which this provider rejects.',
  UNPAIRED_SURROGATE: 'A text contains a lone surrogate, such as half an emoji.',
  INPUT_NOT_OBJECT: "The input of a tool call isn't an object.",
  INPUT_TOO_LONG: 'The input of a tool call is longer than this provider accepts.',
  MALFORMED_TOOL_NAME: 'The name of a tool has a form that this provider rejects.',
  FORMER_CACHE_MARK: 'A message before the newest has a cache mark; a request may have only a few.',
  UNREADABLE_MEDIA: "A message contains an image or a file that this provider can't read or load.",
  WRONG_MEDIA_TYPE: 'The media type of an image differs from the stated one.',
  REPEATED_NUMBER: 'A message contains an item id or a signature that an earlier message already has.',
  PARTED_HOSTED_USE: 'A call of a server tool has no result, or a result has no call.',
  REASONING_NOT_FIRST: 'A message with a tool call has signed reasoning after other content.',
  REASONING_AT_END: 'A message ends with signed reasoning.',
  SPACE_AT_END: 'The last message is from the assistant and ends in whitespace, which this provider rejects.',
} as const

/** The code of a problem of a history. */
export type ProblemCode = keyof typeof SENTENCES

/** One problem of a history. Contains no text of the conversation. */
export type Problem = {
  /** The code, for programs. */
  readonly code: ProblemCode
  /** The index of the message in the list. */
  readonly index: number
  /** A sentence, for people. */
  readonly message: string
  readonly toolCallId?: string
}

/**
 * Returns the problems for which a provider would refuse a history, in the order of the messages; without a provider, the problems for
 * which every provider would. Checks roles and parts, but not models, or the number and the size of messages and media. Changes nothing
 * and takes linear time. Throws `INVALID_INPUT` if the list contains anything other than messages.
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
      ...findRepairs(messages, profile, provider),
    ]
    return found.sort((a, b) => a.index - b.index)
  })
}

function problem(code: ProblemCode, index: number, toolCallId?: string): Problem {
  return { code, index, message: SENTENCES[code], ...defined({ toolCallId }) }
}

/** Problems that are found by repairing them. */
const PROBLEM_OF: { readonly [K in MendKind]?: ProblemCode } = {
  'characters-replaced': 'UNPAIRED_SURROGATE',
  'input-as-object': 'INPUT_NOT_OBJECT',
  'input-shortened': 'INPUT_TOO_LONG',
  'tool-renamed': 'MALFORMED_TOOL_NAME',
  'mark-dropped': 'FORMER_CACHE_MARK',
  'media-as-text': 'UNREADABLE_MEDIA',
  'media-type-changed': 'WRONG_MEDIA_TYPE',
  'repetition-dropped': 'REPEATED_NUMBER',
  'hosted-use-dropped': 'PARTED_HOSTED_USE',
  'reasoning-moved': 'REASONING_NOT_FIRST',
  'reasoning-dropped': 'REASONING_AT_END',
  'space-trimmed': 'SPACE_AT_END',
}

function findRepairs(
  messages: readonly Message[],
  profile: ProviderProfile,
  provider: string | undefined,
): Problem[] {
  const found: Problem[] = []
  const note = ({ kind, messageId, toolCallId }: Mend): void => {
    const code = PROBLEM_OF[kind]
    // Which media can be read depends on the provider.
    const isOpen = code === 'UNREADABLE_MEDIA' && provider === undefined
    if (code !== undefined && !isOpen) found.push(problem(code, Number(messageId), toolCallId))
  }
  const rows = messages.map((message, index) => ({
    ...message,
    id: `${index}`,
    kind: 'message' as const,
    createdAt: 0,
  }))
  withJoinedCalls(rows, note)
  const drafts = messages.map((message, index) => draftOf(`${index}`, message))
  const rules = { provider: provider ?? '', profile, markable: markableRows(rows) }
  mendParts(drafts, rules, note)
  withoutPartedUse(drafts, note)
  settleEnds(drafts, profile, false, note)
  return found
}

function findContentProblems(messages: readonly Message[], profile: ProviderProfile): Problem[] {
  const { emptyText } = profile
  return messages.flatMap((message, index) => {
    const found: Problem[] = []
    const parts = partsOf(message)
    const texts = textsOf(message)
    const isBlank = (text: string): boolean => (emptyText ? text : text.trim()) === ''
    const others = parts.filter((part) => part.type !== 'text')

    if (others.every(isReasoning) && texts.every(isBlank)) {
      found.push(problem(others.length > 0 ? 'ORPHAN_REASONING' : 'EMPTY_MESSAGE', index))
    } else if (!emptyText && (texts.some(isBlank) || parts.some(holdsEmptyText))) {
      found.push(problem('EMPTY_TEXT', index))
    }
    if (parts.some((part) => isMisplaced(part, message.role, profile)))
      found.push(problem('MISPLACED_PART', index))
    return found
  })
}

function isMisplaced(part: Part, role: Message['role'], { assistantMedia }: ProviderProfile): boolean {
  const { type } = part
  switch (role) {
    case 'assistant':
      return !assistantMedia && (type === 'image' || type === 'file')
    case 'tool':
      return type !== 'tool-result' && type !== 'provider'
    case 'user':
      return type === 'tool-call' || isReasoning(part)
    case 'system':
      return type === 'tool-call' || isReasoning(part) || type === 'tool-result'
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

/** Returns whether a call and its result are in one assistant message, as with provider-run tools. */
function isInside(messages: readonly Message[], call: CallRef, result: CallRef): boolean {
  const message = messages[call.row]
  if (message === undefined || call.row !== result.row || message.role !== 'assistant') return false
  const part = partsOf(message)[call.part]
  return part?.type === 'tool-call' && part.providerExecuted === true
}

/**
 * For a message that begins with results: the number of its leading results, and the index of the message that the run of results
 * follows.
 */
type ResultRun = { readonly after: number; readonly leading: number }

function findResultRuns(messages: readonly Message[]): (ResultRun | undefined)[] {
  const runs: (ResultRun | undefined)[] = []
  let end = -1
  let unbroken = false
  for (const [index, { role, content }] of messages.entries()) {
    const parts = partsOf({ content })
    const isResultLike = (part: Part): boolean =>
      part.type === 'tool-result' || (part.type === 'provider' && role === 'tool')
    const firstOther = parts.findIndex((part) => !isResultLike(part))
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

/** Returns whether a message contains the provider's own compaction block, which it accepts as the first message. */
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
    // If results are a separate side, each may have its own message.
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

/** Returns the sides of the first and the last part. Results are a separate side only if a user message cannot follow them. */
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
