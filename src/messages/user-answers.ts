import { headOf } from './characters.ts'
import { piecesOf, typedText } from './client-markup.ts'
import { isObject, type Json } from './json.ts'
import { outputText, type ToolResultOutput, type ToolResultPart } from './message.ts'
import { isUserTool } from './tool-names.ts'

/*
 * What a person says through a tool: the answer to a question, the reason for a refusal. A client writes it into the result of the call,
 * but it is as much the user's word as a message.
 */

/** The wordings of refusals, up to the reason, and where each can be seen. */
const REFUSALS: readonly { readonly wording: string; readonly source: string }[] = [
  { wording: 'provided the following reason for the rejection:', source: 'Claude Code, its transcripts' },
  { wording: 'To tell you how to proceed, the user said:', source: 'Claude Code, its transcripts' },
  {
    wording: 'user (?:denied|rejected) (?:this|the) (?:operation|tool use)[^\\n<]{0,60}feedback:',
    source: 'Cline and Roo Code, src/core/prompts/responses.ts',
  },
  {
    wording: 'user (?:approved|has approved) (?:this|the) operation[^\\n<]{0,60}(?:context|feedback):',
    source: 'Roo Code, src/core/prompts/responses.ts',
  },
  {
    wording: 'rejected (?:permission to use )?this (?:specific )?tool call with the following feedback:',
    source: 'opencode, packages/opencode/src/permission',
  },
  {
    wording: 'User (?:rejected|cancelled|denied)[^\\n:]{0,60}(?:reason|feedback):',
    source: 'Gemini CLI, Codex and others',
  },
]
const REFUSAL = new RegExp(REFUSALS.map(({ wording }) => wording).join('|'), 'i')
/** Where the reason may begin: clients write a sentence before it. */
const HEAD_UNITS = 1_000

/** The reason that a user gave in a text with which a client reports a refusal; `undefined` without one. */
export function reasonIn(text: string): string | undefined {
  const found = REFUSAL.exec(headOf(text, HEAD_UNITS))
  if (found === null) return undefined
  const rest = text.slice(found.index + found[0].length)
  const typed = piecesOf(rest.trim()).some(({ by }) => by === 'client') ? typedText(rest) : rest.trim()
  const bare = /^"([^"]*)"$/.exec(typed)?.[1] ?? typed
  return bare === '' ? undefined : bare
}

/** Whether a user refused the call with a reason in a chat of the AI SDK: its output is the reason alone. */
function isDenied({ providerOptions }: Pick<ToolResultPart, 'providerOptions'>): boolean {
  const own: unknown = providerOptions?.['ai-sdk']
  return isObject(own) && own.denied === true && typeof own.reason === 'string'
}

/** Whether a result has words of a person, whatever its tool: the reason of a refusal. */
export function isSpoken(result: Pick<ToolResultPart, 'output' | 'providerOptions'>): boolean {
  if (isDenied(result)) return true
  return reasonIn(beginningOf(result.output)) !== undefined
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
  const reason = isDenied(result) ? beginningOf(output) : reasonIn(beginningOf(output))
  if (reason !== undefined) return { text: reason, isRefusal: true }
  if (toolName === undefined || !isUserTool(toolName, userTools)) return undefined
  const words =
    (output.type === 'json' ? saidIn(output.value) : undefined) ?? typedText(withoutFrame(outputText(output)))
  return words === '' ? undefined : { text: words, isRefusal: false }
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

function withoutFrame(text: string): string {
  return text.trim().replaceAll(FRAME, '')
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
