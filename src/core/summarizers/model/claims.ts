import { isEastAsian } from '../text.ts'

/*
 * What a sentence of a summary claims, by the most common words of English, German, French, Spanish, Chinese and Japanese. A note on a true
 * sentence does more harm than a missed contradiction, so a sentence that can be read in two ways claims nothing.
 */

/** A success that names a failure: "without errors". */
const NO_FAILURE =
  /\b(?:without|with no|with zero|no|zero|0)(?: \w+)? (?:errors?|failures?|failed|failing)\b(?: (?:were|was) (?:reported|found))?|\b(?:ohne|keine) Fehler\b|\bfehlerfrei\b|\b(?:sans|aucune) erreur\b|\b(?:sin|ningún|no (?:reporta|hay|muestra|da)) error(?:es)?\b|没有(?:任何)?(?:错误|报错)|(?:无|零)(?:错误|报错)|\b(\d+)(?:\/| of )\1 (?:tests? )?(?:pass\w*|bestanden|green)|エラー(?:なし|はない|なく|はありません)|(?<!\d)0 ?(?:件の)?(?:エラー|失敗)/gi
const SUCCESS =
  /\b(?:pass(?:es|ed|ing)?|succe(?:ed(?:s|ed)?|ss|ssful|ssfully)|works|worked|green|clean|exit(?:s|ed)? (?:with )?(?:code )?0|bestanden|bestehen|erfolgreich|grün|réussi(?:e|s|es)?|réussissent|passent|pasan|pasaron|exitos[oa]s?|exitosamente|correctamente)\b|\blaufen (?:alle |jetzt |nun |wieder )*durch\b|\bavec succès\b|\bcon éxito\b|通过|成功|合格|パス|通(?:った|りました|って|る)|✅|✓/i
/** A number of passed tests says nothing of the others. */
const COUNTED =
  /\b\d+(?: of \d+)?(?: [\p{L}]+){0,2} (?:passed|bestanden|pass|pasan|superadas|passing)\b|\d+ ?(?:个|件)?(?:通过|成功)/giu
/** A failure of any kind or a purpose. It keeps a sentence from claiming a success, not from claiming an edit: "Fixed the error". */
const FAILURE =
  /\b(?:so that|in order|bis|damit|although|except|denied)\b|\berrors?\b|\bproblems?\b|\bmissing\b|\bcrash|\bfehl\w*|\bschl(?:ägt|agen|ug)\b|\bbricht\b|\berreur|\bfalla|\bfallid|出错|报错|错误|エラー/i
/** What was not done, not yet, not all of it, only wanted, or done by something else. */
const NOT_DONE = new RegExp(
  [
    '\\b(?:not|never|none|fail(?:s|ed)?|failing|failures?|broken|refused|rejected|attempt\\w*|tried|try|trying|unsuccess\\w*|some|most|before|then works',
    'goal|acceptance|criteria|definition|target|until|should|must|will|would|could|can|needs?|to be|to make|make sure|has to|have to|pending|if|unless|when|proposed|suggested|quote\\w*|sa[i]d|says|myself',
    'once (?:the|all|it|this|that|they|\\S+ (?:is|are|has|have|was|were))|wants?|asked|request\\w*|please|plan\\w*|next|remaining|unchanged|0 edits',
    'nicht|keine?[nrs]?|fehlgeschlagen|fehlschl\\w*|schl(?:ägt|agen) \\w* ?fehl|soll\\w*|muss|müssen|konnten?|können|kann|wird|werden|ziel|versuch\\w*|unverändert|vorher|sobald|wenn|falls',
    "ne|pas|échou\\w*|doit|doivent|pour que|objectif|n[’']a|no|fall(?:an?|id\\w*)|fallan|debe|deben|objetivo|para que|que \\w+ (?:las|los) \\w+ pasen|pasen|intent\\w*|pudo|puede|cuando|si)\\b",
    "n['’]t\\b|falló|未|没|不|失败|失敗|需要|要求|希望|目标|让|使所有|计划|下一步|尝试|如果|才会|应该|应当|出错|待|之前|ない|なかっ|できず|必要|べき|予定|ように|たら|見込み|たい|目標|まで|前は",
  ].join('|'),
  'i',
)
const STILL_FAILS =
  /\b(?:still|currently|remains?|keeps?|now) (?:\w+ )?(?:fail(?:s|ing)?|broken)|\b(?:is|are) (?:failing|broken)\b|schl(?:ägt|agen) (?:noch|weiterhin|immer noch) fehl|échouent? (?:encore|toujours)|siguen? fallando|(?:仍然?|还是|依然)(?:会)?失败|まだ失敗/i
const ALL_TESTS = new RegExp(
  [
    '\\b(?:all|every|the)\\b[\\w ]{0,20}\\btests? (?:suites? )?(?:now )?(?:pass(?:es|ed)?|succeed(?:s|ed)?|(?:is|are|were) (?:now )?(?:passing|green|successful))',
    '(?:^|[.:] ?|and |the )tests? (?:suite )?(?:is )?(?:now |fully )?(?:green|pass(?:es|ed)?|(?:are|were) (?:now )?(?:passing|green|successful))',
    '\\b(?:alle|die|sämtliche) (?:\\d{1,6} )?Tests (?:\\w+ )?(?:bestanden|(?:sind|waren) (?:\\w+ )?(?:grün|erfolgreich|bestanden)|(?:laufen|liefen|bestehen)\\b)',
    '\\btous les tests (?:passent|réussissent)|\\bl[oa]s (?:\\d{1,6} )?(?:tests|pruebas) (?:pasan|pasaron)',
    '(?:所有|全部)(?:的)?(?:单元)?测试(?:都|均|已|现已|现在)*通过|测试(?:已|都|均|现已)*(?:全部|全都)?(?:都|均)?通过',
    '(?:すべて|全て|全)の?テストが?(?:成功|通過|合格|パス|通)|テスト[はが](?:すべて|全て|全部|全件)(?:成功|通過|合格|パス|通)',
  ].join('|'),
  'i',
)
/** Tests of one kind, of which the last run may not be one. */
const SOME_TESTS = /\b(?:unit|integration|e2e|end-to-end|smoke|regression)\b|单元/i

/** A sentence in which a success that names a failure is a plain success. */
export function plainOf(sentence: string): string {
  return sentence.replaceAll(NO_FAILURE, ' passed ')
}

/** Whether a sentence, as `plainOf` returns it, reports something as done, and nothing as failed or only wanted. */
export function isDone(plain: string): boolean {
  return !NOT_DONE.test(plain)
}

/** Headings of what was only wanted. */
const WANTED =
  /\b(?:next|pending|to-?do|open|plan\w*|remaining|goals?|criteria|requests?|user messages|offen\w*|nächste\w*|ausstehend\w*|aufgaben|pendientes|próximos|siguientes|restant\w*)\b|待办|待处理|下一步|计划|要求|次の|残り/i

/** Whether lines below a heading are about what is wanted. */
export function isWanted(heading: string): boolean {
  return WANTED.test(heading)
}

export function claimsSuccess(plain: string): boolean {
  return SUCCESS.test(plain.replaceAll(COUNTED, ' ')) && isDone(plain) && !FAILURE.test(plain)
}

export function claimsFailure(plain: string): boolean {
  return STILL_FAILS.test(plain)
}

export function claimsTests(plain: string): boolean {
  const [claim] = ALL_TESTS.exec(plain) ?? []
  return claim !== undefined && !SOME_TESTS.test(claim) && isDone(plain) && !FAILURE.test(plain)
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
const GAP = `(?:(?!\\b(?:that|which|when|where|because|how|why|if|after|before|about|from|than|according|aus|von|laut)\\b)[^.;:。；${FILE}${OTHER}]){0,60}?(?:${OTHER}${LIST})?`

const CHANGED = [
  `(?:\\b(?:changed|modified|edited|updated|geändert|bearbeitet|angepasst|modificados)\\b|修改|变更|変更)[^.;:${FILE}${OTHER}]{0,20}:${LIST}${FILE}`,
  // "Updated a.ts", "I changed the rounding in a.ts", not "the added rows of a.ts".
  `(?:^|[,;:(|–—-] ?|\\b(?:I|we|it|assistant|was|were|been|has|have|also|then|and|successfully|now|model|agent) )(?:${DID})\\b${GAP}${FILE}`,
  // "a.ts was updated", "a.ts: updated to", not "a.ts: LRU, updated on each read".
  `${FILE}(?:\\s*[:(|–—→-]+\\s*|\\s(?:was|were|has been|have been|got)\\s)(?:(?:also|now|then|successfully|file)\\s)*(?:${DID})\\b(?! (?:by|in v?\\d|on|per|each|every|when|at|for each)\\b)`,
  // "a.ts: option renamed", not "a.ts: the added rows".
  `${FILE}:\\s(?:(?!\\b(?:that|which|when|where|is|are|be|of|for)\\b)[^.;:${OTHER}]){0,40}\\b(?:${DID})(?=[.;,]|$| and\\b)`,
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

/*
 * Numbers of edits
 */

/** Words for 2 to 10. */
const COUNTS = [
  'two|three|four|five|six|seven|eight|nine|ten',
  'zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn',
  'deux|trois|quatre|cinq|six|sept|huit|neuf|dix',
  'dos|tres|cuatro|cinco|seis|siete|ocho|nueve|diez',
  'twice',
  'zweimal|dreimal|viermal|fünfmal',
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
/** One edit may make several changes, which are listed then. */
const CHANGES = new RegExp(`\\b${COUNT} (?:changes|Änderungen|cambios)(?!\\p{L})(?![^:]{0,200}:)`, 'iu')

/** The number of edits that a sentence states, and whether it may mean something else. */
export function statedEdits(
  sentence: string,
): { readonly count: number; readonly isVague: boolean } | undefined {
  const edits = EDITS.exec(sentence)
  const found = (edits ?? CHANGES.exec(sentence))?.slice(1).find((one) => one !== undefined)
  if (found === undefined) return undefined
  const word = found.toLowerCase()
  const at = COUNTS.map((words) => words.indexOf(word)).find((index) => index >= 0)
  return { count: at === undefined ? Number(word) : at + 2, isVague: edits === null }
}

/*
 * Rules
 */

const WITHDRAWN =
  /\b(?:withdr\w+|no longer|lifted|allowed|may now|revoked|dropped|superseded|cancell?ed|reversed|any ?more|obsolete|retracted|until|ended|aufgehoben|zurückgenommen|nicht mehr|darf jetzt|ya no|ne plus)\b|~~|\bback\b|不再|取消|撤回|もう/i

/** Whether a line says that something was withdrawn. */
export function isWithdrawal(line: string): boolean {
  return WITHDRAWN.test(line)
}

/** A rule's words, without those that only stress it. */
export function withoutStress(key: string): string {
  return isEastAsian(key)
    ? key
    : key.replaceAll(/(?:^|(?<= ))(?:always|please|immer|bitte|siempre|toujours) /g, '')
}
