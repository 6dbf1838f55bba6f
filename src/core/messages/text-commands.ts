import { headOf } from './characters.ts'
import { isObject, type Json, type JsonObject, parsedJson } from './json.ts'

/*
 * The commands in the text of an agent without native tool calls: elements, JSON, blocks of edits, lines of ReAct, fenced blocks.
 */

/** A command in the text of an assistant. */
export type TextCall = { readonly toolName: string; readonly input: Json }

/** The commands in a text. */
export type TextCommands = {
  readonly calls: readonly TextCall[]
  /** The text without the markup of its commands. */
  readonly text: string
  /**
   * How certain it is that a program reads the text. `thought`: a thought and an action, as in ReAct. `marked`: elements, JSON, edits, an
   * action. `shell`: a block of commands at the end, which a person may run as well. `none`: no command, or code that is only shown.
   */
  readonly form: 'thought' | 'marked' | 'shell' | 'none'
}

export const SHELL = 'bash'
export const EDIT = 'edit_file'

/** The most commands of one message, and the most units of it that are searched. */
const MAX_CALLS = 20
const SEARCHED_UNITS = 60_000

/** Returns the commands of a text. `openFile`: the file that SWE-agent's editor shows. Takes linear time. */
export function commandsIn(text: string, openFile: string | undefined): TextCommands {
  const searched = headOf(text, SEARCHED_UNITS)
  const marked = markedCalls(searched)
  const edits = searched.includes('SEARCH') ? editBlocks(searched) : []
  const action = actionIn(searched)
  const found = (calls: readonly TextCall[], shown: string, form: TextCommands['form']): TextCommands => {
    const isThought =
      (hasThought(searched) || calls.some(({ toolName }) => toolName === 'action')) &&
      !calls.some(({ toolName }) => FINAL.test(toolName))
    return { calls: calls.slice(0, MAX_CALLS), text: shown, form: isThought ? 'thought' : form }
  }
  if (marked.length + edits.length > 0) {
    const isWhole = marked.length > 0 && text.length <= SEARCHED_UNITS
    return found([...marked, ...edits], isWhole ? withoutMarkup(text) : text, 'marked')
  }
  const data = jsonCommands(text)
  if (data !== undefined) return found(data.calls, action === undefined ? data.text : text, 'marked')
  const block = lastBlock(searched)
  const call = action === undefined ? undefined : actionCall(action, hasThought(searched), block)
  if (call !== undefined) return found([call], text, 'marked')
  if (block === undefined) return { calls: [], text, form: 'none' }
  const calls = [blockCall(block, openFile)]
  return block.isLast && (SHELL_LANGUAGE.test(block.language) || hasThought(searched))
    ? found(calls, text, 'shell')
    : { calls, text, form: 'none' }
}

/** Actions after which a person may write: the agent answers or asks. */
const FINAL =
  /^(?:finish|final|answer|submit|complete|attempt_completion|terminate|done|stop|exit|respond|reply|ask|say|message|send_message|none)/i

/**
 * The start of `<read_file><path>…`, `<function=execute_bash><parameter=command>…`, `<invoke name="Bash"><parameter name="command">…`,
 * `<tool_call>{…}` or `<execute_bash>…`.
 */
const OPENING =
  /<(?:(function|parameter|invoke|tool)(?:=| name=")([\w.-]{1,60})"?|([a-z][A-Za-z0-9_]{2,40}))>/g
/** The most opening tags that are followed in one text: an end tag is sought for each. */
const MAX_TAGS = 300
/** Elements whose text is a command. */
const COMMAND_ELEMENTS = new Map([
  ['command', SHELL],
  ['bash', SHELL],
  ['execute_bash', SHELL],
  ['execute_ipython', 'python'],
  ['execute', 'python'],
  ['python', 'python'],
  ['code', 'python'],
  ['search', 'search'],
  ['action', 'action'],
])
/** Elements around the element of a call, or around its name and arguments. */
const WRAPPERS = /^(?:function_calls|tool_calls|tool_use|invoke)$/
const NAMES = /^(?:tool_name|name)$/
const GIVEN = /^(?:parameters|arguments|args|input)$/
/** Elements of HTML and of an assistant's thoughts. */
const NOT_A_TOOL =
  /^(?:thinking|thought|answer|response|summary|analysis|plan|example|html|head|body|div|table|details|svg)$/

type Element = { readonly name: string; readonly body: string; readonly from: number; readonly to: number }

/** Returns the outermost elements of a text. */
function elementsOf(text: string): Element[] {
  const found: Element[] = []
  let tags = 0
  let past = 0
  for (const match of text.matchAll(OPENING)) {
    if (match.index < past) continue
    if (++tags > MAX_TAGS) break
    const [tag, kind, given, plain] = match
    const start = match.index + tag.length
    const end = text.indexOf(`</${kind ?? plain}>`, start)
    if (end < 0) continue
    past = end + (kind ?? plain ?? '').length + 3
    found.push({ name: given ?? plain ?? '', body: text.slice(start, end), from: match.index, to: past })
  }
  return found
}

/** Returns the command of an element; `undefined` if it isn't one. */
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
  // In a text for people, `<code>` is only formatting.
  if (name === 'code' && !body.startsWith('\n')) return undefined
  if (shell !== undefined && !inner.startsWith('<'))
    return { toolName: shell, input: shell === 'search' ? { query: inner } : { command: inner } }
  if (NOT_A_TOOL.test(name) || !inner.startsWith('<') || !inner.endsWith('>')) return undefined
  const input = fieldsIn(inner)
  return Object.keys(input).length === 0 ? undefined : { toolName: shell ?? name, input }
}

/** Returns the fields of an element; fields in fields as records, repeated ones as a list. */
function fieldsIn(body: string, depth = 0): JsonObject {
  const fields: { [name: string]: Json } = {}
  for (const { name, body: given } of elementsOf(body)) {
    const text = given.trim()
    const inner = depth < 3 && text.startsWith('<') && text.endsWith('>') ? fieldsIn(text, depth + 1) : {}
    const value = Object.keys(inner).length > 0 ? inner : text
    const before = Object.hasOwn(fields, name) ? fields[name]! : undefined
    fields[name] = before === undefined ? value : [...[before].flat(), value]
  }
  return fields
}

function markedCalls(text: string): TextCall[] {
  return text.includes('</') ? elementsOf(text).flatMap((element) => callOf(element) ?? []) : []
}

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

/** Returns the search and replace blocks under a path, in aider's format. */
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
    if (found.length === MAX_CALLS) break
  }
  return found
}

function firstFrom(pattern: RegExp, text: string, from: number): { at: number; end: number } | undefined {
  pattern.lastIndex = from
  const match = pattern.exec(text)
  return match === null ? undefined : { at: match.index, end: match.index + match[0].length }
}

/** Returns the path in one of the two preceding lines that aren't blank; the nearer line may open a fence. */
function pathAbove(text: string, at: number): string | undefined {
  const lines = text
    .slice(Math.max(0, at - 600), at)
    .trimEnd()
    .split('\n')
    .filter((line) => line.trim() !== '')
    .slice(-2)
    .reverse()
  for (const line of lines) {
    const path = /^[\s*`#]{0,8}([^\s*`"'<>|]{1,200}?)[`*:\s]{0,6}$/.exec(line)?.[1]
    if (path !== undefined && /[./\\]/.test(path)) return path
  }
  return undefined
}

/*
 * JSON
 */

/** The fields that hold the name of a call, its arguments, nested calls, and shell commands. */
const NAME_FIELDS = ['tool_name', 'command_name', 'tool', 'function', 'action', 'name', 'command'] as const
const INPUT_FIELDS = [
  'arguments',
  'args',
  'parameters',
  'params',
  'action_input',
  'tool_input',
  'input',
  'kwargs',
] as const
const CALL_FIELDS = [
  'tool_calls',
  'tool_call',
  'commands',
  'actions',
  'command',
  'action',
  'tool',
  'function',
] as const
const COMMAND_FIELDS = ['keystrokes', 'command', 'cmd'] as const

/** Returns the commands of a text whose last part is JSON, and the other texts of the JSON: thoughts and plans. */
function jsonCommands(
  text: string,
): { readonly calls: readonly TextCall[]; readonly text: string } | undefined {
  if (text.length > SEARCHED_UNITS) return undefined
  const start = text.search(/^[ \t]*(?:\{|\[\s{0,20}\{)/m)
  const end = Math.max(text.lastIndexOf('}'), text.lastIndexOf(']')) + 1
  const value = start < 0 || text.length - end > 200 ? undefined : parsedJson(text.slice(start, end))
  const calls = value === undefined ? undefined : jsonCalls(value, 0)
  if (calls === undefined) return undefined
  const before = text.slice(0, start).replace(/```\w{0,10}\s*$/, '')
  const texts = [before.trim(), ...(isObject(value) ? textsIn(value) : [])].filter((part) => part !== '')
  // The commands of one message share one output.
  const lines = calls.filter(isShell).map(({ input }) => (input as { readonly command: string }).command)
  const others = calls.filter((call) => !isShell(call))
  return {
    calls: lines.length === 0 ? others : [...others, shellCall(lines.join('\n'))],
    text: texts.join('\n'),
  }
}

/** Returns the calls of a value; `undefined` if it isn't a record of calls. A list of calls may be empty: the agent only waits. */
function jsonCalls(value: Json, depth: number): TextCall[] | undefined {
  if (depth > 4) return undefined
  if (Array.isArray(value)) {
    const items = value.slice(0, MAX_CALLS) as Json[]
    const calls = items.map((item) =>
      typeof item === 'string' && depth > 0 ? [shellCall(item)] : jsonCalls(item, depth + 1),
    )
    return calls.includes(undefined) || (depth === 0 && calls.length === 0)
      ? undefined
      : calls.flat().map((call) => call!)
  }
  if (!isObject(value)) return undefined
  const inner = CALL_FIELDS.map((name) => value[name]).find(
    (field) => typeof field === 'object' && field !== null,
  )
  if (inner !== undefined) return jsonCalls(inner, depth + 1)
  const texts = (names: readonly string[]): string | undefined =>
    names.map((name) => value[name]).find((field) => typeof field === 'string')
  const name = texts(NAME_FIELDS)
  const input = INPUT_FIELDS.map((field) => value[field]).find((field) => field !== undefined)
  if (name !== undefined && /^[\w.: -]{1,80}$/.test(name) && input !== undefined)
    return [{ toolName: name, input: typeof input === 'string' ? (parsedJson(input) ?? { input }) : input }]
  const command = texts(COMMAND_FIELDS)
  if (command !== undefined) return [shellCall(command.trim())]
  const { action } = value
  if (typeof action !== 'string' || !/^[\w.-]{1,60}$/.test(action)) return undefined
  const given = Object.entries(value).filter(([field]) => field !== 'action' && !THOUGHT_FIELD.test(field))
  return [{ toolName: action, input: Object.fromEntries(given) as JsonObject }]
}

const THOUGHT_FIELD = /thought|think|reason|analysis|plan|explanation|reflection|summary|speak|critic/i

/** Returns the texts of a record that are not commands, such as thoughts. */
function textsIn(value: JsonObject): string[] {
  return Object.entries(value).flatMap(([name, field]) => {
    if (!THOUGHT_FIELD.test(name)) return []
    return typeof field === 'string' ? [field] : isObject(field) ? textsIn(field) : []
  })
}

function shellCall(command: string): TextCall {
  return { toolName: SHELL, input: { command } }
}

function isShell({ toolName, input }: TextCall): boolean {
  return toolName === SHELL && isObject(input) && typeof input.command === 'string'
}

/*
 * ReAct
 */

const ACTION = /^[ \t*#>]{0,6}(?:action|act|行动|动作|操作)(?: \d{1,4})?[ \t*]{0,4}[:：][ \t*]*/gim
const THOUGHT = /^[ \t*#>]{0,6}(?:thoughts?|think|思考|想法)(?: \d{1,4})?[ \t*]{0,4}[:：]/im
const ACTION_UNITS = 8_000

/** Returns the last `Action:` line of a text and the text after it. */
function actionIn(text: string): string | undefined {
  const line = [...text.matchAll(ACTION)].at(-1)
  if (line === undefined) return undefined
  const from = line.index + line[0].length
  const [given = ''] = text.slice(from, from + ACTION_UNITS).split(/\n[ \t*]*(?:observation|观察|观测)/i)
  return given.trim()
}

function hasThought(text: string): boolean {
  return THOUGHT.test(text)
}

/**
 * Reads `Action: search` with `Action Input: …`, `Action: Search[…]`, `Action: Bash(code="…")`, an action above a block, or, after a
 * thought, any words: `Action: go to shelf 2`.
 */
function actionCall(given: string, isThought: boolean, block: Block | undefined): TextCall | undefined {
  const [line = ''] = given.split('\n', 1)
  const named = /^([\w .-]{1,60}?)[ \t*]*$/.exec(line)?.[1]
  const input = /^[ \t*]*(?:action[ _]input|行动输入|动作输入|输入)(?: \d{1,4})?[ \t*]*[:：]([\s\S]*)/im
    .exec(given)?.[1]
    ?.trim()
  if (named !== undefined && input !== undefined)
    return { toolName: named, input: parsedJson(bareJson(input)) ?? { input } }
  const [, name, open] = /^([\w.-]{1,60})[ \t]?([[(])/.exec(given) ?? []
  const end = Math.max(given.lastIndexOf(']'), given.lastIndexOf(')'))
  if (name !== undefined && open !== undefined && end === given.length - 1)
    return { toolName: name, input: argumentsOf(name, given.slice(given.indexOf(open) + 1, end)) }
  if (block !== undefined && given.includes('```')) return blockCall(block, undefined)
  if (named !== undefined && !isThought) return { toolName: named, input: { input: '' } }
  const [, verb, rest = ''] = isThought
    ? (/^([\p{L}_][\w.-]{0,59})(?:[ \t]+([^\n]*))?/u.exec(given) ?? [])
    : []
  return verb === undefined ? undefined : { toolName: verb, input: { input: rest.trim() } }
}

function bareJson(text: string): string {
  return text.replace(/^```\w{0,10}\s*/, '').replace(/\s{0,20}```$/, '')
}

/** Reads the arguments in brackets: a single argument, with or without its name, is a shell command. */
function argumentsOf(name: string, given: string): Json {
  const [, , quoted] = /^\s*(?:\w{1,40}\s*=\s*)?("""|'''|"|'|`)([\s\S]*)\1\s*$/.exec(given) ?? []
  const data = /^\s*\{/.test(given) ? parsedJson(given) : undefined
  return (
    data ??
    (/bash|shell|terminal|cmd/i.test(name) ? { command: quoted ?? given } : { input: quoted ?? given })
  )
}

/*
 * Fenced blocks
 */

type Block = { readonly language: string; readonly code: string; readonly isLast: boolean }

/** Languages whose code is run, and the tools that run it. */
const SHELL_LANGUAGE = /^(?:|bash|sh|shell|console|zsh|terminal|mswea_bash_command|tool_code|cmd|powershell)$/
const RUN_LANGUAGE = /^(?:python3?|py|ipython|sql|javascript|js|node|r|julia|ruby|php|applescript)$/

/** Returns the last fenced block of code to run. `isLast`: at most a short text follows it. */
function lastBlock(text: string): Block | undefined {
  const end = text.lastIndexOf('```')
  const start = end < 0 ? -1 : text.lastIndexOf('```', end - 1)
  if (start < 0) return undefined
  const block = text.slice(start + 3, end)
  const [first = ''] = block.split('\n', 1)
  const isInline = first === block
  const language = isInline ? '' : first.trim().toLowerCase()
  const code = (isInline ? block : block.slice(first.length)).trim()
  if (code === '' || !(SHELL_LANGUAGE.test(language) || RUN_LANGUAGE.test(language))) return undefined
  return { language, code, isLast: text.length - end <= 200 }
}

function blockCall({ language, code }: Block, openFile: string | undefined): TextCall {
  if (SHELL_LANGUAGE.test(language)) return commandCall(code, openFile)
  return language === 'sql'
    ? { toolName: language, input: { query: code } }
    : { toolName: language.replace(/^(?:py|ipython|python3)$/, 'python'), input: { code } }
}

/** Reads a command line, or a command of SWE-agent's editor. */
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
