import type { ChatMessage } from 'undertext'
import { isObject, type Json, parsedJson } from '../../src/core/messages/json.ts'
import { type Message, outputText, type ToolResultOutput } from '../../src/core/messages/message.ts'
import { type Outcome, outcomeOf, withoutPrelude } from '../../src/core/messages/outcome.ts'
import { TextAgentReader } from '../../src/core/messages/text-agent.ts'
import { effectOf } from '../../src/core/messages/tool-names.ts'
import { type Call, CallReader, mainArgument, targetOf } from '../../src/core/summarizers/calls.ts'
import { oneLine, sentencesOf } from '../../src/core/summarizers/text.ts'
import { partsOf, textOf } from './parts.ts'

/*
 * Questions about a conversation whose answers the log knows, and a simple lookup that answers them from a view. The lookup reads kept
 * messages and the lines of summaries. It never reads the log: it says what a reader of the view would say.
 */

/** A question with the answer that the log gives. */
export type Question =
  /** Was the file changed? */
  | { readonly kind: 'changed'; readonly path: string; readonly expected: 'yes' | 'no' }
  /** Did the last call of the tool with this target succeed? Without a target: its last call with any. */
  | {
      readonly kind: 'outcome'
      readonly tool: string
      readonly target: string | undefined
      readonly key: string
      readonly effect: Call['effect']
      readonly expected: 'ok' | 'failed'
    }
  /** What did the user forbid or wish for from then on? */
  | { readonly kind: 'forbidden'; readonly sentence: string }
  /** What is the value of this field of this record now? `older`: its earlier values. */
  | {
      readonly kind: 'state'
      readonly id: string
      readonly field: string
      readonly expected: string
      readonly older: readonly string[]
    }
  /** What did the user ask for last? `words`: the content words of the request. */
  | { readonly kind: 'asked'; readonly text: string; readonly words: readonly string[] }

export type Answer = 'right' | 'wrong' | 'unknown'

/** The most questions of one kind at one cut. */
const MOST_QUESTIONS = 40

/** The questions that the messages before a cut answer: at most 40 of a kind, the newest ones and others spread evenly. */
export function questionsAt(before: readonly ChatMessage[]): readonly Question[] {
  const { calls, spoken } = read(before)
  const [changed, unchanged] = fileQuestions(calls)
  return [
    ...limited(changed, MOST_QUESTIONS / 2),
    ...limited(unchanged, MOST_QUESTIONS / 2),
    ...limited(outcomeQuestions(calls), MOST_QUESTIONS),
    ...limited(ruleQuestions(spoken), MOST_QUESTIONS),
    ...limited(stateQuestions(calls), MOST_QUESTIONS),
    ...requestQuestions(spoken),
  ]
}

/** Answers a question from a view. `wrong`: a reader of the view would be told something false. */
export function answer(question: Question, view: readonly ChatMessage[]): Answer {
  const known = viewOf(view)
  switch (question.kind) {
    case 'changed':
      return ofFile(question, known)
    case 'outcome':
      return ofOutcome(question, known)
    case 'forbidden':
      return ofRule(question, known)
    case 'state':
      return ofState(question, known)
    case 'asked':
      return ofRequest(question, known)
  }
}

/** The newest half, and the others spread evenly over the rest. */
function limited<T>(questions: readonly T[], most: number): readonly T[] {
  if (questions.length <= most) return questions
  const newest = questions.slice(-most / 2)
  const others = questions.slice(0, -most / 2)
  const stride = others.length / (most / 2)
  return [...Array.from({ length: most / 2 }, (_, i) => others[Math.floor(i * stride)]!), ...newest]
}

/*
 * Reading
 */

type Log = {
  /** All calls in the order they were made. */
  readonly calls: readonly Call[]
  /** What the user wrote, without the output of tools. */
  readonly spoken: readonly string[]
}

/** `isView`: the messages are the end of a conversation whose beginning is left out. */
function read(messages: readonly ChatMessage[], isView = false): Log {
  const textAgent = new TextAgentReader()
  if (isView) prime(textAgent, messages)
  const reader = new CallReader()
  const calls: Call[] = []
  const spoken: string[] = []
  for (const message of messages) {
    const seen = textAgent.read(message as Message)
    calls.push(...reader.add(seen).made)
    if (seen.role !== 'user') continue
    const texts = partsOf(seen as ChatMessage).flatMap((part) => (part.type === 'text' ? [part.text] : []))
    const text = texts.join('\n').trim()
    if (text !== '') spoken.push(text)
  }
  return { calls, spoken }
}

/** Tells the reader what kept messages show of those before them: that the assistant spoke, and the open file. */
function prime(textAgent: TextAgentReader, messages: readonly ChatMessage[]): void {
  textAgent.read({ role: 'assistant', content: '' })
  for (const message of messages) {
    const shown = /\(Open file: (?!n\/a)[^\n()]{1,300}\)/.exec(textOf([message]))?.[0]
    if (shown === undefined) continue
    textAgent.read({ role: 'user', content: `Observation:\n${shown}` })
    return
  }
}

/** The longest text of a user that is read as a whole, and the units that are read of a longer one. */
const LONGEST_TEXT = 8_000
const HEAD_UNITS = 2_000
/** The beginning of what a client writes in the name of the user, or a program prints. */
const OF_CLIENT =
  /^\s*(?:={5,}|Traceback |Base directory for this skill:|Caveat: |\[Request interrupted|This session is being continued from|<(?:command-|local-command|system-reminder|task-notification|bash-)|Removed: |Removed \S+ from the chat|Tokens: |Now at: |aider chat started|\^C|\S{0,200}\/aider(?: |$)|The last commit was not made by aider|\$ )/

/** Commands of a client before a text, and the fewest words of an argument that is a text of its own. */
const COMMANDS = /^\s*(?:\/[a-z][\w-]{0,40}(?:\s+|$)){1,10}/
const LEAST_ARGUMENT = 4

/** The user's own words in a text: without fences, quoted lines, blocks in tags and lines of output. */
function ownText(spoken: string): string {
  const text = spoken.replace(COMMANDS, '')
  if (OF_CLIENT.test(text)) return ''
  if (text !== spoken && text.split(/\s+/).length < LEAST_ARGUMENT) return ''
  // A long text is mostly pasted, and begins with the user's words.
  const written = text.length <= LONGEST_TEXT ? text : (text.slice(0, HEAD_UNITS).split(/\n\s*\n/)[0] ?? '')
  return written
    .replaceAll(/```[\s\S]*?(?:```|$(?![\s\S]))/g, '\n')
    .replaceAll(
      /<(system-reminder|command-\w+|local-command-\w+|file|document|tool_result)\b[^>]*>[\s\S]*?<\/\1>/g,
      '\n',
    )
    .replaceAll(/^[ \t]*(?:>|\||\d{1,6}[:│→ ]|\[?\d{4}-\d\d-\d\d[T ]|\s{4,}at |Traceback).*$/gm, '')
    .trim()
}

/*
 * Files
 */

type FileQuestion = Extract<Question, { kind: 'changed' }>

/** Files that a tool changed, and files that were only read. */
function fileQuestions(calls: readonly Call[]): [FileQuestion[], FileQuestion[]] {
  const written = new Map<string, true>()
  const readOnly = new Map<string, true>()
  /** The names of files that something may have changed, and the ends of their paths. */
  const touched = new Set<string>()
  for (const call of calls) {
    const { effect, result } = call
    if (effect === 'other') {
      const command =
        commandOf(call) ?? (isObject(call.input) ? JSON.stringify(call.input).slice(0, 20_000) : '')
      for (const [word] of command.slice(0, 20_000).matchAll(/[\w@.+-]{2,100}/g)) touched.add(word)
      continue
    }
    for (const given of call.paths) {
      const path = oneLine(given)
      if (effect === 'write') {
        for (const end of endsOfPath(path)) touched.add(end)
        if (result?.outcome !== 'ok') continue
        written.delete(path)
        written.set(path, true)
      } else if (result?.outcome === 'ok') {
        readOnly.delete(path)
        readOnly.set(path, true)
      }
    }
  }
  const yes = [...written.keys()].map((path): FileQuestion => ({ kind: 'changed', path, expected: 'yes' }))
  // A command that names a file may change it.
  const unchanged = [...readOnly.keys()].filter(
    (path) => !touched.has(nameOf(path)) && !endsOfPath(path).some((end) => touched.has(end)),
  )
  return [yes, unchanged.map((path) => ({ kind: 'changed', path, expected: 'no' }))]
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1)
}

/** A path, its last three segments and, when it is shorter, all of its ends. */
function endsOfPath(path: string): string[] {
  const segments = path.split('/').filter((segment) => segment !== '' && segment !== '.')
  return [1, 2, 3].slice(0, segments.length).map((count) => segments.slice(-count).join('/'))
}

function ofFile({ path, expected }: FileQuestion, { files }: View): Answer {
  const told = files.changed.has(path)
    ? 'yes'
    : files.changedEnds.some((end) => path.endsWith(end))
      ? 'yes'
      : files.read.has(path)
        ? 'no'
        : undefined
  if (told === undefined) return 'unknown'
  return told === expected ? 'right' : 'wrong'
}

/*
 * Outcomes
 */

type OutcomeQuestion = Extract<Question, { kind: 'outcome' }>

/** Calls are compared by so many units of their targets: a summary shortens them to 80 at a space behind 60 % of that. */
const TARGET_KEY = 46
const PATH_KEY = 60

/** The tool of printed text whose command is not known. */
const UNNAMED = 'console'

function outcomeQuestions(calls: readonly Call[]): OutcomeQuestion[] {
  const last = new Map<string, { readonly call: Call; readonly target: string | undefined }>()
  /** The exact keys behind each key of a shortened target. */
  const exact = new Map<string, Set<string>>()
  for (const call of calls) {
    if (call.name === UNNAMED) continue
    const { key, exactKey, target } = keysOfCall(call)
    const isService = call.effect === 'other' && commandOf(call) === undefined
    for (const one of [
      ...(isService ? [anyKey(call.name)] : []),
      ...(key === undefined ? [] : [key, exactKey]),
    ]) {
      last.delete(one)
      last.set(one, { call, target: one === anyKey(call.name) ? undefined : target })
    }
    if (key !== undefined) exact.set(key, (exact.get(key) ?? new Set()).add(exactKey))
  }
  // A shortened target stands for several calls: the question then names the whole one.
  const isAsked = (key: string, call: Call): boolean => {
    const { key: short, exactKey } = keysOfCall(call)
    const isAmbiguous = short !== undefined && exact.get(short)!.size > 1
    return key === short ? !isAmbiguous : key === exactKey ? isAmbiguous : true
  }
  return [...last].flatMap(([key, { call, target }]): OutcomeQuestion[] => {
    const expected = call.result?.outcome
    if (expected === undefined || expected === 'unknown' || !isAsked(key, call)) return []
    const shown = target === undefined ? undefined : oneLine(target.slice(0, 400))
    return [{ kind: 'outcome', tool: call.name, target: shown, key, effect: call.effect, expected }]
  })
}

/** The target of a call on a single file or on none, its key, and that of the whole target. */
function keysOfCall(call: Call): { key?: string; exactKey: string; target: string | undefined } {
  const { name, paths } = call
  const [path] = paths
  const target = path ?? commandOf(call) ?? targetOf(call)
  if (target === undefined || paths.length > 1) return { exactKey: '', target }
  const isPath = path !== undefined
  return { key: keyOf(name, target, isPath), exactKey: exactKeyOf(name, target, isPath), target }
}

/** The key of the calls of a tool with any target. */
function anyKey(tool: string): string {
  return `${tool} *`
}

/** The command line of a call, if it runs one. */
function commandOf({ effect, input }: Call): string | undefined {
  if (effect !== 'other' || !isObject(input)) return undefined
  return input.command === undefined && input.cmd === undefined ? undefined : mainArgument(input)
}

/** What calls of one tool on one target share, also when the target is shortened. */
function keyOf(tool: string, target: string, isPath: boolean): string {
  if (isPath) return `${tool} p:${lastSegments(oneLine(target))}`
  return `${tool} t:${gistOf(target).replace(/…$/, '').slice(0, TARGET_KEY).trim()}`
}

function exactKeyOf(tool: string, target: string, isPath: boolean): string {
  return `${tool} =:${isPath ? oneLine(target) : gistOf(target)}`
}

/** A command without a change of directory before it and a filter behind it; any other target as it is. */
function gistOf(target: string): string {
  const command = withoutPrelude(oneLine(target.slice(0, 2_000))).replace(
    /\|\s*(?:head|tail)\b[^|]{0,30}$/,
    '',
  )
  return oneLine(command.replaceAll('`', "'"))
}

/** The keys of a target in a text of a view, which may be a path or anything else, and shortened or not. */
function keysOf(tool: string, target: string): string[] {
  if (/ and \d+ more$/.test(target)) return []
  const keys = [keyOf(tool, target, false), keyOf(tool, target.replace(/^…\/?/, ''), true)]
  if (/^…|…$/.test(target)) return keys
  return [...new Set([...keys, exactKeyOf(tool, target, false), exactKeyOf(tool, target, true)])]
}

function lastSegments(path: string): string {
  return path
    .split('/')
    .filter((segment) => segment !== '')
    .slice(-3)
    .join('/')
    .slice(-PATH_KEY)
}

/** What a view says of the last call with a key, by the place that says it. */
type Told = {
  /** The newest kept call. */
  kept?: Outcome
  /** The line of the last calls, the line of the call, the lines of problems, the digest. */
  last?: Outcome
  line?: Outcome
  problem?: Outcome
  digest?: Outcome
  /** A count of changes or reads, which says nothing of calls that failed. */
  isCounted?: boolean
}

function ofOutcome({ key, effect, target, expected }: OutcomeQuestion, { told, files }: View): Answer {
  const said = told.get(key)
  if (said?.kept !== undefined) return compared(said.kept, expected)
  const written = said?.last ?? said?.line ?? said?.problem ?? said?.digest
  if (written !== undefined) return compared(written, expected)
  const counted = effect === 'write' ? files.changed : effect === 'read' ? files.readAny : undefined
  const isCounted = target !== undefined && counted?.has(target) === true
  return isCounted && expected === 'ok' ? 'right' : 'unknown'
}

function compared(told: Outcome, expected: Outcome): Answer {
  if (told === 'unknown') return 'unknown'
  return told === expected ? 'right' : 'wrong'
}

/*
 * Rules
 */

type RuleQuestion = Extract<Question, { kind: 'forbidden' }>

/** Clear prohibitions and standing wishes. */
const RULE = new RegExp(
  [
    // Imperatives: at the beginning, or after a word that leads to one.
    String.raw`(?:^|[,;:(–—-]\s*|\b(?:please|and|but|so|also|just|you|just|must|should|or)\s+)(?:do not|don['’]t|never|always)\s+(?!(?:know|think|see|have|understand|get|remember|believe|mean|care|mind|worry|exist|work|seem|need|like|look|feel|want|say|been|is|was)\b)\p{L}`,
    String.raw`\bi (?:do not|don['’]t) want\b`,
    String.raw`\b(?:must not|mustn['’]t|must never|should never|from now on|under no circumstances|not allowed|forbidden|only (?:ever )?use|use only)\b`,
    String.raw`\b(?:niemals|auf keinen fall|keinesfalls|ab jetzt|ab sofort|bitte (?:nicht|keine?n?)|darf(?:st)? (?:nicht|keine?n?)|verwende nur|benutze nur|nutze nur)\b`,
    `不要(?!紧)|禁止|不得(?!不)|务必|必须|从现在起|从现在开始|以后都|不许|永远不|绝对不`,
  ].join('|'),
  'iu',
)
/** Questions and reports with the words of a rule. */
const NOT_A_RULE =
  /[?？]\s*$|要不要|\b(?:as always|why (?:do|did|does)|if you (?:don['’]t|do not)|never mind)\b/i
const LEAST_RULE = 14
const LEAST_EASTERN_RULE = 5
const LONGEST_RULE = 500

function ruleQuestions(spoken: readonly string[]): RuleQuestion[] {
  const found = new Map<string, RuleQuestion>()
  for (const text of spoken) {
    for (const sentence of sentencesOf(ownText(text))) {
      if (sentence.length > LONGEST_RULE || NOT_A_RULE.test(sentence) || !RULE.test(sentence)) continue
      if (sentence.length < (isEastern(sentence) ? LEAST_EASTERN_RULE : LEAST_RULE)) continue
      const key = squeezed(sentence)
      if (!found.has(key)) found.set(key, { kind: 'forbidden', sentence })
    }
  }
  return [...found.values()]
}

function isEastern(text: string): boolean {
  return /[\u3040-\u30ff\u3400-\u9fff]/.test(text)
}

/** A text without case, punctuation and white space; `…` stays. */
export function squeezed(text: string): string {
  return text.toLowerCase().replaceAll(/[^\p{L}\p{N}…]+/gu, '')
}

/** The share of the words of a shortened sentence, or of a request, with which it counts as known. */
const KNOWN_SHARE = 0.6

function ofRule({ sentence }: RuleQuestion, { text }: View): Answer {
  const whole = squeezed(sentence)
  if (text.includes(whole)) return 'right'
  const units = isEastern(sentence) ? [...whole] : (sentence.match(/[^\s]+/g) ?? []).map(squeezed)
  const start = units.slice(0, Math.ceil(units.length * KNOWN_SHARE)).join('')
  for (let at = text.indexOf(start); at >= 0; at = text.indexOf(start, at + 1)) {
    let length = start.length
    while (length < whole.length && text[at + length] === whole[length]) length++
    if (text[at + length] === '…') return 'right'
  }
  return 'unknown'
}

/*
 * States
 */

type StateQuestion = Extract<Question, { kind: 'state' }>

/** The fields that change, and those of an address. */
const STATE_FIELD =
  /^(?:(?:order_?|payment_?|booking_?|reservation_?|ticket_?|account_?)?status|state|phase|stage|cabin|balance|total|total_?(?:price|amount|cost)|address1?|street|insurance|priority|assignee|owner|plan|tier|quantity|due_?date|version)$/i
const ID_FIELD = /^id$|_id$|[a-z]Id$/
const MOST_RECORDS = 2_000
const LONGEST_DATA = 200_000
const LONGEST_VALUE = 60

/** Visits the values of fields of records with an id in the result of a service's call, in their order. */
function eachState(call: Call, visit: (id: string, field: string, value: string) => void): void {
  const { effect, input, result } = call
  if (effect !== 'other' || commandOf(call) !== undefined || result?.outcome === 'failed') return
  const data = result === undefined ? undefined : dataOf(result.output)
  if (data === undefined) return
  const given = isObject(input) ? Object.entries(input) : []
  const values = new Set(given.map(([, value]) => String(value)))
  const ids = given.filter(([name, value]) => ID_FIELD.test(name) && isId(value))
  const argument = ids.length === 1 ? String(ids[0]![1]) : undefined
  let left = MOST_RECORDS
  const walk = (value: Json | undefined, isTop: boolean, depth: number): void => {
    if (left <= 0 || depth > 8) return
    if (Array.isArray(value)) for (const item of value as readonly Json[]) walk(item, isTop, depth + 1)
    else if (isObject(value)) {
      left -= 1
      const id = idOf(value, values, isTop) ?? (isTop && depth === 0 ? argument : undefined)
      if (id !== undefined) visitFields(id, value, visit)
      for (const inner of Object.values(value)) walk(inner, false, depth + 1)
    }
  }
  walk(data, true, 0)
}

function visitFields(
  id: string,
  record: { readonly [name: string]: Json | undefined },
  visit: (id: string, field: string, value: string) => void,
): void {
  for (const [field, value] of Object.entries(record)) {
    const scalar = scalarOf(value)
    if (scalar !== undefined && STATE_FIELD.test(field)) visit(id, field, scalar)
    if (field !== 'address' || !isObject(value)) continue
    const line = scalarOf(value.address1 ?? value.street)
    if (line !== undefined) visit(id, 'address1', line)
  }
}

function scalarOf(value: Json | undefined): string | undefined {
  if (typeof value !== 'string' && typeof value !== 'number') return undefined
  const text = oneLine(String(value))
  return text === '' || text.length > LONGEST_VALUE ? undefined : text
}

function isId(value: unknown): boolean {
  return (typeof value === 'string' || typeof value === 'number') && /^\S{3,80}$/.test(String(value))
}

/** The id of a record: the one that the call asked for, else its own. A record inside another needs an `id`. */
function idOf(
  record: { readonly [name: string]: Json | undefined },
  asked: ReadonlySet<string>,
  isTop: boolean,
): string | undefined {
  const ids = Object.entries(record).filter(([name, value]) => ID_FIELD.test(name) && isId(value))
  const own = ids.find(([name]) => name === 'id')
  const found = isTop ? (ids.find(([, value]) => asked.has(String(value))) ?? own ?? ids[0]) : own
  return found === undefined ? undefined : String(found[1])
}

function dataOf(output: ToolResultOutput): Json | undefined {
  if ((output.type === 'json' || output.type === 'error-json') && typeof output.value !== 'string')
    return output.value
  const text = outputText(output)
  return text.length <= LONGEST_DATA && /^\s*[[{]/.test(text) ? parsedJson(text) : undefined
}

function stateQuestions(calls: readonly Call[]): StateQuestion[] {
  const states = new Map<string, { id: string; field: string; values: string[] }>()
  for (const call of calls) {
    eachState(call, (id, field, value) => {
      const key = stateKey(id, field)
      const values = states.get(key)?.values ?? []
      if (values.at(-1) !== value) values.push(value)
      states.delete(key)
      states.set(key, { id, field, values })
    })
  }
  return [...states.values()].map(({ id, field, values }) => {
    const expected = values.at(-1)!
    const older = [...new Set(values)].filter((value) => value !== expected)
    return { kind: 'state', id, field, expected, older }
  })
}

function stateKey(id: string, field: string): string {
  return `${field} ${id}`
}

function ofState({ id, field, expected, older }: StateQuestion, { states, kept, lines }: View): Answer {
  const shown = states.get(stateKey(id, field))
  if (shown === expected) return 'right'
  if (kept.some((text) => hasWord(text, id) && hasWord(text, expected))) return 'right'
  let said: Answer = shown !== undefined && older.includes(shown) ? 'wrong' : 'unknown'
  for (const line of lines) {
    if (!hasWord(line, id)) continue
    const listed = listedValues(line, field)
    const values = listed ?? [line]
    const newest = values.findLastIndex((value) => hasWord(value, expected))
    const oldest = values.findLastIndex((value) => older.some((one) => hasWord(value, one)))
    if (newest >= 0 && newest >= oldest) return 'right'
    // The values of several records stand in one list.
    if (oldest >= 0 && newest < 0 && (listed === undefined || listed.length === 1)) said = 'wrong'
  }
  return said
}

/** The values in a line such as `get_order (ok) ×2 — order_id W1, W2, status pending, delivered`. */
function listedValues(line: string, field: string): readonly string[] | undefined {
  const start = [`— ${field} `, `, ${field} `].map((mark) => line.indexOf(mark)).find((at) => at >= 0)
  if (start === undefined) return undefined
  const from = start + field.length + 3
  const items = line.slice(from).split(', ')
  const end = items.findIndex((item, i) => i > 0 && /^[a-z][a-z\d]*(?:_[a-z\d]+)* \S/.test(item))
  return end < 0 ? items : items.slice(0, end)
}

/** Whether a text holds a value as whole words; numbers also with separators. */
function hasWord(text: string, value: string): boolean {
  const wanted = value.toLowerCase()
  const within = text.toLowerCase()
  for (let at = within.indexOf(wanted); at >= 0; at = within.indexOf(wanted, at + 1)) {
    const isWhole =
      !/[\p{L}\p{N}_]/u.test(within[at - 1] ?? '') && !/[\p{L}\p{N}_]/u.test(within[at + wanted.length] ?? '')
    if (isWhole) return true
  }
  return false
}

/*
 * The newest request
 */

type RequestQuestion = Extract<Question, { kind: 'asked' }>

/** What a message may begin with before it asks for anything. */
const SMALL_TALK =
  /^[\s,.!?，。！？、~]*(?:ok(?:ay)?|yes|yeah|yep|no|sure|thanks?|thank you|great|cool|nice|wow|perfect|hi|hello|hey|there|alright|good|lgtm|go on|continue|proceed|do it|go ahead|please|so much|very much|ja|nein|danke|gut|weiter|bitte|好的?|谢谢|多谢|嗯|哦|是的|行|可以|再见|不客气|了)(?![\p{Script=Latin}\p{N}'’])/iu
const NO_CONTENT = new Set(
  'about after again all also and any are been before but can could did does don done each else even every for from get had has have here how into its just let like make many more most much must need not now off only other our out over please really same should some such than that the their them then there these they this those too use very want was well were what when where which while who why will with would you your yours aber auch das dann dass der die diese dieser ein eine einen für haben hier ich kann mit nicht noch oder sich sind und wenn wie wird'.split(
    ' ',
  ),
)
const MOST_WORDS = 60
/** The beginning and the end of a request whose words are asked for. */
const REQUEST_ENDS = [800, 400] as const

function requestQuestions(spoken: readonly string[]): RequestQuestion[] {
  for (let i = spoken.length - 1; i >= 0; i--) {
    const own = ownText(spoken[i]!)
    const [first, last] = REQUEST_ENDS
    const text = own.length <= first + last ? own : `${own.slice(0, first)}\n${own.slice(-last)}`
    if (contentWords(withoutSmallTalk(text)).size === 0) continue
    return [{ kind: 'asked', text: own, words: [...contentWords(text)].slice(0, MOST_WORDS) }]
  }
  return []
}

function withoutSmallTalk(text: string): string {
  let rest = text
  for (let i = 0; i < 8 && SMALL_TALK.test(rest); i++) rest = rest.replace(SMALL_TALK, '')
  return rest
}

/** The words that carry a text; pairs of characters in Chinese and Japanese. */
function contentWords(text: string): Set<string> {
  const words = new Set<string>()
  for (const [word] of text.toLowerCase().matchAll(/[\p{L}\p{N}_]{2,60}/gu)) {
    if (isEastern(word)) for (let i = 0; i + 1 < word.length; i++) words.add(word.slice(i, i + 2))
    else if (/\d/.test(word) || (word.length >= 3 && !NO_CONTENT.has(word))) words.add(word)
  }
  return words
}

/** The share of the words of a quotation below which it is another request. */
const OTHER_SHARE = 0.4
/** The fewest content words of a quotation that tells which request it is. */
const LEAST_QUOTED = 3

function ofRequest({ text, words }: RequestQuestion, { asked, newest, first }: View): Answer {
  const shareIn = (known: ReadonlySet<string>): number =>
    words.filter((word) => known.has(word)).length / words.length
  const quoted = newest ?? first
  const shown = quoted === undefined ? asked : [...asked, quoted]
  if (shown.some((known) => shareIn(known) >= KNOWN_SHARE)) return 'right'
  if (newest === undefined || newest.size < LEAST_QUOTED) return 'unknown'
  const all = contentWords(text)
  const own = [...newest].filter((word) => all.has(word)).length
  return own / newest.size < OTHER_SHARE ? 'wrong' : 'unknown'
}

/*
 * Views
 */

/** What a view says, for every kind of question. */
type View = {
  readonly files: {
    readonly changed: ReadonlySet<string>
    /** The ends of changed paths whose beginnings are left out. */
    readonly changedEnds: readonly string[]
    /** The files of which a summary lists nothing but reads, and all that it says were read. */
    readonly read: ReadonlySet<string>
    readonly readAny: ReadonlySet<string>
  }
  readonly told: ReadonlyMap<string, Told>
  /** All texts without case, punctuation and white space. */
  readonly text: string
  /** The newest values in kept results; the texts of kept messages; the lines of summaries. */
  readonly states: ReadonlyMap<string, string>
  readonly kept: readonly string[]
  readonly lines: readonly string[]
  /** The content words of the user's kept messages, and of the request that the summary calls the newest. */
  readonly asked: readonly ReadonlySet<string>[]
  readonly newest: ReadonlySet<string> | undefined
  /** The content words of the first request in the summary. */
  readonly first: ReadonlySet<string> | undefined
}

/** A view is read once for all of its questions. */
const views = new WeakMap<readonly ChatMessage[], View>()

function viewOf(messages: readonly ChatMessage[]): View {
  let view = views.get(messages)
  if (view === undefined) {
    view = readView(messages)
    views.set(messages, view)
  }
  return view
}

function readView(messages: readonly ChatMessage[]): View {
  const summaries = messages.filter(({ role }) => role === 'system').map((message) => textOf([message]))
  const keptMessages = messages.filter(({ role }) => role !== 'system')
  const summary = new SummaryLines()
  for (const text of summaries) summary.add(text)
  const { calls, spoken } = read(keptMessages, true)
  const states = new Map<string, string>()
  for (const message of keptMessages) if (message.role === 'user') summary.applied(textOf([message]))
  for (const call of calls) {
    summary.keep(call)
    eachState(call, (id, field, value) => states.set(stateKey(id, field), value))
  }
  return {
    files: summary.files(),
    told: summary.told,
    text: messages.map((message) => squeezed(textOf([message]))).join('\n'),
    states,
    kept: keptMessages.map((message) => textOf([message])),
    lines: summary.lines,
    asked: spoken.map(contentWords),
    newest: summary.newest,
    first: summary.first,
  }
}

const ROOT = /^Root: `([^`]+)`$/
const READ_LIST = /^Read: (`.+)$/
const DIGEST_READS = /^files read: (.+)$/
const FILE = /^`([^`]+)` — ([^—]+)/
const LAST_CALLS = /^Last tool calls: (.+)$/
const PROBLEM = /^([^\s`":]{1,100})(?: `([^`]+)`)? failed(?: \((?:\d+) times\))?: /
const CALL =
  /^([^\s`":]{1,100})(?: `([^`]+)`)? \(((?:(?:ok|failed|pending|unknown)(?: ×\d+)?(?:, )?)+)\)(?: ×\d+)?(?= —|$)/
const DIGEST = /^([^\s`"]{1,100})(?: (.+?))?(?: ×\d+)? · (ok|failed|unknown|pending)(?: · |$)/
const REQUEST = /^(First|Newest) request: (.+)$/
/** Editors whose calls also show files: their lines do not say which. */
const ALSO_SHOWS = /str_replace_(?:based_edit|editor)|text_editor/

/** Reads the lines of summaries that say what became of files and calls, then the kept calls. */
class SummaryLines {
  readonly lines: string[] = []
  readonly told = new Map<string, Told>()
  newest: ReadonlySet<string> | undefined
  first: ReadonlySet<string> | undefined
  readonly #changed = new Set<string>()
  readonly #changedEnds = new Set<string>()
  readonly #read = new Set<string>()
  readonly #readAny = new Set<string>()

  add(text: string): void {
    let root = ''
    for (const raw of text.split('\n')) {
      const line = raw.replace(/^\s*[-*] /, '').trim()
      if (line === '' || line.startsWith('#')) continue
      this.lines.push(line)
      const found = ROOT.exec(line)?.[1]
      if (found !== undefined) root = found
      else this.#line(line, root)
    }
  }

  #line(line: string, root: string): void {
    const [, order, quoted] = REQUEST.exec(line) ?? []
    if (quoted !== undefined) {
      if (order === 'Newest') this.newest = contentWords(quoted)
      else this.first ??= contentWords(quoted)
      return
    }
    const list = READ_LIST.exec(line)?.[1]
    if (list !== undefined) {
      for (const [, path = ''] of list.matchAll(/`([^`]+)`/g)) this.#file(path, root, false)
      return
    }
    const reads = DIGEST_READS.exec(line)?.[1]
    if (reads !== undefined) {
      for (const item of reads.split(', ')) this.#file(item.replace(/ ×\d+$/, ''), '', false)
      return
    }
    const [, path, deeds] = FILE.exec(line) ?? []
    if (path !== undefined && deeds !== undefined) {
      if (/\b(?:written|created|edits?|changed|deleted|moved|renamed)\b/.test(deeds))
        this.#file(path, root, true)
      if (/\breads?\b/.test(deeds)) this.#file(path, root, false)
      return
    }
    const calls = LAST_CALLS.exec(line)?.[1]
    if (calls !== undefined) this.#lastCalls(calls)
    else this.#call(line)
  }

  #file(path: string, root: string, isChanged: boolean): void {
    const isAbsolute = /^(?:\/|~|…|[A-Za-z]:|\w+:\/\/)/.test(path)
    const paths = isAbsolute || root === '' ? [path] : [path, root + path]
    if (path.startsWith('…')) {
      if (isChanged) this.#changedEnds.add(path.slice(1))
      return
    }
    for (const one of paths) {
      if (isChanged) this.#changed.add(one)
      else {
        this.#read.add(one)
        this.#readAny.add(one)
      }
    }
  }

  #lastCalls(list: string): void {
    for (const [, tool = '', target, state] of list.matchAll(
      /([^\s`,]{1,100})(?: `([^`]*)`)?(?: \((ok|failed|no result yet)\))?(?:, |$)/g,
    )) {
      const outcome = state === 'ok' || state === 'failed' ? state : 'unknown'
      this.#tell(tool, target, 'last', outcome)
      if (outcome === 'ok' && target !== undefined) this.#changedBy(tool, target)
    }
  }

  #call(line: string): void {
    const [problem, failing, what] = PROBLEM.exec(line) ?? []
    if (problem !== undefined && failing !== undefined) {
      // Of several problems of a call, one that was not overcome is the newest.
      const isOver = /\[later(?: succeeded\]|…)$/.test(line)
      const [key = anyKey(failing)] = what === undefined ? [] : keysOf(failing, what)
      if (!isOver || this.told.get(key)?.problem === undefined)
        this.#tell(failing, what, 'problem', isOver ? 'ok' : 'failed')
      return
    }
    const [, tool, target, state] = CALL.exec(line) ?? []
    if (tool !== undefined) {
      // The last outcome stands last.
      const last = state?.split(', ').at(-1)?.split(' ')[0]
      this.#tell(tool, target, 'line', last === 'ok' || last === 'failed' ? last : 'unknown')
      return
    }
    const [, name, input, status] = DIGEST.exec(line) ?? []
    if (name === undefined) return
    const outcome = status === 'ok' || status === 'failed' ? status : 'unknown'
    this.#tell(name, input, 'digest', outcome)
    if (outcome === 'ok' && input !== undefined) this.#changedBy(name, input)
  }

  /** Entries of the digest with several outcomes do not say which came last; nor do entries with several targets. */
  #tell(tool: string, target: string | undefined, by: keyof Omit<Told, 'isCounted'>, outcome: Outcome): void {
    const own = target === undefined ? [anyKey(tool)] : keysOf(tool, target)
    const keys = by === 'last' && target !== undefined ? [...own, anyKey(tool)] : own
    for (const key of keys) {
      const told = this.told.get(key) ?? {}
      const isMixed = by === 'digest' && told.digest !== undefined && told.digest !== outcome
      told[by] = isMixed ? 'unknown' : outcome
      this.told.set(key, told)
    }
  }

  /** Adds the file that a call changed, when its line shows the path. */
  #changedBy(tool: string, target: string): void {
    if (effectOf(tool, {}) !== 'write' || ALSO_SHOWS.test(tool)) return
    const path = target.replace(/ and \d+ more$/, '')
    if (path.startsWith('…')) this.#changedEnds.add(path.slice(1))
    else this.#changed.add(path)
  }

  /** Adds the edits that a kept message reports, whose calls may be left out. Kept calls are added later. */
  applied(text: string): void {
    for (const [, path = ''] of text.matchAll(/^Applied edit to (\S{1,300})$/gm)) {
      this.#changed.add(path)
      for (const key of keysOf('edit_file', path)) this.told.set(key, { ...this.told.get(key), kept: 'ok' })
    }
  }

  /** Adds a kept call, in its order. */
  keep(call: Call): void {
    const { name, effect, paths, result } = call
    if (effect === 'write' && result !== undefined && result.outcome !== 'failed')
      for (const path of paths) this.#changed.add(oneLine(path))
    const outcome =
      result === undefined ? 'unknown' : outcomeOf({ toolName: name, input: call.input }, result.output)
    const { key, exactKey } = keysOfCall(call)
    for (const one of [anyKey(name), ...(key === undefined ? [] : [key, exactKey])]) {
      const told = this.told.get(one) ?? {}
      told.kept = outcome
      this.told.set(one, told)
    }
  }

  files(): View['files'] {
    return {
      changed: this.#changed,
      changedEnds: [...this.#changedEnds],
      read: this.#read,
      readAny: this.#readAny,
    }
  }
}
