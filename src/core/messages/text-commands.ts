import { headOf } from './characters.ts'
import { type Json, type JsonObject, parsedJson } from './json.ts'

/*
 * The commands in the text of an agent without native tool calls: elements, blocks of edits, lines of ReAct, fenced blocks.
 */

/** A command in the text of an assistant. */
export type TextCall = { readonly toolName: string; readonly input: Json }

/** The commands in a text. */
export type TextCommands = {
  readonly calls: readonly TextCall[]
  /** The text without the markup of its commands. */
  readonly text: string
  /**
   * How certain it is that a program reads the text. `marked`: elements, edits, an action. `shell`: a block of commands at the end, which
   * a person may run as well. `none`: no command, or code that is only shown.
   */
  readonly form: 'marked' | 'shell' | 'none'
}

const SHELL = 'bash'
export const EDIT = 'edit_file'

/** The most commands of one message, and the most units of it that are searched. */
const MAX_CALLS = 20
const SEARCHED_UNITS = 60_000

/** Returns the commands of a text. `openFile`: the file that SWE-agent's editor shows. Takes linear time. */
export function commandsIn(text: string, openFile: string | undefined): TextCommands {
  const searched = headOf(text, SEARCHED_UNITS)
  const marked = markedCalls(searched)
  const edits = searched.includes('SEARCH') ? editBlocks(searched) : []
  if (marked.length + edits.length > 0) {
    const isWhole = marked.length > 0 && text.length <= SEARCHED_UNITS
    const calls = [...marked, ...edits].slice(0, MAX_CALLS)
    return { calls, text: isWhole ? withoutMarkup(text) : text, form: 'marked' }
  }
  const action = actionIn(searched)
  if (action !== undefined) return { calls: [action], text, form: 'marked' }
  const block = lastBlock(searched)
  if (block === undefined) return { calls: [], text, form: 'none' }
  const isCommand = block.isLast && SHELL_LANGUAGE.test(block.language)
  return { calls: [blockCall(block, openFile)], text, form: isCommand ? 'shell' : 'none' }
}

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
/** Elements around the element of a call. */
const WRAPPERS = /^(?:function_calls|tool_calls|tool_use)$/
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
  if (WRAPPERS.test(name))
    return elementsOf(inner)
      .map(callOf)
      .find((call) => call !== undefined)
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
 * ReAct
 */

const ACTION = /^[ \t*#>]{0,6}(?:action|行动)(?: \d{1,4})?[ \t*]{0,4}[:：][ \t*]*/gim
const ACTION_CALL =
  /^([\w.-]{1,60})[ \t*]*(?:[[(]([\s\S]*)[\])]|\n[ \t*]*(?:action[ _]input|行动输入)(?: \d{1,4})?[ \t*]*[:：]\s*([\s\S]*))$/i
const THOUGHT = /^[ \t*#>]{0,6}(?:thoughts?|思考)(?: \d{1,4})?[ \t*]{0,4}[:：]/im
const ACTION_UNITS = 8_000

/** Reads the last `Action: search` with `Action Input: …`, or `Action: Search[…]`, of a text. */
function actionIn(text: string): TextCall | undefined {
  const line = [...text.matchAll(ACTION)].at(-1)
  if (line === undefined) return undefined
  const from = line.index + line[0].length
  const [given = ''] = text.slice(from, from + ACTION_UNITS).split(/\n[ \t*]*(?:observation|观察)/i)
  const [, toolName, bracketed, below] = ACTION_CALL.exec(given.trim()) ?? []
  const input = (bracketed ?? below ?? '').replace(/^```\w{0,10}\s*/, '').replace(/\s{0,20}```$/, '')
  if (toolName !== undefined) return { toolName, input: parsedJson(input) ?? { input } }
  // After a thought, any words: `Action: Scroll [WINDOW]; down`.
  const [, verb, rest = ''] =
    (THOUGHT.test(text) && /^([\p{L}_][\w.-]{0,59})(?:[ \t]+(.*))?/u.exec(given)) || []
  return verb === undefined ? undefined : { toolName: verb, input: { input: rest.trim() } }
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
  const language = first.trim().toLowerCase()
  const code = block.slice(first.length).trim()
  if (code === '' || !(SHELL_LANGUAGE.test(language) || RUN_LANGUAGE.test(language))) return undefined
  return { language, code, isLast: text.length - end <= 200 }
}

function blockCall({ language, code }: Block, openFile: string | undefined): TextCall {
  if (SHELL_LANGUAGE.test(language)) return commandCall(code, openFile)
  return { toolName: language.replace(/^(?:py|ipython|python3)$/, 'python'), input: { code } }
}

/** Reads a command line, or a command of SWE-agent's editor. */
function commandCall(command: string, openFile: string | undefined): TextCall {
  const [, verb = '', target] = /^(open|create|edit)\b[ \t]*([^\s]{1,300})?/.exec(command) ?? []
  if (verb === 'create' && target !== undefined) return { toolName: 'create_file', input: { path: target } }
  if (verb === 'edit' && openFile !== undefined) {
    return { toolName: EDIT, input: { path: openFile, new_string: command } }
  }
  if (verb === 'open' && target !== undefined) return { toolName: 'open_file', input: { path: target } }
  return { toolName: SHELL, input: { command } }
}
