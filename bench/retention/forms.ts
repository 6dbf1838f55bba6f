/*
 * What a listed name or the outcome of a request is by its form alone. These forms are the measure's own: the summarizer shares none of
 * them, so that it isn't measured by its own opinion.
 */

const JUNK_FORMS: Readonly<Record<string, RegExp>> = {
  credential:
    /(?:^|_)(?:password|passwd|secret|token|api_?key|access_?key|cvv|pin)(?:[:=] ?| )\S|(?:^|\W)(?:[sp]k[-_](?:live|test|proj|ant)|gh[pousr]_\w{8}|github_pat_|glpat-|xox[abprs]-|AKIA[0-9A-Z]{8}|AIza[\w-]{20}|eyJ[\w-]{10}|hf_\w{20}|whsec_)|_secret_\w{8}/i,
  number: /^[~+-]?[\d.,:%]*\d[\d.,:%]*(?:-[\d.,:%]{1,4})?$/,
  // Times of day, durations, cut time stamps: `10:45`, `835Z`, `17T14`, `2025-11-17T19`, `264s`.
  time: /^(?:[\d-]*\dT\d\d(?:[:-]?\d\d){0,2}(?:\.\d+)?|\d+(?:[.:]\d+)*)(?:Z|[ap]m)?$/i,
  anchor: /^(?:#?L\d+(?:[-:,]L?\d+)*|:\d+(?:[:-]\d+)*|\d+(?:,\d+)?p|@@.*)$/i,
  hash: /^(?=[a-f]*\d)(?=\d*[a-f])[\da-f]{7,64}$|^[\dA-F]{32,64}$/,
  unit: /^[+-]?[\d.]+(?:px|r?em|ex|ch|d?v[hw]|vmin|vmax|p[tc]|deg|rad|turn|fr|[mnuµ]?s|[kmg]i?b?|[cm]m|x)$/i,
  color: /^(?:#(?=\d*[a-f])[\da-f]{3,8}|(?:rgb|hsl)a?\(.*)$/i,
  escape: /^\\|\\(?:u[\da-f]{4}|x[\da-f]{2}|["'])|%[\dA-F]{2}|&\w{2,6};|^u[\da-f]{4}$|^x[\da-f]{2}$|\[\d+m/,
  short: /^[\p{Script=Latin}\p{Script=Cyrillic}\p{Script=Greek}\d_]{1,3}$/u,
}

/** A run of 16 letters and digits or more, and the changes of kind in it. */
const RUN = /^[\w+/=-]{16,}$/
const CHANGE = /[a-z](?=[A-Z\d])|[A-Z](?=\d)|\d(?=[A-Za-z])|[A-Z](?=[a-z])/g
const UUID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i
/** The share of changes in a run that no name reaches: `toolu_01HqNBUZ2x` does, `AbstractBeanFactory2` doesn't. */
const RANDOM_SHARE = 0.4

/** A value with its field: `total: 523`, `status delivered`. */
const FIELD = /^[\p{L}_][\p{L}\p{N}_.-]*:? (?=\S)/u
/** A date is a name; the same with a time, cut, is not. */
const DATE = /^\d{4}-\d\d-\d\d$/

/** Why a listed name means nothing, by its form; `undefined` when it may mean something. */
export function junkForm(name: string): string | undefined {
  if (JUNK_FORMS.credential!.test(name)) return 'credential'
  if (FIELD.test(name) || DATE.test(name)) return undefined
  const found = Object.entries(JUNK_FORMS).find(([, form]) => form.test(name))?.[0]
  return found ?? (isRandom(name) ? 'base64' : undefined)
}

/** The value of a listed name, without its field. */
export function withoutField(name: string): string {
  return name.replace(FIELD, '')
}

function isRandom(name: string): boolean {
  if (!RUN.test(name) || UUID.test(name) || !/\d/.test(name) || !/[a-z]/.test(name) || !/[A-Z]/.test(name))
    return false
  return (name.match(CHANGE) ?? []).length >= RANDOM_SHARE * name.length
}

/** What an outcome is instead of an outcome. */
export type OutcomeFlaw = 'praise' | 'announcement' | 'fragment'

/** Words that only greet, thank, agree, praise or excuse, with what follows them up to a stop. */
const PRAISE =
  /^(?:(?:that['’]?s |that is |this is |what an? |you['’]?re |you are |i['’]?m |i am )?(?:very |really |so |absolutely |quite )*(?:a )?(?:great|good|excellent|perfect|wonderful|awesome|amazing|nice|fantastic|brilliant|beautiful|solid|cool|right|correct|glad|happy|sorry|welcome|sure|certainly|of course|absolutely|definitely|no problem|thanks?|thank you|ok(?:ay)?|yes|yeah|hi|hello|hey|got it|understood|makes sense|sounds (?:good|great)|i (?:understand|see|apologi[sz]e|appreciate)|my (?:bad|apologies))|sehr gut|gut|super|perfekt|prima|gerne|danke|natürlich|entschuldigung|tut mir leid|parfait|très bien|bien sûr|merci|excellent|désolé|perfecto|muy bien|excelente|genial|claro|gracias|lo siento|perfeito|ótimo|obrigad[oa]|好的?|很好|太好了|非常好|当然|谢谢|不客气|抱歉|完美|明白了?|素晴らしい|ありがとう|了解|わかりました|はい|承知|완벽|좋습니다|감사|네)(?![\p{L}\p{N}])/iu
/** The most content words after such a beginning with which a sentence says no more than praise. */
const MOST_PRAISED = 4

const ANNOUNCES =
  /^(?:let['’]?s\b|let me\b|(?:i|we)(?:['’]ll| will| shall| need to| should| want to| can now| must)\b|(?:i['’]m|we['’]re|i am|we are)? ?(?:going to|about to|ready to)\b|i(?:['’]d| would) (?:like|love) to\b|(?:now|next|first|then|finally)[,:]? (?:i|we|let|to)\b|ich (?:werde|schaue|prüfe|beginne)\b|lass(?:en sie)? (?:mich|uns)\b|(?:zuerst|als nächstes|jetzt) \p{L}+ ich\b|je (?:vais|commence)\b|laisse(?:z)?[- ]moi\b|(?:voy|vamos) a\b|d[ée]jame\b|permíteme\b|vou\b|vamos\b|deixe-me\b|(?:现在|接下来|首先)?(?:让我|我来|我将|我会|我要|我先|我们(?:来|将|先)))|(?:ましょう|てみます|していきます|겠습니다|볼게요)[.。]?$/iu
/** "Now the tests" without a verb that reports. */
const NOW = /^(?:now|next)[,:]? (?!.*\b(?:is|are|was|were|has|have|can|does|\w{2,}ed|\w{3,}s)\b)/i
/** Interjections before what is said. */
const LEAD =
  /^(?:(?:ok(?:ay)?|good|great|perfect|excellent|right|now|first|next|then|so|and|but|also|alright|sure|yes|well|got it|understood|好的?|现在|gut|bien|bon)\b[\s,.!:;—–-]+){1,3}/iu
/** Forms of English verbs that report something. */
const VERB =
  /\b(?:is|are|was|were|been|be|am|has|have|had|do|does|did|done|can|could|will|would|should|may|might|must|cannot|\w+n['’]t|\w+['’](?:s|re|ve|ll|d|m)|\w{2,}ed|(?:pass|fail|match|fix|reach|miss|push)(?:es)?|(?:work|run|return|contain|use|need|show|mean|support|look|seem|exist|require|give|take|make|add|remove|start|end|include|lack|come|get|go|let|keep|say|tell|see|want|stay|live|hold|read|write|call|build|compile|render|handle|expect|reference|confirm|cover)s?|found|ran|wrote|set|put|built|sent|got|kept|went|took|gave|held|left|made|came|saw|said|told|began|broke|chose|lost|met|paid|sold|stood|thought|understood|won|cut|hit|led|shut|split|spent)\b/i
/** What introduces something, is cut in brackets, the row of a table, code, begins with a mark, or is a path. */
const NOT_A_SENTENCE = /[:：,、(]$|^(?:#|\||```|[)\]},.;:→…&+=<>])|^\S*[\w/]\.\w+(?::\d+)?$/
/** A heading: bold as a whole, or with capitals in all of its words and no stop. */
const HEADING = /^\*\*[^*]{1,80}\*\*:?$|^(?:[A-Z][\w-]*(?: (?:of|and|for|the|in|to|with|&))* ?){2,8}$/
const MOST_FRAGMENT = 60

/** What is wrong with the outcome of a request, by its form. `startsInMiddle`: asked when it begins with a small letter. */
export function outcomeFlaw(
  outcome: string,
  startsInMiddle: (outcome: string) => boolean,
): OutcomeFlaw | undefined {
  const text = outcome.replace(/^["“']|["”']$/g, '').trim()
  const bare = text.replaceAll(/\*\*|__/g, '')
  const [praised = ''] = PRAISE.exec(bare) ?? []
  const rest = bare.slice(praised.length).replace(/^[\s,.!:;—–-]+/, '')
  if (
    ANNOUNCES.test(bare) ||
    ANNOUNCES.test(rest) ||
    ANNOUNCES.test(bare.replace(LEAD, '')) ||
    NOW.test(bare)
  )
    return 'announcement'
  if (NOT_A_SENTENCE.test(bare) || HEADING.test(text)) return 'fragment'
  if (/^\p{Ll}/u.test(bare) && startsInMiddle(text)) return 'fragment'
  // "Great, all tests pass" reports; "You're right, this is odd" doesn't.
  const reports = !/\b(?:i|you)\b/i.test(praised) && VERB.test(rest)
  if (praised !== '' && !reports && contentOf(rest) <= MOST_PRAISED) return 'praise'
  return isVerbless(bare) ? 'fragment' : undefined
}

/** Characters of an East Asian text count as half a word, names of code as many words. */
function contentOf(text: string): number {
  if (/`|\d{2}/.test(text)) return Number.POSITIVE_INFINITY
  const eastern = text.match(/[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]/g)?.length ?? 0
  return eastern / 2 + (text.match(/[\p{Script=Latin}\p{Script=Cyrillic}]{4,}/gu) ?? []).length
}

/** A short text without a stop and a verb, as far as its language is English. */
function isVerbless(bare: string): boolean {
  if (
    bare.length > MOST_FRAGMENT ||
    /[.!?…]$/.test(bare) ||
    /[^\p{ASCII}]/u.test(bare.replaceAll(/[’–—✅✓“”]/g, ''))
  )
    return false
  return /[a-z]/.test(bare) && !VERB.test(bare)
}
