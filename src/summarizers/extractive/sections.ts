import { headOf, tailOf } from '../../messages/characters.ts'
import type { SummaryRequest } from '../summarizer.ts'
import { oneLine, sentencesOf, shorten, withoutFences } from '../text.ts'
import { type Conversation, callLabel, commits, type Exchange, shellChanges } from './conversation.ts'
import { factsIn, writeFacts } from './facts.ts'
import { definedNames, writeFile, writeNames, writeReads } from './file-lines.ts'
import { commonRoot, type FileFacts, filesIn, isModified, mergeFiles, weightOfFile } from './files.ts'
import type { Bullet, Previous } from './fit.ts'
import { problemsIn, resultsIn } from './problems.ts'
import { gist, informative, isSmallTalk, withList } from './requests.ts'
import { distinctRules, isEastAsian, type Rule, rulesIn, writeRule } from './rules.ts'
import { intention, isCommitted, taskKey, tasksIn, unanswered } from './tasks.ts'
import { mergeTerms, type Topic, termsIn, writeTerms } from './terms.ts'

/** The maximum units of the first request, of a later one, and of one line of the task's evolution. */
const FIRST_REQUEST = 2_000
const LATER_REQUEST = 320
const REQUEST_LINE = 140
const OUTCOME_LINE = 160

/** The number of newest exchanges that are read besides the first. */
const MAX_EXCHANGES = 150

/** The first and the newest exchanges, with their index among all. */
function telling(exchanges: readonly Exchange[]): readonly Exchange[] {
  if (exchanges.length <= MAX_EXCHANGES + 1) return exchanges
  return [...exchanges.slice(0, 1), ...exchanges.slice(-MAX_EXCHANGES)]
}

/**
 * The user's requests in the user's words: the first in full up to its limit, the most important sentences of the others.
 * `isContinued`: an earlier summary precedes the first one.
 */
export function requestBullets({ exchanges }: Conversation, isContinued: boolean): Bullet[] {
  const asked = telling(exchanges).filter(({ request }) => !isSmallTalk(request.text))
  const bullets: Bullet[] = []
  for (const [i, { request }] of asked.entries()) {
    if (i === 0 && !isContinued) {
      const text = oneLine(headOf(request.text, FIRST_REQUEST * 2))
      bullets.push({
        text: `First request: "${text.length <= FIRST_REQUEST ? text : informative(request.text, FIRST_REQUEST)}"`,
        rank: 1_000,
        cut: 'prose',
        vital: true,
      })
      continue
    }
    const shown = informative(request.text, LATER_REQUEST)
    const age = asked.length - 1 - i
    // The evolution also has a line for each; the long ones are listed here.
    bullets.push({
      text: `"${shown}"`,
      rank: 860 - Math.min(300, 15 * age) + Math.min(60, shown.length / 4),
      cut: 'prose',
    })
  }
  return bullets
}

/** One line for each request, oldest first: the request, its outcome, its commits. */
export function evolutionBullets({ exchanges }: Conversation): Bullet[] {
  const items = telling(exchanges)
  const bullets: Bullet[] = []
  for (const [i, exchange] of items.entries()) {
    const { request, replies } = exchange
    const last = replies.at(-1)
    const committed = commits(exchange.calls)
    const outcome = last === undefined ? '' : outcomeOf(last.text, committed.length > 0)
    const isSmall = isSmallTalk(request.text)
    const age = items.length - 1 - i
    const rank = (i === 0 ? 830 : 850 - Math.min(250, 8 * age)) - (isSmall ? 150 : 0)
    if (!isSmall || outcome !== '') {
      const answer = outcome === '' ? '' : ` → ${outcome}`
      bullets.push({ text: `"${informative(request.text, REQUEST_LINE)}"${answer}`, rank, cut: 'prose' })
    }
    const steps =
      committed.length > 0 ? committed.map((subject) => `Commit: ${subject}`) : milestones(exchange)
    for (const [j, step] of steps.entries()) {
      bullets.push({ text: step, rank: rank - 20 - j / 100, cut: 'prose' })
    }
  }
  return bullets
}

/** The result that a closing reply states. */
function outcomeOf(text: string, isCommitted: boolean): string {
  const prose = withoutFences(headOf(text, 2_500))
  const sentences = sentencesOf(prose)
  const reached = sentences.findIndex((sentence) => isMilestone(sentence) && sentence.length >= 20)
  if (reached >= 0) return shorten(withList(sentences, reached), OUTCOME_LINE)
  return isCommitted ? '' : gist(text, OUTCOME_LINE)
}

const MILESTONE =
  /\b(?:done|completed?|fixed|implemented|created|added|updated|removed|pass(?:es|ed|ing)?|works|working|finished|resolved|renamed|moved|committed|succeed(?:s|ed)|successfully|booked|cancell?ed|changed)\b/i

function isMilestone(sentence: string): boolean {
  return (
    MILESTONE.test(sentence) &&
    !/^(?:let me|now|next|i['’]ll|i need|first|once|if|when)\b|\?$/i.test(sentence)
  )
}

/** Milestones of a long exchange without commits: at most four, spread over it. */
function milestones({ replies }: Exchange): string[] {
  if (replies.length < 6) return []
  const reached: string[] = []
  for (const { text } of replies.slice(0, -1)) {
    const [first = ''] = sentencesOf(headOf(text, 400))
    if (first.length >= 20 && isMilestone(first)) reached.push(`Step: ${shorten(first, 140)}`)
  }
  const stride = Math.max(1, reached.length / 4)
  return reached.length <= 4 ? reached : [0, 1, 2, 3].map((i) => reached[Math.floor(i * stride)]!)
}

/** The state at the end: the current request, the last replies, the last calls. */
export function currentBullets({ exchanges, replies, calls }: Conversation): Bullet[] {
  const bullets: Bullet[] = []
  const asked = exchanges.findLast(({ request }) => !isSmallTalk(request.text)) ?? exchanges.at(-1)
  if (asked !== undefined && exchanges.length > 1) {
    bullets.push({ text: `Working on: "${informative(asked.request.text, 240)}"`, rank: 955, cut: 'prose' })
  }
  const closing = replies.slice(-3)
  for (const [i, { text }] of closing.entries()) {
    const isLast = i === closing.length - 1
    const shown = isLast ? closingOf(text) : informative(text, 200)
    if (shown !== '') bullets.push({ text: shown, rank: isLast ? 960 : 780 + i, cut: 'prose', vital: isLast })
  }
  const last = calls.slice(-6).map((call) => {
    const state = call.result === undefined ? 'no result yet' : call.result.outcome
    return state === 'unknown' ? callLabel(call, 80) : `${callLabel(call, 80)} (${state})`
  })
  if (last.length > 0) bullets.push({ text: `Last tool calls: ${last.join(', ')}`, rank: 800, cut: 'list' })
  return bullets
}

/** The last reply: whole when short, else its beginning and end. */
function closingOf(text: string): string {
  const whole = oneLine(withoutFences(text))
  if (whole.length <= 700) return whole
  return `${shorten(whole, 400)} ${oneLine(tailOf(whole, 260).replace(/^\S*\s/, ''))}`
}

/** The bullets of every topic, of a conversation and of an earlier summary. */
export function bulletsByTopic(
  conversation: Conversation,
  previous: Previous,
  listed: SummaryRequest['files'],
  max: number,
): ReadonlyMap<Topic, readonly Bullet[]> {
  const known = new Set<string>()
  const files = mergeFiles(previous.files, filesIn(conversation.calls, listed))
  const rules = distinctRules([...previous.rules, ...rulesIn(conversation.texts)])
  const isDecision = ({ weight, by }: Rule) => weight < 3 && by !== 'Earlier'
  const isSilent = conversation.texts.length === 0 && conversation.calls.length === 0
  const asked = requests(conversation, previous)
  return new Map<Topic, readonly Bullet[]>([
    ['request', asked],
    ['files', fileBullets(conversation, previous, files, known, max)],
    ['concepts', concepts(conversation, previous, known, factsRoom(max, asked[0]?.text ?? ''))],
    ['problems', problems(conversation, previous)],
    ['pending', pending(conversation, previous)],
    ['evolution', evolution(conversation, previous)],
    ['current', isSilent ? stale(previous, 'current', 900) : currentBullets(conversation)],
    ['next', isSilent ? stale(previous, 'next', 950) : nextBullets(conversation)],
    ['required', required(previous, files)],
    ['rules', ruleBullets(rules.filter((rule) => !isDecision(rule)))],
    ['decisions', ruleBullets(rules.filter(isDecision))],
    ['questions', questions(conversation)],
  ])
}

function carried(previous: Previous, topic: Topic): readonly string[] {
  return previous.lines.get(topic) ?? []
}

/** Lines that are renewed each time, for a conversation without new ones. */
function stale(previous: Previous, topic: Topic, rank: number): Bullet[] {
  return carried(previous, topic).map((text, i) => ({ text, rank: rank - i, cut: 'prose' }))
}

function requests(conversation: Conversation, previous: Previous): Bullet[] {
  const before = carried(previous, 'request')
  const history = before.map((text, i): Bullet => {
    // The first is kept, and the newer ones of the others.
    if (i === 0) return { text, rank: 1_000, cut: 'prose', vital: true }
    return {
      text: shortenQuote(text, CARRIED_REQUEST),
      rank: 780 - Math.min(300, 12 * (before.length - i)),
      cut: 'prose',
    }
  })
  const isContinued = previous.earlier.length > 0 || previous.lines.size > 0
  return distinct([...history, ...requestBullets(conversation, isContinued)])
}

/** The units of a later request and of a step of the task from an earlier summary. */
const CARRIED_REQUEST = 200
const CARRIED_STEP = 130

/** Shortens a line with a quotation; the outcome of a request is dropped first. */
function shortenQuote(text: string, max: number): string {
  if (text.length <= max) return text
  const [asked = text] = text.split('" → ')
  if (asked.length < text.length && asked.length + 1 >= max * 0.6) return shortenQuote(`${asked}"`, max)
  return text.endsWith('"') ? `${shorten(text.slice(0, -1), max - 1)}"` : shorten(text, max)
}

/** The share of a summary for its line of facts. */
const FACTS_SHARE = 0.4
/** The same for a summary of a few lines. */
const MOST_FACTS_SHARE = 0.8
const FEW_FACTS = 600
/**
 * In such a short summary, a first request in Chinese or Japanese, which needs few units, comes before the facts and takes up to half
 * of it, plus two headings. In other scripts the facts retain more identifiers that are needed later (bench:retention: 0.690 against
 * 0.518).
 */
const TINY = 400
const HEADINGS = 70

/** The maximum units of the facts in a summary of `max` units with this first request. */
function factsRoom(max: number, request: string): number {
  const room = Math.max(max * FACTS_SHARE, Math.min(FEW_FACTS, max * MOST_FACTS_SHARE))
  if (max > TINY || !isEastAsian(request)) return room
  return Math.min(room, max - HEADINGS - Math.min(request.length, Math.floor(max / 2)))
}

function concepts(
  conversation: Conversation,
  previous: Previous,
  known: Set<string>,
  room: number,
): Bullet[] {
  const facts = writeFacts(factsIn(conversation, previous.facts), room)
  const terms = mergeTerms(previous.terms, termsIn(conversation))
  const ranks: Record<string, number> = {
    'Working directory': 780,
    Branch: 780,
    Values: 760,
    Commands: 750,
    Terms: 740,
  }
  const lists = [...terms]
    .map(([label, items]) => [label, items.filter((item) => !facts.includes(item))] as const)
    .filter(([, items]) => items.length > 0)
    .map(
      ([label, items]): Bullet => ({
        text: writeTerms(label, items),
        rank: ranks[label] ?? 650,
        cut: 'list',
      }),
    )
  const results = resultsIn(conversation, known)
  const keys = new Set(results.map(({ key }) => key))
  const carriedOn = carried(previous, 'concepts').filter((line) => !keys.has(RESULT.exec(line)?.[1] ?? ''))
  return [
    ...(facts === '' ? [] : [{ text: facts, rank: 965, cut: 'list', isSized: true } as const]),
    ...lists,
    ...older(carriedOn, 600),
    ...results
      .map(({ text }, i): Bullet => ({ text, rank: Math.max(450, 730 - 5 * i), cut: 'list' }))
      .reverse(),
  ]
}

/** The call in a line about its result. */
const RESULT = /^(.{1,120}?) (?:gave|showed) /

/** A line with nothing but a path. */
const PATH_LINE = /^`([^`]+)`$/

/** The units of one file's first line: a share of the room, and the minimum. */
const FILE_SHARE = 0.02
const LEAST_FILE_UNITS = 160

/** The maximum number of listed files that were only read. */
const MAX_READS = 40

function fileBullets(
  { calls }: Conversation,
  previous: Previous,
  files: readonly FileFacts[],
  known: Set<string>,
  max: number,
): Bullet[] {
  const latest = files.reduce((max, { last }) => Math.max(max, last), 0)
  const byWeight = files.toSorted((a, b) => weightOfFile(b, latest) - weightOfFile(a, latest))
  const described = byWeight.filter((file) => isModified(file) || file.outline.defines.size > 0)
  const others = byWeight.filter((file) => !described.includes(file))
  const reads = others.filter((file) => file.reads > 0).slice(0, MAX_READS)
  const root = commonRoot([...described, ...reads].map(({ path }) => path))
  const shown = (path: string) =>
    root !== undefined && path.startsWith(root) ? path.slice(root.length) : path

  const bullets: Bullet[] = []
  if (root !== undefined) bullets.push({ text: `Root: \`${root}\``, rank: 0, isIntro: true })
  // Every file gets a line before one gets all of its names.
  const room = Math.max(LEAST_FILE_UNITS, max * FILE_SHARE)
  const more: Bullet[] = []
  for (const [i, file] of described.entries()) {
    const [line, rest] = writeFile(file, shown(file.path), room)
    const rank = isModified(file) ? 920 : 860
    bullets.push({ text: line, rank: Math.max(500, rank - 10 * i), cut: 'list' })
    if (rest !== '') more.push({ text: rest, rank: Math.max(490, 800 - 10 * i), cut: 'list' })
  }
  if (reads.length > 0) {
    bullets.push({
      text: writeReads(reads.map((file) => ({ ...file, path: shown(file.path) }))),
      rank: 720,
      cut: 'list',
    })
  }
  for (const bullet of more) bullets.push(bullet)
  for (const { outline, path } of files) for (const name of [path, ...definedNames(outline)]) known.add(name)
  for (const [i, file] of byWeight.entries()) {
    const text = writeNames(file, shown(file.path), known)
    if (text !== '') bullets.push({ text, rank: Math.max(480, 760 - 10 * i), cut: 'list' })
  }
  for (const [i, change] of shellChanges(calls).entries()) {
    bullets.push({ text: `Shell: \`${change}\``, rank: 700 + i })
  }
  const paths = new Set(files.map(({ path }) => path))
  // Lines of another writer are kept when they contain more than a listed path.
  const foreign = carried(previous, 'files').filter((line) => !paths.has(PATH_LINE.exec(line)?.[1] ?? ''))
  return distinct([...bullets, ...older(foreign, 620)])
}

function problems(conversation: Conversation, previous: Previous): Bullet[] {
  const found = problemsIn(conversation)
  const fresh = found.map(({ text, kind }, i): Bullet => {
    const age = found.length - 1 - i
    return {
      text,
      rank: { failed: 800, complaint: 800, overcome: 700 }[kind] - Math.min(300, 10 * age),
      cut: 'prose',
    }
  })
  return distinct([...older(carried(previous, 'problems').slice(-30), 560), ...fresh])
}

const ANSWER = 'Answer the user: '
const CARRIED = ' (earlier)'

function pending(conversation: Conversation, previous: Previous): Bullet[] {
  const { open, done } = tasksIn(conversation)
  const question = unanswered(conversation)
  const subjects = commits(conversation.calls)
  const known = new Set(open.map(({ text }) => taskKey(text)))
  // An earlier open task is kept and marked, unless it is done or listed again.
  const before = carried(previous, 'pending')
    .filter((text) => !text.startsWith(ANSWER) && !/^and \d+ more unchecked/.test(text))
    .filter((text) => !done.has(taskKey(text)) && !known.has(taskKey(text)) && !isCommitted(text, subjects))
    .slice(0, 30)
  return [
    ...(question === undefined ? [] : [{ text: `${ANSWER}"${question}"`, rank: 950, cut: 'prose' } as const]),
    ...open.map(({ text, rank }): Bullet => ({ text, rank, cut: 'prose' })),
    ...before.map((text, i): Bullet => {
      const isOld = text.endsWith(CARRIED)
      return { text: isOld ? text : text + CARRIED, rank: (isOld ? 660 : 720) - 8 * i, cut: 'prose' }
    }),
  ]
}

function evolution(conversation: Conversation, previous: Previous): Bullet[] {
  const before = carried(previous, 'evolution')
  const history = before.map((text, i): Bullet => {
    const rank = (text.startsWith('"') ? 800 : 720) - Math.min(250, 4 * (before.length - i))
    const shown = /^(?:"|Commit: |Step: )/.test(text) ? shortenQuote(text, CARRIED_STEP) : text
    return { text: shown, rank: i === 0 ? 825 : rank, cut: 'prose' }
  })
  return distinct([...history, ...evolutionBullets(conversation)])
}

function nextBullets(conversation: Conversation): Bullet[] {
  const question = unanswered(conversation)
  if (question !== undefined)
    return [{ text: `${ANSWER}"${question}"`, rank: 958, cut: 'prose', vital: true }]
  const { says, asks } = intention(conversation)
  const bullets: Bullet[] = []
  if (says !== undefined) bullets.push({ text: `Assistant: "${says}"`, rank: 958, cut: 'prose', vital: true })
  if (asks !== undefined) bullets.push({ text: `Asked of the user: "${asks}"`, rank: 957, cut: 'prose' })
  const last = conversation.exchanges.at(-1)
  if (bullets.length === 0 && last !== undefined) {
    bullets.push({ text: `Last request: "${informative(last.request.text, 240)}"`, rank: 940, cut: 'prose' })
  }
  return bullets
}

/** The maximum number of required files. */
const MAX_REQUIRED = 10

function required(previous: Previous, files: readonly FileFacts[]): Bullet[] {
  const latest = files.reduce((max, { last }) => Math.max(max, last), 0)
  const fresh = files
    .toSorted((a, b) => weightOfFile(b, latest) - weightOfFile(a, latest))
    .slice(0, MAX_REQUIRED)
    .map(({ path }, i): Bullet => ({ text: `\`${path}\``, rank: 850 - 15 * i }))
  const foreign = carried(previous, 'required').filter((line) => !PATH_LINE.test(line))
  return [...fresh, ...older(foreign, 560)]
}

/** Rules are never shortened; the user's rules and carried over rules are included before the shares apply. */
function ruleBullets(rules: readonly Rule[]): Bullet[] {
  return rules.map((rule, i) => {
    const base = rule.by === 'Assistant' ? 600 : 900 + 15 * rule.weight
    // Among equally strong ones the older comes first.
    return { text: writeRule(rule), rank: base - Math.min(14, i / 100), vital: rule.by !== 'Assistant' }
  })
}

function questions(conversation: Conversation): Bullet[] {
  const question = unanswered(conversation)
  const { asks } = intention(conversation)
  const lines = [
    ...(question === undefined ? [] : [`User: "${question}"`]),
    ...(asks === undefined ? [] : [`Assistant: "${asks}"`]),
  ]
  return lines.map((text) => ({ text, rank: 940, cut: 'prose' }))
}

/** Lines of an earlier summary; newer ones rank higher. */
function older(lines: readonly string[], rank: number): Bullet[] {
  return lines.map((text, i) => ({ text, rank: rank - Math.min(200, 5 * (lines.length - i)), cut: 'prose' }))
}

function distinct(bullets: readonly Bullet[]): Bullet[] {
  const seen = new Set<string>()
  return bullets.filter(({ text }) => !seen.has(text) && seen.add(text))
}
