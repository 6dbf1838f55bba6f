import { headOf } from '../../messages/characters.ts'
import { isEastAsian } from '../text.ts'

/*
 * What a sentence of a summary claims, by the most common words of English, German, French, Spanish, Chinese and Japanese. A note on a true
 * sentence does more harm than a missed contradiction, so a sentence that can be read in two ways claims nothing.
 */

/** A success that names a failure: "without errors". */
const NO_FAILURE =
  /\b(?:without|with no|with zero|no|zero|0)(?: \w+)? (?:errors?|failures?|failed|failing|problems|issues|warnings)\b(?: (?:were|was) (?:reported|found))?|\b(?:ohne|keine) Fehler\b|\bfehlerfrei\b|\b(?:sans|aucune) erreur\b|\b(?:sin|ningún|no (?:reporta|hay|muestra|da)) error(?:es)?\b|没有(?:任何)?(?:错误|报错)|(?:无|零)(?:错误|报错)|\b(\d+)(?:\/| of )\1 (?:tests? )?(?:pass\w*|bestanden|green)|エラー(?:なし|はない|なく|はありません)|(?<!\d)0 ?(?:件の)?(?:エラー|失敗)/gi
const SUCCESS =
  /\b(?:\w{2,20}ed successfully|(?:is|are|was|were|been) (?:now )?(?:fixed|resolved|solved|in order)|pass(?:es|ed|ing)?|succe(?:ed(?:s|ed)?|ss|ssful|ssfully)|works|worked|green|clean|exit(?:s|ed)? (?:with )?(?:code )?0|bestanden|bestehen|erfolgreich|grün|réussi(?:e|s|es)?|réussissent|passent|pasan|pasaron|exitos[oa]s?|exitosamente|correctamente)\b|\blaufen (?:alle |jetzt |nun |wieder )*durch\b|\bavec succès\b|\bcon éxito\b|通过|成功|合格|パス|通(?:った|りました|って|る)|✅|✓/i
/** A number of passed tests says nothing of the others. */
const COUNTED =
  /(?<!\b(?:all|alle|die|the) )\b\d+(?: of \d+)?(?: [\p{L}]+){0,2} (?:passed|bestanden|pass|pasan|superadas|passing)\b|\d+ ?(?:个|件)?(?:通过|成功)/giu
/** A failure of any kind or a purpose. It keeps a sentence from claiming a success, not from claiming an edit: "Fixed the error". */
const FAILURE =
  /\b(?:so that|in order|bis|damit|although|except|denied)\b|\berrors?\b|\bproblems?\b|\bmissing\b|\bcrash|\bfehl\w*|\bschl(?:ägt|agen|ug)\b|\bbricht\b|\berreur|\bfalla|\bfallid|出错|报错|错误|エラー/i
/** What was not done, not yet, not all of it, only wanted, or done by something else. */
const NOT_DONE = new RegExp(
  [
    '\\b(?:not|never|none|fail(?:s|ed)?|failing|failures?|broken|refused|rejected|attempt\\w*|tried|try|trying|unsuccess\\w*|some|most|before|then works',
    'goal|acceptance|criteria|definition|target|until|should|must|will|would|could|can|needs?|to be|to make|make sure|has to|have to|pending|if|unless|when|proposed|suggested|quote\\w*|sa[i]d|says|myself',
    'once (?:the|all|it|this|that|they|\\S+ (?:is|are|has|have|was|were))|wants?|asked|request\\w*|please|plans?(?= to)|planned|planning|next|remaining|unchanged|0 edits',
    'nicht|keine?[nrs]?|fehlgeschlagen|fehlschl\\w*|schl(?:ägt|agen) \\w* ?fehl|soll\\w*|muss|müssen|konnten?|können|kann|wird|werden|ziel|versuch\\w*|unverändert|vorher|sobald|wenn|falls',
    "ne|pas|échou\\w*|doit|doivent|pour que|objectif|n[’']a|no|fall(?:an?|id\\w*)|fallan|debe|deben|objetivo|para que|que \\w+ (?:las|los) \\w+ pasen|pasen|intent\\w*|pudo|puede|cuando|si)\\b",
    "n['’]t\\b|falló|未|没|不|失败|失敗|需要|要求|希望|目标|让|使所有|计划|下一步|尝试|如果|才会|应该|应当|出错|待|之前|ない|なかっ|できず|必要|べき|予定|ように|たら|見込み|たい|目標|まで|前は",
  ].join('|'),
  'i',
)
/** A failure, now or in the past, as the verb of a clause. */
const FAILS_NOW =
  /(?<!\p{L})(?:fails?|failing|broken|still (?:\w+ )?(?:fail\w*|errors?|reports? (?:\w+ )?errors?|crash\w*)|now fail|(?:is|are) (?:now |still )?red|échouent?|fall(?:a|an)\b(?! en)|fallando|falha|fallisce)(?!\p{L})|schl(?:ägt|agen)\b[^.]{0,30}\bfehl\b|scheiter[tn]\b|(?:仍然?|还是|依然|まだ)(?:会)?(?:失败|失敗)|ne (?:passe|fonctionne) pas/iu
const FAILED =
  /(?<!\p{L})(?:failed|rejected|refused|blocked|denied|aborted|crashed|(?:return|report|rais|thr[eo]w|produc|end)\w* (?:\w+ ){0,2}(?:errors?|failures?)|exit(?:s|ed)? (?:with )?(?:code )?[1-9]\d{0,2}|unsuccessful|could(?: not|n['’]t) be (\w+)|did(?: not|n['’]t) (?:work|succeed|pass)|fehlgeschlagen|gescheitert|échoué|falló|fallaron|falhou|fallit[oa])(?!\p{L})|schlug(?:en)?\b[^.]{0,30}\bfehl\b|失败|失敗|报错|出错/iu
/** What keeps a failure from being the last word: an order of events, a solution, a condition. */
const NOT_LAST = new RegExp(
  [
    '\\b(?:first|initially|before|previously|earlier|once|twice|times|then|later|until|after\\w*|since|again|attempts?|fixed|resolved|solved|corrected|pass\\w*|succe\\w*|works|no longer|never',
    "not fail|n['’]t fail|without|if|when|unless|would|could|may|might|should|must|so that|in case|test(?:s|ed)? (?:that|whether)",
    'zuerst|zunächst|anfangs|dann|danach|behoben|wenn|falls|nicht mehr|d’abord|puis|ensuite|corrigé|primero|luego|después|corregid\\w*|si)\\b|先|后来|然后|之后|修复|最初|その後|修正|如果|ない|なかっ',
  ].join('|'),
  'iu',
)
/** Headings of what happened, not of how things stand. */
const HISTORY =
  /\b(?:errors?|fix\w*|problems?|issues?|history|evolution|troubleshooting|fehler|erreurs|errores)\b|错误|问题|エラー/i
const CLAUSE = /[;,](?=\s)|[；，、]|\b(?:and|but|while|whereas|because|so|which|und|aber|et|mais|y|pero)\b/iu
/** A sentence in which a success that names a failure is a plain success. */
export function plainOf(sentence: string): string {
  return sentence.replaceAll(NO_FAILURE, ' passed ')
}

/** Whether a sentence, as `plainOf` returns it, reports something as done, and nothing as failed or only wanted. */
export function isDone(plain: string): boolean {
  return !NOT_DONE.test(withoutCode(plain))
}

/** A sentence without commands and options, whose words are not its own. */
function withoutCode(sentence: string): string {
  return sentence.replaceAll(/`[^`\n]{0,400}`|(?<!\S)--?[a-z][\w-]{0,40}/gi, ' ')
}

/** Headings of what is open, and of what was only wanted. */
export const OPEN_LIST =
  /\b(?:next|pending|to-?do|open|remaining|offen\w*|nächste\w*|ausstehend\w*|pendientes|próximos|siguientes|restant\w*)\b|待办|待处理|下一步|次の|残り/i
export const WANTED = /\b(?:plan\w*|goals?|criteria|requests?|user messages|aufgaben)\b|计划|要求/i

/** Whether a failure in a sentence is not the last word. */
export function isOvercome(sentence: string): boolean {
  return NOT_LAST.test(withoutCode(sentence).replace(/\b(?:could|did)(?: not|n['’]t) (?:be )?\w+/i, ' '))
}

/** A clause of a sentence that reports a failure, with what failed, and whether it still does. */
type Failure = { readonly clause: string; readonly subject: string; readonly isNow: boolean }

/** The failures that a sentence reports; none when it says that they were overcome. `above`: the heading or line above it. */
export function failuresIn(sentence: string, above: string): readonly Failure[] {
  return sentence.split(CLAUSE).flatMap((clause) => {
    const now = FAILS_NOW.exec(clause)
    const found = now ?? FAILED.exec(clause)
    const all = now === null ? sentence : sentence.replace(/\b(?:after|since|later)\b/gi, ' ')
    if (found === null || isOvercome(all)) return []
    return [
      {
        ...{ clause, subject: `${clause.slice(0, found.index)} ${found[1] ?? ''}` },
        isNow: now !== null || !HISTORY.test(above),
      },
    ]
  })
}

/** What a sentence, as `plainOf` returns it, says succeeded, and whether it says that all is in order now. */
export function successesIn(plain: string): { readonly subject: string; readonly isNow: boolean }[] {
  if (!isDone(plain) || FAILURE.test(plain)) return []
  return plain.split(CLAUSE).flatMap((clause) => {
    const at = clause.replaceAll(COUNTED, ' ').search(SUCCESS)
    return at < 0 ? [] : [{ subject: clause.slice(0, at), isNow: IN_ORDER.test(clause) }]
  })
}

/** Something that was broken is said to be in order. */
const IN_ORDER = /\b(?:works|working|fixed|resolved|solved) (?:now|again|as expected)\b|\bnow works\b/i

/** The numbers of tests that passed and that failed. */
export type TestCounts = { readonly passed: number | undefined; readonly failed: number | undefined }

const PASSED =
  /(?<![\d.])(\d{1,6})(?: (?:of|out of|von|de) \d{1,6}|\/\d{1,6})?(?: [\p{L}-]{1,30}){0,3} (?:pass(?:ed|ing|es)?|bestanden|superadas|pasan|réussis)(?!\p{L})|\bpass(?:ed)?(?:[=:] ?| \(?)(\d{1,6})(?!\d| \p{L})|\+(\d{1,6})(?: [-~]\d{1,6})?: All tests passed|(\d{1,6}) ?(?:个|件)の?(?:测试|用例|テスト)[\p{L}]{0,3}(?:通过|成功|合格)/iu
const FAILURES =
  /(?<![\d.])(\d{1,6})(?: [\p{L}-]{1,30}){0,2} (?:fail(?:ed|ing|ures?|s)?|fehlgeschlagen|fallan)(?!\p{L})|\b(?:fail(?:ed|ures)?|errors)(?:[=:] ?| \(?)(\d{1,6})(?!\d| \p{L})/iu
/** `297 tests, 0 failures` and `Ran 5 tests`: the passed ones are the others. */
const TOTAL = /(?<![\d.])(\d{1,6}) (?:tests?|examples?|specs?), (?=\d)|\bRan (\d{1,6}) tests?\b/i

/** The numbers of tests in a sentence, or in the output of a runner, of which the last lines with numbers count. */
export function statedTests(text: string): TestCounts | undefined {
  const lines = text.split(/[\r\n]/).map((line) => headOf(line, 400))
  const last = lines.findLastIndex((line) => [PASSED, FAILURES, TOTAL].some((pattern) => pattern.test(line)))
  if (last < 0) return undefined
  // Some runners print each number in a line of its own.
  const near = lines.slice(Math.max(0, last - 3), last + 1).reverse()
  const number = (pattern: RegExp): number | undefined => {
    for (const line of near) {
      const found = pattern
        .exec(line)
        ?.slice(1)
        .find((one) => one !== undefined)
      if (found !== undefined) return Number(found)
    }
    return undefined
  }
  const failed = number(FAILURES)
  const total = number(TOTAL)
  return { passed: number(PASSED) ?? (total === undefined ? undefined : total - (failed ?? 0)), failed }
}

/** Words that say nothing of what a call is. */
const EMPTY = new Set(
  'never not without the all every each its their our run runs ran command suite script call tool step job and for with from was were are been has have had now then also again currently last latest final current whole full new this that der die das alle den ist sind wurde wurden hat los las les une est ont commande comando user'.split(
    ' ',
  ),
)

/** The words of a text without their endings, to compare it with another. */
export function stemsOf(text: string): Set<string> {
  const words = text.replaceAll(/(?<=[a-z])(?=[A-Z])/g, ' ').toLowerCase()
  const stems = new Set<string>()
  for (const [word] of words.matchAll(/[\p{L}\p{N}]{2,40}/gu))
    if (!EMPTY.has(word) && word.length > 2)
      stems.add(word.replace(/(?<=..)(?:ations?|ing|ers?|ed|es|s|e)$/, ''))
  return stems
}

/** Whether a word, as its stem, is one of a text: the same, a part of one (`test` of `pytest`), or of the same beginning. */
export function hasStem(stems: ReadonlySet<string>, wanted: string): boolean {
  if (stems.has(wanted)) return true
  const isPart = (long: string, short: string): boolean => short.length >= 4 && long.includes(short)
  const start = wanted.slice(0, 6)
  return [...stems].some(
    (stem) =>
      isPart(stem, wanted) ||
      (stem.length >= 4 && wanted.startsWith(stem)) ||
      (stem.length >= 5 && wanted.endsWith(stem)) ||
      (start.length === 6 && stem.startsWith(start)),
  )
}

/** All tests, or those of one kind; or everything. */
const TESTS =
  /^\W*(?:now )?(?:(?:all|the|of|\d{1,6}|alle|die|tous|todas|todos|les|los|las) )*(?:(unit|integration|e2e|end-to-end|smoke|regression) )?(?:tests?(?: suite)?|pruebas|everything)(?: (?:is|are|were|now|again|still|alle|jetzt|nun|sind|waren|laufen|ont|sont|have|has))*\s*$|^\W*(?:所有|全部)?(?:的)?(单元)?(?:测试)|^\W*(?:すべて|全て|全)?の?(?:テスト)/i

/** Whether a subject is the tests as a whole. `label`: the last run of tests, which may not be of the kind of the subject. */
export function isTests(subject: string, label: string): boolean {
  const [found, kind, other] = TESTS.exec(subject.split(/[:|]/).at(-1)!) ?? []
  return found !== undefined && label.toLowerCase().includes((kind ?? other ?? '').toLowerCase())
}

/*
 * Changes of files. In the patterns, FILE is the file in question and OTHER another one.
 */

export const FILE = '\u0001'
export const OTHER = '\u0002'

const DID =
  'edited|changed|modified|updated|fixed|resolved|created|wrote|written|added|removed|replaced|refactored|implemented|renamed|rewrote|rewritten|adjusted|adapted|extended|patched|reworked|corrected|improved|converted|switched|migrated'
const DE =
  'geändert|bearbeitet|angepasst|ergänzt|hinzugefügt|erweitert|korrigiert|aktualisiert|behoben|umgeschrieben|erstellt|angelegt|ersetzt|entfernt|umgestellt|repariert'
const FR = 'modifié|corrigé|ajouté|créé|remplacé|adapté|mis à jour|étendu'
const ES = 'modific|actualiz|corrig|edit|cre|agreg|añad|cambi|ajust|reescrib|ampli'
const ZH = '修改|更新|修复|变更|编辑|调整|添加|增加|创建|新建|重写|改写|改为|改成'
const JA = '更新|変更|修正|編集|追加|作成|調整'
const LIST = `(?:[\\s,、，&]|and|und|y|et|和|と|${OTHER})*`
/** Up to a file in the same clause, which is the only one or in a list. */
const GAP = `(?:(?!\\b(?:that|which|when|where|because|how|why|if|after|before|about|by|from|than|according|aus|von|laut)\\b)[^.;:。；${FILE}${OTHER}]){0,60}?(?:${OTHER}${LIST})?`

const CHANGED = [
  `(?:\\b(?:changed|modified|edited|updated|geändert|bearbeitet|angepasst|modificados)\\b|修改|变更|変更)[^.;:${FILE}${OTHER}]{0,20}:${LIST}${FILE}`,
  // "Updated a.ts", "I changed the rounding in a.ts", not "the added rows of a.ts".
  `(?:^|[,;:(|–—-] ?|\\b(?:I|we|it|assistant|was|were|been|has|have|also|then|and|successfully|now|model|agent) )(?:${DID})\\b${GAP}${FILE}`,
  // "a.ts was updated", "a.ts: updated to", not "a.ts: LRU, updated on each read".
  `${FILE}(?:\\s*[:(|–—→*-]+(?:\\s|\\*)*|,?\\s(?:which\\s|and\\s)?(?:was|were|has been|have been|got)\\s)(?:(?:also|now|then|successfully|file)\\s)*(?:${DID})\\b(?! (?:by|in (?:v?\\d|(?:this|the|that|an?) (?:\\w+ )?(?:branch|commit|PR|release|version))|on|per|each|every|when|at|for each)\\b)`,
  `${FILE}[^.;:${OTHER}]{0,12}\\bwurden?\\b(?! \\d{4}| bereits| früher| zuvor)[^.;${OTHER}]{0,60}\\b(?:${DE})\\b|\\bwurden?\\b${GAP}${FILE}[^.;${OTHER}]{0,40}\\b(?:${DE})\\b|${FILE}[:–—( -]{1,3}(?:${DE})\\b`,
  `${FILE} a été (?:${FR})|\\b(?:a|ont) (?:${FR})(?!\\p{L})${GAP}${FILE}`,
  `(?:^|\\b[Ss]e )(?:${ES})(?:ó|ió|yó)(?!\\p{L})${GAP}${FILE}|${FILE} (?:fue|ha sido) (?:${ES})[ai]d[oa]|${FILE}[:–—( -]{1,3}(?:${ES})[ai]d[oa]`,
  `(?:已(?:经)?|成功)(?:${ZH})${GAP}${FILE}|(?:${ZH})了${GAP}${FILE}|${FILE}[^。;；,，${OTHER}]{0,8}(?:已(?:经)?(?:被)?(?:${ZH})|(?:${ZH})了|(?:进行|做)了?(?:${ZH}))`,
  `${FILE}\\s?[をにの][^。;${OTHER}]{0,20}?(?:${JA})(?:し(?:、|た|まし)|済)`,
].map((source) => new RegExp(source, 'iu'))
/** The heading or line above a list of changed files. */
const CHANGED_FILES =
  /\b(?:changed|modified|edited|updated|created)\b|geändert|bearbeitet|modifi(?:és|cados)|修改|变更|更新|変更/i

/** Whether a sentence, with marks for files, claims that FILE was changed. `above`: the heading or line above the list. */
export function claimsChange(marked: string, above: string): boolean {
  const isBare = !/[\p{L}\p{N}]/u.test(marked.replace(FILE, ''))
  if (isBare) return CHANGED_FILES.test(above) && isDone(above)
  return CHANGED.some((pattern) => pattern.test(marked))
}

const TOUCHED =
  'changed?|changing|modif(?:y|ied|ying)|edit(?:ed|ing)?|touch(?:ed|ing)?|alter(?:ed|ing)?|written'
const SAME = `unchanged|untouched|unmodified|unaltered|intact|read[- ]only|only (?:read|reviewed|inspected|viewed)|as (?:it|they) (?:was|is|were|are)|alone|(?:not|never|without) (?:been |being |yet )?(?:${TOUCHED})|(?:no|without) (?:\\w+ )?(?:changes|edits|modifications)`
const UNCHANGED = new RegExp(
  [
    // Between the file and the claim stand only verbs of being and of reading.
    `${FILE}[\\s,:;(|–—-]{0,3}(?:(?:was|is|were|are|has|have|been|remain(?:s|ed)?|stay(?:s|ed)?|left|kept|completely|still|only|read|reviewed|inspected|viewed|examined|checked|but|and)[\\s,;:]{1,2}){0,6}(?:${SAME})\\b`,
    `\\b(?:left|kept|leaving|keeping) ${FILE} (?:${SAME})\\b`,
    `\\b(?:did not|didn['’]t|never|without|only read)(?: (?:${TOUCHED}))? ${FILE}|\\bno (?:changes?|edits?|modifications?) (?:(?:were|was|have been|made) ){0,2}(?:to|in) ${FILE}`,
    `${FILE} (?:blieb|bleibt|ist|wurde|war) (?:unverändert|unberührt|nicht (?:geändert|angefasst|bearbeitet|verändert))`,
    `${FILE} (?:est |reste |est resté )?(?:inchangé|intact)|${FILE} n['’]a pas été (?:modifié|touché|changé)`,
    `${FILE} (?:(?:quedó|queda|está|permanece|sigue) (?:sin cambios|intacto)|no (?:se|fue) (?:modific|cambi|edit|toc))`,
    `${FILE}\\s?(?:没有?|未)(?:被)?(?:修改|改动|变更|更改|编辑)|${FILE}\\s?保持不变|${FILE}\\s?[はを](?:変更|編集)(?:せず|していない|されていない|なし)`,
  ].join('|'),
  'iu',
)

/** Whether a sentence, with marks for files, claims that FILE was not changed at all. `above`: the heading or line above the list. */
export function claimsNoChange(marked: string): boolean {
  return UNCHANGED.test(marked) && !/\b(?:since|after|before|until|when|then|first|yet)\b/i.test(marked)
}

/*
 * Numbers of edits
 */

/** Words for 1 to 10. */
const COUNTS = [
  'one|two|three|four|five|six|seven|eight|nine|ten',
  'eins|zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn',
  'uno|dos|tres|cuatro|cinco|seis|siete|ocho|nueve|diez',
  'once|twice',
  'einmal|zweimal|dreimal|viermal|fünfmal',
].map((words) => words.split('|'))
const COUNT = `(\\d{1,6}|${COUNTS.flat().join('|')})`
const EDITS = new RegExp(
  [
    `\\b${COUNT} (?:(?:successful|separate|file|code) ){0,2}(?:edits?|modifications?|Bearbeitungen|ediciones)(?!\\p{L})`,
    `\\b(?:edited|modified|changed|wurde) (?:\\S{1,200} )?${COUNT}(?: times| bearbeitet| geändert)?(?![\\p{L} ])`,
    `\\b(?:edit|modifi|bearbeitet|geändert)\\p{L}* (?:\\S{1,200} )?${COUNT} (?:times|veces|fois|mal)(?!\\p{L})`,
    '(?:修改|编辑)了? ?\\S{1,200} (\\d{1,6}) ?次',
    '(?<![\\d第])(\\d{1,6}) ?(?:次(?:修改|编辑|更改)|回(?:の)?(?:編集|変更))',
  ].join('|'),
  'iu',
)
const FILES = new RegExp(
  `\\b(?:edited|changed|modified|created|updated|wrote|added) ${COUNT} (?:new |more )?files\\b|\\b${COUNT} (?:new )?files (?:(?:were|have been|are) )?(?:edited|changed|modified|created|updated|written|added)\\b|\\b${COUNT} Dateien (?:wurden )?(?:geändert|bearbeitet|erstellt)`,
  'i',
)

/** The number of files that a sentence says were changed or made. */
export function statedFiles(sentence: string): number | undefined {
  return countOf(FILES.exec(sentence))
}

/** The number of edits that a sentence states, and whether it counts all of them. */
export function statedEdits(
  sentence: string,
): { readonly count: number; readonly isAll: boolean } | undefined {
  const edits = EDITS.exec(sentence)
  const count = countOf(edits)
  const isAll = /\b(?:times|once|twice|fois|veces)\b|mal\b|[次回]/i.test(edits?.[0] ?? '')
  return count === undefined
    ? undefined
    : { count, isAll: isAll && !/\b(?:again|more|another|further|least)\b/i.test(sentence) }
}

function countOf(match: RegExpExecArray | null): number | undefined {
  const word = match
    ?.slice(1)
    .find((one) => one !== undefined)
    ?.toLowerCase()
  if (word === undefined) return undefined
  const at = COUNTS.map((words) => words.indexOf(word)).find((index) => index >= 0)
  return at === undefined ? Number(word) : at + 1
}

/*
 * The branch
 */

const BRANCH =
  /^[^\p{L}\p{N}]*(?:(?:the )?(?:current|working|git) )?branch(?:\*{0,2}:\*{0,2}| is)? [`"*]{0,3}([\w./-]{2,100})(?![\w/])|\b(?:is|are|currently|now|working) on (?:the )?(?:branch )?[`"*]{1,3}([\w./-]{2,100})[`"*]{1,3}(?: branch)?/iu

/** The branch that a sentence says the work is on. */
export function statedBranch(sentence: string): string | undefined {
  const [all, label, named] = BRANCH.exec(sentence) ?? []
  const name = (label ?? named)?.replace(/\.$/, '')
  const isBranch = label === undefined ? /branch/i.test(all ?? '') : /[`/-]|main|master/.test(all!)
  return isBranch ? name : undefined
}

/*
 * Rules
 */

/** A rule's words, without those that only stress it. */
export function withoutStress(key: string): string {
  return isEastAsian(key)
    ? key
    : key.replaceAll(/(?:^|(?<= ))(?:always|please|immer|bitte|siempre|toujours) /g, '')
}

/** Says that a rule ended. */
export const NO_MORE =
  /~~|\b(?:no longer|may now|any ?more|superseded|obsolete|withdr[ae]w\w*|revoked|lifted|dropped|took back|taken back|cancell?ed|retracted|rescinded|allowed now|now allowed|aufgehoben|zurückgenommen|nicht mehr|ya no|retir(?:ó|ada)|ne s['’]applique plus)\b|不再|取消|撤回/i
/** Forbids something. */
export const NEGATIVE =
  /\b(?:no|not|never|without|avoid|forbid\w*|don['’]?t|must ?n['’]t|nie|niemals|nicht|kein\w*|ne|jamais|nunca|sin)\b|禁止|不|别|ない|な$/i

/*
 * Tasks
 */

/** Says that a task is open. */
export const OPEN =
  /^\W*to-?do\b|\b(?:still (?:needs?|has|have) to|(?:still|remains?) (?:open|pending|to do|to be done|undone)|pending|outstanding|not (?:yet )?(?:done|started|finished|completed)|offen|ausstehend|pendientes?|en attente|à faire)\b|待办|未完成|未着手/i
