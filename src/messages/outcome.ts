import { headOf, tailOf } from './characters.ts'
import type { Json, JsonObject } from './json.ts'
import { isFailed, type ToolResultOutput } from './message.ts'
import { effectOf, isListingTool, type ToolNames } from './tool-names.ts'

/*
 * What became of a tool call. Many tools set no error flag, so the outcome is derived from the result: status fields, exit codes, and
 * the wording of the first and last lines. Which lines count depends on the kind of call: a file or a search result may mention any
 * error, an editor reports in its first line, a command at its end.
 */

/** `unknown`: the result does not say whether the call did what it was asked to do. */
export type Outcome = 'ok' | 'failed' | 'unknown'

/** The call of a result, as far as it is known. */
type CalledTool = { readonly toolName?: string; readonly input?: Json }

/** The outcome of a call from its result. Takes linear time, and reads at most 12,000 units of a text. */
export function outcomeOf(call: CalledTool, output: ToolResultOutput, names: ToolNames = {}): Outcome {
  if (isFailed(output)) return 'failed'
  const kind = kindOf(call, names)
  switch (output.type) {
    case 'text':
    case 'error-text':
      return ofText(output.value, kind)
    case 'json':
    case 'error-json':
      return ofData(output.value, kind, 0)
    case 'content': {
      const texts = output.value.flatMap((item) => (item.type === 'text' ? [item.text] : []))
      if (texts.length === 0) return output.value.length > 0 ? 'ok' : 'unknown'
      return ofText(texts.length === 1 ? texts[0]! : endsOf(texts), kind)
    }
  }
}

/** The beginning of the first text and the end of the last. */
function endsOf(texts: readonly string[]): string {
  return `${headOf(texts[0]!, HEAD_UNITS)}\n${tailOf(texts.at(-1)!, TAIL_UNITS)}`
}

/**
 * What a call does: shows stored text, changes files, runs a command (which shows stored text, or whose output is cut at its end), or
 * something else.
 */
type Kind = 'show' | 'change' | 'run' | 'run, shows' | 'run, cut' | 'other'

const COMMAND_TOOL = /bash|shell|terminal|exec|command|console|powershell|^run|ipython|python|script/i
const SEARCH_TOOL = /search|fetch|browse|scrape|lookup|web/i

/** Commands that show files, folders or history, without a following command. */
const SHOW_COMMAND =
  /^(?:sudo )?(?:cat|bat|less|more|head|tail|nl|sed -n|awk|[ef]?grep|rg|ag|find|fd|ls|tree|stat|file|diff|jq|strings|xxd|hexdump|curl|wget -qO-|git (?:diff|log|show|status|blame|grep|branch|ls-files)|gh (?:pr|issue|run) (?:view|list|diff))(?: [^;&]*)?$/

/** A command whose end is not shown. */
const CUT = /\|\s*head\b[^|]{0,30}$/

function kindOf({ toolName = '', input }: CalledTool, names: ToolNames): Kind {
  const command = commandIn(input)
  if (command !== undefined && (COMMAND_TOOL.test(toolName) || !isEditor(toolName, input ?? null, names))) {
    const bare = withoutPrelude(command)
    return SHOW_COMMAND.test(bare) ? 'run, shows' : CUT.test(bare) ? 'run, cut' : 'run'
  }
  const effect = effectOf(toolName, input ?? null, names)
  if (effect === 'read' || isListingTool(toolName)) return 'show'
  if (effect === 'write') return 'change'
  if (COMMAND_TOOL.test(toolName)) return 'run'
  return SEARCH_TOOL.test(toolName) ? 'show' : 'other'
}

/** Whether `command` names an operation of an editor and not a command line. */
function isEditor(toolName: string, input: Json, names: ToolNames): boolean {
  return effectOf(toolName, input, names) !== 'other'
}

function commandIn(input: Json | undefined): string | undefined {
  if (!isRecord(input)) return undefined
  const command = own(input, 'command') ?? own(input, 'cmd') ?? own(input, 'script')
  if (typeof command === 'string') return headOf(command, 2_000)
  if (!Array.isArray(command) || !command.every((word) => typeof word === 'string')) return undefined
  // `["bash", "-lc", "npm test"]`
  return headOf(/^-\w*c$/.test(command[1] ?? '') ? (command[2] ?? '') : command.join(' '), 2_000)
}

/** A command without a change of directory before it and without redirections of its errors. */
function withoutPrelude(command: string): string {
  return command
    .trim()
    .replace(/^(?:cd [^;&|\n]{1,300}(?:&&|;)\s*){1,3}/, '')
    .replaceAll(/2>(?:&1|\/dev\/null)/g, '')
    .trim()
}

/*
 * Data
 */

/** Fields with a number that is 0 after success. */
const CODES = ['exit_code', 'exitCode', 'exitcode', 'returncode', 'return_code', 'exit_status', 'exitStatus']
const SUCCESSES = ['success', 'ok', 'succeeded']
const ERRORS = ['error', 'errors', 'err', 'error_message', 'errorMessage', 'exception']
const STATUSES = ['status', 'state', 'outcome']
/** Fields with the report of the tool itself, besides the data that it returned. */
const REPORTS = ['metadata', 'meta', 'result', 'response']
/** Fields with the text that a command printed. */
const PRINTED = ['output', 'stdout', 'stderr', 'message', 'content', 'text', 'result']

const FAILED_STATUS =
  /^(?:error|errored|fail|failed|failure|timeout|timed[ _-]?out|denied|rejected|aborted|crashed|killed|exception)$/i
const OK_STATUS = /^(?:ok|okay|success|successful|succeeded|done|completed?|passed)$/i

/** The most that is parsed of a text that looks like data. */
const MOST_DATA = 200_000

function ofData(value: Json, kind: Kind, depth: number): Outcome {
  if (typeof value === 'string') return ofText(value, kind)
  if (value === null) return 'unknown'
  if (typeof value === 'boolean') return value ? 'ok' : 'unknown'
  if (Array.isArray(value)) return ofList(value as readonly Json[], kind)
  if (!isRecord(value)) return 'ok'
  const stated = statedIn(value)
  if (stated !== undefined) return stated
  for (const name of depth < 2 ? REPORTS : []) {
    const inner = own(value, name)
    const found = isRecord(inner) ? statedIn(inner) : undefined
    if (found !== undefined) return found
  }
  const names = Object.keys(value)
  const texts = PRINTED.flatMap((name) => {
    const text = own(value, name)
    return typeof text === 'string' ? [text] : []
  })
  // A record of data may have a text of any kind; a report consists of little else.
  if (texts.length === 0 || names.length > 4) return names.length === 0 ? 'unknown' : 'ok'
  const outcomes = texts.map((text) => ofText(text, kind))
  if (outcomes.includes('failed')) return 'failed'
  return outcomes.includes('ok') ? 'ok' : 'unknown'
}

/** Several answers, or the parts of one. */
function ofList(items: readonly Json[], kind: Kind): Outcome {
  const texts = items.slice(0, 20).flatMap((item) => {
    const text = isRecord(item) && own(item, 'type') === 'text' ? own(item, 'text') : undefined
    return typeof text === 'string' ? [text] : []
  })
  if (texts.length > 0) return ofText(texts.length === 1 ? texts[0]! : endsOf(texts), kind)
  const [only] = items
  return items.length === 1 && isRecord(only) ? (statedIn(only) ?? 'ok') : 'ok'
}

/** The outcome that the fields of a record state. */
function statedIn(value: JsonObject): Outcome | undefined {
  for (const name of CODES) {
    const code = own(value, name)
    if (typeof code === 'number' || (typeof code === 'string' && /^-?\d{1,5}$/.test(code)))
      return Number(code) === 0 ? 'ok' : 'failed'
  }
  if (own(value, 'isError') === true || own(value, 'is_error') === true) return 'failed'
  if (own(value, 'timedOut') === true || own(value, 'timed_out') === true) return 'failed'
  for (const name of SUCCESSES) {
    const success = own(value, name)
    if (typeof success === 'boolean') return success ? 'ok' : 'failed'
  }
  for (const name of ERRORS) {
    const error = own(value, name)
    const isTold = typeof error === 'string' ? !NO_ERROR.test(error) : isRecord(error) || error === true
    if (isTold || (Array.isArray(error) && error.length > 0)) return 'failed'
  }
  for (const name of STATUSES) {
    const status = own(value, name)
    if (typeof status === 'string' && FAILED_STATUS.test(status)) return 'failed'
    if (typeof status === 'string' && OK_STATUS.test(status)) return 'ok'
  }
  const http = own(value, 'statusCode') ?? own(value, 'status_code') ?? own(value, 'status')
  return typeof http === 'number' && http >= 400 && http < 600 ? 'failed' : undefined
}

const NO_ERROR = /^\s*(?:\(?(?:none|null|nil|no|no errors?|empty|false|0)\)?)?\s*$/i

/*
 * Text
 */

const HEAD_UNITS = 6_000
const TAIL_UNITS = 6_000
/** The lines of a result that are read: the first ones, and the last ones of a command. */
const FIRST_LINES = 6
const LAST_LINES = 40
/** Fewer lines are the whole output of a command that ends in `| head`. */
const CUT_LINES = 10
const LINE_UNITS = 400
/** A longer text that was to be shown is content, whatever it begins with. */
const LONGEST_MESSAGE = 4_000

function ofText(text: string, kind: Kind): Outcome {
  const whole = text.length <= HEAD_UNITS + TAIL_UNITS
  const head = (whole ? text : headOf(text, HEAD_UNITS)).replace(CALL_ECHO, '')
  if (whole && head.trim() === '') return 'unknown'
  const shows = kind === 'show' || kind === 'run, shows'
  if (!shows || text.length < LONGEST_MESSAGE) {
    const data = dataIn(text)
    if (data !== undefined) return ofData(data, kind, 1)
  }
  const first = linesOf(head, FIRST_LINES)
  const opening = first[0] ?? ''
  if (whole && NO_OUTPUT.test(head.trim())) return shows || SAYS_OK.test(head) ? 'ok' : 'unknown'
  const last = lastLines(whole ? head : tailOf(text, TAIL_UNITS))
  const code = kind === 'show' ? undefined : exitCode(first, last)
  if (code !== undefined) return code === 0 ? 'ok' : 'failed'
  const isMessage = !shows || text.length <= LONGEST_MESSAGE
  if (isMessage && (REFUSED.test(opening) || HEADING.test(opening))) return 'failed'
  switch (kind) {
    case 'show':
    case 'run, shows':
      return first.length > 0 && last.length <= 3 && last.every(isProgramError) ? 'failed' : 'ok'
    case 'change':
      return ofReport([...first, ...last])
    case 'run':
      return ofPrinted(first, last)
    case 'run, cut': {
      const printed = ofPrinted(first, last)
      return printed === 'ok' && last.length >= CUT_LINES ? 'unknown' : printed
    }
    case 'other':
      return text.length < 600 && NOT_DONE.test(opening) ? 'failed' : 'ok'
  }
}

/** What an editor reports: the first line that says anything decides, because the changed text may follow. */
function ofReport(lines: readonly string[]): Outcome {
  for (const line of lines) {
    if (NOT_CHANGED.test(line) || isProgramError(line)) return 'failed'
    if (CHANGED.test(line)) return 'ok'
  }
  return 'unknown'
}

/** What a command printed. Failures are reported at its end; what follows a success report is not a failure of the command. */
function ofPrinted(first: readonly string[], last: readonly string[]): Outcome {
  for (const line of last.toReversed()) {
    if (PASSED.test(line) && !FAILED_COUNT.test(line)) return 'ok'
    if (FAILED_COUNT.test(line) || COMMAND_FAILED.test(line)) return 'failed'
  }
  if (last.length <= 12 && last.some(isProgramError)) return 'failed'
  if (isProgramError(last.at(-1) ?? '') || isProgramError(first[0] ?? '')) return 'failed'
  return 'ok'
}

/** `[read_file for 'a.ts'] Result:`, which clients without native tool calls put before a result. */
const CALL_ECHO = /^\s*\[[\w-]{1,60}(?: for [^\n]{0,300}?)?\] Result:\s*/

const NO_OUTPUT =
  /^[([<]?(?:no (?:output|matches(?: found)?|files? found|results?(?: found)?|content|stdout)|(?:bash|command|tool|shell)[\w ]{0,30}(?:with no output|no output|successfully)|empty|your command ran successfully and did not produce any output|(?:keine (?:ausgabe|treffer))|aucune? (?:sortie|résultat)|sin (?:salida|resultados)|没有输出|无输出|出力なし)\.?[)\]>]?\.?$/i
const SAYS_OK = /success/i

function dataIn(text: string): Json | undefined {
  if (text.length > MOST_DATA || !/^\s{0,20}[[{]/.test(text) || !/[\]}]\s{0,20}$/.test(text.slice(-21)))
    return undefined
  try {
    return JSON.parse(text) as Json
  } catch {
    return undefined
  }
}

/** Lines that are not blank, without the tags and frames around them, each up to its first units. */
function linesOf(text: string, most: number): string[] {
  const lines: string[] = []
  for (let from = 0; from < text.length && lines.length < most; ) {
    const found = text.indexOf('\n', from)
    const end = found < 0 ? text.length : found
    const line = bare(text.slice(from, Math.min(end, from + LINE_UNITS)))
    if (line !== '') lines.push(line)
    from = end + 1
  }
  return lines
}

function lastLines(text: string): string[] {
  const lines: string[] = []
  for (let end = text.length; end > 0 && lines.length < LAST_LINES; ) {
    const before = text.lastIndexOf('\n', end - 1)
    const line = bare(text.slice(Math.max(before + 1, end - LINE_UNITS), end))
    if (line !== '' && !FOOTER.test(line)) lines.push(line)
    end = before
  }
  return lines.reverse()
}

/** What clients print after the output of a command. */
const FOOTER =
  /^(?:\(?(?:open file|current directory)\b|bash-?[\d.]*[$#]|\[(?:jupyter|python interpreter|current working directory|file:)|<\/?[\w-]{1,40}>$|\[showing \d|\(elapsed\b)/i

// biome-ignore lint/suspicious/noControlCharactersInRegex: colors of terminals
const COLORS = /\u001b\[[\d;]{0,20}[A-Za-z]/g

function bare(line: string): string {
  return line
    .replaceAll(COLORS, '')
    .replace(/^[\s>|│┃⎿]{0,40}/, '')
    .trimEnd()
}

const EXIT =
  /(?:\b(?:exit(?:ed)?|finished|return(?:ed)?|failed|completed)(?:[ _](?:with(?: a)?))?(?: non-zero)?(?: exit)?[ _-]?(?:code|status)|\bexited with|<(?:exit_?code|return_?code)>|退出码|退出代码|返回码|終了コード|종료 코드|код (?:выхода|завершения)|code de (?:sortie|retour)|c[óo]digo de sa[ílií]da|beendigungscode|rückgabewert)\s{0,3}[:=(]?\s{0,3}(-?\d{1,10})\b/i
/** A line that is about nothing but the process. */
const EXIT_ONLY = /^[[(<]?(?:the )?(?:process |command |program )?(?:exit|finish|complet|return)/i

/** The status of the process in the first or the last lines. */
function exitCode(first: readonly string[], last: readonly string[]): number | undefined {
  for (const line of [...first.slice(0, 4), ...last.slice(-6).reverse()]) {
    const code = EXIT.exec(line)?.[1]
    if (code === undefined) continue
    // A line of a log may quote the status of another process.
    if (line.length > 120 && !EXIT_ONLY.test(line)) continue
    return Number(code)
  }
  return undefined
}

/** Marks and tags before a message. */
const MARKS = '(?:<\\/?[\\w:-]{1,40}>|[^\\p{L}\\p{N}\\s]|\\s){0,8}'

/** The first line of a report of failure, in the words of tools. */
const HEADING = new RegExp(
  `^${MARKS}(?:${[
    '(?:(?:tool|execution|internal|server|api|runtime|syntax|network|parse|parsing|validation|http|npm|unexpected|unknown|fatal|os) )?errors?\\b(?!\\s*(?:[=.(;,|]|::|=>|handling|messages?\\b|classes|codes?\\b|\\((?:none|0)\\)|: ?\\(?none))',
    '[a-z_]\\w{0,60}(?:error|exception)\\b\\s*[:(\\[]',
    'traceback\\b',
    'fatal\\b',
    'panic\\b',
    'fail(?:ed|ure)\\b',
    'E(?:NOENT|ACCES|PERM|ISDIR|NOTDIR|MFILE|XIST|CONNREFUSED|CONNRESET|TIMEDOUT|NOTFOUND|IO|BUSY)\\b',
    '(?:Fehler|Fehlgeschlagen|Erreur|Échec|Erro|Falha|Errore|Fallo|Ошибка|Сбой|Błąd|Hata|Fout|Fel|错误|錯誤|失败|失敗|エラー|오류|에러)(?![\\p{L}])(?! ?(?:handling|list))',
  ].join('|')})`,
  'iu',
)

/** Refusals of tools, editors and sandboxes. */
const REFUSED = new RegExp(
  `^${MARKS}(?:${[
    '(?:the )?(?:tool|function|command|operation|request|action|call)s?(?: \\S{1,60})? (?:was |were |has been |execution )?(?:rejected|denied|cancell?ed|aborted|failed|timed out|interrupted|not (?:allowed|permitted|found|available))',
    "(?:the )?user (?:rejected|denied|declined|cancell?ed|doesn['’]t want|does not want|chose not)",
    '\\[?request interrupted',
    'permission (?:to \\S+ )?(?:has been |was )?denied',
    '(?:access|permission)s? denied',
    'no replacement',
    'no such (?:file|tool|command|function)',
    '(?:your )?(?:proposed )?edit (?:has introduced|was not|has not|could not|did not)',
    'no (?:exact )?match(?:es)? (?:was |were )?found (?:in|for) ',
    '(?:unknown|unrecognized|unsupported|invalid|missing|illegal) (?:\\S{1,30} ){0,2}(?:tool|command|argument|parameter|option|input|path|function|arguments|request)',
    "(?:could not|couldn['’]t|cannot|can['’]t|unable to|failed to|not able to) ",
    '(?:command |execution |request |operation )?timed? ?out',
    '(?:InputValidationError|unauthori[sz]ed|forbidden)\\b',
    "(?:file|directory|path|folder) (?:\\S{1,200} )?(?:does not exist|doesn['’]t exist|not found|has not been read)",
    '⛔|❌|✗|✘',
  ].join('|')})`,
  'iu',
)

/** An editor that changed nothing. */
const NOT_CHANGED =
  /\bno (?:replacement|changes?) (?:was|were)?\b|\bno changes made|\bnot (?:found|unique|match|applied|been (?:applied|read|edited|written))\b|\b(?:did|does|do) not (?:appear|exist|match)\b|\bno match|\bmultiple (?:occurrences|matches)|\b(?:matches|occurrences) of\b.{0,60}\bbut\b|\bhunk\b.{0,40}\bfailed|\bfailed to\b|\bhas (?:introduced|not)\b|\bnew syntax error|\bverification failed|\b(?:could not|couldn['’]t|cannot|unable to)\b|\brejected\b|nicht gefunden|introuvable|no se encontr|não encontrad|non trovat|не найден|未找到|找不到|没有找到|見つかりません|찾을 수 없/i
const CHANGED =
  /\b(?:success(?:ful(?:ly)?)?|succeeded|updated|created|written|wrote|saved|edited|applied|replaced|inserted|appended|deleted|removed|moved|renamed|modified|changed|done|added|patched|overwritten|ok|completed)\b|^@@ |^[+-]{3} |^\s*\d{1,6}(?:\t|→|:| \|)|erfolgreich|aktualisiert|gespeichert|succès|enregistré|correctamente|guardado|sucesso|salvo|успешно|сохран|成功|已更新|已保存|已创建|已写入|保存しました|更新しました|作成しました|완료|성공|저장/i

/** A refusal in the words of a service: one short sentence. */
const NOT_DONE =
  /\b(?:not found|does not exist|doesn['’]t exist|do not exist|not (?:allowed|permitted|authori[sz]ed|supported|available|eligible|valid)|is invalid|invalid|unauthori[sz]ed|forbidden|denied|refused|timed out|rate limit|quota exceeded|no (?:such|user|order|reservation|record|customer|account)\b.{0,30}(?:found|exists?)?|failed|cannot be|could not be|too many requests)\b|nicht gefunden|ungültig|verweigert|introuvable|refusé|no encontrad|denegad|não encontrad|negad[ao]|non trovat|negato|не найден|отказано|未找到|不存在|找不到|无效|拒绝|見つかりません|無効|拒否|찾을 수 없|거부/i

/** Lines with which a build, a test run or an interpreter reports that it failed. */
const COMMAND_FAILED = new RegExp(
  [
    '^make(?:\\[\\d+\\])?: \\*\\*\\*|\\bError \\d+$',
    '^npm (?:ERR!|error )|^ERR_PNPM|^error Command failed|\\bELIFECYCLE\\b',
    '^[\\w./-]{0,200}\\(?\\d*[,:]?\\d*\\)?:? ?-? ?error(?: [A-Z]{1,4}\\d+|\\[\\w+\\])?:',
    '^error(?:\\[\\w+\\])?: |^(?:fatal|panic|FATAL|ERROR): ',
    '^(?:[\\w.]{1,80}\\.)?[A-Z]\\w{0,60}(?:Error|Exception|Interrupt|Exit)(?: \\[\\w+\\])?(?::|$)',
    '^(?:E {2,8}|\\*\\* )\\(?\\w+(?:Error|Exception|error)',
    '\\bTraceback \\(most recent call last\\)|^Caused by: |^Exception in thread ',
    '^(?:BUILD|COMPILATION|TESTS?|Build|Compilation|Tests?) (?:FAILED|FAILURE|failed|failure|ERROR)\\b|\\bFAILURE: Build failed',
    '^(?:FAIL|FAILED|✗|✘|×|not ok)(?: |$|:)|^--- FAIL|^FAIL\\t',
    '\\b(?:pre-commit|validation|verification|compilation|build|check|lint(?:ing)?|hook|task|job|test run|command|process|execution) (?:has )?(?:validation )?(?:failed|aborted|timed out|was killed)\\b',
    '^(?:Segmentation fault|Killed|Aborted|Terminated|Bus error|Illegal instruction)\\b',
    '\\(core dumped\\)',
    '^(?:Command|Execution) (?:aborted|failed|timed out|was aborted|was interrupted)',
    '\\btest result: FAILED|^error: could not compile',
    '^(?:Fehler|Erreur|Erro|Errore|Ошибка|错误|エラー|오류) ?[:：]',
    '^error: Your local changes|^CONFLICT \\(|^Automatic merge failed',
    '^Usage: |^usage: ',
  ].join('|'),
)
/** A count of failures above zero. */
const FAILED_COUNT =
  /\b(?!0\b)\d{1,6} (?:tests? |specs? |suites? |examples?, ?)?(?:failed|failures?|failing|errors?|errored)\b|\bfound (?!0\b)\d{1,6} (?:errors?|problems?|issues?)|✖ (?!0\b)\d{1,6} problems?|\b(?:fail(?:ed|ures?)?|errors?)[:=] ?(?!0\b)\d{1,6}\b/i
/** A report that all went well. */
const PASSED =
  /\b(?:0|no) (?:errors?|failures?|failed|problems|issues)\b|\ball (?:\d{1,6} )?(?:tests?|checks?|specs?)\b.{0,20}\bpass|\b\d{1,6} pass(?:ed|ing)\b|\bBUILD SUCCESS|\bbuild succe|\btest result: ok|\bfinished (?:in|dev|release|`)|^(?:ok|PASS|OK)\b|\bcompiled successfully|\bsuccessfully\b|\bno fixes applied|\bgenerated \w+ app$/i

/** Messages of programs: `cat: a.txt: No such file or directory`. */
const PROGRAM_ERROR = new RegExp(
  `(?:^|[:：]|\\s)(?:${[
    'No such file or directory|command not found|not found|Permission denied|Is a directory|Not a directory|File exists|No such file',
    'Operation not permitted|Connection (?:refused|reset|timed out)|No space left on device|Device or resource busy|cannot open|Could not resolve host',
    'is not recognized as an internal or external command|cannot find the (?:path|file)|Access is denied|not a git repository|No module named \\S+',
    'Datei oder Verzeichnis nicht gefunden|(?:Kommando|Befehl) nicht gefunden|Keine Berechtigung|Zugriff verweigert',
    'Aucun fichier ou dossier de ce (?:type|nom)|commande introuvable|Permission non accordée|Accès refusé',
    'No existe el (?:fichero|archivo) o el directorio|No existe el archivo|orden no encontrada|Permiso denegado',
    'Arquivo ou diretório (?:inexistente|não encontrado)|Ficheiro ou directoria inexistente|comando não encontrado|Permissão (?:negada|recusada)',
    'File o directory non esistente|comando non trovato|Permesso negato',
    'Нет такого файла или каталога|команда не найдена|Отказано в доступе',
    'Nie ma takiego pliku ani katalogu|nie znaleziono polecenia|Brak dostępu|Böyle bir dosya ya da dizin yok|komut bulunamadı|Erişim engellendi',
    'Bestand of map bestaat niet|opdracht niet gevonden|Toegang geweigerd|Filen eller katalogen finns inte|kommandot finns inte',
    '没有那个文件或目录|未找到命令|找不到命令|权限不够|拒绝访问|没有該檔案或目錄|沒有此一檔案或目錄|拒絕不符權限的操作',
    'そのようなファイルやディレクトリはありません|コマンドが見つかりません|許可がありません|アクセスが拒否されました',
    '그런 파일이나 디렉터리가 없습니다|명령어를 찾을 수 없음|명령을 찾을 수 없습니다|허가 거부',
  ].join('|')})`,
  'i',
)

/** Whether a line is the message of a program: its name, what it concerns, and a known error. */
function isProgramError(line: string): boolean {
  return (
    line.length <= 300 &&
    PROGRAM_ERROR.test(line) &&
    /^[^\s:：]{1,80}(?: \S{1,40})?[:：]|^[\p{L}\s'"«`]{0,40}$/u.test(line)
  )
}

function isRecord(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function own(value: JsonObject, name: string): Json | undefined {
  return Object.hasOwn(value, name) ? value[name] : undefined
}
