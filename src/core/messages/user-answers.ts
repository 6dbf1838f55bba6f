import { headOf } from './characters.ts'
import { typedText } from './client-markup.ts'
import { isObject, type Json, type JsonObject, parsedJson } from './json.ts'
import { outputText, type Part, type ToolResultOutput, type ToolResultPart } from './message.ts'
import { isUserTool } from './tool-names.ts'

/*
 * A person's words that arrive through a tool: the answer to a question, the reason for a refusal. A client writes them into the result
 * of the call, but they are the user's words as much as a message is.
 */

/** The wordings of refusals, up to the reason. Each is preceded by its source. */
const REFUSALS = [
  // Claude Code: its transcripts.
  'provided the following reason for the rejection:',
  'To tell you how to proceed, the user said:',
  // Cline (cline/cline), Roo Code (RooCodeInc/Roo-Code) and Kilo Code, src/core/prompts/responses.ts.
  'user (?:denied|rejected) (?:this|the) (?:operation|tool use)[^\\n<]{0,60}feedback:',
  'user (?:approved|has approved) (?:this|the) operation[^\\n<]{0,60}(?:context|feedback):',
  // opencode (sst/opencode), packages/opencode/src/permission/index.ts.
  'rejected (?:permission to use )?this (?:specific )?tool call with the following feedback:',
  // Cline, Roo Code and Kilo Code, pushAdditionalToolFeedback and executeCommandTool.
  'The user provided the following feedback:',
  // Gemini CLI, Codex and others.
  'User (?:rejected|cancelled|denied)[^\\n:]{0,60}(?:reason|feedback):',
]
/** Roo Code's refusals since it uses native tools (src/core/prompts/responses.ts): the text of an object. */
const REPORT = /^\s{0,20}\{\s{0,20}"status"\s{0,20}:/
const REPORTED = ['denied', 'approved', 'guidance']
/** Wordings that are not refusals. */
const NO_REFUSAL =
  /"status"\s{0,20}:\s{0,20}"(?:approved|guidance)"|approved (?:this|the) operation|^The user provided the following feedback:/
const REFUSAL = new RegExp(REFUSALS.join('|'), 'i')
/** Where the reason may begin: clients write a sentence before it. */
const HEAD_UNITS = 1_000

/** Returns the reason that a user gave, from the text with which a client reports a refusal; `undefined` if there is none. */
export function reasonIn(text: string): string | undefined {
  if (REPORT.test(headOf(text, HEAD_UNITS))) return feedbackIn(parsedJson(text))
  const found = REFUSAL.exec(headOf(text, HEAD_UNITS))
  if (found === null) return undefined
  const rest = text.slice(found.index + found[0].length)
  const typed = typedText(rest)
  const bare = /^"([^"]*)"$/.exec(typed)?.[1] ?? typed
  return bare === '' ? undefined : bare
}

function feedbackIn(report: unknown): string | undefined {
  if (!isObject(report) || !REPORTED.includes(report.status as string)) return undefined
  return typeof report.feedback === 'string' ? report.feedback.trim() || undefined : undefined
}

/** Returns what AI SDK chats store with a result: that the user denied the call, with a reason, or that the user provided the output. */
function ownOf({ providerOptions }: Pick<ToolResultPart, 'providerOptions'>): JsonObject {
  const own: unknown = providerOptions?.[CHAT]
  return isObject(own) ? (own as JsonObject) : {}
}

/** The key of the AI SDK in options and parts. */
const CHAT = 'ai-sdk'

/** Returns whether a user denied the call with a reason in an AI SDK chat: the output is then the reason alone. */
function isDenied(result: Pick<ToolResultPart, 'providerOptions'>): boolean {
  const { denied, reason } = ownOf(result)
  return denied === true && typeof reason === 'string'
}

/** The longest output from a browser that counts as words, in UTF-16 units: a page or a table is longer. */
const MAX_TYPED_LENGTH = 10_000

/** Marks a result from a browser as given by a person, if it contains words. */
export function givenByUser(result: ToolResultPart): ToolResultPart {
  const { output, providerOptions } = result
  const text =
    output.type === 'text' ? output.value : output.type === 'json' ? saidIn(output.value) : undefined
  if (text === undefined || text.trim() === '' || outputText(output).length > MAX_TYPED_LENGTH) return result
  return { ...result, providerOptions: { ...providerOptions, [CHAT]: { ...ownOf(result), answered: true } } }
}

/** Returns a part without the mark of `givenByUser`, which no message of a browser has. */
export function withoutGivenMark(part: Part): Part {
  if (part.type !== 'tool-result' || ownOf(part).answered !== true) return part
  const { providerOptions, ...rest } = part
  const { answered: _, ...own } = ownOf(part)
  const { [CHAT]: __, ...others } = providerOptions!
  const options = { ...others, ...(Object.keys(own).length > 0 && { [CHAT]: own }) }
  return Object.keys(options).length === 0 ? rest : { ...rest, providerOptions: options }
}

/** Returns whether a result contains a person's words, whatever its tool: the reason for a refusal, or an answer in a browser. */
export function isSpoken(result: Pick<ToolResultPart, 'output' | 'providerOptions'>): boolean {
  if (isDenied(result) || ownOf(result).answered === true) return true
  return reasonOf(result.output) !== undefined
}

/** Returns the user's words on approving a call in an AI SDK chat; if the call is denied, the result contains the words. */
export function approvalReason(part: Part): string | undefined {
  if (part.type !== 'provider' || part.provider !== CHAT || !isObject(part.data)) return undefined
  const kept = part.data[CHAT]
  if (!isObject(kept) || kept.type !== 'tool-approval-response' || kept.approved !== true) return undefined
  return typeof kept.reason === 'string' ? kept.reason.trim() || undefined : undefined
}

/** The user's words in a result. `isRefusal`: whether they are the reason for a refusal. */
export type Answer = { readonly text: string; readonly isRefusal: boolean }

/** Returns the user's words in the result of a call; `undefined` if a program produced the result. */
export function answerIn(
  result: Pick<ToolResultPart, 'output' | 'providerOptions'>,
  toolName: string | undefined,
  userTools?: readonly string[],
): Answer | undefined {
  const { output } = result
  const reason = isDenied(result) ? beginningOf(output) : reasonOf(output)
  if (reason !== undefined)
    return { text: reason, isRefusal: !NO_REFUSAL.test(headOf(outputText(output), HEAD_UNITS)) }
  const isGiven = ownOf(result).answered === true
  if (!isGiven && (toolName === undefined || !isUserTool(toolName, userTools))) return undefined
  const words =
    (output.type === 'json' ? saidIn(output.value) : undefined) ?? typedText(withoutFrame(outputText(output)))
  return words === '' ? undefined : { text: words, isRefusal: false }
}

function reasonOf(output: ToolResultOutput): string | undefined {
  const isJson = output.type === 'json' || output.type === 'error-json'
  return (isJson ? feedbackIn(output.value) : undefined) ?? reasonIn(beginningOf(output))
}

/** A refusal is at the beginning of the first text of its result. */
function beginningOf(output: ToolResultOutput): string {
  switch (output.type) {
    case 'text':
    case 'error-text':
      return output.value
    case 'content': {
      const [first] = output.value
      return first?.type === 'text' ? first.text : ''
    }
    default:
      return typeof output.value === 'string' ? output.value : ''
  }
}

/** Text that Claude Code and opencode write around answers. */
const FRAME =
  /^(?:User has answered your questions: |Your questions have been answered: )|\. You can now continue with the user['’]s answers in mind\.$/g

/** The text that Claude Code writes when a user only approved a plan. */
const APPROVED = /^User has approved (?:exiting plan mode|your plan)\b/
/** The answers in `"question"="answer", …`; the model wrote the questions. */
const ANSWERED = /"="([\s\S]{0,4000}?)"(?=, "|$)/g

function withoutFrame(text: string): string {
  const bare = text.trim().replaceAll(FRAME, '')
  if (APPROVED.test(bare)) return ''
  const answers = bare.startsWith('"') ? Array.from(bare.matchAll(ANSWERED), ([, answer]) => answer!) : []
  return answers.length === 0 ? bare : answers.join('\n')
}

/** The fields in which clients store an answer. */
const FIELDS = [
  'answer',
  'answers',
  'response',
  'feedback',
  'reason',
  'text',
  'message',
  'comment',
  'value',
  'choice',
  'selected',
]

function saidIn(value: Json): string | undefined {
  if (typeof value === 'string') return value.trim()
  if (!isObject(value)) return undefined
  for (const name of FIELDS) {
    const field = Object.hasOwn(value, name) ? value[name] : undefined
    if (typeof field === 'string' && field.trim() !== '') return field.trim()
    if (isObject(field)) {
      const lines = Object.entries(field).flatMap(([key, value]) =>
        typeof value === 'string' ? [`${key}: ${value}`] : [],
      )
      if (lines.length > 0) return lines.join('\n')
    }
  }
  return undefined
}
