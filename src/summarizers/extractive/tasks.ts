import { headOf, tailOf } from '../../messages/characters.ts'
import { isObject, type Json } from '../../messages/json.ts'
import type { Call } from '../calls.ts'
import { cleanLine, oneLine, sentencesOf, shorten, withoutFences } from '../text.ts'
import { checkBoxes, openBoxes } from './boxes.ts'
import type { Conversation, TodoItem } from './conversation.ts'
import { informative, isSmallTalk } from './requests.ts'

/** Open and finished tasks. */
type Tasks = { readonly open: readonly Task[]; readonly done: ReadonlySet<string> }
type Task = { readonly text: string; readonly rank: number }

/** Tasks by source: newest and most explicit first. */
export function tasksIn(conversation: Conversation): Tasks {
  const boxes = checkBoxes(conversation, taskKey)
  const { todo } = conversation
  const done = new Set<string>()
  for (const { text, isDone } of [...boxes, ...todo]) if (isDone) done.add(taskKey(text))

  const open: Task[] = []
  const seen = new Set<string>()
  const add = (text: string, rank: number) => {
    const key = taskKey(text)
    if (key === '' || seen.has(key)) return
    seen.add(key)
    open.push({ text, rank })
  }
  for (const [i, item] of todo.entries()) {
    if (!item.isDone) add(item.isActive ? `${item.text} (in progress)` : item.text, 945 - Math.min(40, i))
  }
  for (const [i, text] of remainingList(conversation).entries()) {
    if (!done.has(taskKey(text))) add(text, 940 - Math.min(40, 2 * i))
  }
  const unchecked = openBoxes(boxes)
  for (const [i, { text }] of unchecked.slice(0, MAX_BOXES).entries()) add(text, 840 - 15 * i)
  const more = unchecked.length - MAX_BOXES
  const where = unchecked.at(-1)?.where
  if (more > 0) add(`and ${more} more unchecked${where === undefined ? '' : ` in \`${where}\``}`, 700)
  return { open, done }
}

/** Whether a commit's subject shows that a task was done: the same label first, or most of its words. */
export function isCommitted(task: string, subjects: readonly string[]): boolean {
  const words = taskKey(task).split(' ')
  const label = words[0] ?? ''
  const isLabelled = /^[a-z]+\d+$/.test(label) && /^\W*\w+\b(?!\s*[-–])/.test(task)
  return subjects.some((subject) => {
    const [before = ''] = subject.split(':')
    if (isLabelled && taskKey(before).split(' ').includes(label)) return true
    const known = new Set(taskKey(subject).split(' '))
    return words.length >= 4 && words.filter((word) => known.has(word)).length >= 0.75 * words.length
  })
}

/** The maximum number of unchecked boxes. */
const MAX_BOXES = 10

/** The identity of a task: its first words. */
export function taskKey(text: string): string {
  return headOf(text, 1_000)
    .toLowerCase()
    .replace(/\((?:in progress|earlier)\)/g, '')
    .replaceAll(/[^\p{L}\p{N}]+/gu, ' ')
    .trim()
}

const NO_ITEMS: readonly TodoItem[] = []

/** The list of tasks in a call's arguments; empty for every other call. */
export function todoItems({ name, input }: Call): readonly TodoItem[] {
  if (!/todo|plan|task/i.test(name) || !isObject(input)) return NO_ITEMS
  for (const value of Object.values(input)) {
    if (!Array.isArray(value)) continue
    const items = (value as readonly Json[]).slice(0, 100).flatMap(itemOf)
    if (items.length > 0) return items
  }
  return NO_ITEMS
}

const ITEM_TEXTS = ['content', 'step', 'title', 'task', 'text', 'description', 'name']

function itemOf(value: Json): TodoItem[] {
  if (!isObject(value)) return []
  const status = value.status ?? value.state ?? value.completed ?? value.done
  const text = ITEM_TEXTS.map((name) => value[name]).find((found) => typeof found === 'string')
  if (typeof text !== 'string' || status === undefined) return []
  return [
    {
      text: shorten(oneLine(headOf(text, 1_000)), 200),
      isDone: status === true || /^(?:completed?|done|finished|cancell?ed|closed)$/i.test(String(status)),
      isActive: /progress|active|doing/i.test(String(status)),
    },
  ]
}

const ANNOUNCES =
  /^(?:\*\*|#{1,4} )?(?:(?:what['’]s |still )?(?:remaining|left|pending|outstanding|to ?-?do|open|not (?:yet )?done|up next|next)(?: (?:steps?|tasks?|work|items?|to do|points?|packages?|up))*|next steps?|still to (?:do|be done))\b[^\n]{0,60}$/i

/** The list under the last line that announces open work, in the last few replies. */
function remainingList({ replies }: Conversation): string[] {
  for (const { text } of replies.slice(-8).reverse()) {
    const lines = withoutFences(text).split('\n')
    for (let i = lines.length - 1; i >= 0; i--) {
      const line = lines[i]!.trim()
      if (
        !ANNOUNCES.test(line) ||
        /\b(?:done|implemented|completed?|finished|now in place)\b/i.test(line) ||
        /^(?:[-*+]|\d+\.) /.test(line)
      )
        continue
      const items: string[] = []
      for (let at = i + 1; at < lines.length; at++) {
        const item = lines[at]!
        if (/^\s*(?:[-*+•]|\d{1,3}[.)])\s+\S/.test(item)) {
          if (!/^\s*[-*+] \[[xX]\]|✅/.test(item)) items.push(shorten(cleanLine(item), 200))
        } else if (item.trim() !== '' || items.length > 0) break
      }
      if (items.length > 0) return items.slice(0, 15)
    }
  }
  return []
}

/** The user's last request, when it has no reply. */
export function unanswered({ exchanges }: Conversation): string | undefined {
  const last = exchanges.at(-1)
  if (last === undefined || last.replies.length > 0 || isSmallTalk(last.request.text)) return undefined
  return informative(last.request.text, 300)
}

const INTENTION =
  /^(?:next|now|then|after (?:this|that)|first)\b|\b(?:i['’]ll|i will|i['’]m going to|let me|let['’]s)\b|\bwe (?:should|need to|can|will) (?:now|next|then)\b|\bnext (?:\w+ ){0,2}(?:step|task|item|is)\b/i
/** "Let me fix it" says nothing by itself. */
const VAGUE =
  /^(?:(?:ok(?:ay)?|now|great|good|then|next|first|so)[,.!]? )*(?:let me|i['’]ll|i will|let['’]s)(?: now)?(?: \w+){1,2} (?:it|this|that|them|these|now|again)\b\W*$/i

/**
 * The assistant's last intention and its question to the user. An intention in a message with calls, or before the last call, was
 * acted on already.
 */
export function intention({ replies, lastCalls }: Conversation): {
  readonly says?: string
  readonly asks?: string
} {
  const [last] = replies.slice(-1)
  if (last === undefined) return {}
  const closing = sentencesOf(tailOf(withoutFences(last.text), 1_500)).at(-1)
  const asks = closing !== undefined && /[?？]$/.test(closing) ? shorten(closing, 300) : undefined
  const acted = lastCalls.at(-1)?.at ?? -1
  for (const { text, at } of replies.slice(-5).reverse()) {
    if (at <= acted) break
    const says = sentencesOf(tailOf(withoutFences(text), 1_500)).findLast(
      (sentence) =>
        INTENTION.test(sentence) &&
        !/[?？:]$/.test(sentence) &&
        sentence.length >= 12 &&
        !VAGUE.test(sentence),
    )
    if (says !== undefined) return { says: shorten(says, 300), ...(asks !== undefined && { asks }) }
  }
  return asks === undefined ? {} : { asks }
}
