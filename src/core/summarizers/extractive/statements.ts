import { headOf } from '../../messages/characters.ts'
import { isEastAsian, sentencesOf, shorten, withoutFences } from '../text.ts'
import type { Exchange } from './conversation.ts'
import { fencesIn } from './fences.ts'
import { type Candidate, DEFINES, excerptOf } from './lines.ts'
import { eachName } from './names.ts'
import { tableRows } from './records.ts'

/*
 * Statements: the sentences of replies that say what was done, found or decided, not what comes next.
 */

/** A sentence of a reply, and how much it states. */
type Statement = { readonly text: string; readonly at: number; readonly weight: number }

type Reply = { readonly text: string; readonly at: number }

/** The units of a reply that are searched, the minimum and maximum units of a statement, the minimum of another quoted sentence, and the number of names that count. */
const REPLY_UNITS = 4_100
const MIN_UNITS = 14
const MIN_QUOTED = 24
const MAX_UNITS = 320
const MAX_NAMES = 3
/** The maximum number of replies to one request that are searched for its outcome. */
const MAX_REPLIES = 8

/** Words before an announcement: "Good, now let me …". */
const LEAD = "(?:[\\p{L}’']{1,12}(?: [\\p{L}’']{1,12}){0,2}[,.!:;—–-]{1,2} ?)?"
/** A sentence that announces a step: the first person and the future or an intention. */
const ANNOUNCES = new RegExp(
  `^now\\b.{0,40}$|^${LEAD}(?:(?:now|first|next|then|so|and|but|ok(?:ay)?|good|great|perfect)[, ]{1,2}){0,3}(?:${[
    "let me|let['’]s|i['’]ll|i will|i['’]m (?:going|about) to|i (?:need|want|should|can) (?:to )?|we need to|time to|on to|moving on",
    'ich (?:werde|muss|schaue|prüfe|lese)|lass(?:en)? (?:mich|uns)|(?:jetzt|nun|als nächstes|zuerst) (?:werde|muss|schaue|prüfe|lese)',
    'je vais|laissez-moi|voyons|commençons|voy a|déjame|vamos a|ahora voy|vou |deixe-me|agora vou',
    '我(?:来|先|将|会|需要|现在)|让我|(?:接下来|现在|首先)(?:我|让|来|需要)|まず|次に|では|それでは|먼저|이제|다음으로',
  ].join('|')})`,
  'iu',
)
/** The same at the end, where some languages put the verb: 確認します, 하겠습니다. */
const WILL = /(?:します|しましょう|みます|하겠습니다|할게요|보겠습니다)[。.!]?$/
/** What was completed or is now so: perfect forms and words for states, in a few languages. */
const COMPLETES = new RegExp(
  [
    '\\b(?:\\w{3,20}ed|done|built|found|sent|made|written|ran|now|works?|pass(?:es)?|fails?|green|missing|caus(?:es?|ing)|means?|because)\\b',
    '\\b(?:ge\\w{3,20}(?:t|en)|wurden?|behoben|erledigt|fertig|läuft|fehlt|weil)\\b',
    '\\b\\w{3,20}(?:ado|ada|ados|adas|ido|ida)\\b|\\b(?:porque|listo|funciona|pronto)\\b|[éèû]e?s?\\b|\\b(?:parce que|fini|terminé)\\b',
    '已|完成|成功|修复|通过|因为|了[。，]|ました|済み|完了|ため|했습니다|되었습니다|완료|됐|때문',
  ].join('|'),
  'i',
)
/** A reason, which a decision keeps. */
const REASON =
  /\b(?:because|since|so that|due to|weil|damit|porque|ya que|parce que|puisque)\b|因为|由于|ので|ため|때문/i
/** An offer or condition for later. */
const OFFERS =
  /\b(?:if you|would you|do you want|want me to|feel free|let me know|shall i|should i|you can|wenn (?:du|sie)|möchte(?:n|st)|si (?:tu|vous|usted|quieres)|se (?:você|quiser))\b|如果您?你?|需要我|よろしければ|원하시면/i
/** Praise, thanks, agreement, and knowing enough to begin. */
const POLITE =
  /^(?:(?:great|good|perfect|excellent|nice|awesome|thanks?|thank you|sure|of course|certainly|got it|understood|sounds good|no problem|(?:you['’]re|you are) (?:absolutely |quite )?(?:right|welcome)|i (?:apologi[sz]e|understand)|sorry|gern|gerne|danke|perfekt|sehr gut|merci|parfait|bien sûr|gracias|perfecto|claro|obrigado|好的|谢谢|不客气|太好了|ありがとう|承知|了解|감사|네)\b.{0,60}|(?:based on .{0,60}, )?.{0,40}\b(?:have|got|see|can now) (?:a|an|the|enough|all)\b.{0,40}\b(?:picture|context|understanding|information|overview|issue|problem))[.!。！]?$/iu
/** What a client writes in place of the model. */
const SYNTHETIC =
  /^(?:\[|api error|no response requested|(?:request|operation) (?:was )?(?:interrupted|aborted|timed out)|there['’]s an issue with the selected model)/i

/** The least share of letters in a sentence; data and code have more marks. */
const MIN_LETTERS = 0.5
/** The weight of a sentence without a name, a number or a verb of completion. */
const PLAIN = 0.5

/** An element of markup, also an escaped one. */
const TAG = /<\/?[a-z]{1,30}[ />]|&lt;/i
/** The least number of words besides a label, code and links; a character of Chinese or Japanese is one. */
const MIN_WORDS = 3

function wordsIn(sentence: string): number {
  const bare = sentence.replace(/^\*\*[^*]{1,60}\*\*:?|`[^`]{1,200}`|https?:\S{1,300}|\*\*/g, ' ')
  return bare.match(/[\u3040-\u30ff\u3400-\u9fff]|[\p{L}\d$€£][\p{L}\d'’.,-]*/gu)?.length ?? 0
}

/** The length of a sentence; a character of Chinese or Japanese counts twice. */
function lengthOf(sentence: string): number {
  return sentence.length * (isEastAsian(sentence) ? 2 : 1)
}

/** How much a sentence states; 0 for an announcement, an introduction, a heading, a row of a table, a question. */
export function weightOf(sentence: string): number {
  if (
    lengthOf(sentence) < MIN_UNITS ||
    /[:：?？]$/.test(sentence) ||
    /^\*\*[^*]{1,80}\*\*$|\|.*\|| → /.test(sentence)
  )
    return 0
  if (
    /^[<{["'`]?[<{["]/.test(sentence) ||
    (sentence.match(/\p{L}/gu)?.length ?? 0) < MIN_LETTERS * sentence.length
  )
    return 0
  if (TAG.test(sentence) || sentence.split('(').length !== sentence.split(')').length) return 0
  if (wordsIn(sentence) < MIN_WORDS) return 0
  if (ANNOUNCES.test(sentence) || WILL.test(sentence) || POLITE.test(sentence)) return 0
  let names = 0
  eachName(sentence, () => names++)
  let weight = PLAIN + Math.min(MAX_NAMES, names)
  if (/[`"“«「]|\d/.test(sentence)) weight += 0.5
  if (COMPLETES.test(sentence)) weight += 1.5
  if (REASON.test(sentence)) weight += 1
  if (OFFERS.test(sentence)) weight -= 2
  // A sentence that begins in its middle, and a line without an end: a heading or a fragment.
  if (/^[a-z]/.test(sentence) || !/[.!。！)`*"”~～]$/.test(sentence)) weight -= 1
  return Math.max(0, weight)
}

/** A line of a list, of a table, a heading, a quotation, or a line that continues one. */
const LISTED = /^(?:\s*(?:[-*+•|#>]|\d{1,3}[.)])\s|#{1,6}\s|\s{2,}\S)/

/** The statements of a reply, in order: those of its paragraphs, or those of its lists too. */
function statementsOf({ text, at }: Reply, isListed: boolean): Statement[] {
  const statements: Statement[] = []
  let prose = withoutFences(headOf(text, REPLY_UNITS))
  if (SYNTHETIC.test(prose)) return statements
  if (!isListed)
    prose = prose
      .split('\n')
      .filter((line) => !LISTED.test(line))
      .join('\n')
  for (const sentence of sentencesOf(prose)) {
    if (sentence.length > MAX_UNITS) continue
    const weight = weightOf(sentence)
    if (weight > 0) statements.push({ text: sentence, at, weight })
  }
  return statements
}

/**
 * The sentences of requests and the statements and code of their replies, without those in the text `shown`, as candidates. In a talk
 * without calls, what is said is all there is: any sentence.
 */
export function statementsIn(
  exchanges: Iterable<Exchange>,
  hasCalls: boolean,
  shown: string,
): Candidate<Exchange>[] {
  const isNew = (sentence: string): boolean => sentence.length <= MAX_UNITS && !shown.includes(sentence)
  const isLong = (sentence: string): boolean => lengthOf(sentence) >= MIN_QUOTED
  return [...exchanges].flatMap((owner) => {
    const { request, replies } = owner
    const { at } = request
    const asked = sentencesOf(withoutFences(request.own)).filter(
      (sentence) => isNew(sentence) && isLong(sentence),
    )
    return [
      ...asked.map((sentence) => {
        return { owner, text: quotedBy(request.speaker, sentence), at, weight: 0, form: 'asked' as const }
      }),
      ...replies.flatMap(({ speaker, text, at }) => [
        ...sentencesOf(withoutFences(headOf(text, REPLY_UNITS))).flatMap((sentence) => {
          const weight = weightOf(sentence)
          const states = weight >= MIN_WEIGHT
          if (!isNew(sentence) || (!states && (hasCalls || !isLong(sentence)))) return []
          const said = speaker === undefined ? sentence : quotedBy(speaker, sentence)
          return [{ owner, text: said, at, weight: states ? weight : 0 }]
        }),
        ...tableRows(text.replaceAll(/<details>[\s\S]*?<\/details>/g, '')).map((row) => {
          return { owner, text: row, at, weight: 1 }
        }),
        ...excerptOf(fencesOf(text)).map((line) => {
          return { owner, text: line, at, weight: DEFINES.test(line) ? 1 : 0 }
        }),
      ]),
    ]
  })
}

/** A quoted sentence, among several speakers with its own. */
function quotedBy(speaker: string | undefined, sentence: string): string {
  return `${speaker === undefined ? '' : `${speaker}: `}"${sentence}"`
}

/** The fenced code of a text that isn't that of a file. */
function fencesOf(text: string): string {
  return fencesIn(text)
    .filter(({ path }) => path === undefined)
    .map(({ code }) => code)
    .join('\n')
}

/** The first sentence of a text that states something. */
export function firstStatement(text: string): string {
  return sentencesOf(withoutFences(headOf(text, 600))).find((sentence) => weightOf(sentence) > 0) ?? ''
}

/** The weight that a statement needs to be an outcome by itself: a name, or something completed. */
const MIN_WEIGHT = 1.5

/**
 * What came of a request: the statement of its last reply that says most, else of an earlier one. The first statement counts more than
 * those after it, and paragraphs more than lists: a report begins with its result.
 */
export function outcomeOf(replies: readonly Reply[], max: number): string {
  const last = replies.slice(-MAX_REPLIES).reverse()
  for (const [isListed, least] of [
    [false, MIN_WEIGHT],
    [true, MIN_WEIGHT],
    [false, PLAIN],
  ] as const)
    for (const reply of last) {
      const statements = statementsOf(reply, isListed).filter(({ weight }) => weight >= least)
      const [first] = statements
      if (first === undefined) continue
      const best = statements.reduce((most, one) => (one.weight > most.weight + 1 ? one : most), first)
      return shorten(best.text, max)
    }
  return ''
}

/** What the newest of a few replies states, oldest first: the statements at the end of the last one that has any, at most `max` units. */
export function lastStated(
  replies: readonly Reply[],
  max: number,
): { readonly text: string; readonly at: number } | undefined {
  for (const reply of replies.slice(-MAX_REPLIES).reverse()) {
    const stated = sentencesOf(withoutFences(reply.text)).filter((sentence) => weightOf(sentence) > 0)
    const last = stated.pop()
    if (last === undefined) continue
    let text = shorten(last, max)
    for (const sentence of stated.reverse()) {
      if (sentence.length + 1 + text.length > max) break
      text = `${sentence} ${text}`
    }
    return { text, at: reply.at }
  }
  return undefined
}
