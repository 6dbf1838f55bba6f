import { headOf } from './characters.ts'
import { type Json, parsedJson } from './json.ts'
import { type Message, type Part, partsOf, type ToolCallPart } from './message.ts'

/*
 * Agents without native tool calls write their commands into the assistant's text and receive what these printed as user messages:
 * ReAct, SWE-agent, OpenHands, Cline, aider and others. Such messages are read as calls and results.
 */

/** A command in the text of an assistant. */
type TextCall = { readonly toolName: string; readonly input: Json }

/** The most commands of one message, and the units of it that are searched. */
const MOST_CALLS = 20
const SEARCHED_UNITS = 60_000

/**
 * Reads messages in order. A message of a user that only contains what a command printed becomes a `tool` message with the call and
 * its result; the markup of commands is removed from the text of an assistant. Every other message is returned as it is.
 */
export class TextAgentReader {
  #calls: readonly TextCall[] = []
  /** Whether the newest message of the assistant was followed by nothing else yet. */
  #waits = false
  /** The number of observations so far. */
  #observed = 0
  #openFile: string | undefined
  /** The newest text of the assistant, when it may be a command as a whole. */
  #command = ''
  /** Whether the assistant wrote anything yet: the task itself may look like output. */
  #hasSpoken = false

  read(message: Message): Message {
    if (message.role === 'assistant') return this.#readAssistant(message)
    if (message.role !== 'user') return message
    const text = onlyText(message)
    if (text === undefined || !this.#isObservation(message, text)) {
      this.#waits = false
      return message
    }
    return this.#observation(text)
  }

  /** The calls in the assistant's last text, when nothing followed it yet. */
  unfinished(): Message | undefined {
    if (!this.#waits || this.#calls.length === 0) return undefined
    const content = this.#calls.map(({ toolName, input }): ToolCallPart => {
      return { type: 'tool-call', toolCallId: `text-${++this.#observed}`, toolName, input }
    })
    return { role: 'assistant', content }
  }

  #readAssistant(message: Message): Message {
    this.#hasSpoken = true
    const parts = partsOf(message)
    this.#waits = !parts.some(({ type }) => type === 'tool-call')
    this.#calls = []
    if (!this.#waits) return message
    const text = parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n')
    this.#command = text.length <= 1_000 ? text.trim() : ''
    this.#calls = callsIn(headOf(text, SEARCHED_UNITS), this.#openFile)
    const bare = text.length <= SEARCHED_UNITS ? withoutMarkup(text) : text
    if (bare === text) return message
    const others = parts.filter(({ type }) => type !== 'text')
    return { ...message, content: [...others, { type: 'text', text: bare }] }
  }

  #isObservation(message: Message, text: string): boolean {
    if (isNotice(text)) return false
    if (namesOf(message).some((name) => PRINTER.test(name))) return true
    if (!this.#hasSpoken) return false
    const head = headOf(text, 2_000)
    if (OBSERVED.test(head) || PRINTED.test(text.slice(-1_000)) || CONSOLE.test(head)) return true
    // Words of a person are also possible after a command.
    if (!this.#waits || this.#calls.length === 0 || looksWritten(text)) return false
    return this.#observed > 0 || this.#calls.some(({ toolName }) => toolName !== SHELL)
  }

  #observation(text: string): Message {
    this.#openFile = OPEN_FILE.exec(text.slice(-1_000))?.[1] ?? this.#openFile
    const calls = this.#waits ? (this.#calls.length > 0 ? this.#calls : bareCommand(this.#command)) : []
    this.#waits = false
    const printed = text.replace(HEADING, '')
    const edits = calls.filter(({ toolName }) => toolName === EDIT)
    const [other = CONSOLE_CALL] = calls.filter(({ toolName }) => toolName !== EDIT)
    const [only] = edits
    if (only !== undefined && calls.length === 1) return { role: 'tool', content: this.#pair(only, printed) }
    const reports = edits.flatMap((call) => this.#pair(call, editReport(call, printed)))
    return { role: 'tool', content: [...reports, ...this.#pair(other, printed)] }
  }

  #pair({ toolName, input }: TextCall, value: string): Part[] {
    const toolCallId = `text-${++this.#observed}`
    return [
      { type: 'tool-call', toolCallId, toolName, input } satisfies ToolCallPart,
      { type: 'tool-result', toolCallId, toolName, output: { type: 'text', value } },
    ]
  }
}

const SHELL = 'bash'
const EDIT = 'edit_file'
const CONSOLE_CALL: TextCall = { toolName: 'console', input: {} }

/** The text of a message that consists of text alone. */
function onlyText(message: Message): string | undefined {
  const parts = partsOf(message)
  if (parts.length === 0 || !parts.every(({ type }) => type === 'text')) return undefined
  return parts.map((part) => (part.type === 'text' ? part.text : '')).join('\n')
}

/** The names of a participant, of the message itself or of its provider's form. */
function namesOf({ metadata = {} }: Message): string[] {
  const found = [metadata, ...Object.values(metadata)].map((value) =>
    typeof value === 'object' && value !== null ? (value as { readonly name?: unknown }).name : undefined,
  )
  return found.filter((name) => typeof name === 'string')
}

/** Names of participants that print and do not write. */
const PRINTER =
  /console|terminal|shell|environment|observation|executor|interpreter|^tools?$|tool_?(?:result|output)/i

/** The beginning of an observation. */
const OBSERVED =
  /^\s*(?:```xml\s*)?(?:(?:observation|execution result|(?:tool|function|command|execution) (?:output|results?|response))s?\b[^\n]{0,120}:|EXECUTION RESULT of \[|\[[\w-]{1,60}(?: for [^\n]{0,300}?)?\] Result:|<(?:observation|output|tool_response|tool_result|function_results?|returncode|stdout|command_output|execution_result|result)\b|Your command ran successfully|The tool execution failed|\[File: [^\n]{1,300} \(\d+ lines total\)\])/i
/** The end of an observation: the prompt of a shell, the status of a process. */
const PRINTED =
  /\n\(Current directory: [^\n]{0,300}\)\s*(?:\([^\n]{0,200}\)\s*)?bash-[\d.]*\$[^\n]{0,200}$|\[(?:The )?[Cc]ommand (?:finished|completed) with exit code -?\d+\.?\]\s*$/
/** What aider prints. */
const CONSOLE =
  /^(?:Tokens: [\d.,k]+ sent|Applied edit to |Commit [0-9a-f]{7,12} |Added \S+ to the chat|aider chat started|Removed: [0-9a-f]{7}|Now at: |# \d+ SEARCH\/REPLACE blocks? failed)/m
const HEADING = /^\s*(?:OBSERVATION|Observation):\s*/
const OPEN_FILE = /\(Open file: (?!n\/a)([^\n()]{1,300})\)/

/**
 * Texts that clients send in the name of the user: reminders to use a tool, files with instructions, texts of skills, demonstrations. They
 * are neither requests nor results.
 */
const NOTICE =
  /^\s*(?:\[ERROR\] You did not use a tool|No tool calls found in |Your last (?:output|response|message) did not (?:contain|include|use)|\[Request interrupted by user|Base directory for this skill: |Caveat: The messages below were generated by|# AGENTS\.md instructions for |<(?:user_instructions|environment_context|permissions instructions|skill|turn_aborted)\b|aider chat started at |\[TASK RESUMPTION\]|Here is a demonstration of how to )/

/** Whether a client sent a text in the name of the user, which is no request. */
export function isNotice(text: string): boolean {
  return NOTICE.test(text.slice(0, 200))
}

/** Whether a person wrote a text: short, and most of its lines are sentences. */
function looksWritten(text: string): boolean {
  const trimmed = text.trim()
  if (trimmed.length > 1_500) return false
  const lines = trimmed.split('\n').filter((line) => line.trim() !== '')
  return lines.filter(isSentence).length > lines.length / 2
}

function isSentence(line: string): boolean {
  const words = line.trim().split(/\s+/)
  const plain = words.filter((word) => /^["'(¿¡]?\p{L}[\p{L}'’-]*[.,;:!?)"']{0,3}$/u.test(word))
  const isEast = /[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]/.test(line)
  return isEast || (words.length >= 3 ? plain.length >= 0.7 * words.length : /[.!?]$/.test(line.trim()))
}

/*
 * Commands in a text
 */

function callsIn(text: string, openFile: string | undefined): TextCall[] {
  const calls = text.includes('SEARCH') ? [...markedCalls(text), ...editBlocks(text)] : markedCalls(text)
  if (calls.length > 0) return calls.slice(0, MOST_CALLS)
  const react = reactCall(text)
  if (react !== undefined) return [react]
  const command = lastFence(text)
  return command === undefined ? [] : [commandCall(command, openFile)]
}

/**
 * The start of `<read_file><path>…`, `<function=execute_bash><parameter=command>…`, `<invoke name="Bash"><parameter name="command">…`,
 * `<tool_call>{…}` or `<execute_bash>…`.
 */
const OPENING =
  /<(?:(function|parameter|invoke|tool)(?:=| name=")([\w.-]{1,60})"?|([a-z][A-Za-z0-9_]{2,40}))>/g
/** The most opening tags of one text that are followed: each is searched for its end. */
const MOST_TAGS = 300
/** Elements with a command as their text. */
const COMMAND_ELEMENTS = new Map([
  ['command', SHELL],
  ['bash', SHELL],
  ['execute_bash', SHELL],
  ['execute_ipython', 'python'],
])
/** Elements around the element of a call, and of its name and arguments. */
const WRAPPERS = /^(?:function_calls|tool_calls|tool_use|invoke)$/
const NAMES = /^(?:tool_name|name)$/
const GIVEN = /^(?:parameters|arguments|args|input)$/
/** Elements of HTML and of an assistant's thoughts. */
const NOT_A_TOOL =
  /^(?:thinking|thought|answer|response|summary|analysis|plan|example|html|head|body|div|table|details|svg)$/

type Element = { readonly name: string; readonly body: string; readonly from: number; readonly to: number }

/** The elements of a text that are not inside another one. */
function elementsOf(text: string): Element[] {
  const found: Element[] = []
  let tags = 0
  let past = 0
  for (const match of text.matchAll(OPENING)) {
    if (match.index < past) continue
    if (++tags > MOST_TAGS) break
    const [tag, kind, given, plain] = match
    const start = match.index + tag.length
    const end = text.indexOf(`</${kind ?? plain}>`, start)
    if (end < 0) continue
    past = end + (kind ?? plain ?? '').length + 3
    found.push({ name: given ?? plain ?? '', body: text.slice(start, end), from: match.index, to: past })
  }
  return found
}

/** The command of an element, if it is one. */
function callOf({ name, body }: Element): TextCall | undefined {
  const inner = body.trim()
  if (name === 'tool_call') {
    const call = parsedJson(inner) as { readonly name?: unknown; readonly arguments?: Json } | undefined
    return typeof call?.name === 'string' ? { toolName: call.name, input: call.arguments ?? {} } : undefined
  }
  if (WRAPPERS.test(name)) {
    const fields = elementsOf(inner)
    const named = fields.find((field) => NAMES.test(field.name))
    const given = fields.find((field) => GIVEN.test(field.name))
    if (named === undefined) return fields.map(callOf).find((call) => call !== undefined)
    return { toolName: named.body.trim(), input: given === undefined ? {} : fieldsIn(given.body) }
  }
  const shell = COMMAND_ELEMENTS.get(name)
  if (shell !== undefined && !inner.startsWith('<')) return { toolName: shell, input: { command: inner } }
  if (NOT_A_TOOL.test(name) || !inner.startsWith('<') || !inner.endsWith('>')) return undefined
  const input = fieldsIn(inner)
  return Object.keys(input).length === 0 ? undefined : { toolName: shell ?? name, input }
}

function fieldsIn(body: string): { readonly [name: string]: string } {
  return Object.fromEntries(elementsOf(body).map((field) => [field.name, field.body.trim()]))
}

function markedCalls(text: string): TextCall[] {
  return text.includes('</') ? elementsOf(text).flatMap((element) => callOf(element) ?? []) : []
}

/** The text without the markup of commands. */
function withoutMarkup(text: string): string {
  if (!text.includes('</')) return text
  const kept: string[] = []
  let from = 0
  for (const element of elementsOf(text)) {
    if (callOf(element) === undefined) continue
    kept.push(text.slice(from, element.from))
    from = element.to
  }
  return from === 0 ? text : (kept.join('') + text.slice(from)).trimEnd()
}

const SEARCH = /^<{5,9} ?SEARCH[ \t]*\n/gm
const MIDDLE = /^={5,9}[ \t]*$/gm
const REPLACE = /^>{5,9} ?REPLACE/gm

/** The blocks of search and replacement under a path, as aider asks for them. */
function editBlocks(text: string): TextCall[] {
  const found: TextCall[] = []
  for (const match of text.matchAll(SEARCH)) {
    const start = match.index + match[0].length
    const middle = firstFrom(MIDDLE, text, start)
    const end = middle && firstFrom(REPLACE, text, middle.end)
    const path = pathAbove(text, match.index)
    if (middle === undefined || end === undefined) break
    if (path === undefined) continue
    const input = {
      path,
      old_string: text.slice(start, middle.at),
      new_string: text.slice(middle.end + 1, end.at),
    }
    found.push({ toolName: EDIT, input })
    if (found.length === MOST_CALLS) break
  }
  return found
}

function firstFrom(pattern: RegExp, text: string, from: number): { at: number; end: number } | undefined {
  pattern.lastIndex = from
  const match = pattern.exec(text)
  return match === null ? undefined : { at: match.index, end: match.index + match[0].length }
}

/** The path in one of the two lines above a place; the nearer one may open a fence. */
function pathAbove(text: string, at: number): string | undefined {
  const lines = text
    .slice(Math.max(0, at - 600), at)
    .trimEnd()
    .split('\n')
    .slice(-2)
    .reverse()
  for (const line of lines) {
    const path = /^[\s*`#]{0,8}([\w./\\@+-]{1,200}?)[`*:\s]{0,6}$/.exec(line)?.[1]
    if (path !== undefined && /[./\\]/.test(path)) return path
  }
  return undefined
}

/** What a printed text says of one edit. */
function editReport({ input }: TextCall, printed: string): string {
  const { path } = input as { readonly path: string }
  if (printed.includes(`Applied edit to ${path}`)) return `Applied edit to ${path}`
  const failed =
    /^[^\n]{0,200}(?:failed to (?:exactly )?match|did not conform|can't edit|could not)[^\n]{0,200}$/im.exec(
      printed,
    )
  return failed?.[0] ?? headOf(printed, 2_000)
}

const REACT = /^Action(?: \d+)?:[ \t]*([\w .-]{1,60}?)(?:\[([^\n]{0,2000})\])?[ \t]*$/gm
const REACT_INPUT = /^Action Input(?: \d+)?:[ \t]*([\s\S]{0,4000}?)(?=\nObservation|$(?![\s\S]))/m

/** `Action: search` with `Action Input: …`, or `Action: Search[…]`: the last one. */
function reactCall(text: string): TextCall | undefined {
  const action = [...text.matchAll(REACT)].at(-1)
  if (action === undefined) return undefined
  const [, toolName = '', argument] = action
  const given = argument ?? REACT_INPUT.exec(text.slice(action.index))?.[1]?.trim() ?? ''
  const data = /^\{/.test(given) ? parsedJson(given) : undefined
  return { toolName: toolName.trim(), input: data ?? { input: given } }
}

/** The last fenced block, when nothing but a short text follows it. */
function lastFence(text: string): string | undefined {
  const end = text.lastIndexOf('```')
  if (end < 0 || text.length - end > 200) return undefined
  const start = text.lastIndexOf('```', end - 1)
  if (start < 0) return undefined
  const block = text.slice(start + 3, end)
  const [language = ''] = block.split('\n', 1)
  if (
    !/^\s*(?:|bash|sh|shell|console|zsh|terminal|mswea_bash_command|tool_code|cmd|powershell)\s*$/i.test(
      language,
    )
  )
    return undefined
  const command = block.slice(language.length).trim()
  return command === '' ? undefined : command
}

/** A text that is a command as a whole: one line that is no sentence. */
function bareCommand(text: string): readonly TextCall[] {
  if (text === '' || text.includes('\n') || isSentence(text)) return []
  return [{ toolName: 'console', input: { command: text } }]
}

/** A command line, or a command of SWE-agent's editor. */
function commandCall(command: string, openFile: string | undefined): TextCall {
  const [, verb = '', target] =
    /^(open|create|edit|goto|scroll_down|scroll_up)\b[ \t]*([^\s]{1,300})?/.exec(command) ?? []
  if (verb === 'create' && target !== undefined) return { toolName: 'create_file', input: { path: target } }
  if (verb === 'edit' && openFile !== undefined) {
    return { toolName: EDIT, input: { path: openFile, new_string: command } }
  }
  if (verb === 'open' && target !== undefined) return { toolName: 'open_file', input: { path: target } }
  if (verb !== '' && verb !== 'edit' && openFile !== undefined)
    return { toolName: 'open_file', input: { path: openFile } }
  return { toolName: SHELL, input: { command } }
}
