import { type ErrorNode, statusOf } from './error-texts.ts'

/*
 * Signs that an error with the words of an overflow is a different error. Matched against normalized text near the wording, and against
 * codes.
 */

/** Rate limits and load. */
const RATE_LIMIT =
  /rate[ _-]?limit|too many requests|\b(?:tpm|rpm|tpd|rpd|itpm|otpm)\b|tokens? per (?:min|day|hour|sec|week|month)|\b(?:per|a|each)[ _-](?:minute|min\b|day|hour|second|month|week)|\/min\b|throttl|please wait|wait before|try again in|retry(?:[ _-](?:in|after)|-?after)\b|slow down|quota|overloaded|at capacity|capacity (?:is )?(?:available|exhausted)|usage limit|(?:daily|monthly|weekly|hourly)\b|too frequent|too many tokens (?:were |have been )?(?:processed|used|consumed|generated)|used too many tokens|number of request tokens|per-model limit|enqueued|\b(?:this|current) (?:minute|hour|day|month)\b|concurren|频率|限流|配额|额度|每分钟|每日|每天|稍后|并发|速率|429 (?:too|rate)/

/** Billing. */
const BILLING =
  /billing|\b(?:free|paid|your|dev|pro) (?:plan|tier)\b|insufficient[ _](?:quota|balance|credit|fund)|\bcredits?\b|can only afford|payment|\bsubscription|prepaid|余额|欠费|upgrade to a paid/

/** Logins, and tokens that are not units of text. */
const LOGIN =
  /security token|(?:invalid|expired|missing|malformed|revoked|incorrect|bad|illegal|no|your|provided|supplied) (?:\w+ )?(?:token\b(?! (?:count|limit|length|budget|window|usage))|api[ _-]?key|credentials?)|\btoken (?:is |has |was )?(?:been )?(?:invalid|expired|missing|malformed|revoked|required|not valid|could not)|\b(?:access|refresh|auth|id|session|bearer|csrf|xsrf|jwt|oauth|device|push|verification|reset|registration|authentication|authorization|authenticity|antiforgery|login|pagination|continuation|next|client ?request|idempotency|cancellation|captcha|web|api|stop|special|eos|page|sync)[ _-]?tokens?\b|nexttoken|requesttoken|continuationtoken|csrf|\bjwt\b|unauthori[sz]ed|unauthenticated|forbidden|authentication|not authorized|access denied|permission denied|unrecognizedclient|expiredtoken|\bbearer\b|authorization header|\blifetime\b|signature/

/** Timeouts. */
const TIMEOUT = /deadline exceeded|context cancell?ed|timed[ -]?out|time[- ]?out|etimedout|gateway time/

/** Errors of parsers. */
const PARSER =
  /unexpected token|syntax ?error|parse error|parsing|\bparser\b|\blexer\b|json at position|unterminated|invalid json|not valid json|\bline \d+/

/** Limits of the answer alone, which a shorter history doesn't help. */
const ANSWER =
  /max(?:imum)?[ _-]?(?:output|completion|new|generated|gen|response)?[ _-]?tokens? ?(?:\([\d,]+\) ?)?(?:value|you requested|to sample|parameter|is too|must|should|cannot|can't|has to|=|>|exceeds? the (?:model|max))|max_(?:completion_|new_|output_)?tokens\b(?! exceed)|maxtokens|maxoutputtokens|max_length\b|output tokens?|completion tokens?|output (?:token )?(?:limit|maximum)|(?:response|output|completion|generation|answer)(?: length)? (?:exceed|is too long|too long|limit)|length limit was reached|budget_tokens|thinking|tokens? (?:to|that can be|can be) (?:be )?generated?|tokens? (?:for|in) the (?:response|completion|output|answer)|finish[_ ]reason|generation (?:was )?stopped|(?:response|output|answer|reply|completion|generation|model) (?:(?:was|has been|is|were) )?(?:cut|truncated|stopped|ended|incomplete)|(?:could|can) generate|range of max_tokens/

/** Limits of something other than the prompt. */
const OTHER_THING =
  /\b(?:characters?|chars|bytes|kb|mb|gb|megabytes|kilobytes|pixels|items|elements|columns|rows|files?|images?|photos?|videos?|audio|attachments?|uploads?|passwords?|usernames?|titles?|subject|comments?|bio|filename|urls?|uri|headers?|cookies?|hostname|e-?mail|tweet|sms|caption|description|varchar|fields?|tool names?|function names?|tools|heap|call stack|stack size|entity|dimensions?|vectors?|labels)\b|字符/

/** Limits of a tool's output. */
const TOOL = /file content \(|tool (?:response|result|output) \(|use (?:offset|pagination|limit) |pagination/

/** Models with a context that is too small for an application, and tokens in the sense of money. */
const SETTING =
  /requested context size|n_ctx_train|supply|\bbalance|allowance|erc-?20|\bnft|wallet|reverted|context (?:window|length|size) (?:is )?too small|minimum (?:is|of|context)/

/** Codes, types and names of errors that no change of the request can fix. */
const OTHER_CODES =
  'rate_?limit|throttl|too_?many_?requests|too many requests|quota|insufficient|billing|payment|credit|authentication|unauthori|unauthenticated|permission|forbidden|access_?denied|invalid_api_key|unrecognizedclient|expiredtoken|invalidsignatureexception|timeout|timedout|aborterror|econn|overloaded'
const NOT_OVERFLOW = new RegExp(
  `${OTHER_CODES}|invalidsignature|syntaxerror|string_above_max_length|array_above_max_length|model_capacity|zoderror`,
)
const NOT_REFUSAL = new RegExp(
  `${OTHER_CODES}|authenticat|api_?key|abort|content_?(?:filter|policy)|model_?not_?found`,
)
/** Statuses for logins, billing and rate limits. */
const OTHER_STATUSES: readonly (number | undefined)[] = [401, 402, 403, 408, 429]

/** Returns whether the status or a code of an object or of its account indicates an error other than an overflow, or than a refusal. */
export function isOtherError(node: ErrorNode, than: 'overflow' | 'refusal'): boolean {
  const other = than === 'overflow' ? NOT_OVERFLOW : NOT_REFUSAL
  if (OTHER_STATUSES.includes(statusOf(node))) return true
  return [node, node.group].some(({ codes }) => codes.some((code) => other.test(code.toLowerCase())))
}

/** Returns whether a sign near a `likely` wording contradicts it. */
export function contradictsOverflow(near: string): boolean {
  return [RATE_LIMIT, BILLING, LOGIN, TIMEOUT, PARSER, TOOL, SETTING].some((sign) => sign.test(near))
}

/** Words before a wording that mark it as a quotation: from a message, a tool, a test, or advice about such errors. */
const MENTIONS =
  /\b(?:what to do|how to (?:fix|solve|handle|avoid|prevent)|when(?:ever)? (?:you|we|i|users?) (?:see|get)|mention(?:s|ed|ing)?|quot(?:es?|ed|ing)|(?:the|a) phrases?|the words|wrote|writes|asked|asks|asking)\b[^.;{}]{0,80}$/

/** Returns whether a wording is quoted, as in `the file mentions that the prompt is too long`. */
export function isMentioned(text: string, at: number): boolean {
  return MENTIONS.test(text.slice(Math.max(0, at - 100), at))
}

/** Returns whether the answer is too long, not the input. A mention of the input nearby contradicts this. */
export function isAboutAnswer(near: string): boolean {
  return (
    ANSWER.test(near) &&
    !/\b(?:input|prompt|messages?|context|request)\b/.test(near.replace(ANSWERS_IN_PASSING, ''))
  )
}

/** Words of a request that also occur in sentences about the answer. */
const ANSWERS_IN_PASSING =
  /malformed input request|request(?:ed|s)?\b|try again|context_window for this model|less than the context_window|prompt_tokens=\d+/g

/** Returns whether the limit is of characters, bytes, files or fields. Tokens or a model nearby contradict this. */
export function isAboutOtherThing(near: string): boolean {
  return OTHER_THING.test(near) && !/\btokens?\b|\bmodel\b|context (?:length|window|size)/.test(near)
}

/** Returns whether RESOURCE_EXHAUSTED concerns the size of a request. */
export function hintsAtSize(near: string): boolean {
  return (
    /\btokens?\b|context|prompt|too long|length/.test(near) &&
    ![RATE_LIMIT, BILLING, TIMEOUT].some((sign) => sign.test(near))
  )
}
