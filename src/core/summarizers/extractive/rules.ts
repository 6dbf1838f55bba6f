import { headOf } from '../../messages/characters.ts'
import { cleanLine, isEastAsian, keyOf, oneLine, sentenceAround, shorten, withoutFences } from '../text.ts'
import type { Conversation } from './conversation.ts'
import { REFUSED, type Utterance } from './exchanges.ts'
import { messageNote } from './fit.ts'
import { isSmallTalk } from './requests.ts'
import { filesObeyedIn } from './rule-files.ts'

/*
 * A rule commands or forbids something lasting: a ban, a command with a word like "always", a wish about how the work is done. A command
 * without such a word is done once, and a report has the same words in another place: "never push", but "it never pushes". English cues
 * are therefore bound to the beginning of a clause or to a subject; of other languages there are the most common ones.
 */

/** The beginning of a clause, with words that may precede a command. */
const CLAUSE = '(?:^|[\\],;:(—–] ?| - |\\b(?:and|but|so|or|then|please|pls|just|also|again|remember) )'
/** What follows "don't" in what is no ban: "don't worry", "don't you". Reminders are for once. */
const NO_BAN =
  '(?:want|worry|know|think|see|have|understand|get|remember|believe|mean|care|mind|exist|work|seem|need|forget|hesitate|bother|recall|feel|agree|matter|you|we|they|i)\\b'
/** What follows "never" or "always" in a report: "never came", "always returns". */
const REPORTED = '(?:\\w+ed|\\w*[^\\Wsu]s|have|see|get|going|came|got|had|saw|been|wrote|made|mind)\\b'

/** Adverbs of commands for good, and the words that begin a report with them. */
const FOR_GOOD = '(?:niemals|nie|immer|stets|jamais|toujours|siempre|nunca|jamás|sempre)'
const SUBJECT =
  'der|die|das|es|er|sie|ich|wir|man|hier|da|le|la|les|il|elle|on|ça|el|los|las|eso|yo|o|a|os|as|eu|isso|lo|gli|io'

/** A ban, or a command for good. */
const FIRM = cues(
  [
    `${CLAUSE}(?:do not|don't|dont|never)(?: ever)?:? (?!${NO_BAN}|${REPORTED})[a-z]`,
    `${CLAUSE}(?:always|at all times|under no circumstances),? (?!${REPORTED})[a-z]`,
    `\\b(?:want to|sure to|please|you|must|(?<!we |there )should|(?:we|should)(?= never)|you will) (?:never|always) (?!${REPORTED})`,
    '\\b(?:make sure|ensure)(?: you)? (?:not to|to not)\\b|\\bfrom (?:now|here) on\\b|(?<!\\bi )\\b(?:please|(?:you|we) should|must|may|remember,? you can) only (?!be|the|way)',
    "\\b(?:you must(?: not| never)?|must not|mustn't|must never)\\b|^.{0,40}\\b(?:all|every|each|any|no) (?!of\\b)(?:[\\w-]+ ){1,4}must\\b",
    "(?<!maybe |perhaps )\\b(?:you|we) should(?: not|n't) (?!be possible|happen|just|if)|\\bthe only (?!question|problem|issue|thing|way|reason)[\\w ]{1,60} (?:may|can|should)\\b",
    "\\bimportant(?:ly)?: |\\b(?:it|this)(?:'s| is)(?: \\w+)? (?:important (?:to (?!me|us|note|know)|that\\b)|not allowed|forbidden|mandatory)",
  ],
  // An adverb for good at the beginning of a clause or after its verb: "Usa siempre", "N'utilise jamais"; a report begins with its subject.
  `${FOR_GOOD}(?<=(?:^|[,;:.!] |(?<!\\p{L})(?:bitte|favor,?|plaît,?|und|et|y|e|pero|mas|mais) )(?:ne |n')?(?:(?!(?:${SUBJECT})(?!\\p{L}))\\p{L}{2,20} )?${FOR_GOOD})(?! (?:me|se|te|le|lo|ha|he|es|é|está|d[aá]|sale|fue|foi|falla|falha)(?!\\p{L}))`,
  `(?:bitte|soll\\p{L}{0,3}|d[aü]rf\\p{L}{0,3}|musst|dois|devez|il ne faut|deb[ei]s?|dev[ei]s?) (?:.{0,40} )?${FOR_GOOD}`,
  'auf (?:gar )?keinen fall|(?:musst|darfs?t?|dürfen|sollst)(?: .{1,40})? (?:nicht|keine?)|verboten|bitte (?:noch )?(?:nicht|keine?)|ab jetzt|ab sofort',
  "désormais|à partir de maintenant|en aucun cas|interdit|ne pas|(?<=^|[,;:.] |plaît,? |mais |et )n(?:e |')(?!oublie|hésite|est|a )[a-zéèê]+ (?:pas|plus|rien)",
  'с этого момента|нельзя|запрещено|обязательно|(?:никогда не|всегда|(?<=^|[,;:.] |и |но |пожалуйста,? )не) \\p{L}{2,20}(?:й|йте|ите|ши)|(?<=^|[,;:.] )(?:никогда )?не \\p{L}{2,20}ть',
  'a partir de (?:ahora|agora)|da ora|prohibido|proibido|vietato|(?<=^|[,;:.] |(?<!\\p{L})(?:favor,?|pero|mas|ma|y|e|de) )(?:(?:não|non) \\p{L}{2,20}(?:[aei]r|[aei]re)|não (?:use|mude|altere|crie|\\p{L}{1,20}(?:[qg]ue|ça|nha|xa))|no (?:uses|\\p{L}{2,20}(?:[aei]r|[ea]s) (?:el|la|los|las|un|una|nada|ningún|más|en|con|código)))',
  '不要|[绝絕][对對]|(?<!【)必须(?!.*才能)|必須|(?<=^|[，,。；：你])不能|[务務]必|禁止|不得|不许|不可以|一定要|永远|从现在|以后都|(?:所有|每次|每个).{1,20}都要',
  '(?<!心配し|気にし)ないで(?![すし])|[てで]はいけ|[てで]はなら|厳禁|ないこと[。.]?$|(?:必ず|絶対|(?<![正異非])常に(?!\\S{1,20}る[ァ-ヶ一-龠])|決して).{0,60}(?:(?<![でま])す|[うくつぬむぐぶ]|(?<!てい)る|こと|て|で|さい|しろ)[。.!]?$',
  '(?<!걱정하)지 ?(?:마(?!지막)|말)|금지|(?:항상(?! \\S{1,8}는 )|반드시|절대|무조건|앞으로)[^.!?]{0,60}(?:해|세요|줘|마|라|것|하자|시오)(?:[.! ]|$)',
)
/** What a thing must be: a rule in a short text, in a longer one a part of the task. */
const NEEDS = cues(
  [
    '(?<!\\bi |\\bthis \\w{1,20} |\\berror ?[:-].{0,200})\\bmust (?!admit|say|have (?:been|forgotten|missed|mixed)|be (?:an?|the|some|in|on|because|something|wrong|due)\\b)',
  ],
  'muss|müssen|doit|doivent|il faut(?! que j)|(?<=^(?:el|la|los|las|tod[oa]s?|cada|o|a|os|as) .{1,40})(?:deben?|devem?)',
)
/** A preference, a decision, a way to work. */
const WISH = cues(
  [
    "(?:^|\\b(?:i|we)(?: really| still| also| just)? )(?:do not|don't|dont|would not|wouldn't) (?:really )?(?:want|like|need) (?!(?:the|these|those|your)\\b(?!.* to )|(?:that|this|it|how|to know)\\b|(?<=need )(?:(?:to|the|that|this|it)\\b|(?![\\w .]{3,60}$)))",
    "(?<!that |which )\\b(?:i|we)(?:'d| would)?(?: really| much| also)? (?:prefer|rather)\\b|\\b(?:i|we)(?:'d| would)? only (?:want|need)\\b",
    `${CLAUSE}(?:prefer|stop \\w+ing|stick (?:to|with)|(?:use|write|change|edit|touch) only|only (?:use|write|change|edit|touch))\\b`,
    `(?:${CLAUSE}|(?<!if )\\b(?:i|we)(?:'d like| would like| want) to |\\b(?:try to|can you|could you|should) )avoid\\b`,
    `${CLAUSE}keep (?!\\w+ing\\b|on\\b|it up|up\\b|me\\b|what\\b|track\\b)|${CLAUSE}leave .{1,60} (?:alone|as.is|untouched|unchanged)\\b`,
    `${CLAUSE}use .{1,60} (?:instead of|rather than|(?<=, )not)\\b|\\blet'?s (?:not|never|always|call|name)\\b|\\bbe (?:\\w+ )?careful\\b`,
    '^no (?!thanks|worries|problems|issues|errors|ideas|matches|results|has|tienes|puedes|entiendes)(?:(?!of )[a-z-]+ ){0,3}[a-z-]{2,}(?:s|ing)(?: at all| here| please| yet)?[.!]?$',
    '^(?:whenever|(?:when|before|after) you|when \\w+ing(?=[^,]{3,120}, (?:please|make sure|always|never|do|use|keep)\\b)|every time|each time|before \\w+ing|(?:before|after) (?:each|every|any)) [^,]{3,120}, (?!(?:the|it|this|that|there|they|he|she|my|our|nothing|no|a|an|is|are|(?:you|we) (?!should|must|always|never)\\w+|i [a-z]+)\\b)',
    '\\bshould (?!i|we).{0,80} (?:each|every) time\\b|^(?!(?:i|it|the|this|that|there|here|we|my|why|how|what|he|she|they|if|when|now|so)\\b).{3,80} (?:(?:before|after) (?:each|every (?!other)|any)|every time|each time)\\b',
    '\\b(?:can|could) (?:we|you) .{0,40}\\bkeep (?!\\w+ing\\b|just\\b)|\\bask (?:me )?(?:first|before)\\b',
    "^we(?:'ve| have)? (?:decided|agreed)\\b|^agreed, (?!and|let|so|but|i|can|now)|\\bthat's decided\\b",
    '\\b(?:answer|reply|respond|speak)(?: to me)?(?: only)? in [a-z]+(?:ish|ese|ench|ian|man)\\b',
  ],
  'vor jede[mr]|avant chaque|antes de cada|prima di ogni|перед каждым|(?:statt|anstatt|anstelle|plutôt que|au lieu de|en lugar de|en vez de|ao invés de)(?<=^[^,]{0,40})(?=.{1,30}$)',
  "bevorzuge|préfère|prefiero|prefiro|(?<=^|[,;:.!] )(?:vermeide|[eé]vit(?:ar?|er?|ez|e))|ich (?:will|möchte) nicht, dass|je ne veux (?:pas|plus) qu['e]|não quero que|no quiero que|non voglio che|не хочу,? чтобы",
  '(?:antworte|responde|contesta|habla|répon\\w+|fale) (?:\\w+ )?(?:auf|en|em)',
  '(?:^|[，,。；请])避免|尽量不要|用(?:中文|英文|英语|日语)(?:回|交|输)|(?:日本語|英語)で(?:答|回|書|お願)|(?:한국어|영어)로 ?(?:답|대답|작성|써)',
)

/** A pattern of English clauses, of whole words of other languages, and of any in scripts without spaces between words. */
function cues(english: readonly string[], ...others: readonly string[]): RegExp {
  const words = others.map((list) => (isEastAsian(list) ? list : `(?<!\\p{L})(?:${list})(?!\\p{L})`))
  return new RegExp([...english, ...words].join('|'), 'u')
}

/** Phrases whose words look like those of rules. */
const NO_RULE = new RegExp(
  [
    'https?://\\S{1,300}|</?[a-z][^<>]{0,800}>|`[^`\\s]{0,80}\\s[^`]{0,200}`|"[^"]{1,200}"|[*_`]{1,3}',
    '\\b(?:immer noch|wie immer|ich muss|muss ich|comme toujours|como (?:siempre|sempre))\\b',
    '能不能|要不要|不要紧|绝对(?:路径|值|定位)|絶対(?:パス|値)|不能(?:运行|工作|用|打开|启动|编译|正常|登录|显示|访问)|不得不',
  ].join('|'),
  'g',
)

/** Words before a sentence that say nothing of it. */
const LEAD =
  /^(?:(?:ok|okay|and|but|so|also|yes|yep|nope|no(?=[,.])|btw|wait|great|good|hey|well|plus|then|again)\b[,.!:]? ?){1,4}(?=[a-z])/

/**
 * Where a sentence stands: in a few lines; in the first text or a longer one, which may describe a task; or in a long text within a
 * conversation, which others probably wrote, and of which only a ban at the beginning of a sentence counts.
 */
type Place = 'lines' | 'task' | 'document'
const LINES_UNITS = 600
const TASK_UNITS = 1_500
/** The beginning of a plan that the assistant wrote and a client sent. */
const PLAN = /^\s*implement the following plan:/i
/** The beginning of a file that was pasted into a conversation. */
const PASTED = /^\s*(?:# |---\n)/

function placeOf(text: string, isFirst: boolean): Place {
  if (text.length <= LINES_UNITS) return 'lines'
  const isLong = text.length > TASK_UNITS
  return PLAN.test(text) || (isLong && !isFirst) ? 'document' : 'task'
}

/** The units of a sentence before a ban that begins it: "Ne modifie jamais". */
const BEGINNING = 12

/** The strength of a sentence as a rule: 3 for a command or a ban, 2 for a wish, 0 for no rule. */
function weightOf(sentence: string, place: Place = 'lines'): number {
  const masked = sentence
    .toLowerCase()
    .replaceAll('’', "'")
    .replace(NO_RULE, (found) => (/^(?:["h]|`.)/.test(found) ? ' x ' : ' '))
  const text = oneLine(masked).replace(LEAD, '')
  const ban = FIRM.exec(text)
  if (place === 'document') return ban !== null && ban.index <= BEGINNING && ban[0] !== 'you must' ? 3 : 0
  return ban !== null || (place === 'lines' && NEEDS.test(text)) ? 3 : WISH.test(text) ? 2 : 0
}

/** A command or standing wish, in the words of the user or of an earlier summary; or the paths of files with rules. */
export type Rule = {
  readonly by: 'User' | 'Earlier' | 'Files'
  readonly text: string
  /** 2: a wish. 3: a command or a ban. 0: a sentence that withdraws an earlier rule. -1: a text that may fulfill one. */
  readonly weight: number
  /** The position of its message, where it is known. */
  readonly position?: number | undefined
}

/** Whether a rule commands or forbids in so many words: "never", "must". */
export function isFirm({ by, text }: Rule): boolean {
  return by !== 'User' || weightOf(text) > 2
}

/** The maximum length of the reason for a refusal. */
const MAX_REASON = 500
/** A line above a list of rules that is no rule itself. */
const ANNOUNCES =
  /^(?:\S{1,20} ){0,5}(?:rules|constraints|guidelines|restrictions|regeln|reglas|règles|regras)\W{0,5}$|^\W{0,4}(?:please )?(?:do not|don['’]t|never|avoid)\W{1,5}$|(?:规则|约束|ルール|規約|규칙)\W?$/i

/** The user's rules in a text: sentences, and lists under a line that announces rules. The text itself may end earlier ones. */
function rulesOfUser(text: string, isFirst = true, position?: number): Rule[] {
  const prose = withoutFences(text)
  const place = placeOf(prose, isFirst)
  const rules: Rule[] = []
  const add = (rule: string, weight: number) => rules.push({ by: 'User', text: rule, weight, position })
  add(headOf(prose.trim(), MAX_REASON), -1)
  if (place === 'document' && PASTED.test(prose)) return rules
  for (let at = 0; at < prose.length; ) {
    const { sentence, end } = sentenceAround(prose, at, at)
    const isHeading = /^\s*#{1,6} /.test(prose.slice(at, at + 20)) || /[:：]\W{0,3}$/.test(sentence)
    at = end
    if (sentence === '' || isPlainQuestion(sentence)) continue
    // "You may use A instead of B now" is no rule; "that no longer holds, always use B" is one.
    const clauses = clausesOf(sentence)
    const others = clauses.filter((clause) => clause.search(WITHDRAWS) < 0)
    if (others.length < clauses.length) add(sentence, 0)
    const named = place === 'document' ? undefined : filesObeyedIn(sentence)
    if (named !== undefined) rules.push(filesRule(named.paths, named.isNegated ? 0 : 3))
    const said = named?.rest ?? (others.length < clauses.length ? others.join(', ') : sentence)
    const weight = weightOf(said, place)
    const last = sentence.split(/[,;:] | (?:and|but) /).at(-1)!
    if (isHeading && place !== 'document' && (ANNOUNCES.test(sentence) || weightOf(last, 'document') > 2)) {
      const { items, next } = listAfter(prose, end)
      for (const item of items.map((one) => `${shorten(sentence, 80)} ${one}`))
        add(item, Math.max(2, weightOf(item)))
      at = Math.max(at, next)
    }
    // A heading alone commands nothing; beside a file, only what is firm is a rule of its own.
    if (weight > (named === undefined ? 0 : 2) && !isHeading) add(sentence, weight)
  }
  return rules
}

/** What a question asks for when it is a rule. */
const ASKS_FOR =
  /\b(?:can|could|would|will) (?:we|you)\b.{0,40}\b(?:always|never|not|avoid|keep|stop|only|from now on)\b|\bplease\b|\bbitte\b|\bs['’]il (?:te|vous)\b|\bpor favor\b|请|請|ください/i

/** A question for information, not a request in the form of a question. In Chinese it may have no question mark. */
function isPlainQuestion(sentence: string): boolean {
  return (
    (/¿|[?？]["')]?(?:$|[.,])/.test(sentence) && !ASKS_FOR.test(sentence)) ||
    /^为什么|[吗呢]$|^(?:what|why|how|where|which|who|can i|should [iw]|is it|are there|does)\b/i.test(
      sentence,
    )
  )
}

/** The items of a list at a position of a text, after optional blank lines, and where it ends. */
function listAfter(text: string, from: number): { readonly items: readonly string[]; readonly next: number } {
  const items: string[] = []
  let next = from
  for (const line of headOf(text.slice(from, from + 3_001), 3_000).split('\n')) {
    if (items.length < 20 && /^\s*(?:[-*+•]|\d{1,3}[.)])\s+\S/.test(line))
      items.push(shorten(cleanLine(line), 300))
    else if (line.trim() !== '' || items.length > 0) break
    next += line.length + 1
  }
  return { items, next }
}

/** Sentences that withdraw a rule. */
const WITHDRAWS = new RegExp(
  [
    '(?<!never |not |n.t )\\b(?:forget (?:about|what|the|that|my)|never ?mind (?:the|about|what|my))\\b',
    '\\b(?:ignore|disregard|drop|scrap|lift|cancel|withdraw) (?:the|that|my|those|this) (?:\\w+ ){0,4}(?:rule|restriction|constraint|requirement|instruction|preference|limit|ban)s?\\b',
    '\\bno longer (?:applies|apply|holds?|valid|necessary|needed|required|forbidden)\\b',
    "\\b(?:you|we) (?:no longer (?:need|have) to|(?:do not|don['’]t) (?:need|have) to|needn['’]t)\\b",
    '\\b(?:you|we) (?:can|may) (?:.{1,40} )?(?:now|again)\\b|\\b(?:allowed|fine|ok(?:ay)?|permitted) (?:now|again|after all)\\b',
    '\\b(?:need|have) to .{1,60} any ?(?:more|longer)\\b',
    '\\b(?:gilt|gelten) nicht mehr\\b|\\b(?:darfst|dürft|dürfen|kannst|könnt|können) (?:.{1,40} )?(?:jetzt|nun|wieder|doch)\\b|\\bvergiss (?:die|das|den)\\b',
    "\\bn['’]est plus (?:nécessaire|interdite?|obligatoire)|\\boublie (?:la|le|les)\\b",
    '\\bya no (?:es necesario|hace falta|está prohibido|aplica)\\b|\\bolvida (?:el|la|lo)\\b',
    '不再需要|不用再|现在(?:可以|允许)|取消.{0,12}(?:规则|限制|要求)|もう必要(?:ない|ありません)|(?:使って|変更して|しても)も?いい',
  ].join('|'),
  'gi',
)

/** The maximum number of rules, the oldest and the newest ones: each withdrawal is compared with all. */
const MAX_RULES = [500, 1_000] as const

/** The rules in a conversation, oldest first. Repeated ones are removed later, when they are merged. */
export function rulesIn({ texts, ruleFiles }: Pick<Conversation, 'texts' | 'ruleFiles'>): Rule[] {
  const said = texts.filter(({ by }) => by === 'user')
  const rules = said.flatMap((item, i) =>
    item.reply?.startsWith(REFUSED) ? reasonOf(item) : rulesOfUser(item.own, i === 0, item.position),
  )
  const excess = new Set(rules.filter(({ weight }) => weight >= 0).slice(MAX_RULES[0], -MAX_RULES[1]))
  const kept = rules.filter((rule) => !excess.has(rule))
  return ruleFiles.length > 0 ? [filesRule(ruleFiles), ...kept] : kept
}

/** The reason for a refusal is a rule as a whole, unless it only reports or asks. */
function reasonOf({ own, position }: Utterance): Rule[] {
  const text = shorten(oneLine(own), MAX_REASON)
  const weight = weightOf(text)
  // Several sentences are another request.
  const isOne = /^[^?]{1,200}$/.test(text) && !/[.!。] ?\S/.test(text)
  if (weight === 0 && (!isOne || isSmallTalk(text) || REPORTS.test(text.toLowerCase().replace(LEAD, ''))))
    return []
  return [{ by: 'User', text, weight: Math.max(2, weight), position }]
}

/** The beginning of a sentence that does not command. */
const REPORTS =
  /^(?:um|maybe|now|i|our|my|your|the|it|this|that|there|yes|agreed|ok|hi|what|why|how|so|here|he|she|they|for|we(?! (?:use|want|need|only)))\b/i

function filesRule(paths: readonly string[], weight = 3): Rule {
  return { by: 'Files', text: paths.join(', '), weight }
}

const IN_FILES = 'Rules in files: '
const WRITTEN = /^(User|Earlier): "(.*)"(?: \(message (\d{1,15})\))?$/s

/** A rule as a line of the summary. */
export function writeRule({ by, text, position }: Rule): string {
  if (by === 'Files') return IN_FILES + text
  return `${by}: "${text}"${messageNote(position)}`
}

/** Reads a rule from a line of `writeRule`; any other line of a constraints section is a rule itself. */
export function readRule(line: string): Rule {
  if (line.startsWith(IN_FILES)) return filesRule([line.slice(IN_FILES.length)])
  const [, by, quoted, message] = WRITTEN.exec(line) ?? []
  const position = message === undefined ? undefined : Number(message)
  if (by !== 'User' || quoted === undefined)
    return { by: 'Earlier', text: quoted ?? line, weight: 3, position }
  return { by, text: quoted, weight: Math.max(2, weightOf(quoted)), position }
}

/** Whether a line was written by `writeRule`. */
export function isWrittenRule(line: string): boolean {
  return WRITTEN.test(line) || line.startsWith(IN_FILES)
}

/** The rules in a text of another writer without a section for rules. */
export function rulesInSummary(text: string): Rule[] {
  return rulesOfUser(text)
    .filter(({ weight }) => weight >= 3)
    .map((rule) => (rule.by === 'Files' ? rule : { ...rule, by: 'Earlier' }))
}

/**
 * The rules in force, each once, at its older position, and the withdrawn ones. Case, punctuation and spacing are ignored.
 */
export function sortedRules(rules: readonly Rule[]): {
  readonly inForce: Rule[]
  readonly withdrawn: Rule[]
} {
  const inForce = new Map<string, Rule>()
  const held = new Map<string, Held>()
  const withdrawn: Rule[] = []
  const files = new Set<string>()
  for (const rule of rules) {
    if (rule.by === 'Files') {
      for (const path of rule.text.split(', ')) nameFile(files, path, rule.weight > 0)
      continue
    }
    if (rule.weight < 0) {
      const isEnded = held.size > 0 ? endedBy(rule.text) : undefined
      for (const [key, one] of held) if (isEnded?.(one) && held.delete(key)) inForce.delete(key)
      continue
    }
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
    if (key === '' || inForce.has(key)) continue
    inForce.set(key, rule)
    const one = held.size < MAX_HELD ? heldBy(rule.text) : undefined
    if (one !== undefined) held.set(key, one)
  }
  return {
    inForce: [...(files.size > 0 ? [filesRule([...files])] : []), ...inForce.values()],
    // One that was stated again is in force.
    withdrawn: withdrawn.filter(({ text }) => !inForce.has(keyOf(text))),
  }
}

/** Adds a file, or removes it. A name without a directory is any file of that name. */
function nameFile(files: Set<string>, path: string, isObeyed: boolean): void {
  const known = [...files].filter(
    (one) => one === path || one.endsWith(`/${path}`) || path.endsWith(`/${one}`),
  )
  if (!isObeyed) for (const one of known) files.delete(one)
  // The end of a line that was shortened is no path.
  else if (known.length === 0 && !path.endsWith('…')) files.add(path)
}

/** A ban until the user wants it done, or for one step. */
const HOLDS =
  /\b(this (?:step|turn|task|answer|time|once|case)|(?:do not|don['’]t) (?!break|lose)\w+ anything[.!]?$)|\byet\b|\buntil (?:i|we|the user)\b|^(?:do not|don['’]t) (?:write|change|run|edit|implement|code)(?: any| the)? ?(?:code)?[.!]?$|\bno (?:code|edits|changes)\b|noch nicht|todavía no|pas encore|ainda não|先不要|まだ|아직/i
/** The maximum number of such rules that a later text may fulfill. */
const MAX_HELD = 50
const GO_AHEAD =
  /^(?:(?:ok|okay|yes|great|good|perfect|sounds good|looks good|lgtm|now|then|please)[\s,.!-]{1,5}){0,4}(?:go ahead|proceed|do it|implement|let['’]s (?:do|go|implement|start|build)|start (?:coding|implementing)|make (?:the|those|these) changes|adelante|hazlo|vas-y|mach (?:es|das)|leg los|开始吧|可以开始|执行吧|進めて|진행)/i

/** Whether a rule is for one step, and the words of what it forbids until then. */
type Held = { readonly isStep: boolean; readonly words: ReadonlySet<string> }

function heldBy(rule: string): Held | undefined {
  const found = HOLDS.exec(rule)
  const banned = clausesOf(rule).find((clause) => weightOf(clause) > 0) ?? rule
  return found === null ? undefined : { isStep: found[1] !== undefined, words: contentWords(banned) }
}

/** Which rules end with a text: it tells to go ahead, commands what they forbid, or begins another step. */
function endedBy(text: string): (rule: Held) => boolean {
  const isNext = !isSmallTalk(text) && !isPlainQuestion(text)
  const commands = clausesOf(text.replaceAll(/[.!\n。！] ?/g, '; '))
    .filter((clause) => weightOf(clause) === 0)
    .map((clause) => [
      ...contentWords(clause.replace(/^(?:ok|okay|now|then|please|jetzt|ahora|现在|好) /i, '')),
    ])
  const isCommanded = (words: ReadonlySet<string>): boolean =>
    commands.some(
      (own) => words.has(own[0]!) && own.filter((word) => words.has(word)).length >= Math.min(2, words.size),
    )
  return ({ isStep, words }) => (isStep ? isNext : GO_AHEAD.test(text) || isCommanded(words))
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
  const words = contentWords(text.split(/[,;:]|\s[-–—]\s| because | weil | it['’]s | it is /)[0]!)
  const least = Math.min(2, Math.max(1, words.size))
  let most = 0
  let found: string | undefined
  for (const [key, rule] of rules) {
    if (rule.text === text) continue
    const own = contentWords(rule.text)
    const shared = [...own].filter((word) => words.has(word)).length
    if (shared === 0 || shared < most || (shared < least && shared < own.size)) continue
    most = shared
    found = key
  }
  return found
}

const NO_CONTENT =
  /^(?:about|after|again|allowed|always|anymore|before|could|don$|dont|every|fine|forget|from|have|instead|into|longer|make|mind|must|need|never|nevermind|okay|only|please|requir|rule|sa[i]d|should|sure|that|their|them|there|these|they|this|those|tol[d]|used|using|what|when|will|with|work|would|your|nicht|immer|jetzt|wieder|doch|dürfe|darf|niema|bitte|erlaubt|interdit|prohibid|permit|está|chang(?:ed?|ing)$|(?:est|all|and|any|are|but|can|did|for|get|had|has|how|its|let|may|new|not|now|one|our|out|she|the|try|use|via|was|way|who|why|yes|yet|you|das|dem|den|der|die|ein|ich|ihr|mit|und|von|wir|des|les|pas|plus|que|une|con|del|los|las|por)$)/

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
