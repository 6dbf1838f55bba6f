import { headOf } from '../../messages/characters.ts'
import { cleanLine, oneLine, sentenceAround, sentencesOf, shorten, withoutFences } from '../text.ts'
import type { Said } from './conversation.ts'
import { cuesFor, isEastAsian, weightOf } from './cues.ts'
import { informative } from './requests.ts'

/** A constraint, preference or decision, in the words of who stated it. */
export type Rule = {
  readonly by: 'User' | 'Assistant' | 'Earlier'
  readonly text: string
  /** 1 to 3: from a decision among others to "never". */
  readonly weight: number
}

/** Shortest rule, in units; Chinese and Japanese say as much in half of them. */
const MIN_RULE = 12
const MIN_EAST_ASIAN = 5

/** What the user states: sentences with cues, lists under a line that announces rules, corrections. */
function rulesOfUser(text: string): Rule[] {
  const rules: Rule[] = []
  const prose = withoutFences(text)
  let listWeight = 0
  let from = 0
  const cues = cuesFor(prose)
  for (let cue = cues.exec(prose); cue !== null; cue = cues.exec(prose)) {
    const { sentence, end } = sentenceAround(prose, cue.index, from)
    from = end
    cues.lastIndex = Math.max(end, cue.index + 1)
    const weight = weightOf(sentence)
    if (weight < 2 || isPlainQuestion(sentence)) continue
    if (sentence.endsWith(':')) {
      const items = listAfter(prose, from)
      listWeight = Math.min(3, weight)
      if (items.length > 0) {
        for (const item of items)
          rules.push({ by: 'User', text: `${shorten(sentence, 80)} ${item}`, weight: listWeight })
        continue
      }
    }
    if (sentence.length >= (isEastAsian(sentence) ? MIN_EAST_ASIAN : MIN_RULE))
      rules.push({ by: 'User', text: sentence, weight: Math.min(3, weight) })
  }
  if (rules.length === 0 && isCorrection(prose)) {
    rules.push({ by: 'User', text: shorten(oneLine(prose), 500), weight: 2 })
  }
  return rules
}

/** A question that asks for knowledge, not one that asks for something to be done. */
function isPlainQuestion(sentence: string): boolean {
  return (
    /[?？]$/.test(sentence) &&
    !/\b(?:can|could|would|will) (?:we|you)\b|\bplease\b|\bbitte\b|\bs['’]il (?:te|vous)\b|\bpor favor\b|请|請|ください/i.test(
      sentence,
    )
  )
}

/** Items of a list that starts at a place in a text, blank lines before it aside. */
function listAfter(text: string, from: number): string[] {
  const items: string[] = []
  for (const line of headOf(text.slice(from, from + 3_001), 3_000).split('\n')) {
    if (/^\s*(?:[-*+•]|\d{1,3}[.)])\s+\S/.test(line)) items.push(shorten(cleanLine(line), 300))
    else if (line.trim() !== '' || items.length > 0) break
  }
  return items.slice(0, 20)
}

function isCorrection(text: string): boolean {
  return /^\s*(?:(?:no|nope|wrong|stop|not like that|that['’]s (?:wrong|not)|nein|falsch|non)\b(?! (?:problem|worries|need|thanks|thank|hay problema))[\s,.!:]|不对|不是这样|错了|違います|違う)/i.test(
    text,
  )
}

const CONCEDES =
  /^(?:you['’]re (?:absolutely |completely |totally )?right|you are (?:absolutely )?right|good (?:catch|point|idea|thinking|call)|great (?:catch|point|idea)|agreed|fair point)\b/i

/** Strong enough for an assistant, who says "let's" and "we need to" all day. */
const ASSISTANT_CUE =
  /\b(?:we (?:must|will|agreed|decided)|you must|must (?:not|never)|(?:will|should) never|instead of|decided|agreed|from now on|by design)\b/i

/** What the assistant lays down, at most one sentence a text. */
function ruleOfAssistant(text: string): Rule | undefined {
  const prose = withoutFences(text)
  const cue = ASSISTANT_CUE.exec(prose)
  if (cue === null) return undefined
  const { sentence } = sentenceAround(prose, cue.index)
  if (sentence.length < 30 || sentence.length > 300 || /[?:]$/.test(sentence)) return undefined
  if (/^(?:let me|i['’]ll|i will|now)\b/i.test(sentence) || weightOf(sentence) < 2) return undefined
  return { by: 'Assistant', text: sentence, weight: 1 }
}

/** Most rules of the assistant's that one extraction adds, the newest. */
const MAX_ASSISTANT_RULES = 15

/** Texts at the beginning that are always searched, and rules of later texts after which the search ends. */
const FIRST_TEXTS = 50
const MAX_RULES = 1_500

/** The rules stated in a conversation, oldest first. Equal ones are told apart later, when they are merged. */
export function rulesIn(said: readonly Said[]): Rule[] {
  const later: Rule[][] = []
  let found = 0
  for (let i = said.length - 1; i >= FIRST_TEXTS && found < MAX_RULES; i--) {
    const rules = rulesOf(said, i)
    later.push(rules)
    found += rules.length
  }
  const first = said.slice(0, FIRST_TEXTS).flatMap((_, i) => rulesOf(said, i))
  const rules = [...first, ...later.reverse().flat()]

  let spare = rules.filter(({ by }) => by === 'Assistant').length - MAX_ASSISTANT_RULES
  return rules.filter(({ by }) => by !== 'Assistant' || spare-- <= 0)
}

function rulesOf(said: readonly Said[], i: number): Rule[] {
  const { by, text, own } = said[i]!
  if (by === 'user') {
    const rules = rulesOfUser(own)
    if (rules.length > 0) return rules
    // What the assistant gives in to is a decision, however it was put.
    const next = said[i + 1]
    const isGranted = next?.by === 'assistant' && CONCEDES.test(next.text)
    return isGranted && own.trim() !== '' ? [{ by: 'User', text: informative(own, 400), weight: 2 }] : []
  }
  const rule = (CONCEDES.test(text) ? concession(text) : undefined) ?? ruleOfAssistant(text)
  return rule === undefined ? [] : [rule]
}

/** What follows "you're right": the point as the assistant understood it. */
function concession(text: string): Rule | undefined {
  const point = sentencesOf(headOf(withoutFences(text), 1_000))
    .slice(0, 4)
    .find(
      (sentence) =>
        sentence.length >= 40 && !CONCEDES.test(sentence) && !/^(?:let me|now|i['’]ll)\b/i.test(sentence),
    )
  return point === undefined
    ? undefined
    : { by: 'Assistant', text: shorten(point.replace(/:$/, '.'), 300), weight: 2 }
}

const WRITTEN = /^(User|Assistant|Earlier): "(.*)"$/s

/** A rule as a line of the summary. */
export function writeRule({ by, text }: Rule): string {
  return `${by}: "${text}"`
}

/** A rule from a line that `writeRule` wrote; any other line of a constraints section is a rule as it stands. */
export function readRule(line: string): Rule {
  const [, by, quoted] = WRITTEN.exec(line) ?? []
  const text = quoted ?? line
  const weight = Math.max(1, Math.min(3, weightOf(text)))
  if (by === 'User' || by === 'Assistant')
    return { by, text, weight: by === 'User' ? Math.max(2, weight) : 1 }
  return { by: 'Earlier', text, weight: 3 }
}

/** Whether a line was written by `writeRule`. */
export function isWrittenRule(line: string): boolean {
  return WRITTEN.test(line)
}

/** Rules of a text that somebody else wrote, where no section holds them. */
export function rulesInSummary(text: string): Rule[] {
  return rulesOfUser(text)
    .filter(({ weight }) => weight >= 3)
    .slice(0, 20)
    .map((rule) => ({ ...rule, by: 'Earlier' }))
}

/** Each rule once, the older place kept. Case, punctuation and spacing make no difference. */
export function distinctRules(rules: readonly Rule[]): Rule[] {
  const seen = new Set<string>()
  return rules.filter(({ text }) => {
    const key = text
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}]+/gu, ' ')
      .trim()
    if (key === '' || seen.has(key)) return false
    seen.add(key)
    return true
  })
}
