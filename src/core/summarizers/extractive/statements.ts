import { headOf } from '../../messages/characters.ts'
import { cleanLine, isEastAsian, sentencesOf, shorten, withoutFences } from '../text.ts'
import type { Exchange, Utterance } from './exchanges.ts'
import { fencesIn } from './fences.ts'
import { type Candidate, DEFINES, excerptOf } from './lines.ts'
import { eachName } from './names.ts'
import { isForeignLine } from './own-words.ts'
import { tableRows } from './records.ts'
import { REMAINS } from './tasks.ts'

/*
 * Statements: the sentences of replies that say what was done, found or decided, not what comes next.
 */

/** A sentence of a reply, and how much it states. */
type Statement = { readonly text: string; readonly at: number; readonly weight: number }

/** `hasCalls`: whether its message calls tools. */
type Reply = Pick<Utterance, 'text' | 'at' | 'hasCalls'>

/** The units of a reply that are searched, the minimum and maximum units of a statement, the minimum of another quoted sentence, and the number of names that count. */
const REPLY_UNITS = 4_100
const MIN_UNITS = 14
const MIN_QUOTED = 24
const MAX_UNITS = 320
const MAX_NAMES = 3
/** The maximum number of replies to one request that are searched for its outcome. */
const MAX_REPLIES = 4

/** Words before an announcement: "Good, now let me …". */
const LEAD = "(?:[\\p{L}’']{1,12}(?: [\\p{L}’']{1,12}){0,2}[,.!:;—–-]{1,2} ?)?"
/** A sentence that announces a step: the first person and the future or an intention. */
const ANNOUNCES = new RegExp(
  `^now(?: \\S+){1,2}[.:]$|^${LEAD}(?:(?:now|first|next|then|so|and|but|ok(?:ay)?|good|great|perfect)[, ]{1,2}){0,3}(?:${[
    "let me(?! know)|let['’]s|(?:i|we)['’]ll|i will|i['’]m (?:going|about) to|i (?:need|want|should|can) (?:to )?|we (?:need to|should)|time to|on to|moving on|now that",
    'ich (?:werde|muss|schaue|prüfe|lese)|lass(?:en)? (?:mich|uns)|(?:jetzt|nun|als nächstes|zuerst) (?:werde|muss|schaue|prüfe|lese)',
    'je vais|laissez-moi|voyons|commençons|voy a|déjame|vamos a|ahora voy|vou |deixe-me|agora vou',
    'давайте?|сначала|procedo|vado a|我(?:来|先|将|会|需要|现在)|让我|(?:接下来|现在|首先)(?:我|让|来|需要)|まず|次に|では|それでは|먼저|이제|다음으로',
  ].join('|')})`,
  'iu',
)
/** The same at the end, where some languages put the verb: 確認します, 하겠습니다. */
const WILL = /(?:します|しましょう|みます|하겠습니다|할게요|보겠습니다)[。.!]?$/
/** What was completed or is now so: perfect forms and words for states, in a few languages. */
const COMPLETES = new RegExp(
  [
    '\\b(?:\\w{3,20}ed|done|built|found|sent|made|written|ran|complete|works?|pass(?:es)?|fails?|green|missing|caus(?:es?|ing)|means?|because)\\b',
    '\\b(?:ge\\w{3,20}(?:t|en)|wurden?|behoben|erledigt|fertig|läuft|fehlt|weil)\\b',
    '\\b\\w{3,20}(?:[ai]d[oa]s?|[aiu]t[oa])\\b|\\b(?:porque|listo|funciona|pronto)\\b|[éèû]e?s?\\b|\\b(?:parce que|fini|terminé)\\b',
    '[а-яё]{3,20}(?:ан|ен|ён|л)[аоы]?(?![а-яё])|готов[оа]?(?![а-яё])|已|完成|成功|修复|通过|因为|了[。，]|ました|済み|完了|ため|했습니다|되었습니다|완료|됐|때문',
  ].join('|'),
  'i',
)
/** An offer or condition for later. */
const OFFERS =
  /\b(?:if you|would you|do you want|want me to|feel free|let me know|shall i|should i|you can|could you|please|wenn (?:du|sie)|möchte(?:n|st)|si (?:tu|vous|usted|quieres)|se (?:você|quiser|vuoi))\b|如果您?你?|需要我|よろしければ|원하시면/i
/** What only points to what follows. */
const POINTS = /\bhere(?:['’]s| is| are)\b/i
/** Praise, thanks, agreement, and knowing enough to begin. */
const POLITE =
  /^(?:(?:that['’]s an? )?(?:great|good|perfect|excellent|nice|awesome|thanks?|thank you|sure|of course|certainly|got it|understood|sounds good|no problem|(?:you['’]re|you are) (?:absolutely |quite )?(?:right|welcome)|i (?:apologi[sz]e|understand)|my apologies|sorry|gern|gerne|danke|perfekt|sehr gut|merci|parfait|bien sûr|gracias|perfecto|claro|obrigado|好的|谢谢|不客气|太好了|ありがとう|承知|了解|감사|네)\b.{0,60}|(?:based on .{0,60}, )?.{0,40}\b(?:have|got|see|can now) (?:a|an|the|enough|all)\b.{0,40}\b(?:picture|context|understanding|information|overview|issue|problem)\b[^:—–,]{0,40})[.!。！]?$/iu
/** What a client writes in place of the model. */
const SYNTHETIC =
  /^(?:api error|no response requested|(?:request|operation) (?:was )?(?:interrupted|aborted|timed out)|there['’]s an issue with the selected model)/i

/** The least share of letters in a sentence; data and code have more marks. */
const MIN_LETTERS = 0.4
/** The weight of a sentence without a name, a number or a verb of completion. */
const PLAIN = 0.5

/** An element of markup, also an escaped one. */
const TAG = /<\/?[a-z]{1,30}[ />]|&lt;/i
/** The least number of words besides a label, code and links; a character of Chinese or Japanese is one. */
const MIN_WORDS = 3

function wordsIn(sentence: string): number {
  const bare = sentence
    .replace(/^\*\*[^*]{1,60}\*\*:?|\*\*/g, ' ')
    .replace(/`[^`]{1,200}`|\S{0,200}[\\/.]\w\S{0,300}/g, ' x ')
  return bare.match(/[\u3040-\u30ff\u3400-\u9fff]|[\p{L}\d$€£][\p{L}\d'’.,-]*/gu)?.length ?? 0
}

/** The length of a sentence; a character of Chinese or Japanese counts twice. */
function lengthOf(sentence: string): number {
  return sentence.length * (isEastAsian(sentence) ? 2 : 1)
}

/** How much a sentence states; 0 for an announcement, a heading, a row of a table, a question, an exclamation. */
export function weightOf(sentence: string): number {
  if (
    lengthOf(sentence) < MIN_UNITS ||
    /[?？]\W{0,3}$|^\*\*[^*]{1,80}\*\*$|^\||\s\|\s.*\s\|/.test(sentence) ||
    (sentence.match(/\p{L}/gu)?.length ?? 0) < MIN_LETTERS * sentence.length
  )
    return 0
  if (TAG.test(sentence) || sentence.split('(').length !== sentence.split(')').length) return 0
  if (sentence.split('"').length % 2 === 0) return 0
  if (wordsIn(sentence) < (COMPLETES.test(sentence) ? 2 : MIN_WORDS)) return 0
  if (ANNOUNCES.test(sentence) || WILL.test(sentence) || POLITE.test(sentence)) return 0
  let names = 0
  eachName(sentence, () => names++)
  if (names === 0 && /[!！]\*{0,2}$/.test(sentence)) return 0
  let weight = PLAIN + Math.min(MAX_NAMES, names)
  if (COMPLETES.test(sentence)) weight += 1.5
  if (OFFERS.test(sentence) || POINTS.test(sentence)) weight -= 2
  // A sentence that begins in its middle, and a line without an end: a heading or a fragment.
  if (/^[a-z]/.test(sentence) || (!ENDS.test(sentence) && !LEADS.test(sentence))) weight -= 1
  return Math.max(0, weight)
}

/** A line of a list, a heading or rule, and a line that is only markup or a note of a client. */
const ITEM = /^\s{0,12}(?:[-*+•]|\d{1,3}[.)])\s/
const HEADING = /^\s{0,3}#{1,6}\s/
const RULE = /^\s{0,3}[-*_]{3,}\s*$/
const MARK = /^\s*(?:<\/?[a-z].*>|_?\[.*\]_?|[─━═]{3}.*|\*[^*]{2,200}\*|_[^_]{2,200}_)\s*$/i

/** What points to a list, what ends a sentence, and the units of a label without an end. */
const LEADS = /[:：]\*{0,2}$/
const ENDS = /[.!。！)`*"”~～…]$/
const MAX_LABEL = 30
/** A link with its text. */
const LINK = /\[([^[\]]{1,200})\]\([^()\s]{1,400}\)/g

/** A part of a reply. `step`: an announcement, or a mark of a client between steps; `lead`: what ends in a colon, before its list. */
type Told = Statement & { readonly kind: 'text' | 'item' | 'lead' | 'step' }

/** What a reply tells, in order: the sentences of its paragraphs and lists, without code, quotations, logs, tables and what it asks for. */
function toldIn({ text, at }: Reply): Told[] {
  const told: Told[] = []
  if (SYNTHETIC.test(text)) return told
  let block = ''
  let isItem = false
  let isAsked = false
  let wasRule = false
  const end = (): void => {
    // What follows an announcement in its paragraph explains it.
    let isPlan = false
    for (const raw of isItem ? [cleanLine(block)] : sentencesOf(block)) {
      const sentence = raw.replace(LINK, '$1')
      const isLead =
        !isItem && (LEADS.test(sentence) || (!ENDS.test(sentence) && sentence.length < MAX_LABEL))
      const isStep = (ANNOUNCES.test(sentence) || WILL.test(sentence)) && !OFFERS.test(sentence)
      if (!isItem) isAsked = isLead && (OFFERS.test(sentence) || REMAINS.test(sentence))
      if (isItem && isAsked) continue
      if (POINTS.test(sentence)) {
        told.push({ text: '', at, weight: 0, kind: 'lead' })
        continue
      }
      // Items need no full stop.
      const whole = isItem && !ENDS.test(sentence) ? `${sentence}.` : sentence
      const kind = isStep ? 'step' : isLead ? 'lead' : isItem ? 'item' : 'text'
      const weight = isPlan && !COMPLETES.test(sentence) ? 0 : weightOf(whole)
      told.push({ text: sentence, at, weight, kind })
      isPlan ||= isStep
    }
    block = ''
    isItem = false
  }
  for (const line of withoutFences(headOf(text, REPLY_UNITS)).split('\n')) {
    const isRule = RULE.test(line)
    // Between two rules are calls that a client left out.
    const isMark = MARK.test(line) || (isRule && wasRule)
    if (line.trim() === '') end()
    else wasRule = isRule
    if (isMark || isRule || HEADING.test(line) || isForeignLine(line)) {
      end()
      told.push({ text: '', at, weight: 0, kind: isMark ? 'step' : 'lead' })
      isAsked = REMAINS.test(cleanLine(line))
    } else if (ITEM.test(line) || (isItem && !/^\s/.test(line))) {
      end()
      isItem = ITEM.test(line)
      block = line
    } else if (isItem || !/^(?: {2,}|\t)\S/.test(line)) block += `\n${line}`
  }
  end()
  // What points to no list points to code, or to what the client shows.
  let isList = false
  for (let i = told.length - 1; i >= 0; i--) {
    const { kind, text } = told[i]!
    if (kind === 'lead' && !isList && text !== '') told[i] = { ...told[i]!, kind: 'text', weight: 0 }
    else if (text !== '') isList = kind === 'item' || kind === 'lead'
  }
  return told
}

/** The statements of a reply, in order. */
function statementsOf(reply: Reply): Statement[] {
  return toldIn(reply).filter(
    ({ text, weight, kind }) => weight > 0 && kind !== 'lead' && text.length <= MAX_UNITS,
  )
}

/**
 * The sentences of requests and the statements, tables and code of their replies, without those in the text `shown`, as candidates. In a
 * talk without calls, what is said is all there is: any sentence.
 */
export function statementsIn(
  exchanges: Iterable<Exchange>,
  hasCalls: boolean,
  shown: string,
): Candidate<Exchange>[] {
  const isNew = (sentence: string): boolean => sentence.length <= MAX_UNITS && !shown.includes(sentence)
  const isLong = (sentence: string): boolean => isNew(sentence) && lengthOf(sentence) >= MIN_QUOTED
  return [...exchanges].flatMap((owner) => {
    const { request, replies } = owner
    const asked = sentencesOf(withoutFences(request.own)).filter(isLong)
    return [
      ...asked.map((sentence) => {
        const text = quotedBy(request.speaker, sentence)
        return { owner, text, at: request.at, weight: 0, form: 'asked' as const }
      }),
      ...replies.flatMap((reply) => {
        const { speaker, text, at } = reply
        const stated = statementsOf(reply).filter((one) => one.weight >= MIN_WEIGHT && isNew(one.text))
        const others = hasCalls ? [] : sentencesOf(withoutFences(headOf(text, REPLY_UNITS))).filter(isLong)
        return [
          ...[...stated, ...others.map((sentence) => ({ text: sentence, weight: 0 }))].map((one) => {
            const said = speaker === undefined ? one.text : quotedBy(speaker, one.text)
            return { owner, text: said, at, weight: one.weight }
          }),
          ...tableRows(text.replaceAll(/<details>[\s\S]*?<\/details>/g, '')).map((row) => {
            return { owner, text: row, at, weight: 1 }
          }),
          // The code of a file is told with the file.
          ...fencesIn(text).flatMap(({ path, code }) =>
            (path === undefined ? excerptOf(code) : []).map((line) => {
              return { owner, text: line, at, weight: DEFINES.test(line) ? 1 : 0 }
            }),
          ),
        ]
      }),
    ]
  })
}

/** A quoted sentence, among several speakers with its own. */
function quotedBy(speaker: string | undefined, sentence: string): string {
  return `${speaker === undefined ? '' : `${speaker}: `}"${sentence}"`
}

/** The first sentence of a text that states something. */
export function firstStatement(text: string): string {
  return sentencesOf(withoutFences(headOf(text, 600))).find((sentence) => weightOf(sentence) > 0) ?? ''
}

/** The weight that a statement needs to be an outcome by itself, unless it has so many units: a name, or something completed. */
const MIN_WEIGHT = 1.5
const LONG = 40
/** An outcome of fewer units is continued by what follows it. */
const ENOUGH = 70

/**
 * What came of a request. A reply without calls that ends with no announcement reports it, behind the last step in it. Without a report,
 * it is what the last replies say most about that was completed or found.
 */
export function outcomeOf(replies: readonly Reply[], max: number): string {
  const last = replies.slice(-MAX_REPLIES).map((reply) => ({ ...reply, told: toldIn(reply) }))
  const report = last.findLast(({ told }) => told.some(({ weight }) => weight > 0))
  if (report !== undefined && report.hasCalls !== true && report.told.at(-1)?.kind !== 'step') {
    const { told } = report
    let end = told.length
    for (let i = end - 1; i >= -1; i--) {
      if (i >= 0 && (told[i]!.kind !== 'step' || told[i]!.text !== '')) continue
      const outcome = passageOf(told.slice(i + 1, end), max)
      if (outcome !== '') return outcome
      end = i
    }
  }
  const done = last.map(({ told, hasCalls }) => {
    const completed = told.filter((one) => isStating(one) && (hasCalls !== true || COMPLETES.test(one.text)))
    return { told, most: completed.reduce((max, { weight }) => Math.max(max, weight), 0) }
  })
  const most = done.reduce((max, one) => Math.max(max, one.most), 0)
  return most > 0 ? passageOf(done.findLast((one) => one.most === most)!.told, max) : ''
}

function isStating({ text, weight }: Statement): boolean {
  return weight >= MIN_WEIGHT || (weight > 0 && lengthOf(text) >= LONG)
}

/** The first statement, and what follows until enough is said. What ends in a colon needs its list. */
function passageOf(part: readonly Told[], max: number): string {
  const first = part.find(isStating) ?? part.find(({ weight }) => weight > 0)
  if (first === undefined) return ''
  let passage = ''
  let lead: string | undefined
  for (const { text, weight, kind } of part.slice(part.indexOf(first))) {
    if (lengthOf(passage) >= ENOUGH || kind === 'step') break
    if (kind === 'lead') {
      const isTold = weight > 0 && text.length >= LONG
      if (isTold && passage === '' && text.length >= max / 2) passage = shorten(text, max)
      else if (isTold && text.length < max / 2) lead = text
      lead ??= ''
    } else if (!passage.includes(text) && !LEADS.test(text)) {
      const isLed = lead !== undefined && (kind === 'item' || lead === '')
      if (passage !== '' && (kind === 'item' ? !isLed : weight === 0 || (lead !== undefined && !isLed))) break
      const before = [passage, isLed ? lead : ''].filter((one) => one !== '').join(' ')
      const joined = before === '' ? text : `${before}${/[.!?。！？:：]$/.test(before) ? '' : ';'} ${text}`
      passage = shorten(joined, max)
      lead = kind === 'item' ? '' : undefined
    }
  }
  return passage
}

/** What the newest of a few replies states, oldest first: the statements at the end of the last one that has any, at most `max` units. */
export function lastStated(
  replies: readonly Reply[],
  max: number,
): { readonly text: string; readonly at: number } | undefined {
  for (const reply of replies.slice(-MAX_REPLIES).reverse()) {
    const stated = statementsOf(reply).map(({ text }) => text)
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
