/*
 * The wordings and names by which `outcomeOf` recognizes the outcome of a call. Every pattern reads one line of at most 400 units, and
 * each repetition is bounded.
 */

/*
 * Kinds of calls
 */

export const SHELL_TOOL =
  /bash|shell|terminal|exec|command|console|powershell|^run|^cmd$|python|(?<![a-z])script(?![a-z])/i
export const FETCH_TOOL = /search|find|fetch|browse|scrape|navigate|web|http|lookup|extract/i
/** Tools that show history. */
export const SHOW_TOOL = /(?:^|_)(?:log|logs|diff|history|console_messages|evaluate|memory_read)$/i

/** The argument with a command line, and a command in the source of a program that calls tools. */
export const COMMAND_ARGUMENT = /^(?:(?:bash|shell)[_-]?)?(?:command(?:[_-]?line)?|cmd|script)$/i
export const SOURCE_COMMAND =
  /\b(?:cmd|command)["']?\s{0,3}:\s{0,3}("(?:[^"\\]|\\[\s\S]){1,2000}"|'(?:[^'\\]|\\[\s\S]){1,2000}'|`(?:[^`\\]|\\[\s\S]){1,2000}`)/g
/** Arguments with a task for another agent. */
export const ASKS = ['prompt', 'instructions', 'task']
/** Commands that show stored text, files, folders or history, without a following command. */
export const SHOW_COMMAND =
  /^(?:sudo )?(?:z?cat|bat|sort|less|more|head|tail|nl|sed -n|awk|[ef]?grep|rg|ag|find|fd|ls|tree|stat|file|wc|which|diff|jq|strings|xxd|hexdump|man|journalctl|git (?:(?:--no-pager|-C \S{1,200}) ){0,2}(?:diff|log|show|status|blame|grep|branch|ls-files|stash show)|\S{1,40} (?:logs|logging)|(?:kubectl|docker|podman)(?: compose)? (?:logs|describe|get|ps|inspect|images)|gh \w+ (?:view|list|diff))(?: [^;&]*)?$/

/** Commands that print words of their own. */
export const PRINTS = /\b(?:echo|printf|print|console\.log)\b|-[ce] ['"]/
/** A command whose output is cut at its end. */
export const CUT_COMMAND = /\|\s*head\b[^|]{0,30}$/
/** A command that ends with a verdict. */
export const TEST_COMMAND =
  /^(?:\S{0,200}\/)?(?:pytest|jest|vitest|mocha|rspec|phpunit|tox|ctest)\b|^(?:npx|npm|yarn|pnpm|bun|python3? -m|cargo|go|mix|make|gradle|\.\/gradlew|mvn|dotnet|swift|flutter|rake|bundle exec)(?: \S{1,30}){0,2} (?:test|pytest|unittest|jest|vitest|mocha|rspec)\b/

/*
 * Data
 */

/** Fields with a number that is 0 after a success. Names are in lower case, without underscores. */
export const EXIT_CODES = ['exitcode', 'returncode', 'exitstatus']
/** Fields that are true after a failure. */
export const FLAGS = ['iserror', 'timedout', 'haserror']
/** Fields that are true after a success. */
export const SUCCESSES = [
  ...['success', 'issuccess', 'ok', 'succeeded', 'successful'],
  ...['erfolg', 'sucesso', 'exito', 'éxito', 'succès', 'successo'],
]
/** Fields with an error, a list of errors, or a code that is 0 if there was none. */
export const ERRORS =
  /^(?:error|errors|err|errormessages?|errormsg|errcode|errorcode|numfailedtests|exception|fault|faultstring|functionerror)$/
/** Names that end in "id" but identify no stored thing. */
export const NO_ID = /^(?:valid|invalid|paid|(?:trace|request|correlation|span)id)$/
/** The end of a JSON result of a server, whatever it contains. */
export const ENVELOPE = /"isError"\s?:\s?(?:true|false)[\s}]{1,20}$/
export const STATUSES = ['statuscode', 'httpstatus', 'status', 'state', 'outcome', 'result']
export const MESSAGES = ['msg', 'message', 'errordescription', 'errno']
/** Fields with the report of the tool itself, apart from the data that it returned. */
export const REPORTS = ['metadata', 'meta', 'result', 'results', 'response', 'body', 'data']
/** Fields with the text that a command printed. */
export const PRINTED = ['output', 'stdout', 'stderr', 'message', 'content', 'text', 'result', 'response']

export const FAILED_STATUS =
  /^(?:error|errored|fail|failed|failure|timeout|timed[ _-]?out|denied|rejected|aborted|crashed|killed|exception)(?:[:,. ].{0,200})?$/i
export const OK_STATUS = /^(?:ok|okay|success|successful|succeeded|done|completed?|passed)$/i
export const NO_ERROR = /^(?:\(?(?:none|null|nil|no|no errors?|empty|false|0)\)?)?$/i

/*
 * Frames around a result
 */

/** `[TextContent(type='text', text='…')] isError=False`: a server's result as Python clients print it. */
export const PRINTED_CONTENT =
  /^\s*(?:meta=\w{1,40} )?(?:content=)?\[TextContent\(type='text', text=(['"])([\s\S]*)\1(?:, \w{1,40}=\w{1,40}){0,4}\)\](?:[ ,\w=]{0,80}\bisError=(\w{4,5}))?\s*$/
/** Text that precedes the text of a page. */
export const PAGE_TITLE = /^(?:#{1,4} (?!.{0,60}\bfailed\W{0,3}$)|Contents of \S{1,300}:$)/i
/** A result in a fence, below a line about the call; an element for an error. */
export const FENCED = /^(?:[^\n]{1,200}\n{1,4})?```(?:text)?\n([\s\S]*?)\n?```\s*$/
export const ERROR_ELEMENT = /^\s*<[\w-]{0,30}error[\w-]{0,30}>/i
/** A placeholder for a removed result. */
export const CLEARED =
  /^(?:\[[^\]\n]{0,80}(?:cleared|truncated|omitted|removed|elided|pruned|no result)[^\]\n]{0,80}\]|<persisted-output>[\s\S]{0,12000})$/i
export const NO_OUTPUT =
  /^[([<]?(?:tool did not return anything|no (?:output|matches(?: found)?|files? found|results?(?: found)?|content|stdout)|(?:bash|command|tool|shell)[\w ]{0,30}(?:with no output|no output|successfully)|empty(?: \w{1,20})?|your command ran successfully and did not produce any output|(?:keine (?:ausgabe|treffer))|aucune? (?:sortie|résultat)|sin (?:salida|resultados)|没有输出|无输出|出力なし)\.?[)\]>]?\.?$/i
/** Lines of a client above the output of a call. */
export const HEADER =
  /^(?:[^\n]{0,300}\n){1,8}?\s{0,40}(?:Command |Initial )?(?:Output|output so far):?[ \t]{0,40}(?:\n|$)/
/** A call that was still running when its result was written, or whose output nobody saw. */
export const RUNNING =
  /\b(?:process|script|command|step|task|job)? ?(?:is )?(?:still |now )?(?:running|executing|started) (?:in|with|as) (?:the |a )?(?:background|terminal|user's terminal|session|cell)|\bstill (?:running|executing|creating|waiting)\b|\bbackground (?:command|task|process|job|shell)\b.{0,20}\bID\b|^(?:status: |<status>)(?:running|pending)|\bprocess is running\b|\bno new output after\b|\bmoved to the background\b|\boutput could not be captured\b/i
/** Text that clients print after the output of a command. */
export const FOOTER =
  /^(?:\(?(?:open file|current directory)\b|bash-?[\d.]*[$#]|\[(?:jupyter|python interpreter|current working directory|file:)|<\/?[\w-]{1,40}>$|\[showing \d|\(elapsed\b)/i
// biome-ignore lint/suspicious/noControlCharactersInRegex: colors of terminals
export const COLORS = /\u001b\[[\d;]{0,20}[A-Za-z]/g

export const EXIT =
  /(?:\b(?:exit(?:ed|ing)?|finished|return(?:ed)?|failed|completed)(?:[ _](?:with(?: a)?))?(?: non-zero)?(?: exit)?[ _-]?(?:code|status)|\b(?:exited with|EXIT=|exit: )|<(?:exit_?code|return_?code)>|退出码|退出代码|返回码|終了コード|종료 코드|код (?:выхода|завершения)|code de (?:sortie|retour)|c[óo]digo de sa[ílií]da|beendigungscode|rückgabewert)\s{0,3}[:=(]?\s{0,3}(-?\d{1,10})\b/i
/** A line that concerns only the process. */
export const EXIT_ONLY = /^[[(<]?(?:the )?(?:process |command |program )?(?:exit|finish|complet|return)/i

/*
 * The first line
 */

/** Marks and tags that precede a message. */
const MARKS = '(?:<\\/?[\\w:-]{1,40}>|[^\\p{L}\\p{N}\\s]|\\s){0,8}'

const beginning = (...wordings: readonly string[]): RegExp =>
  new RegExp(`^${MARKS}(?:${wordings.join('|')})`, 'iu')

/** The first words of a remark of the client about the call. */
export const CLIENT = beginning(
  '(?:(?:the|this|your|mcp) ){0,2}(?:user|permission|tool|command|operation|request|call|file|hook|model|agent)s?\\b|[\\w ]{0,12}(?:timed? ?out|cancell?ed|interrupted|rejected|blocked|denied)\\b',
)

/** The first line of a report of failure. */
export const HEADING = beginning(
  '(?:[a-z]{2,20} ){0,2}errors?(?: -?\\d{1,6})?(?: (?:in|at|near|on) [^\\s:][^:]{0,200})?:(?!:)(?! ?(?:\\(?none|0\\b|\\{))',
  'error\\b(?!"?\\s*:\\s*(?:""|null|false|\\[\\]|0\\b|\\(?none))(?!\\s*(?:[=.(;,|/-]|::|=>|handling|messages?\\b|classes|codes?\\b|logs?\\b|reporting|pages?\\b))',
  '(?:success|ok)[\'"]?\\s?[:=]\\s?false\\b|status[\'"]?\\s?[:=]\\s?[\'"]?error\\b',
  '[a-z_]\\w{0,60}(?:error|exception)\\b\\s*[:(\\[](?![\'"])',
  'traceback \\(most',
  '(?:fatal|ödesdigert|onulmaz)\\s?: ?',
  'panic: ',
  'E(?:NOENT|ACCES|PERM|ISDIR|NOTDIR|MFILE|XIST|CONNREFUSED|CONNRESET|TIMEDOUT|NOTFOUND|IO|BUSY|ROFS|INVAL|XDEV|NOTEMPTY|NOSPC|PIPE)\\b',
  'net::ERR_|(?:HTTP )?(?:[45]\\d\\d) (?:[A-Z][a-z]|client error|server error)|HTTP(?:\\/[\\d.]{1,3})? [45]\\d\\d\\b',
  "(?:could not|couldn['’]t|cannot|can['’]t|unable to|not able to) ",
  '(?:Fehler|Schwerwiegend|Erreur|Erro|Errore|Ошибка|Błąd|Hata|Fout|Fel|(?:致命)?错误|錯誤|エラー|오류|에러)[^\\S\\n]{0,2}[:：]',
  "(?:[\\w'-]{1,30} ){0,4}fail(?:ed|ure)\\b(?!.{0,3}[:=] ?0)|[\\u3040-\\u9fff]{0,12}(?:失败|失敗)",
)

/** The first line of a program that could not show stored text. */
export const FATAL =
  /^(?:fatal|schwerwiegend|致命错误|ödesdigert|onulmaz|error|parse error|error from server)(?:\b.{0,40})?\s?(?:: |：)/i

/**
 * What did not happen, in the first sentence of a message: a negation, a necessity that was not met, an adjective of what is wrong, a
 * noun for a failure. Only the grammar of each language counts, because every tool has its own words.
 */
export const FAILS = new RegExp(
  [
    // Negations.
    "\\b(?:not|cannot|never|neither|unable|lacks?)\\b(?! only\\b)|n['’]t\\b|\\bnone (?:of|was|were|has|provided|given)\\b",
    '(?<!there (?:is|are|was|were) )\\b(?:no|nothing (?:was|is|were|to(?! be\\b| commit))) (?!(?:\\S{1,30} ){0,4}?(?:errors?|problems?|issues?|warnings?|failures?|diagnostics|need)\\b)|\\b(?:without|non-\\w+)\\b(?! (?:errors?|problems?|issues?|warnings?)\\b)',
    // Necessities.
    '\\b(?:must|needs? (?:to|an?)\\b|has to|have to|need:|requires?|require[ds]|should|at least one|exactly one|expect(?:ed|s)|refus(?:es|ing)|wait until|instead|can only|only (?:supports?|accepts?|allows?|one|available|works)|allowed (?:values|range))\\b|^only\\b|\\bskip\\b|^(?:skipped|if|multiple)\\b|\\b(?:supports|accepts) only\\b',
    // What is wrong.
    '(?<!\\w)(?<!\\b(?:0|zero) )(?:terminated|deprecated|retired|obsolete|lost|read-only|still(?! running)|abort(?:s|ing)?|forbid\\w*|fail(?:ed|ure|s)?(?!["\']?\\s?[:=]\\s?["\']?0)|cancell?ed|aborted|interrupted|timed[ -]?out|time-?out|exceed(?:ed|s)?|(?<![:=] )(?:denied|rejected|refused|declined|blocked|disallowed|prohibited|killed|locked)|un(?!i[tq]|der|til|less)\\w{0,20}(?:ed|[ai]ble|known)|malfunction\\w*|in(?:valid|correct|complete|compatible|active|sufficient|consistent|accessible|eligible|determinate)|im(?:possible|proper)|illegal|malformed|corrupt\\w*|broken|missing|wrong|bad|stale|expired|revoked|disabled|duplicate|ambigu\\w+|conflict\\w*|mismatch\\w*|overlaps?|outside|too \\w+|identical|empty|null|undefined|NaN|already(?! up)|unfortunately|sorry|retry|violat\\w+|crashed)(?!\\p{L}| success)',
    '\\b(?:connection|session|socket|stream|channel|browser|page|server|state)(?: \\S{1,30}){0,3} (?:closed|lost|reset|shut(?:ting)? down|stopped)\\b|\\bsold out\\b|\\b(?:maximum|limit)\\b.{0,60}\\breached\\b|\\bout of \\w+|\\bis None\\b|\\bHTTP[ /]?[45]\\d\\d\\b|\\b[45]\\d\\d(?: [A-Z][a-z]|:)|\\b(?:smaller|larger|greater|longer|shorter) than\\b|\\brate limit|\\bexhausted\\b|\\bbecause\\b|\\bstopped (?:by|before)\\b|\\bis a directory\\b',
    '(?<!\\w)(?<!\\b(?:no|0|zero|without|of) )(?:error|exception|failure)(?![\\w.]| (?:logs?|codes?|pages?|messages?|reports?|rates?|handling)\\b|["\']?\\s?[:=]\\s?(?:0|none|null|\\[\\]))',
    '(?<!\\b(?:no|0|zero|without) )\\b(?:[1-9]\\d{0,3} (?:\\w{1,20} )?|the following |with )errors\\b|\\berrors occurred|\\b(?:multiple|several) (?:occurrences|matches)|\\bproduced no\\b|\\bfile has been modified since\\b',
    'nicht|\\bkein(?:e[mnrs]?)?\\b|\\bohne\\b|\\bungültig|verweigert|ab(?:gelehnt|gebrochen)|gesperrt|fehlgeschlagen|zeitüberschreitung|\\bleider\\b|\\bfehlt|\\bfehler\\b|erforderlich|\\bm(?:uss|üssen)\\b|\\bunbekannt|\\bnur\\b|\\bzu (?:kurz|lang|groß|klein|viele?)\\b|\\bbereits(?! aktuell)',
    "\\bn['’e] ?\\p{L}+(?: \\p{L}+)? (?:pas|plus|aucun)|\\baucune?\\b|introuvable|refusé|interdit|bloqué|impossible|délai .{0,20}dépassé|échou|échec|désolé|invalide|manquant|\\brequis|obligatoire|\\bdoi(?:t|vent)\\b|\\berreur\\b|\\bindisponible|\\binjoignable|\\bseulement\\b|\\bnécessi|\\binconnue?\\b",
    '\\bnon\\b|\\bno (?:se|es|está|existe|puede|pudo|hay|tiene|encontrad|permitid|autorizad|disponible|válid)|\\bnão\\b|\\bn(?:ingun|enhum|essun)[ao]?\\b|(?:rechazad|denegad|bloquead|cancelad|inválid|recusad|negad|rifiutat|scadut|bloccat|desconocid|desconhecid)[ao]s?\\b|agotado|\\berr?o(?:r|re|es)? (?:al|ao|nel|na|no|de)\\b|\\b(?:debe|deve)n?\\b|\\bfalt(?:an?|ou)\\b|falh|requerid|obligatori|obrigat|\\brequ(?:er|iere)\\b|(?<!\\p{L})(?:s[óo]l?o?|já|ya|già|déjà)(?!\\p{L})|\\bsin \\b|\\bsem \\b',
    '(?<!\\p{L})(?:не|нет|нельзя|без|ні)(?!\\p{L})|невозможн|неизвестн|неверн|отклон|отказ|запрещ|превышен|ошибка|помилка|недо|отсутств|требу|необходим|пуст|обязат|уже|долж(?:ен|н)|\\bnie\\b|\\bbrak\\b|nieprawidł|bulunamadı|geçersiz|başarısız|reddedildi|\\bgerekli|\\bniet\\b|ongeldig|mislukt|geweigerd|\\bgagal\\b|\\bditolak\\b|\\btidak\\b|không |thất bại|\\bnu (?:e|este|se|poate|a fost|există)\\b|\\btrebuie\\b|فشل|خطأ|غير \\p{L}+|تعذر|विफल|त्रुटि|अमान्य|नहीं|ล้มเหลว|ไม่',
    '需要|仅|已存在|未(?!来)|不(?!同|断|错|过)|[没沒]有|找不到|[无無](?!限|线)|拒[绝否絕]|失[败敗]|错误|錯誤|超[时過过出限]|[太过過][大长長多]|为空|缺少|禁止|取消|必[须須需]|ません|(?<!問題)ない|必[須要]|エラー|不[正足明]|タイムアウト|中止|없|거부|실패|않|못[했합]|야 [합하해]|불가|초과|오류|취소|필요|필수|잘못|아닙',
    '^(?:please|provide|specify|give|use|pass|supply|enter|choose|select|try|bitte|veuillez|por favor) |请|ください|세요|십시오',
    '⛔|❌|✗|✘|🚫|<faultcode>|\\[Errno -?\\d',
  ].join('|'),
  'iu',
)
/** What follows takes back what precedes. */
export const BUT = /\b(?:but|however|although|aber|mais|pero|mas)\b/i
/** What the caller is told to do, after a sentence that does not say what was done. */
export const ADVICE =
  /[.;:,—–-] (?:please|check|make sure|ensure|use|try|run|call|provide|specify|set|add|install|did you mean)\b/i
/** A sentence rather than a value: three words. */
export const PROSE = /^\p{L}{2,}(?: [\p{L}'’-]{1,30}){2,}|^[\u3040-\u9fff\uac00-\ud7af ]{5,}/u
/** A call that asks, by the name of its tool, and the answer that nothing is there: in the plural, because `no element found` says that
 * a thing is missing. */
export const ASKS_FOR =
  /list|get|read|show|view|query|queries|check|discover|inspect|describe|find|search|fetch/i
export const EMPTY_LIST =
  /^[^\p{L}\d⛔❌✗✘🚫]{0,3}(?:found |there (?:are|were) )?(?:no|0) (?:[^\s.,;:]{1,40} ){0,4}?(?:[\w-]{1,40}(?<![su]|[st]i)s|data|information)\b(?= (?:were |are |was )?(?:found|available|exist|match|yet|in|for|to|with|on|at|from|that|have|has)|[.!:](?: |$)|\W{0,2}$)/iu
/** What happened, in a sentence. */
export const DONE =
  /(?<=^\W{0,4})(?!received|detected)[a-z]{2,20}ed\b(?! (?:no|not|none|null|nothing|without|empty|invalid|un\w+|an? (?:in|un)\w+)\b| (?:[^\s.]{1,40} ){0,6}(?:is|was|are|were|has|does|did|could|must|should)\b)|(?<=\b(?:is|was|were|been|now) )[a-z]{2,20}ed\b|(?<!\bbe(?:ing)? )\b(?!detected)(?:[a-z]{2,20}ed|\p{L}{2,20}(?:ée?|ado|ada|ido|ida)s?)(?=[.!]?$)|\b(?:success(?:ful(?:ly)?)?|succeeded|updated|created|written|wrote|saved|edited|applied|replaced|inserted|appended|deleted|removed|moved|renamed|modified|changed|done|added|patched|overwritten|ok|completed?|sent|noted|answered|approved|started|opened|stored|changes were made|passed)\b|^@@|^[+-]{3} |^\s*\d{1,6}(?:\t|→|:| \|)|erfolgreich|aktualisiert|gespeichert|succès|enregistré|correctamente|guardado|sucesso|salvo|успешно|сохран|成功|完成|已[更保创写删添发修]|保存しました|更新しました|作成しました|완료|성공|저장/iu

/** A page other than the requested one. */
export const NO_PAGE =
  /^(?:#{1,3} )?(?:[45]\d\d\b|page not found|just a moment|access denied|our systems have detected|attention required|verify(?:ing)? you are human)|\b(?:unusual traffic|captcha)\b|robots\.txt\b.{0,200}\bnot allowed|<title>\s*(?:[45]\d\d|Access denied)|status code [45]\d\d|\bare disabled for this\b/i

/*
 * The output of a command
 */

/** A line of the level "error", after a mark, a place in a file or the name of a program, with a code: `a.ts(3,7): error TS2304: …`. */
const ERROR_LINE =
  '^[^\\p{L}\\d\\s]{0,3} ?(?:\\S{1,200}[:(,]\\d{1,7}\\)?:?\\s{1,12}-? ?|[\\w.-]{1,60}: |\\[|-> )?(?:(?:[Ff]atal|[Pp]arser?|[Ss]yntax|[Ii]nternal|[Cc]ompil\\w+) )?(?:[Ee]rrors?|ERRORS?|[Ff]atal|FATAL|[Pp]anic|[Ff]ehler|[Ee]rreur|Erro|Errore|[Оо]шибка|致命错误|错误|エラー|오류|ödesdigert|onulmaz|[Ss]chwerwiegend)(?: ?[\\[(]?[\\w-]{1,40}[\\])]?)?(?:\\]? ?[:：]|\\]|\\s{2,12}\\S)(?!:|\\s{0,8}(?:0\\b|\\(?none|null))'
/** Lines with which a build, a test run or an interpreter reports that it failed. */
export const COMMAND_FAILED = new RegExp(
  [
    ERROR_LINE,
    '^(?:make(?:\\[\\d+\\])?: \\*\\*\\*|npm (?:ERR!|error )|ERR_PNPM|E: |CMake Error|Uncaught \\w|Aborting$|[Uu]sage: |Caused by: |Exception in thread |Unhandled exception|PHP (?:Fatal|Parse) error|zsh: no matches|SQLSTATE\\[|CONFLICT \\(|KONFLIKT|КОНФЛИКТ|Automatic merge failed|Signal: \\w|(?:An|The following) error |unknown (?:flag|option|command)\\b|would reformat |Failed to compile|error (?:[A-Z"]|during )|Error from server|(?:Segmentation fault|Killed|Aborted|Terminated|Bus error|Illegal instruction)\\b)',
    '\\bError \\d+$|\\bELIFECYCLE\\b|^Node\\.js v\\d|\\baborted (?:due to\\b)|\\baborted!$|\\bDeployment failed\\b|(?<!\\b(?:[Nn]o|0) )\\bissues? found\\b|\\(core dumped\\)|fehlgeschlagen;|\\d 个错误$|^エラー\\d+個|\\([A-Z]\\w{2,60}Error\\)$|\\bsyntax error near\\b|\\bpanicked at\\b|\\bSome tests failed',
    '^(?:\\./)?[\\w./\\\\-]{1,200}:\\d{1,7}:\\d{1,7}: (?!(?:warning|note|info)\\b)',
    '^(?:E {2,8}|\\*\\* )?[\\[(]?(?:[\\w.]{1,80}\\.)?[A-Z]\\w{0,60}(?:Error|Exception|Interrupt|Exit)(?: \\[\\w+\\])?(?::|$|\\) )',
    '\\bTraceback \\(most recent call last\\)',
    '^(?:\\[\\w+\\] |\\S )?(?:BUILD|COMPILATION|TESTS?|Build|Compilation|Tests?) (?:FAILED|FAILURE|failed|failure|ERROR)\\b|\\bFAILURE: Build failed|[:.] ?FAIL(?:ED|URE)?!?$',
    '^(?:FAIL|FAILED|✗|✘|×|not ok)(?: |$|:)|^--- FAIL|^FAIL\\t',
    '\\b(?:pre-commit|validation|verification|compilation|build|check|lint(?:ing)?|hook|task|job|test run|command|process|execution) (?:has )?(?:validation )?(?:failed|aborted|timed out|was killed)\\b',
    '\\b(?:failed because|test failed$|was refused\\b|terminated command after|requirements could not be resolved|is not logged in|are not logged into)',
  ].join('|'),
  'u',
)
/** The last line of a program that could not do something. */
export const UNABLE = /^(?:cannot|could not|couldn['’]t|unable to|failed to)\b|\bfailed(?:[!.]?$|: )/i
/** A nonzero count of failures. */
export const FAILED_COUNT =
  /(?<![\w.,/=-])(?!0\b)\d{1,6} (?:tests? |specs? |suites? |examples?, ?)?(?:failed|failures?|failing|errors?|errored|Fehler)\b(?![./])|\bfound (?!0\b)\d{1,6} (?:errors?|problems?|issues?)|✖ (?!0\b)\d{1,6} problems?|\b(?:fail(?:ed|ures?)?|errors?)[:=] {0,6}(?!0\b)\d{1,6}\b(?!\.)|^(?!0\b)\d{1,6} issues:|^[#ℹ] fail (?!0\b)\d/i
/** Counts that are not of failures: repaired and expected failures. */
export const NOT_A_COUNT = /\(\d+ fixed, 0 remaining\)|\bexpected failures?=|\(0 errors?, \d+ warnings?\)/i
/** A report of complete success. */
export const PASSED =
  /\b(?:0|no) (?:errors?|failures?|failed|problems|issues)\b|\(0 errors|, 0 remaining\)|\ball (?:\d{1,6} )?(?:tests?|checks?|specs?)\b.{0,20}\bpass|\b\d{1,6} pass(?:ed|ing)\b|\bBUILD SUCCESS|\bbuild succe|\btest result: ok|\bfinished (?:in|dev|release|`)|^(?:ok|PASS|OK|Passed)(?:\b(?! to)|!)|^[#ℹ] fail 0$|: OK \(|\b100% tests passed|\bcompiled successfully|\bsuccessfully\b|\bno fixes applied|\bgenerated \w+ app$|✓ built in/i
/** The last line of a command that did not end, or that waits for input. */
export const UNFINISHED =
  /^(?!Setting up|Processing).{0,300}(?:\.\.\.|…)$|\(y(?:es)?\)?(?:\/n(?:o)?\)?|\/no\/\S{1,20})?\??$|\bEXECUTING\b|\bstill (?:creating|running|waiting)\b|^waiting for\b|^\[INFO\] Downloading\b|^transforming\b|are available\.\.\.$/i

/** `bash: line 3: …`, in any language. */
export const SHELL_ERROR =
  /^fish: |^(?:\S{0,200}\/)?(?:(?:ba|z|da|k)?sh|\(eval\)|[\w.-]{1,80}\.sh): ?(?:\w{2,10}: )?[^\d:：]{0,14}\d{1,6}[^\d:：]{0,14}(?:: |：)/
/** Messages of programs: `cat: a.txt: No such file or directory`. */
export const PROGRAM_ERROR = new RegExp(
  `(?:^|[:：]|\\s)(?:${[
    'No such file or directory|command not found|not found(?! (?:in|on|among|within) the\\b)|Permission denied|Is a directory|Not a directory|File exists|No such file',
    'Operation not permitted|Connection (?:refused|reset|timed out)|No space left on device|Device or resource busy|cannot open|Could not resolve',
    'is not recognized as (?:an internal or external command|the name of)|cannot find the (?:path|file)|Access is denied|not a git repository|No module named \\S+|cannot (?:remove|find|access|stat)\\b|unknown host|must be (?:root|superuser)|undefined (?:method|function|variable)',
    'Datei oder Verzeichnis nicht gefunden|(?:Kommando|Befehl) nicht gefunden|konnte nicht gefunden werden|Keine Berechtigung|Zugriff verweigert|Aucun fichier ou dossier de ce (?:type|nom)|commande introuvable|pas reconnu en tant que|Permission non accordée|Accès refusé',
    'No existe el (?:fichero|archivo) o el directorio|No existe el archivo|orden no encontrada|Permiso denegado|Arquivo ou diretório (?:inexistente|não encontrado)|Ficheiro ou directoria inexistente|comando não encontrado|Permissão (?:negada|recusada)|File o directory non esistente|comando non trovato|Permesso negato',
    'Нет такого файла или каталога|команда не найдена|Отказано в доступе|Nie ma takiego pliku ani katalogu|nie znaleziono polecenia|Brak dostępu|Böyle bir dosya ya da dizin yok|komut bulunamadı|Erişim engellendi|Bestand of map bestaat niet|opdracht niet gevonden|Toegang geweigerd|Filen eller katalogen finns inte|kommandot finns inte',
    '没有那个文件或目录|未找到命令|找不到命令|权限不够|拒绝访问|系统找不到|没有該檔案或目錄|沒有此一檔案或目錄|拒絕不符權限的操作|そのようなファイルやディレクトリはありません|コマンドが見つかりません|許可がありません|アクセスが拒否されました|그런 파일이나 디렉터리가 없습니다|명령어를 찾을 수 (?:없음|없습니다)|명령을 찾을 수 없습니다|허가 거부',
  ].join('|')})`,
  'i',
)
