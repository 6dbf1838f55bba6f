import { headOf, tailOf } from '../../messages/characters.ts'
import { cleanLine, keyOf, sentencesOf, shorten, withoutFences } from '../text.ts'
import type { Conversation } from './conversation.ts'
import { informative, isSmallTalk } from './requests.ts'

/** Open and finished tasks. */
type Tasks = { readonly open: readonly Task[]; readonly done: ReadonlySet<string> }
type Task = { readonly text: string; readonly rank: number }

/** The maximum number of unchecked boxes. */
const MAX_BOXES = 10

/** Tasks of the tool for tasks, of the list that the assistant wrote last, and of check boxes. */
export function tasksIn({ todo, isTodoWhole, todoAt, boxes, replies }: Conversation): Tasks {
  const done = new Set([...boxes, ...todo].filter(({ isDone }) => isDone).map(({ text }) => taskKey(text)))
  const open = new Map<string, Task>()
  const add = (text: string, rank: number) => {
    const key = taskKey(text)
    if (key !== '' && !open.has(key)) open.set(key, { text, rank })
  }
  for (const [i, { id, text, isDone, isActive }] of todo.entries()) {
    // A list that is changed by ids names them: a later change names nothing else.
    const shown = id === undefined || isTodoWhole ? text : `#${id} ${text}`
    if (!isDone) add(isActive ? `${shown} (in progress)` : shown, 945 - Math.min(40, i))
  }
  // The list of a tool replaces what the assistant wrote before it.
  for (const [i, text] of remainingList(replies.filter(({ at }) => at >= todoAt)).entries())
    if (!done.has(taskKey(text))) add(text, 940 - Math.min(40, 2 * i))
  // Lists are worked from the top: the boxes after the last checked one come first.
  const reached = boxes.findLastIndex(({ isDone }) => isDone) + 1
  const unchecked = [...boxes.slice(reached), ...boxes.slice(0, reached)].filter(({ isDone }) => !isDone)
  for (const [i, { text }] of unchecked.slice(0, MAX_BOXES).entries()) add(text, 840 - 15 * i)
  const more = unchecked.length - MAX_BOXES
  const where = unchecked.at(-1)?.where
  if (more > 0) add(`and ${more} more unchecked${where === undefined ? '' : ` in \`${where}\``}`, 700)
  return { open: [...open.values()], done }
}

/** Whether a commit's subject shows that a task was done: by most of its words. */
export function isCommitted(task: string, subjects: readonly string[]): boolean {
  const words = taskKey(task).split(' ')
  return subjects.some((subject) => {
    const known = new Set(taskKey(subject).split(' '))
    return words.length >= 4 && words.filter((word) => known.has(word)).length >= 0.75 * words.length
  })
}

/** The identity of a task: its words. */
export function taskKey(text: string): string {
  return keyOf(headOf(text, 1_000).replace(/^#\w{1,60} |\((?:in progress|earlier)\)/gi, ''))
}

/** The id of a task in a list that is changed by ids. */
export function taskId(line: string): string | undefined {
  return /^#(\w{1,60}) /.exec(line)?.[1]
}

/** A line above open work. */
export const REMAINS =
  /^\W{0,4}(?:what['’]s |still )?(?:remaining|left|pending|outstanding|to ?-?do|open|not (?:yet )?done|next)\b[^\n]{0,60}$/i
const ITEM = /^\s*(?:[-*+•]|\d{1,3}[.)])\s+\S/

/** The list under the last line that announces open work, in the last few replies. */
function remainingList(replies: Conversation['replies']): string[] {
  for (const { text } of replies.slice(-8).reverse()) {
    const lines = withoutFences(text)
      .split('\n')
      .filter((line) => line.trim() !== '')
    const at = lines.findLastIndex(
      (line, i) => REMAINS.test(line) && !ITEM.test(line) && ITEM.test(lines[i + 1] ?? ''),
    )
    if (at < 0) continue
    const end = lines.findIndex((line, i) => i > at && !ITEM.test(line))
    const items = lines.slice(at + 1, end < 0 ? lines.length : end)
    return items.slice(0, 15).map((line) => shorten(cleanLine(line), 200))
  }
  return []
}

/** The user's last request, when it has no reply. */
export function unanswered({ exchanges }: Conversation): string | undefined {
  const last = exchanges.at(-1)
  if (last === undefined || last.replies.length > 0 || isSmallTalk(last.request.text)) return undefined
  return informative(last.request.text, 300)
}

const INTENTION = /\b(?:next|now|then|first|let me|let['’]s|i['’]ll|i will|i['’]m going to)\b|[?？]$/i

/** The assistant's last sentence when it is an intention or a question, and no call followed it. */
export function intention({ replies, lastCallAt, isGroupTalk }: Conversation): string | undefined {
  const last = replies.at(-1)
  if (isGroupTalk || last === undefined || last.at <= lastCallAt) return undefined
  const closing = sentencesOf(tailOf(withoutFences(last.text), 1_500)).at(-1) ?? ''
  return INTENTION.test(closing) && !/[:：]$/.test(closing) ? shorten(closing, 300) : undefined
}
