import { detached, headOf } from '../../messages/characters.ts'
import { isObject, type Json, type JsonObject, parsedJson } from '../../messages/json.ts'
import { type Call, outputHead } from '../calls.ts'
import { oneLine, shorten } from '../text.ts'
import type { TodoItem } from './conversation.ts'
import { taskKey } from './tasks.ts'

/*
 * Lists of tasks, by their shape: items with a text and a state, in the arguments or the result of a call, as data or as lines.
 */

const DONE = /^(?:x|true|completed?|done|finished|cancell?ed|closed|deleted|removed|skipped|[☑☒✅✔✓])$/i
const ACTIVE = /^(?:[~-]|in[-_ ]?progress|active|doing|started|[⏳🔄])$/iu
const OPEN = /^(?: ?|false|pending|to[-_ ]?do|open|not[-_ ]?started|blocked|[☐⬜])$/i
const STATE = new RegExp([DONE, ACTIVE, OPEN].map(({ source }) => source).join('|'), 'iu')

/** What belongs to a list of tasks: the name of a tool or of a field. */
const TASKS = /to-?do|task|plan|check-?list/i
const CREATES = /create|add|insert/i
const TEXTS = ['content', 'step', 'subject', 'title', 'task', 'text', 'description', 'name'] as const
const STATES = ['status', 'state', 'completed', 'done'] as const
const IDS = ['taskId', 'task_id', 'todoId', 'todo_id', 'id'] as const

/** The maximum numbers of items of a list and of units of a text that is read. */
const MAX_ITEMS = 200
const TEXT_UNITS = 20_000
/** Longer arguments do more than select what is shown. */
const SELECTION_UNITS = 120

/** A line with the state of an item before its text: `- [x] a`, `2. [pending] b`, `#7 [completed] c`, `☐ d`. */
const LINE =
  /^[ \t]{0,12}(?:(?:[-*+•]|\d{1,3}[.)])[ \t]{1,4})?(?:#(\w{1,20})\.?[ \t]{1,4})?(?:\[([^\]\n]{0,14})\]|([☐☑☒✅✔✓⬜⏳🔄])\uFE0F?)[ \t]{1,4}(\S.*)$/gmu
/** A list in a program that calls a tool for tasks: `update_plan({ plan: [{ step: "a", status: "pending" }] })`. */
const TASK_CALL = /(?:plan|todo|task)\w{0,20}\(/i
const LITERAL =
  /(?:step|content|title|subject|text|description)["']?\s{0,4}:\s{0,4}(["'`])((?:[^\\\n]|\\.){1,400}?)\1\s{0,4},\s{0,4}["']?(?:status|state)["']?\s{0,4}:\s{0,4}["'`]([\w -]{1,20})["'`]/g

/** Whether the name of a tool or a field is that of a list of tasks. */
export function isOfTasks(name: string): boolean {
  return TASKS.test(name)
}

/** Whether a call only keeps a list of tasks: it gives or shows the list, or creates or changes a task. */
export function isTaskCall(call: Call): boolean {
  const { name, input } = call
  if (itemsOfCall(call).length > 0) return call.effect === 'other'
  if (!TASKS.test(name) || !isObject(input)) return false
  const isShown = Object.keys(input).length === 0
  return isShown || itemOf(input) !== undefined || (CREATES.test(name) && textOf(input) !== undefined)
}

type Item = Omit<TodoItem, 'text'> & { readonly text?: string | undefined }

/** The list of tasks of an agent: the last one that it gave or was shown, and its later changes by id. */
export class TodoList {
  /** By id, or by their words. */
  #items = new Map<string, TodoItem>()
  at = -1
  isWhole = false

  /** Reads the list in the arguments of a call. */
  begin(call: Call): void {
    const items = itemsOfCall(call)
    if (items.length === 0) return
    const isPart =
      (isObject(call.input) && call.input.merge === true) || items.some(({ text }) => text === undefined)
    if (isPart) this.#change(items, call.at)
    else this.#replace(items, call.at)
  }

  /** Reads a change of one task, or the list that a call shows. */
  end(call: Call): void {
    const { name, input, result } = call
    if (result === undefined || result.outcome === 'failed' || !isObject(input)) return
    const id = idOf(input)
    const item = itemOf(input)
    if (!TASKS.test(name)) return
    if (id !== undefined && item !== undefined) this.#change([item], call.at)
    else if (CREATES.test(name)) {
      const text = textOf(input)
      const output = outputHead(result.output, 600)
      if (text !== undefined)
        this.#change([{ id: id ?? idIn(output), text, isDone: false, isActive: false }], call.at)
    } else if (JSON.stringify(input).length <= SELECTION_UNITS) {
      const items = itemsIn(outputHead(result.output, TEXT_UNITS))
      if (items.length > 0) this.#replace(items, call.at)
    }
  }

  items(): TodoItem[] {
    return [...this.#items.values()].filter(({ text }) => text !== '')
  }

  byId(): ReadonlyMap<string, TodoItem> {
    return this.#items
  }

  #replace(items: readonly Item[], at: number): void {
    this.#items = new Map()
    this.#change(items, at)
    this.isWhole = true
  }

  #change(items: readonly Item[], at: number): void {
    for (const { id, text, isDone, isActive } of items) {
      const key = id ?? taskKey(text ?? '')
      const shown = text === undefined ? this.#items.get(key)?.text : detached(text)
      this.#items.set(key, { id, text: shown ?? '', isDone, isActive })
      if (this.#items.size > MAX_ITEMS) this.#items.delete(this.#items.keys().next().value!)
    }
    this.at = at
    this.isWhole = false
  }
}

/** The list in the arguments of a call; empty for every other call. */
function itemsOfCall({ name, input, effect }: Call): readonly Item[] {
  if (!isObject(input)) return []
  const isOfTasks = TASKS.test(name)
  const itemsOf = (field: string, value: Json | undefined): readonly Item[] => {
    if (Array.isArray(value)) return itemsOfList(value as readonly Json[], isOfTasks)
    if (typeof value !== 'string' || value.length > TEXT_UNITS) return []
    if (isOfTasks || TASKS.test(field)) return itemsIn(value)
    if (effect !== 'other' || !TASK_CALL.test(value)) return []
    return [...value.matchAll(LITERAL)].map(([, , text = '', state = '']) => stated(undefined, text, state))
  }
  for (const [field, value] of Object.entries(input)) {
    const items = itemsOf(field, value)
    if (items.length > 0) return items
  }
  return []
}

/** The items of a list. Of other tools than those for tasks, each item must have the state of a task. */
function itemsOfList(list: readonly Json[], isOfTasks: boolean): Item[] {
  const items = list.slice(0, MAX_ITEMS).flatMap((value) => (isObject(value) ? (itemOf(value) ?? []) : []))
  const isState = list.every((value) => isObject(value) && STATE.test(stateOf(value) ?? 'none'))
  return isOfTasks || (items.length >= 2 && isState) ? items : []
}

/** The items in a text: JSON, or lines. */
function itemsIn(text: string): readonly Item[] {
  const data = /^\s*[[{]\s*["{]/.test(text) ? parsedJson(text) : undefined
  const list = [data, ...(isObject(data) ? Object.values(data) : [])].find((value) => Array.isArray(value))
  if (list !== undefined) return itemsOfList(list as readonly Json[], true)
  return linesWithStates(text)
}

/** The lines of a text that begin with the state of a task. */
export function linesWithStates(text: string): TodoItem[] {
  if (!/\] |[☐☑☒✅✔✓⬜⏳🔄]/u.test(text)) return []
  return [...text.matchAll(LINE)].flatMap(([, id, box, sign, line = '']) => {
    const state = box ?? sign ?? ''
    return STATE.test(state) ? [stated(id, headOf(line, 400), state)] : []
  })
}

function itemOf(value: JsonObject): Item | undefined {
  const state = stateOf(value)
  const id = idOf(value)
  const text = textOf(value)
  if (state === undefined || (id === undefined && text === undefined)) return undefined
  return { ...stated(id, text ?? '', state), text: text && clean(text) }
}

function stated(id: string | undefined, text: string, state: string): TodoItem {
  return { id, text: clean(text), isDone: DONE.test(state), isActive: ACTIVE.test(state) }
}

function clean(text: string): string {
  return shorten(oneLine(headOf(text, 1_000)), 200)
}

function textOf(value: JsonObject): string | undefined {
  return TEXTS.map((name) => value[name]).find(
    (field): field is string => typeof field === 'string' && field.trim() !== '',
  )
}

function stateOf(value: JsonObject): string | undefined {
  const state = STATES.map((name) => value[name]).find((field) => field !== undefined)
  return typeof state === 'string' || typeof state === 'boolean' ? String(state) : undefined
}

function idOf(value: JsonObject): string | undefined {
  const id = IDS.map((name) => value[name]).find(
    (field) => typeof field === 'string' || typeof field === 'number',
  )
  return id === undefined ? undefined : headOf(String(id), 60)
}

/** The id in the result of a call that created a task. */
function idIn(output: string): string | undefined {
  const [, number, id] = /#(\w{1,20})\b|\bid\b["'`:= ]{1,6}([\w-]{1,60})/i.exec(output) ?? []
  return number ?? id
}
