import { headOf } from '../../messages/characters.ts'
import { oneLine, shorten } from '../text.ts'
import { type Artifacts, type Holder, withNames } from './artifacts.ts'
import type { Conversation } from './conversation.ts'
import type { CourseLine, Exchange, Utterance } from './exchanges.ts'
import { type Bullet, FIRM, messageNote, REQUEST, WEAK } from './fit.ts'
import type { Candidate } from './lines.ts'
import type { Previous } from './previous.ts'
import { problemsIn } from './problems.ts'
import { informative, isSmallTalk } from './requests.ts'
import { isFirm, type Rule, rulesIn, sortedRules, writeRule } from './rules.ts'
import { lastStated, outcomeOf } from './statements.ts'
import { agents, threadCourse } from './talk.ts'
import { intention, isCommitted, taskId, taskKey, tasksIn, unanswered } from './tasks.ts'
import type { Topic } from './topics.ts'

/*
 * The lines of each topic, besides those about files and calls, which get the room that these leave.
 */

/** The maximum units of the first request, of the newest one, of a request in the task's evolution and of its outcome. */
const FIRST_REQUEST = 4_000
const NEWEST_REQUEST = 800
const REQUEST_LINE = 160
const OUTCOME_LINE = 200
/** The maximum units of the last reply. */
const REPLY_UNITS = 400

const FIRST = 'First request: '
const NEWEST = 'Newest request: '
const SINCE = 'Added since: '
/** The number of answers and reasons after the newest request that are quoted beside it. */
const MAX_REPLIES = 5

/** What the lines are made from. `after`: the messages that the view shows after the summary. */
export type Material = {
  readonly conversation: Conversation
  readonly after: Conversation
  readonly previous: Previous
  /** The line of each exchange. */
  readonly course: ReadonlyMap<Exchange, CourseLine>
  /** What else has room of each exchange, in order. */
  readonly lines?: ReadonlyMap<Holder, readonly Candidate<Holder>[]>
  /** Whether a line has room without these. */
  readonly isPlain?: (line: string) => boolean
}

/** The lines of every topic but those about artifacts. */
export function bulletsByTopic(material: Material): ReadonlyMap<Topic, readonly Bullet[]> {
  const { conversation, previous, after } = material
  const rules = sortedRules([...previous.rules, ...rulesIn(conversation), ...withdrawals(after)])
  const isSilent = conversation.texts.length === 0 && conversation.lastCallAt < 0
  return new Map<Topic, readonly Bullet[]>([
    ['request', requests(material)],
    ['concepts', environment(material)],
    ['files', older(carried(previous, 'files'), 620)],
    ['problems', problems(material)],
    ['pending', pending(material)],
    ['evolution', evolution(material)],
    ['current', isSilent ? older(carried(previous, 'current'), 900) : current(material)],
    ['next', isSilent ? older(carried(previous, 'next'), 950) : next(material)],
    ['required', required(previous, conversation.artifacts)],
    ['rules', ruleBullets(rules.inForce)],
  ])
}

function carried(previous: Previous, topic: Topic): readonly string[] {
  return previous.lines.get(topic) ?? []
}

/** The first and the newest request in the words of the user. Those between them are part of the evolution. */
function requests({ conversation, previous }: Material): Bullet[] {
  const [before, ...others] = carried(previous, 'request')
  const asked = conversation.exchanges.filter(
    ({ request }) => request.reply === undefined && !isSmallTalk(request.text),
  )
  const first = before ?? (asked[0] && quoted(FIRST, asked[0].request, FIRST_REQUEST))
  const last = asked.length > (before === undefined ? 1 : 0) ? asked.at(-1) : undefined
  const newest =
    last === undefined
      ? others.find((line) => line.startsWith(NEWEST))
      : quoted(NEWEST, last.request, NEWEST_REQUEST)
  const kept = others.filter((line) => !line.startsWith(NEWEST))
  return [
    ...(first === undefined ? [] : [{ text: first, rank: 1_000, cut: true, must: REQUEST } as const]),
    ...older(kept, 700),
    ...(newest === undefined ? [] : [{ text: newest, rank: 990, cut: true, must: REQUEST } as const]),
    ...newestReplies(conversation).map(({ request }): Bullet => {
      return { text: `${quoted(SINCE, request, NEWEST_REQUEST)} (${request.reply})`, rank: 985, cut: true }
    }),
  ]
}

/** What the user answered through tools after the newest request. */
function newestReplies({ exchanges }: Conversation): Conversation['exchanges'] {
  const last = exchanges.findLastIndex(({ request }) => request.reply === undefined)
  return exchanges.slice(last + 1).slice(-MAX_REPLIES)
}

/** A request with its label and its position. */
function quoted(label: string, { text, position }: Utterance, max: number): string {
  return `${label}"${requestWords(text, max)}"${messageNote(position)}`
}

/** The share of a shortened request for its code: a snippet of an issue, a stack trace. */
const CODE_SHARE = 0.35

/** A request on one line: whole when it fits, else the beginnings of its text and of its first code. */
function requestWords(text: string, max: number): string {
  if (text.length <= max) return oneLine(text)
  const [, code = ''] = /```[^\n]{0,200}\n([\s\S]*?)(?:```|$)/.exec(text) ?? []
  if (code.trim() === '') return informative(text, max)
  const shown = shorten(oneLine(headOf(code, max)), Math.floor(max * CODE_SHARE))
  return `${informative(text, max - shown.length - 10)} … \`\`\`${shown}\`\`\``
}

/** The working directory and the branch; an earlier one stays until it changes. */
function environment({ conversation: { directory, branch }, previous }: Material): Bullet[] {
  const before = carried(previous, 'concepts')
  const known: string[] = []
  for (const [label, value] of Object.entries({ 'Working directory': directory, Branch: branch })) {
    const line =
      value === undefined ? before.find((one) => one.startsWith(`${label}: `)) : `${label}: \`${value}\``
    if (line !== undefined) known.push(line)
  }
  const others = before.filter((line) => !/^(?:Working directory|Branch): /.test(line))
  return [...known.map((text) => ({ text, rank: 880 })), ...older(others, 600)]
}

function problems({ conversation, previous }: Material): Bullet[] {
  const found = problemsIn(conversation)
  const fresh = found.map(({ text, isOpen }, i): Bullet => {
    return { text, rank: (isOpen ? 880 : 840) - Math.min(300, 10 * (found.length - 1 - i)), cut: true }
  })
  return distinct([...older(carried(previous, 'problems').slice(-30), 560), ...fresh])
}

const ANSWER = 'Answer the user: '
const CARRIED = ' (earlier)'

/** Open tasks that are not done in the messages after the summary. A list that a tool was given as a whole replaces earlier ones. */
function pending(material: Material): Bullet[] {
  const { conversation, after, previous } = material
  const { open, done } = tasksIn(conversation)
  const isOpen = openUntilNow(material)
  const isOfTool = new Set(conversation.todo.map(({ text }) => taskKey(text)))
  const known = new Set([...done, ...open.map(({ text }) => taskKey(text))])
  // An earlier open task is kept and marked, unless it is done or listed again.
  const before = (conversation.isTodoWhole || after.isTodoWhole ? [] : carried(previous, 'pending'))
    .filter((text) => !text.startsWith(ANSWER) && !/^and \d+ more unchecked/.test(text))
    .filter((text) => isOpen(text) && !known.has(taskKey(text)) && !isCommitted(text, conversation.commits))
    .slice(0, 30)
  return [
    ...answer(material),
    ...open
      .filter(({ text }) => isOpen(text) && !(after.isTodoWhole && isOfTool.has(taskKey(text))))
      .map(({ text, rank }): Bullet => ({ text, rank, cut: true })),
    ...before.map((text, i): Bullet => {
      return { text: text.endsWith(CARRIED) ? text : text + CARRIED, rank: 720 - 8 * i, cut: true }
    }),
  ]
}

/** Whether neither the covered messages nor those after them show that a task is done. */
function openUntilNow({ conversation, after }: Material): (text: string, id?: string) => boolean {
  const { done } = tasksIn(after)
  return (text, id = taskId(text)) => {
    const isDone = id !== undefined && [conversation, after].some(({ todoById }) => todoById.get(id)?.isDone)
    return !isDone && !done.has(taskKey(text)) && !isCommitted(text, after.commits)
  }
}

/** The last request, when neither the covered messages nor those after them answer it. */
function answer({ conversation, after }: Material): Bullet[] {
  const question = after.count > 0 ? undefined : unanswered(conversation)
  if (question === undefined) return []
  return [{ text: `${ANSWER}"${question}"`, rank: 958, cut: true }]
}

/** A line for each request, oldest first: the request and its outcome. Its commits and what else was said follow it. */
export function evolution({ conversation, previous, course, lines, isPlain }: Material): Bullet[] {
  const quotedAbove = new Set(newestReplies(conversation))
  const before = carried(previous, 'evolution')
  const history = before.map((text, i): Bullet => {
    return { text, rank: 720 - Math.min(250, 4 * (before.length - i)), cut: true }
  })
  const fresh = [...course].flatMap(([exchange, { text, outcome }], i): Bullet[] => {
    const { request, commits } = exchange
    const isSmall = request.reply === undefined && isSmallTalk(request.text)
    const rank = 830 - Math.min(250, 8 * (course.size - 1 - i)) - (isSmall ? 150 : 0)
    const chosen = lines?.get(exchange) ?? []
    // Beside what is quoted of it, a few words of a request are enough where there is little room.
    const isShown = chosen.length === 0 || isPlain?.(text) || chosen.some(({ form }) => form === 'head')
    const more = isShown ? chosen.filter(({ text }) => !outcome.includes(text)) : chosen
    const isSized = more.length > 0
    const isLeftOut = !isSized && ((isSmall && outcome === '') || quotedAbove.has(exchange))
    const asked = isShown ? [] : more.filter(({ form }) => form === 'asked')
    const shown = asked.map(({ text }) => text).join(' … ') || (isShown ? text : headOfCourse(request))
    return [
      ...(isLeftOut ? [] : [{ text: withNames(shown, more), rank, cut: true, isSized }]),
      ...more
        .filter((line) => line.form !== 'name' && line.form !== 'head' && !asked.includes(line))
        .map(({ text, form }) => ({ text: form === 'asked' ? text : `→ ${text}`, rank, isSized })),
      ...commits.map((subject) => ({ text: `Commit: ${subject}`, rank: rank - 20, cut: true })),
    ]
  })
  const others = conversation.isGroupTalk ? [] : agents(conversation.replies)
  return distinct([...history, ...fresh, ...others])
}

/** The first words of a request, above its statements. */
export function headOfCourse({ speaker, text }: Utterance): string {
  return `${speaker === undefined ? '' : `${speaker}: `}"${informative(text, 60)}"`
}

/** The lines of the course of the task by request; in a group talk, by topic. */
export function courseOf(conversation: Conversation): ReadonlyMap<Exchange, CourseLine> {
  if (conversation.isGroupTalk) return threadCourse(conversation.texts)
  return new Map(conversation.exchanges.map((exchange) => [exchange, courseLine(exchange)]))
}

/** The line of a request in the course of the task, with its outcome. */
function courseLine({ request, replies }: Exchange): CourseLine {
  const outcome = outcomeOf(replies, OUTCOME_LINE)
  const note = request.reply === undefined ? '' : ` (${request.reply})`
  const asked = `"${informative(request.text, REQUEST_LINE)}"${note}`
  return { text: outcome === '' ? asked : `${asked} → ${outcome}`, outcome }
}

/** The number of messages for which a statement is current. */
const CURRENT_MESSAGES = 10

/** The state at the end of the covered messages: the task in progress, what was stated last, and what was done since. */
function current(material: Material): Bullet[] {
  const { replies, todo, todoAt, exchanges, count, latest } = material.conversation
  const isOpen = openUntilNow(material)
  // A list that no later request changed says nothing of that request.
  const isOld = todoAt < (exchanges.findLast(({ request }) => request.reply === undefined)?.request.at ?? -1)
  const active = (isOld || material.after.isTodoWhole ? [] : todo)
    .filter(({ isActive, text, id }) => isActive && isOpen(text, id))
    .map(({ text }) => `In progress: ${text}`)
  const stated = lastStated(replies, REPLY_UNITS)
  const isCurrent = stated !== undefined && count - stated.at <= CURRENT_MESSAGES
  const done = latest(isCurrent ? stated.at : -1)
  const line = (text: string, rank: number): Bullet => ({ text, rank, cut: true, isSized: true })
  return [
    ...active.map((text) => line(text, 962)),
    ...(isCurrent ? [line(stated.text, 960)] : []),
    ...(done === '' ? [] : [line(`${isCurrent ? 'Since then' : 'Latest calls'}: ${done}`, 961)]),
  ]
}

/** The next step, while no later message shows what came next. */
function next(material: Material): Bullet[] {
  const { conversation, after } = material
  const question = answer(material)
  const says = after.count > 0 ? undefined : intention(conversation)
  if (question.length > 0 || says === undefined) return question
  return [{ text: `Assistant: "${says}"`, rank: 958, cut: true }]
}

/** A line with nothing but a path. */
const PATH_LINE = /^`[^`]+`$/
/** The maximum number of required files. */
const MAX_REQUIRED = 6

function required(previous: Previous, artifacts: Artifacts): Bullet[] {
  const fresh = artifacts
    .filesByUse()
    .slice(0, MAX_REQUIRED)
    .map((path, i): Bullet => ({ text: `\`${path}\``, rank: 850 - 15 * i }))
  const foreign = carried(previous, 'required').filter((line) => !PATH_LINE.test(line))
  return [...fresh, ...older(foreign, 560)]
}

/** Rules are never left out. */
function ruleBullets(rules: readonly Rule[]): Bullet[] {
  return rules.map((rule, i) => {
    // Among equally strong ones the older comes first.
    const rank = 900 + 15 * rule.weight - Math.min(14, i / 100)
    return { text: writeRule(rule), rank, cut: true, must: isFirm(rule) ? FIRM : WEAK }
  })
}

/** What later messages say that ends a rule. */
export function withdrawals(after: Conversation): Rule[] {
  return rulesIn(after).filter(({ weight }) => weight <= 0)
}

/** Lines of an earlier summary; newer ones rank higher. */
function older(lines: readonly string[], rank: number): Bullet[] {
  return lines.map((text, i) => ({ text, rank: rank - Math.min(200, 5 * (lines.length - i)), cut: true }))
}

/** Bullets without repeated ones. A sized one stays: lines below it belong to it. */
function distinct(bullets: readonly Bullet[]): Bullet[] {
  const seen = new Set<string>()
  return bullets.filter(({ text, isSized }) => isSized === true || (!seen.has(text) && seen.add(text)))
}
