import { headOf, tailOf } from '../../messages/characters.ts'
import { oneLine, sentencesOf, shorten, withoutFences } from '../text.ts'
import { type Conversation, callLabel, commits, type Exchange, errorLine } from './conversation.ts'
import type { Bullet } from './fit.ts'
import { gist, informative, isSmallTalk, withList } from './requests.ts'

/** Most units of the first request, of a later one, and of one line of the task's evolution. */
const FIRST_REQUEST = 2_000
const LATER_REQUEST = 320
const REQUEST_LINE = 140
const OUTCOME_LINE = 160

/** Exchanges looked at besides the first: the newest. */
const MAX_EXCHANGES = 150

/** The exchanges worth telling: the first and the newest, with their place among all. */
function telling(exchanges: readonly Exchange[]): readonly Exchange[] {
  if (exchanges.length <= MAX_EXCHANGES + 1) return exchanges
  return [...exchanges.slice(0, 1), ...exchanges.slice(-MAX_EXCHANGES)]
}

/**
 * What the user asked for, in the user's words: the first request in full as far as that goes, of the others
 * the sentences that say most. `isContinued`: something came before the first one here.
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
    const told = informative(request.text, LATER_REQUEST)
    const age = asked.length - 1 - i
    // The evolution has a line for each as well; here the long ones count.
    bullets.push({
      text: `"${told}"`,
      rank: 860 - Math.min(300, 15 * age) + Math.min(60, told.length / 4),
      cut: 'prose',
    })
  }
  return bullets
}

/** One line for each request, oldest first: what was asked, what came of it, what was committed on the way. */
export function evolutionBullets({ exchanges }: Conversation): Bullet[] {
  const told = telling(exchanges)
  const bullets: Bullet[] = []
  for (const [i, exchange] of told.entries()) {
    const { request, replies } = exchange
    const last = replies.at(-1)
    const committed = commits(exchange.calls)
    const outcome = last === undefined ? '' : outcomeOf(last.text, committed.length > 0)
    const isSmall = isSmallTalk(request.text)
    const age = told.length - 1 - i
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

/** What a closing reply says was reached. */
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

/** What was going on at the end: the request at hand, the last replies, the last calls. */
export function currentBullets({ exchanges, replies, calls }: Conversation): Bullet[] {
  const bullets: Bullet[] = []
  const asked = exchanges.findLast(({ request }) => !isSmallTalk(request.text)) ?? exchanges.at(-1)
  if (asked !== undefined && exchanges.length > 1) {
    bullets.push({ text: `Working on: "${informative(asked.request.text, 240)}"`, rank: 955, cut: 'prose' })
  }
  const closing = replies.slice(-3)
  for (const [i, { text }] of closing.entries()) {
    const isLast = i === closing.length - 1
    const told = isLast ? closingOf(text) : informative(text, 200)
    if (told !== '') bullets.push({ text: told, rank: isLast ? 960 : 780 + i, cut: 'prose', vital: isLast })
  }
  const last = calls.slice(-6).map((call) => {
    const state =
      call.result === undefined ? 'no result yet' : errorLine(call) === undefined ? 'ok' : 'failed'
    return `${callLabel(call, 80)} (${state})`
  })
  if (last.length > 0) bullets.push({ text: `Last tool calls: ${last.join(', ')}`, rank: 800, cut: 'list' })
  return bullets
}

/** The last reply: whole when short, else what it begins and ends with. */
function closingOf(text: string): string {
  const whole = oneLine(withoutFences(text))
  if (whole.length <= 700) return whole
  return `${shorten(whole, 400)} ${oneLine(tailOf(whole, 260).replace(/^\S*\s/, ''))}`
}
