import { headOf } from './characters.ts'
import { typedText } from './client-markup.ts'
import { isObject, type Json, type JsonObject, parsedJson } from './json.ts'
import { outputText, type Part, type ToolResultOutput, type ToolResultPart } from './message.ts'
import { isUserTool } from './tool-names.ts'

/*
 * What a person says through a tool: the answer to a question, the reason for a refusal. A client writes it into the result of the call,
 * but it is as much the user's word as a message.
 */

/** The wordings of refusals, up to the reason, below where each can be seen. */
const REFUSALS = [
  // Claude Code, its transcripts.
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
/** How Roo Code reports the same since it uses native tools (src/core/prompts/responses.ts): the text of an object. */
const REPORT = /^\s{0,20}\{\s{0,20}"status"\s{0,20}:/
const REPORTED = ['denied', 'approved', 'guidance']
/** Wordings of words that refuse nothing. */
const NO_REFUSAL =
  /"status"\s{0,20}:\s{0,20}"(?:approved|guidance)"|approved (?:this|the) operation|^The user provided the following feedback:/
const REFUSAL = new RegExp(REFUSALS.join('|'), 'i')
/** Where the reason may begin: clients write a sentence before it. */
const HEAD_UNITS = 1_000

/** The reason that a user gave in a text with which a client reports a refusal; `undefined` without one. */
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

/** What the chats of the AI SDK keep with a result: that the user denied the call, with a reason, or that the user gave the output. */
function ownOf({ providerOptions }: Pick<ToolResultPart, 'providerOptions'>): JsonObject {
  const own: unknown = providerOptions?.[CHAT]
  return isObject(own) ? (own as JsonObject) : {}
}

/** The name of the AI SDK in options and parts. */
const CHAT = 'ai-sdk'

/** Whether a user refused the call with a reason in a chat of the AI SDK: its output is the reason alone. */
function isDenied(result: Pick<ToolResultPart, 'providerOptions'>): boolean {
  const { denied, reason } = ownOf(result)
  return denied === true && typeof reason === 'string'
}

/** The longest output of a browser that counts as words, UTF-16 units: a page or a table is longer. */
const MOST_TYPED = 10_000

/** A result that came from a browser, with the mark that a person gave it, when it has words. */
export function givenByUser(result: ToolResultPart): ToolResultPart {
  const { output, providerOptions } = result
  const text =
    output.type === 'text' ? output.value : output.type === 'json' ? saidIn(output.value) : undefined
  if (text === undefined || text.trim() === '' || outputText(output).length > MOST_TYPED) return result
  return { ...result, providerOptions: { ...providerOptions, [CHAT]: { ...ownOf(result), answered: true } } }
}

/** A part without the mark of `givenByUser`, which no message of a browser has. */
export function withoutGivenMark(part: Part): Part {
  if (part.type !== 'tool-result' || ownOf(part).answered !== true) return part
  const { providerOptions, ...rest } = part
  const { answered: _, ...own } = ownOf(part)
  const { [CHAT]: __, ...others } = providerOptions!
  const options = { ...others, ...(Object.keys(own).length > 0 && { [CHAT]: own }) }
  return Object.keys(options).length === 0 ? rest : { ...rest, providerOptions: options }
}

/** Whether a result has words of a person, whatever its tool: the reason of a refusal, or an answer in a browser. */
export function isSpoken(result: Pick<ToolResultPart, 'output' | 'providerOptions'>): boolean {
  if (isDenied(result) || ownOf(result).answered === true) return true
  return reasonOf(result.output) !== undefined
}

/** What a user wrote on approving a call in a chat of the AI SDK; on denying it the result has the words. */
export function approvalReason(part: Part): string | undefined {
  if (part.type !== 'provider' || part.provider !== CHAT || !isObject(part.data)) return undefined
  const kept = part.data[CHAT]
  if (!isObject(kept) || kept.type !== 'tool-approval-response' || kept.approved !== true) return undefined
  return typeof kept.reason === 'string' ? kept.reason.trim() || undefined : undefined
}

/** The words of a user in a result, and whether it is the reason for a refusal. */
export type Answer = { readonly text: string; readonly isRefusal: boolean }

/** The words of a user in the result of a call; `undefined` when a program gave it. */
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

/** A refusal is the first text of its result. */
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

/** What Claude Code and opencode write around answers. */
const FRAME =
  /^(?:User has answered your questions: |Your questions have been answered: )|\. You can now continue with the user['’]s answers in mind\.$/g

/** What Claude Code writes when a user only approved a plan. */
const APPROVED = /^User has approved (?:exiting plan mode|your plan)\b/
/** The answers in `"question"="answer", …`: the questions are the model's. */
const ANSWERED = /"="([\s\S]{0,4000}?)"(?=, "|$)/g

function withoutFrame(text: string): string {
  const bare = text.trim().replaceAll(FRAME, '')
  if (APPROVED.test(bare)) return ''
  const answers = bare.startsWith('"') ? Array.from(bare.matchAll(ANSWERED), ([, answer]) => answer!) : []
  return answers.length === 0 ? bare : answers.join('\n')
}

/** The fields in which clients put an answer. */
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
