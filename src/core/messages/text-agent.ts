import { headOf } from './characters.ts'
import { typedText } from './client-markup.ts'
import { fieldOf } from './json.ts'
import { type Message, mediaWord, type Part, partsOf, type ToolCallPart, textsOf } from './message.ts'
import { commandsIn, EDIT, type TextCall, type TextCommands } from './text-commands.ts'
import { tracesIn } from './text-traces.ts'

/*
 * Agents without native tool calls write commands into the assistant's text and receive the output as user messages: ReAct, SWE-agent,
 * OpenHands, Cline, aider and others. Such messages are read as calls and results.
 */

/**
 * Reads messages in order. A user message that contains only the output of a command becomes a `tool` message with the call and its
 * result; the markup of commands is removed from assistant texts. Every other message is returned unchanged.
 */
export class TextAgentReader {
  #calls: readonly TextCall[] = []
  #form: TextCommands['form'] = 'none'
  /** Whether nothing has followed the newest assistant message yet. */
  #waits = false
  /** The number of observations so far. */
  #observed = 0
  #openFile: string | undefined
  /** The newest native calls, if their results may come as texts. */
  #open: readonly ToolCallPart[] = []
  /** Whether the assistant has written anything yet: the task itself may look like output. */
  #hasSpoken = false

  read(message: Message): Message {
    if (message.role === 'assistant') return this.#readAssistant(message)
    if (message.role !== 'user') return message
    const reported = this.#reported(message)
    if (reported !== undefined) return reported
    const text = shownText(message)
    if (text === undefined || !this.#isObservation(message, text)) {
      const edits = this.#waits && this.#calls.every(isBlock) ? this.#calls : []
      this.#waits = false
      if (edits.length === 0) return message
      const content = [...edits.flatMap((call) => this.#pair(call, '')), ...partsOf(message)]
      return { ...message, content } as Message
    }
    return this.#observation(text)
  }

  /** Returns the calls in the last assistant text, if nothing has followed it yet. */
  unfinished(): Message | undefined {
    if (!this.#waits || this.#form === 'none' || this.#calls.length === 0) return undefined
    const content = this.#calls.map(({ toolName, input }): ToolCallPart => {
      return { type: 'tool-call', toolCallId: `text-${++this.#observed}`, toolName, input }
    })
    return { role: 'assistant', content }
  }

  #readAssistant(message: Message): Message {
    this.#hasSpoken = true
    const read = this.#traced(message)
    const parts = partsOf(read)
    this.#waits = !parts.some(({ type }) => type === 'tool-call')
    this.#calls = []
    this.#open = parts.filter((part) => part.type === 'tool-call')
    if (!this.#waits) return read
    const text = textsOf(message).join('\n')
    const { calls, form, text: bare } = commandsIn(text, this.#openFile)
    this.#calls = calls
    this.#form = form
    if (bare === text) return message
    const others = parts.filter(({ type }) => type !== 'text')
    return { ...message, content: [...others, { type: 'text', text: bare }] }
  }

  /** Returns a message with the calls that an export wrote into its texts; they replace native calls of the same tool. */
  #traced(message: Message): Message {
    const { traces, text } = tracesIn(textsOf(message).join('\n'))
    if (traces.length === 0) return message
    const others = partsOf(message).filter(
      (part) =>
        part.type !== 'text' &&
        !(part.type === 'tool-call' && traces.some(({ toolName }) => toolName === part.toolName)),
    )
    const pairs = traces.flatMap((trace) => this.#pair(trace, trace.output))
    return {
      ...message,
      content: [{ type: 'text', text: text.replaceAll(/\n{3,200}/g, '\n\n').trim() }, ...others, ...pairs],
    } as Message
  }

  /**
   * Returns a message in which texts such as `[read_file for 'a.ts'] Result: …` are the results of the newest native calls, in their order:
   * Cline writes them so. `undefined` if it contains none.
   */
  #reported(message: Message): Message | undefined {
    const open = [...this.#open]
    this.#open = []
    if (open.length === 0 || typeof message.content === 'string') return undefined
    const content: Part[] = []
    for (const part of message.content) {
      const [echo = '', name = ''] = part.type === 'text' ? (ECHO.exec(headOf(part.text, 2_000)) ?? []) : []
      const at = open.findIndex(({ toolName }) => toolName === name)
      const [call] = echo === '' ? [] : open.splice(Math.max(at, 0), 1)
      if (part.type !== 'text' || call === undefined) {
        content.push(part)
        continue
      }
      const output = { type: 'text', value: bareResult(part.text) } as const
      content.push({ type: 'tool-result', toolCallId: call.toolCallId, toolName: call.toolName, output })
    }
    return content.some(({ type }) => type === 'tool-result') ? { ...message, content } : undefined
  }

  #isObservation(message: Message, text: string): boolean {
    if (typedText(text) === '') return false
    if (namesOf(message).some((name) => PRINTER.test(name))) return true
    if (!this.#hasSpoken) return false
    const head = headOf(text, 2_000)
    const hasMedia = partsOf(message).some(({ type }) => type !== 'text')
    if (OBSERVED.test(head)) return !hasMedia || this.#waits
    if (hasMedia) return false
    if (PRINTED.test(text.slice(-1_000))) return true
    if (!this.#waits || this.#form === 'none') return false
    // A person may also write after a command, and nothing but a console reports the edits of blocks.
    if (looksWritten(text) || this.#calls.every(isBlock)) return false
    return this.#observed > 0 || this.#form === 'marked'
  }

  #observation(text: string): Message {
    this.#openFile = OPEN_FILE.exec(text.slice(-1_000))?.[1] ?? this.#openFile
    const calls = this.#callsOf(text)
    this.#waits = false
    const printed = bareResult(text)
    const edits = calls.filter(({ toolName }) => toolName === EDIT)
    const [other = CONSOLE_CALL] = calls.filter(({ toolName }) => toolName !== EDIT)
    const [only] = edits
    if (only !== undefined && calls.length === 1) return { role: 'tool', content: this.#pair(only, printed) }
    const reports = edits.flatMap((call) => this.#pair(call, editReport(call, printed)))
    return { role: 'tool', content: [...reports, ...this.#pair(other, printed)] }
  }

  /** Returns the calls whose output a text is. Code that is only shown has an output if the text is marked as output. */
  #callsOf(text: string): readonly TextCall[] {
    if (!this.#waits) return []
    if (this.#form !== 'none') return this.#calls
    return OBSERVED.test(headOf(text, 2_000)) ? this.#calls : []
  }

  #pair({ toolName, input }: TextCall, value: string): Part[] {
    const toolCallId = `text-${++this.#observed}`
    return [
      { type: 'tool-call', toolCallId, toolName, input } satisfies ToolCallPart,
      { type: 'tool-result', toolCallId, toolName, output: { type: 'text', value } },
    ]
  }
}

/** Returns whether a call is a search and replace block. */
function isBlock({ toolName, input }: TextCall): boolean {
  return toolName === EDIT && fieldOf(input, 'old_string') !== undefined
}

const CONSOLE_CALL: TextCall = { toolName: 'console', input: {} }

/** Returns the text of a message that contains only texts, images and files; images and files are replaced with words. */
function shownText(message: Message): string | undefined {
  const texts = partsOf(message).map((part) =>
    part.type === 'text'
      ? part.text
      : part.type === 'image' || part.type === 'file'
        ? mediaWord(part)
        : undefined,
  )
  return texts.length === 0 || texts.includes(undefined) ? undefined : texts.join('\n')
}

/** Returns the names of a participant, from the message itself or its provider's form. */
function namesOf({ metadata = {} }: Message): string[] {
  const found = [metadata, ...Object.values(metadata)].map((value) =>
    typeof value === 'object' && value !== null ? (value as { readonly name?: unknown }).name : undefined,
  )
  return found.filter((name) => typeof name === 'string')
}

/** Names of participants that print rather than write. */
const PRINTER =
  /console|terminal|shell|environment|observation|executor|interpreter|^tools?$|tool_?(?:result|output)/i

/** The beginning of a result of Cline: its call. */
const ECHO = /^\s*\[([\w-]{1,60})(?: (?:for|in) [\s\S]{0,1900}?)?\] Result:\s*/
/** The beginning of an observation. */
const OBSERVED =
  /^\s*(?:```xml\s*)?(?:(?:observation|execution result|(?:tool|function|command|execution|code) (?:output|results?|response))s?\b[^\n]{0,120}:|EXECUTION RESULT of \[|(?:New Terminal Output|Current Terminal (?:Screen|State)):|✿RESULT✿|<[|｜]\S{0,20}(?:observation|outputs?)|\[TOOL_RESULTS\]|```tool_outputs?|exitcode: -?\d|Previous response had |\[[\w-]{1,60}(?: (?:for|in) [\s\S]{0,1900}?)?\] Result:|<(?:(?:tool|function|command|code|execution|search)_(?:outputs?|responses?|results?)|observation|output|returncode|stdout|stderr|result)\b|Your command ran successfully|The code above was executed |The tool execution failed|\[File: [^\n]{1,300} \(\d+ lines total\)\])/i
/** The end of an observation: the prompt of a shell, the status of a process. */
const PRINTED =
  /\n\(Current directory: [^\n]{0,300}\)\s*(?:\([^\n]{0,200}\)\s*)?bash-[\d.]*\$[^\n]{0,200}$|\[(?:The )?[Cc]ommand (?:finished|completed) with exit code -?\d+\.?\]\s*$/
/** Returns a result without the label above it and the state of the client's editor below it: they would hide whether the call failed. */
function bareResult(text: string): string {
  const state = text.lastIndexOf('<environment_details>')
  const echo = ECHO.exec(headOf(text, 2_000))?.[0] ?? ''
  return (state < 0 ? text.slice(echo.length) : text.slice(echo.length, state).trimEnd()).replace(HEADING, '')
}

const HEADING = /^\s*(?:observation(?: \d{1,4})?|观察)[:：]\s*/i
const OPEN_FILE = /\(Open file: (?!n\/a)([^\n()]{1,300})\)/

/** Returns whether a person wrote a text: it is short, and most of its lines are sentences. */
function looksWritten(text: string): boolean {
  const trimmed = text.trim()
  if (trimmed.length > 1_500) return false
  const lines = trimmed.split('\n').filter((line) => line.trim() !== '')
  return lines.filter(isSentence).length > lines.length / 2
}

function isSentence(line: string): boolean {
  const words = line.trim().split(/\s+/)
  const plain = words.filter((word) => /^["'(¿¡]?\p{L}[\p{L}'’-]{0,1000}[.,;:!?)"']{0,3}$/u.test(word))
  const isEast = /[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]/.test(line)
  return isEast || (words.length >= 3 ? plain.length >= 0.7 * words.length : /[.!?]$/.test(line.trim()))
}

/** Returns the part of a printed text that concerns one edit. */
function editReport({ input }: TextCall, printed: string): string {
  const { path } = input as { readonly path: string }
  if (printed.includes(`Applied edit to ${path}`)) return `Applied edit to ${path}`
  return /^[^\n]{0,200}failed to [^\n]{0,200}$/m.exec(printed)?.[0] ?? headOf(printed, 2_000)
}
