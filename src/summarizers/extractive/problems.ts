import { headOf } from '../../messages/characters.ts'
import { isObject, type Json } from '../../messages/json.ts'
import { type Call, outputHead } from '../calls.ts'
import { oneLine, sentencesOf, shorten, withoutFences } from '../text.ts'
import {
  type Conversation,
  callLabel,
  errorLine,
  LABEL_UNITS,
  PROBLEM_LABEL_UNITS,
  type SeenCall,
  type Utterance,
} from './conversation.ts'
import { countNames, countPaths, dataOf } from './facts.ts'
import { gist, informative } from './requests.ts'

/** The results of calls that are not about files. */
type Result = { readonly text: string; readonly key: string; readonly at: number }

/** The number of newest calls, and the units that are read of one result and of all. */
const MAX_CALLS = 300
const ONE_UNITS = 6_000
const ALL_UNITS = 400_000
/** The maximum units of one result's line. */
const TOLD_UNITS = 700

/**
 * The results of calls, newest first, one line each: data as names and values; of other text, the files and names that are not
 * in `known`, to which they are added.
 */
export function resultsIn({ calls }: Conversation, known: Set<string>): Result[] {
  const found: Result[] = []
  const seen = new Set<string>()
  let room = ALL_UNITS
  for (let i = calls.length - 1; i >= 0 && i >= calls.length - MAX_CALLS && room > 0; i--) {
    const call = calls[i]!
    if (call.effect !== 'other' || call.result === undefined) continue
    const label = callLabel(call, 80)
    if (seen.has(label)) continue
    seen.add(label)
    room -= ONE_UNITS / 4
    if (errorLine(call) !== undefined) continue
    const data = dataOf(call)
    if (data !== undefined) {
      const text = tell(data, 0)
      if (text.length > 2)
        found.push({ text: `${label} gave ${shorten(text, TOLD_UNITS)}`, key: label, at: call.at })
      continue
    }
    const names = namesIn(call, known)
    if (names.length > 0) found.push({ text: `${label} showed ${names.join(', ')}`, key: label, at: call.at })
  }
  return found
}

/** Data as text: `name value, name value`; for a list of objects of one shape, the names once and the values of each. */
function tell(data: Json | undefined, depth: number): string {
  if (data === null || data === undefined || depth > 5) return ''
  if (typeof data !== 'object') return shorten(oneLine(String(data)), 80)
  if (Array.isArray(data)) return tellList(data as readonly Json[], depth)
  const parts: string[] = []
  for (const [name, value] of Object.entries(data).slice(0, 60)) {
    const text = tell(value as Json, depth + 1)
    if (text === '') continue
    const isNested = isObject(value as Json)
    parts.push(isNested ? `${name} (${text})` : `${name} ${text}`)
  }
  return parts.join(', ')
}

function tellList(items: readonly Json[], depth: number): string {
  const few = items.slice(0, 40)
  const [first] = few
  if (!isObject(first)) return few.map((item) => tell(item, depth + 1)).join(', ')
  const names = Object.keys(first).slice(0, 12)
  const rows = few.map((item) =>
    names
      .map((name) => (isObject(item) ? tellCell(item[name], depth) : ''))
      .join(' ')
      .trim(),
  )
  return `[${names.join(' ')}] ${rows.join('; ')}`
}

function tellCell(value: Json | undefined, depth: number): string {
  const text = tell(value, depth + 1)
  return typeof value === 'object' && value !== null ? `(${text})` : text
}

/** The maximum number of names of one result. */
const MAX_NAMES = 40

function namesIn(call: Call, known: Set<string>): string[] {
  const text = outputHead(call.result!.output, ONE_UNITS)
  const names = new Map<string, number>()
  countPaths(text, names)
  countNames(text, names)
  const fresh: string[] = []
  for (const name of names.keys()) {
    if (known.has(name) || fresh.length >= MAX_NAMES) continue
    known.add(name)
    fresh.push(name)
  }
  return fresh
}

/** An error and its outcome. */
type Problem = {
  readonly text: string
  /** `failed`: there is no sign that it was solved. */
  readonly kind: 'complaint' | 'failed' | 'overcome'
  readonly at: number
}

/** The number of newest failed calls and complaints that are read. */
export const MAX_FAILURES = 60
const MAX_COMPLAINTS = 20

/** The problems of a conversation, oldest first: failed calls with what followed, and the user's complaints. */
export function problemsIn(conversation: Conversation): Problem[] {
  return [...failures(conversation), ...complaints(conversation)].sort((a, b) => a.at - b.at)
}

function failures({ calls, replies }: Conversation): Problem[] {
  const failed: { call: SeenCall; line: string; at: number }[] = []
  const lastGood = new Map<string, number>()
  for (let i = calls.length - 1; i >= 0; i--) {
    const call = calls[i]!
    if (call.result === undefined) continue
    const line = failed.length < MAX_FAILURES ? problemLine(call) : undefined
    if (line !== undefined) failed.push({ call, line, at: call.result.at })
    else if (call.result.outcome !== 'failed') {
      const key = keyOf(call)
      if (!lastGood.has(key)) lastGood.set(key, call.result.at)
    }
  }

  const problems = new Map<string, { call: SeenCall; line: string; at: number; count: number }>()
  for (const { call, line, at } of failed.reverse()) {
    const key = `${call.name} ${line}`
    const known = problems.get(key)
    if (known !== undefined) problems.delete(key)
    problems.set(key, { call, line, at, count: (known?.count ?? 0) + 1 })
  }
  return [...problems.values()].map(({ call, line, at, count }) => {
    const isOpen = (lastGood.get(keyOf(call)) ?? -1) < at
    const answer = firstAfter(replies, at)
    const then = answer === undefined ? '' : ` → ${firstSentence(answer.text)}`
    const times = count === 1 ? '' : ` (${count} times)`
    const label = call.kept?.problem?.label ?? callLabel(call, PROBLEM_LABEL_UNITS)
    const text = `${label} failed${times}: ${line}${then}${isOpen ? '' : ' [later succeeded]'}`
    return { text, kind: isOpen ? 'failed' : 'overcome', at }
  })
}

function problemLine(call: SeenCall): string | undefined {
  return call.kept === undefined ? errorLine(call) : call.kept.problem?.line
}

/** The identity of a call: a later successful call solves an earlier failed one. */
function keyOf(call: SeenCall): string {
  return `${call.name} ${call.kept?.label ?? callLabel(call, LABEL_UNITS)}`
}

/** The first reply after a place; replies are in order. */
function firstAfter(replies: readonly Utterance[], at: number): Utterance | undefined {
  let low = 0
  let high = replies.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (replies[middle]!.at > at) high = middle
    else low = middle + 1
  }
  return replies[low]
}

function firstSentence(text: string): string {
  const sentences = sentencesOf(headOf(withoutFences(text), 600))
  const shown = sentences.slice(0, 2).join(' ')
  return shorten(shown, 160)
}

const COMPLAINT =
  /\b(?:error|exception|crash(?:es|ed)?|fail(?:s|ed|ing|ure)?|broken|bug|bugs|doesn['’]t work|does not work|not working|wrong|issue|problem|stuck|regression|why (?:do|does|did|is|are|would|can)|incorrect|missing|fehler|fehlermeldung|funktioniert nicht|geht nicht|klappt nicht|kaputt|falsch|abgestürzt|erreur|ne marche (?:pas|plus)|ne fonctionne (?:pas|plus)|plantage|no funciona|fallo|falla|incorrecto)\b|错误|报错|失败|崩溃|有问题|不工作|异常|エラー|動かない|動きません|失敗|壊れ|バグ|不具合/i

function complaints({ exchanges }: Conversation): Problem[] {
  const problems: Problem[] = []
  for (let i = exchanges.length - 1; i >= 0 && problems.length < MAX_COMPLAINTS; i--) {
    const { request, replies } = exchanges[i]!
    if (!COMPLAINT.test(request.text)) continue
    const sentences = sentencesOf(headOf(withoutFences(request.text), 3_000))
    const complaint = sentences.find((sentence) => COMPLAINT.test(sentence)) ?? informative(request.text, 200)
    const answer = replies
      .slice(0, 4)
      .map(({ text }) => finding(text))
      .find((found) => found !== undefined)
    const then = answer === undefined ? '' : ` → Assistant: "${answer}"`
    problems.push({ text: `User: "${shorten(complaint, 200)}"${then}`, kind: 'complaint', at: request.at })
  }
  return problems
}

const FINDING =
  /\b(?:because|bug|cause[ds]?|since|due to|the (?:issue|problem|reason|error)|missing|fixed|should|wasn['’]t|isn['’]t|doesn['’]t|didn['’]t|instead)\b/i

/** The finding of a reply, else its main sentence. */
function finding(text: string): string | undefined {
  const prose = headOf(withoutFences(text), 1_500)
  const found = sentencesOf(prose).find(
    (sentence) => sentence.length >= 20 && FINDING.test(sentence) && !sentence.endsWith('?'),
  )
  const shown = found === undefined ? gist(text, 200) : shorten(found, 200)
  return shown === '' ? undefined : shown
}
