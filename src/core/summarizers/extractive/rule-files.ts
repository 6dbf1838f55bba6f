import { markupPieces } from '../../messages/client-markup.ts'

/*
 * Files with rules (CONTRIBUTING.md, CLAUDE.md) that the user tells the agent to obey, or that a client put into the context. They are
 * only named: what they say is not the user's word, and can be read again.
 */

/** A path whose last part tells that the file contains rules. */
const FILE =
  '(?<![\\w./\\\\-])(?:[\\w.~:-]{0,80}[/\\\\]){0,12}(?:(?:\\w{1,40}[_.-]){0,4}(?:contributing|agents?|claude|gemini|skill|conventions?|guidelines?|instructions?|rules?|standards?|style(?:[_-]?guide)?)(?:[._-]\\w{1,20})?\\.(?:mdc?|txt|rst|adoc)|\\.[a-z]{1,20}rules|contributing(?![\\w.]))(?![\\w/])'
/** What may stand between a verb and its file: no other clause. */
const BETWEEN = '(?:[^.!?;\\s]|\\.(?=\\w)| (?!(?:and|then|to|und|et|y|e|и) )|(?<=\\.\\w{2,4}.?) ){0,60}?'
/** Verbs of reading and obeying before their file, or after it. */
const OBEYS = new RegExp(
  [
    `(?<!\\p{L})(?:follow|obey|respect|adhere|comply|stick|read|see|consult|apply|according|per|siehe|lies|lest|befolg\\p{L}*|beachte|halte|gemäß|laut|lis|lisez|voir|suis|suivez|respect\\p{L}+|selon|lee|leer|mira|sigue|seguir|según|leia|siga|segui|conforme|segundo|leggi|vedi|rispetta|secondo|следу\\p{L}*|соблюда\\p{L}*|согласно|прочита\\p{L}*|прочти|смотри|см\\.?)(?: to)?(?= )${BETWEEN}${FILE}`,
    `(?:遵循|遵守|按照?|根据|阅读|[请先]读|参[考照阅])${BETWEEN}${FILE}`,
    `${FILE}.? ?(?:[^.!?;\\n。]{0,20}(?:に従|を守|に沿|に基づ|参照|を読[みんむ]|遵守|따라|따르|준수|지켜|지키|참고|읽)|(?:beachten|lesen|befolgen|einhalten|applies)\\b)`,
  ].join('|'),
  'iu',
)
const FILES = new RegExp(FILE, 'giu')
const NEGATED =
  /\b(?:ignor\w*|not(?! forget)|never|nicht|no|non|não|pas)\b|n['’]t(?! forget)\b|(?<!\p{L})не(?!\p{L})|[不别]/iu

/** The files of rules that a sentence tells to obey or, negated, not to obey; and the sentence without them. */
export function filesObeyedIn(
  sentence: string,
): { paths: string[]; isNegated: boolean; rest: string } | undefined {
  const first = sentence.search(FILES)
  if (first < 0) return undefined
  const found = OBEYS.exec(sentence)
  const isNegated = NEGATED.test(sentence.slice(0, found?.index ?? first))
  if (found === null && !isNegated) return undefined
  // "Contributing" without an ending is a file only in capitals.
  const paths = sentence.match(FILES)!.filter((path) => path.includes('.') || path === path.toUpperCase())
  return paths.length === 0 ? undefined : { paths, isNegated, rest: sentence.replace(OBEYS, '') }
}

/** A line with which a client introduces the contents of a file. */
const INTRODUCED = new RegExp(
  `(?:^|\\n)[^\\w\\n]{0,10}(?:Contents of|Context from:|Instructions from:|#) ?(${FILE})`,
  'giu',
)

/** The files of rules that a client put into a text of the user. */
export function filesGivenIn(text: string): string[] {
  return markupPieces(text)
    .filter(({ by }) => by !== 'user')
    .flatMap(({ text }) => [...text.matchAll(INTRODUCED)].map(([, path]) => path!))
}
