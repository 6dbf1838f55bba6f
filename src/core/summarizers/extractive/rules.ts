import { headOf } from '../../messages/characters.ts'
import { cleanLine, isEastAsian, keyOf, oneLine, sentenceAround, shorten, withoutFences } from '../text.ts'
import type { Utterance } from './conversation.ts'
import { messageNote } from './fit.ts'

/*
 * Cue words of rules: English, and the most common of German, French, Spanish, Chinese and Japanese. Words with another meaning in
 * English (`sin`, `solo`, `sans`, `usa`) are left out.
 */

/** Of these, two make a rule. */
const WEAK_CUES = cues(
  'only|should|want|keep|use|please|can we|could we|need to|have to|i’d like|i would like|at most|at least|without|everywhere',
  'nur|bitte|ohne|verwende|benutze|behalte|sollten?|ich möchte|mindestens|höchstens',
  'uniquement|seulement|merci de|s’il te plaît|s’il vous plaît|je veux|utilisez?',
  'solamente|por favor|quiero|utiliza|utilice|al menos',
  '请|請|只|应该|希望|使用|ください|下さい|だけ|のみ|ほしい',
)
/** One of these makes a rule: a preference or a decision. */
const CUES = cues(
  'prefers?|preferred|preferably|instead of|rather than|avoid|make sure|ensure|remember|decided|decision|agreed|let’s|we will|we’ll',
  'stick to|stick with|no need|no longer|strictly|should not|shouldn’t|may not|needs to|has to',
  'soll(?:te)?n? nicht|statt|stattdessen|anstatt|anstelle|vermeiden?|bevorzuge|lieber|nicht (?:mehr|ändern|löschen)|entschieden',
  'plutôt que|au lieu de|préfère|veillez|doit|doivent|vous devez|tu dois|ne plus',
  'en lugar de|en vez de|prefiero|evitar?|evite|asegúrate|ya no',
  '不应该|避免|确保|優先|优先|而不是|改用|决定|決定|从现在(?:起|开始)|以后都|べき|代わりに|避けて|ようにして',
)
/** The same: a command or a ban. */
const FIRM_CUES = cues(
  'must(?: not)?|mustn’t|never|always|do not|don’t|from now on|under no circumstances|important(?:ly)?(?=[:,!]| (?:to|that)\\b)',
  'not allowed|forbidden|mandatory|(?:is|are|be) required',
  'niemals|nie|auf (?:gar )?keinen fall|immer|stets|muss|müssen|musst|darfs?t? (?:nicht|keine?)|dürfen nicht|verboten',
  'ab jetzt|ab sofort|unbedingt|wichtig|bitte (?:nicht|keine?)',
  'jamais|toujours|il faut|ne pas|en aucun cas|obligatoire|interdit|désormais|(?:doit|doivent|dois|devez) pas|doit être',
  'nunca|siempre|jamás|deben?|debes|hay que|tienen? que|tienes que|obligatorio|prohibido|en ningún caso|a partir de ahora',
  'importante|no (?:uses|toques|cambies|modifiques|borres)',
  '不要|绝对|絕對|必须|必須|不能|务必|務必|禁止|不得|不许|不可以|一定要|始终|永远|从不|总是',
  '必ず|ないで|てはいけ|てはなら|なければなら|なければいけ|厳禁|絶対|常に|決して|いつも',
)

/** A pattern of whole words, and of any in scripts without spaces between words; either apostrophe. */
function cues(...lists: readonly string[]): RegExp {
  const all = lists.map((list) => (isEastAsian(list) ? list : `\\b(?:${list})\\b`)).join('|')
  return new RegExp(all.replaceAll('’', "['’]").replaceAll(' ', '\\s'), 'gi')
}
const ANY_CUE = new RegExp([WEAK_CUES, CUES, FIRM_CUES].map(({ source }) => source).join('|'), 'gi')

/** Phrases that contain a cue but are not a rule. */
const NO_RULE = new RegExp(
  [
    'https?://\\S{1,300}',
    "\\b(?:\\w{1,30} )?(?:do|could|can?)(?:n['’]t| ?not) remember\\b",
    "\\bdo(?:n['’]t| not) (?:know|think|see|have|understand|get|remember|believe|mean|care|mind|worry|exist|work|seem)\\b",
    '\\b(?:it|there|that|this|you|he|she|they) must (?:be|have been) (?:an?|the|some|in|on|because|something|wrong)\\b',
    '\\b(?:never ?mind|must (?:admit|say)|important to note|as always|if you (?:want|need)|not only|want me to|i need to)\\b',
    "\\b(?:have|has|had|was|were|is|are|i['’]ve|we['’]ve|it['’]s) (?:always|never)\\b",
    // "Let's run it" is a step; "let's call it X", "let's not use X" are decisions.
    "\\blet['’]s (?!(?:call|name|use|keep|stick|agree|always|never|not|only|stay|avoid|prefer|assume|go with)\\b)",
    // "Here we don't."; "the tests don't …", but "please don't", "and do not".
    "\\bdo(?:n['’]t| not)(?=[.,;!?]|$)",
    "\\b(?!(?:please|and|but|so|also|just|then|you|we|to|or|really|generally|in|for|case|now|again|ever)\\b)[a-z]{1,30} do(?:n['’]t| not)\\b(?! want\\b)",
    '\\b(?:immer (?:noch|wieder|mehr)|wie immer|noch nie|(?:hat|habe|haben|war|ist|sind) (?:immer|nie)|ich muss|muss ich)\\b',
    '\\b(?:toujours pas|comme toujours|presque (?:jamais|toujours)|como siempre|casi (?:nunca|siempre))\\b',
    '能不能|要不要|不要紧|绝对(?:路径|值|定位)|絶対(?:パス|値)|不能(?:运行|工作|用|打开|启动|编译|正常|登录|显示|访问)|不得不|只是',
  ].join('|'),
  'gi',
)

/** The strength of a sentence as a rule: 2 and more is a rule. Every cue counts once. */
function weightOf(sentence: string): number {
  const text = sentence.replace(NO_RULE, ' ').toLowerCase()
  const count = (pattern: RegExp): number => new Set(text.match(pattern)).size
  return count(WEAK_CUES) + 2 * count(CUES) + 3 * count(FIRM_CUES)
}

/** A command or standing wish, in the words of the user or of an earlier summary. */
export type Rule = {
  readonly by: 'User' | 'Earlier'
  readonly text: string
  /** 1 to 3: from a decision among others to "never". 0: a sentence that withdraws an earlier rule. */
  readonly weight: number
  /** The position of its message, where it is known. */
  readonly position?: number | undefined
}

/** Whether a rule commands or forbids in so many words: "never", "must". */
export function isFirm({ by, text }: Rule): boolean {
  return by === 'Earlier' || text.replace(NO_RULE, ' ').search(FIRM_CUES) >= 0
}

/** The minimum length of a rule, units; half of it in Chinese and Japanese. */
const MIN_RULE = 12
const MIN_EAST_ASIAN = 5

/** The user's rules: sentences with cues, lists under a line that announces rules, withdrawals, corrections. */
function rulesOfUser(text: string): Rule[] {
  const rules: Rule[] = []
  const add = (sentence: string, weight: number) =>
    rules.push({ by: 'User', text: sentence, weight: Math.min(3, weight) })
  const prose = withoutFences(text)
  let from = 0
  for (const { index } of prose.matchAll(ANY_CUE)) {
    if (index < from) continue
    const { sentence, end } = sentenceAround(prose, index, from)
    from = end
    const weight = weightOf(sentence)
    if (weight < 2 || isPlainQuestion(sentence)) continue
    // "You may use A instead of B now" is no rule; "that no longer holds, always use B" is one.
    const others = clausesOf(sentence).filter((clause) => clause.search(WITHDRAWS) < 0)
    if (weightOf(others.join(', ')) < 2) continue
    const items = sentence.endsWith(':') ? listAfter(prose, end) : []
    for (const item of items) add(`${shorten(sentence, 80)} ${item}`, weight)
    const isLong = sentence.length >= (isEastAsian(sentence) ? MIN_EAST_ASIAN : MIN_RULE)
    // A heading alone commands nothing.
    if (items.length === 0 && isLong && !/[:：]$/.test(sentence)) add(sentence, weight)
  }
  for (const { index } of prose.matchAll(WITHDRAWS)) {
    const { sentence } = sentenceAround(prose, index)
    if (!isPlainQuestion(sentence)) add(sentence, 0)
  }
  if (rules.length === 0 && CORRECTS.test(prose)) add(shorten(oneLine(prose), 500), 2)
  return rules
}

const ASKS_FOR =
  /\b(?:can|could|would|will) (?:we|you)\b|\bplease\b|\bbitte\b|\bs['’]il (?:te|vous)\b|\bpor favor\b|请|請|ください/i

/** A question for information, not a request in the form of a question. In Chinese it may have no question mark. */
function isPlainQuestion(sentence: string): boolean {
  return (/[?？]$/.test(sentence) && !ASKS_FOR.test(sentence)) || /^为什么|[吗呢]$/.test(sentence)
}

/** The items of a list at a position of a text, after optional blank lines. */
function listAfter(text: string, from: number): string[] {
  const items: string[] = []
  for (const line of headOf(text.slice(from, from + 3_001), 3_000).split('\n')) {
    if (/^\s*(?:[-*+•]|\d{1,3}[.)])\s+\S/.test(line)) items.push(shorten(cleanLine(line), 300))
    else if (line.trim() !== '' || items.length > 0) break
  }
  return items.slice(0, 20)
}

/** The beginning of a text that corrects the assistant. */
const CORRECTS =
  /^\s*(?:(?:no|nope|wrong|stop|not like that|that['’]s (?:wrong|not)|nein|falsch|non)\b(?! (?:problem|worries|need|thanks|thank))[\s,.!:]|不对|不是这样|错了|違います|違う)/i

/** Sentences that withdraw a rule. */
const WITHDRAWS = new RegExp(
  [
    '\\b(?:forget (?:about|what|the|that|my)|never ?mind (?:the|about|what|my))\\b',
    '\\b(?:ignore|disregard|drop|scrap|lift|cancel|withdraw) (?:the|that|my|those|this) (?:\\w+ ){0,4}(?:rule|restriction|constraint|requirement|instruction|preference|limit|ban)s?\\b',
    '\\bno longer (?:applies|apply|holds?|valid|necessary|needed|required|forbidden)\\b',
    "\\b(?:you|we) (?:no longer (?:need|have) to|(?:do not|don['’]t) (?:need|have) to|needn['’]t)\\b",
    '\\b(?:you|we) (?:can|may) (?:.{1,40} )?(?:now|again)\\b|\\b(?:allowed|fine|ok(?:ay)?|permitted) (?:now|again|after all)\\b',
    '\\b(?:is|are) (?:now|again) (?:allowed|fine|ok(?:ay)?|permitted)\\b|\\b(?:need|have) to .{1,60} any ?(?:more|longer)\\b',
    '\\b(?:gilt|gelten) nicht mehr\\b|\\b(?:darfst|dürft|dürfen|kannst|könnt|können) (?:.{1,40} )?(?:jetzt|nun|wieder|doch)\\b|\\bvergiss (?:die|das|den)\\b',
    "\\bn['’]est plus (?:nécessaire|interdite?|obligatoire)|\\boublie (?:la|le|les)\\b",
    '\\bya no (?:es necesario|hace falta|está prohibido|aplica)\\b|\\bolvida (?:el|la|lo)\\b',
    '不再需要|不用再|现在(?:可以|允许)|取消.{0,12}(?:规则|限制|要求)|もう必要(?:ない|ありません)|(?:使って|変更して|しても)も?いい',
  ].join('|'),
  'gi',
)

/** The maximum number of rules: the oldest and the newest ones. */
const MAX_RULES = [500, 1_000] as const

/** The user's rules in a conversation, oldest first. Repeated ones are removed later, when they are merged. */
export function rulesIn(items: readonly Utterance[]): Rule[] {
  const rules = items.flatMap(({ by, own, position }) =>
    by === 'user' ? rulesOfUser(own).map((rule) => ({ ...rule, position })) : [],
  )
  const [first, last] = MAX_RULES
  return rules.length <= first + last ? rules : [...rules.slice(0, first), ...rules.slice(-last)]
}

const WRITTEN = /^(User|Earlier): "(.*)"(?: \(message (\d{1,15})\))?$/s

/** A rule as a line of the summary. */
export function writeRule({ by, text, position }: Rule): string {
  return `${by}: "${text}"${messageNote(position)}`
}

/** Reads a rule from a line of `writeRule`; any other line of a constraints section is a rule itself. */
export function readRule(line: string): Rule {
  const [, by, quoted, message] = WRITTEN.exec(line) ?? []
  const position = message === undefined ? undefined : Number(message)
  if (by !== 'User' || quoted === undefined)
    return { by: 'Earlier', text: quoted ?? line, weight: 3, position }
  return { by, text: quoted, weight: Math.max(2, Math.min(3, weightOf(quoted))), position }
}

/** Whether a line was written by `writeRule`. */
export function isWrittenRule(line: string): boolean {
  return WRITTEN.test(line)
}

/** The rules in a text of another writer without a section for rules. */
export function rulesInSummary(text: string): Rule[] {
  return rulesOfUser(text)
    .filter(({ weight }) => weight >= 3)
    .slice(0, 20)
    .map((rule) => ({ ...rule, by: 'Earlier' }))
}

/**
 * The rules in force, each once, at its older position, and the withdrawn ones. Case, punctuation and spacing are ignored.
 */
export function sortedRules(rules: readonly Rule[]): {
  readonly inForce: Rule[]
  readonly withdrawn: Rule[]
} {
  const inForce = new Map<string, Rule>()
  const withdrawn: Rule[] = []
  for (const rule of rules) {
    if (rule.weight === 0) {
      const key = withdrawnBy(rule.text, inForce)
      if (key === undefined) continue
      const old = inForce.get(key)!
      const { gone, rest } = partsOf(old.text, contentWords(rule.text))
      withdrawn.push({ ...old, text: gone })
      inForce.delete(key)
      if (rest !== '') inForce.set(keyOf(rest), { ...old, text: rest })
      continue
    }
    const key = keyOf(rule.text)
    if (key !== '' && !inForce.has(key)) inForce.set(key, rule)
  }
  // One that was stated again is in force.
  return {
    inForce: [...inForce.values()],
    withdrawn: withdrawn.filter(({ text }) => !inForce.has(keyOf(text))),
  }
}

/** The clauses of a sentence: "Never round before the total, and do not touch rates.py" commands two things. */
function clausesOf(sentence: string): string[] {
  return sentence.split(/[,;:] (?:(?:and|but|und|aber|et|mais|y|pero) )?|[，；：]/)
}

/** What a withdrawal with these words takes from a rule, and what is still a rule without it. */
function partsOf(text: string, words: ReadonlySet<string>): { readonly gone: string; readonly rest: string } {
  const isGone = (clause: string): boolean => [...contentWords(clause)].some((word) => words.has(word))
  const clauses = clausesOf(text)
  const rest = clauses.filter((clause) => !isGone(clause)).join(', ')
  const gone = clauses.filter(isGone).join(', ')
  return gone === '' || weightOf(rest) < 2 ? { gone: text, rest: '' } : { gone, rest }
}

/** The key of the newest rule that shares most content words with a withdrawal: all words of one of them, or at least two. */
function withdrawnBy(text: string, rules: ReadonlyMap<string, Rule>): string | undefined {
  // What comes after the first clause are reasons.
  const [clause = text] = text.split(/[,;:]|\s[-–—]\s| because | weil | it['’]s | it is /)
  const words = contentWords(clause)
  let most = Math.min(2, Math.max(1, words.size)) - 1
  let found: string | undefined
  for (const [key, rule] of rules) {
    if (rule.text === text) continue
    const own = contentWords(rule.text)
    const shared = [...own].filter((word) => words.has(word)).length
    const isWhole = found === undefined && shared > 0 && shared === own.size
    if (shared > most || (shared === most && found !== undefined) || isWhole) {
      most = shared
      found = key
    }
  }
  return found
}

const NO_CONTENT =
  /^(?:about|after|again|allowed|always|anymore|before|could|dont|every|fine|forget|from|have|instead|into|longer|make|mind|must|need|never|nevermind|okay|only|please|requir|rule|sa[i]d|should|sure|that|their|them|there|these|they|this|those|tol[d]|used|using|what|when|will|with|work|would|your|nicht|immer|jetzt|wieder|doch|dürfe|darf|niema|bitte|erlaubt|interdit|prohibid|permit|está|chang(?:ed?|ing)$|(?:est|all|and|any|are|but|can|did|for|get|had|has|how|its|let|may|new|not|now|one|our|out|she|the|try|use|via|was|way|who|why|yes|yet|you|das|dem|den|der|die|ein|ich|ihr|mit|und|von|wir|des|les|pas|plus|que|une|con|del|los|las|por)$)/

/** The stems of the words that carry a sentence; pairs of characters in Chinese and Japanese. */
function contentWords(sentence: string): Set<string> {
  const words = new Set<string>()
  for (const [word] of sentence.toLowerCase().matchAll(/[\p{L}\p{N}_]{3,60}/gu)) {
    if (isEastAsian(word)) {
      for (let i = 0; i + 1 < word.length; i++) words.add(word.slice(i, i + 2))
    } else if (!NO_CONTENT.test(word)) words.add(word.slice(0, 5))
  }
  return words
}
