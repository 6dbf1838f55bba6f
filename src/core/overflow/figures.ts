import { defined } from '../messages/json.ts'

/* The forms of figures in errors, in normalized text. The first match in each list is used. */

/*
 * A number of tokens: 128000, 128,000, 128_000, 128.000, 128 000, 128'000, 128k, 1.5m, 1 million. Does not match after a letter, a dash,
 * a dot or a currency (gpt-4-32k, 2024-08-06, $0.02), or before a percent sign or a unit.
 */
const NUMBER = String.raw`(?<![\w.$€£#-])(?:\d{1,4}(?:\.\d{1,3})? ?(?:k|m|million)\b|\d{1,3}(?:[,._' \u202f]\d{3}){1,4}(?!\d)|\d{1,12})(?![\d%]|\w|-\d| ?(?:bytes|characters|chars|kb|mb|images?|seconds|ms)\b)`

/** Compiles patterns with one number each, written `#`. */
function figures(sources: readonly string[]): readonly RegExp[] {
  return sources.map((source) => new RegExp(source.replace('#', () => `(${NUMBER})`)))
}

/*
 * Two numbers after the verdict, the sent size first: `exceeded (9000/8192)`, `exceeded: 9000 > 8192`,
 * `exceeded: 9000 tokens (limit 8192)`.
 */
const VERDICT = '(?:exceed(?:s|ed|ing)?|overflow(?:s|ed)?|too (?:long|large))[^0-9.;]{0,30}'
const OUT_OF = ' ?(?:tokens? )?(?:used )?(?:/|of|>|\\((?:limit|max(?:imum)?)(?: is| of|:)?) ?'

/** The excess over a limit. */
const EXCESS = figures([
  '(?:exceeded (?:max |maximum )?context length by|limit exceeded by|(?:exceed(?:s|ed)?|over)[^.;]{0,60} by) # tokens',
])

/** The requested length of the answer. */
const OUTPUT = figures([
  'length [0-9,._]{1,15} \\+ # (?:tokens )?(?:is|exceeds?|>)',
  '# (?:tokens )?(?:in|for|of|from) (?:the |your )?(?:completion|output|response)',
  '# (?:max_new_tokens|output tokens|completion tokens)',
  'exceed context limit: [0-9,._]{1,15} \\+ #',
  "max_(?:completion_)?tokens'? is too large: #",
])

/** The sent size without the answer. */
const INPUT = figures([
  'your request has # input tokens',
  'length # \\+ [0-9]',
  '# (?:tokens )?(?:in|of|from|for) (?:the |your )?(?:messages|prompt|text input|input messages|input)',
  '# (?:input|inputs|prompt) tokens',
  'exceed context limit: # \\+',
  '(?:max input tokens: [0-9,._]{1,15}, )?request input token count: #',
])

/** The sent size. */
const ACTUAL = figures([
  `${VERDICT}#${OUT_OF}[0-9]`,
  '\\b(?:context|input|prompt|request|sequence) (?:length|size)(?: of| is|:)? ?\\(?#\\)?(?: tokens\\)?)? exceeds?',
  'requested (?:a total of |about |approximately |roughly |at least )?# (?!output|new)tokens',
  'for a total of (?:at least |about )?# tokens',
  'resulted in (?:about )?# tokens',
  '# (?:tokens )?> [0-9]',
  '(?:request|prompt|input|messages?|conversation|it|which|and) (?:currently )?(?:contains?|has|have|is|was|are|uses?|used|totals?) (?:about |approximately |at least |only )?# (?:tokens|draft)',
  'prompt is too long:? \\(?#',
  'token count(?: of| is| was|:|=)? ?\\(?#',
  '(?:requested|received|got|given|sent|actual|current|found|provided|passed|used|submitted|estimated)(?: length| tokens| input| total| size| count)*(?: is| was| of| about|:|=)* ?\\(?#(?! ?(?:inputs|in your|output|new|max_new)|, |\\w)',
  '\\b(?:prompt|input|request|sequence|text|message|conversation|history)(?: context)?(?: length| size)?(?: is| was| of| has|:|=)* ?\\((?:total )?(?:length |about |approximately )?#',
  '\\b(?:prompt|input|sequence|request|message)s? (?:length|size)(?: is| was| of|:|=)* ?\\(?#',
  '(?:prompt|input|total|request|requested|number of(?: input| prompt)?|number of input and maximum output)[ _]tokens?(?: is| was| of|:|=)* ?\\(?#',
  'prompt_tokens \\(#',
  "prompt's length is #",
  'n_(?:keep|prompt_tokens)\\W{1,4}#',
  'keep the first # tokens',
  'tokens? \\(#\\)',
  '(?:you|we|i) (?:requested|sent|passed|provided|used|have) (?:about |approximately )?#',
  '# tokens? (?:were |was |is |are )?(?:sent|given|requested|provided|received|in (?:the|your) (?:prompt|request|input)|exceeds?|exceeded|over|is longer|is more|is greater)',
  '(?:contains?|containing|with|takes?|needs?|uses?) (?:about |approximately |at least )?# tokens',
  '\\(# > [0-9]',
  'required #',
  'prompt=#',
  '(?:请求了|输入了|实际|当前|共)[^0-9]{0,6}#',
  'value=#',
  '(?:too long|too large|too many tokens)[^0-9.;]{0,30}# tokens',
  '# ?/ ?[0-9,._]{3,12} tokens',
])

type LimitKind = 'window' | 'input' | undefined

function limits(kind: LimitKind, sources: readonly string[]) {
  return { kind, patterns: figures(sources) }
}

/** The allowed size, the most specific wording first. */
const LIMITS = [
  limits('window', [
    `${VERDICT}[0-9,._]{1,15}${OUT_OF}#`,
    'exceed context limit: [0-9,._]{1,15} \\+ [0-9,._]{1,15} > #',
    "exceed(?:s|ed)? (?:the )?(?:model(?:'s)? )?(?:max(?:imum)? )?(?:allowed )?context(?: length| window| size| limit)?(?: of| is|:)? ?\\(?#",
    String.raw`context[ _]?(?:length|window|size|limit)s?(?: limit| size)?(?: (?:for|of) (?:this|the) model| (?:for|of) [a-z][\w./:-]{1,80})?(?:,? (?:is|was|has|of|only|just|at most|up to|about|limited|to|exceeded|allowed|supported|configured)| ?[:=(>]){0,4} ?#`,
    '# (?:tokens? )?(?:maximum )?context (?:length|window|size|limit)',
    '# token (?:context|window)',
    String.raw`n(?:um)?_ctx\W{1,4}#`,
    String.raw`max_(?:seq|model)_len\W{1,4}#`,
    'maximum model length (?:of|is|:)? ?\\(?#',
    'model (?:token limit|maximum|max)(?::| is| of)? ?\\(?#',
    'inputs tokens \\+ max_new_tokens must be (?:<=|<|less than|at most) #',
    'prompt and prediction\\) cannot exceed #',
    'tokens > # maximum',
  ]),
  limits(undefined, ['[0-9] > #(?! ?\\+)']),
  limits('input', [
    '(?:maximum|max) (?:allowed )?(?:prompt|input)(?: token)?(?: length| size| tokens?| count| limit)*(?: is| of|:|=| allowed)* ?\\(?#',
    'maximum number of (?:input )?tokens(?: allowed| supported)?(?: for (?:this|the) model)?(?: is| of|:)? ?\\(?#',
    '(?:input tokens exceed the configured|prompt token count of [0-9,._]{1,15} exceeds the) limit of #',
    'but (?:the )?model only supports up to #',
    'range of input length should be \\[\\d+, ?#',
    'inputs must have less than #',
    'in the prompt cannot exceed #',
  ]),
  limits(undefined, [
    'max size: # tokens',
    'max tokens of # exceeded',
    'requested [0-9,._]{1,15} tokens,? (?:but )?(?:the )?max(?:imum)?(?: is| of)? #',
    '(?:maximum|max)(?: allowed| supported| permitted)?(?: number of)?(?: total)?(?: sequence| token| tokens| length| limit| size| count| position| embeddings)*(?: allowed| supported| permitted)?(?: is| are| of|:|=| to)* ?\\(?#',
    'limit(?:ed|s)?(?! \\(2013\\))(?: is| of| was| to| for this model| for this model is|:|=)* ?\\(?#',
    "(?:cannot|can not|must not|may not|can't|should not) (?:exceed|be (?:more|longer|greater|larger) than)(?: the)?[^0-9.;]{0,40}#",
    'must be (?:<=|<|at most|less than|smaller than|below|under|no more than|shorter than)[^0-9.;]{0,40}#',
    '(?:supports?|accepts?|allows?|allowed|handle|handles)(?: only| at most| up to| a maximum of| just)* #',
    '(?:exceed(?:s|ed)?|more than|longer than|greater than|larger than|over|above|beyond) (?!by )(?:the )?(?:(?!by )[a-z]+ ){0,3}?\\(?# ?tokens?',
    '(?:up to|at most|no more than|only) # tokens',
    '# ?(?:tokens? )?(?:is the |is |are )?(?:maximum|max|limit|allowed|permitted)\\b',
    '[0-9] > #\\)',
    'cannot truncate to #',
    '最大(?:上下文|输入|提示)?[^0-9。]{0,10}#',
    'tokens > #',
    'tokens? exceed(?:s|ed)? #',
    '[0-9] ?/ ?# tokens',
  ]),
]

/** The parts of an input that are listed separately. */
const PARTS = new RegExp(`(${NUMBER}) of (?:text|tool|image|audio|file|video) input`, 'g')

/** The figures of an overflow error, in tokens. Only figures that the error states are present. */
export type OverflowFigures = {
  /** The sent size, including the requested answer if the provider counts it. */
  readonly tokens?: number
  readonly limit?: number
  /** `window`: the limit of input and answer together; `input`: of the input alone. */
  readonly limitKind?: 'window' | 'input'
  /** The sent size without the answer, if it is listed separately. */
  readonly inputTokens?: number
  /** The requested length of the answer, if it is listed separately. */
  readonly outputTokens?: number
  /** The excess over the limit, if the error states no other figure. */
  readonly excessTokens?: number
}

/** The largest plausible figure: a thousand times the largest window. */
const MAX_TOKENS = 10_000_000_000

/** How far from a wording its figures may be on each side, in UTF-16 units. */
const REACH = 600

/** A limit on the number of messages, whose figures are not tokens. */
const MESSAGES = /array too long|maximum length (?:is|of) [\d,]{1,9}(?: items|, but got [\d,]{1,9} items)/

/** Returns whether a wording concerns the number of messages. */
export function isAboutMessages(text: string, at: number): boolean {
  return MESSAGES.test(around(text, at))
}

const around = (text: string, at: number): string => text.slice(Math.max(0, at - REACH), at + REACH)

/**
 * Returns the figures near a wording in normalized text. Only sentences about tokens of a request or a limit count, so statuses, model
 * names, dates, ids and prices are never mistaken for figures.
 */
export function figuresNear(text: string, at: number): OverflowFigures {
  if (isAboutMessages(text, at)) return {}
  const near = around(text, at)
  const inputTokens = parts(near) ?? first(near, INPUT)
  const outputTokens = first(near, OUTPUT)
  const limits = LIMITS.map(({ kind, patterns }) => ({ limit: first(near, patterns), limitKind: kind }))
  const { limit, limitKind } = limits.find((found) => found.limit !== undefined) ?? {}
  const both =
    inputTokens !== undefined && outputTokens !== undefined ? inputTokens + outputTokens : undefined
  const excessTokens = first(near, EXCESS)
  // The same number cannot be both the sent and the allowed size.
  const isSent = (value: number): boolean =>
    value !== excessTokens && (value !== limit || occurrences(near, value) > 1)
  return defined({
    tokens: both ?? first(near, ACTUAL, isSent) ?? inputTokens,
    limit,
    limitKind,
    inputTokens: both && inputTokens,
    outputTokens: both && outputTokens,
    excessTokens,
  })
}

/** Sums the parts of an input: "658 of text input, 732 of tool input". */
function parts(near: string): number | undefined {
  let sum = 0
  for (const [, found = ''] of near.matchAll(PARTS)) sum += tokensWritten(found) ?? 0
  return sum > 0 ? sum : undefined
}

/** Returns the figure of the first pattern that fits. */
function first(
  near: string,
  patterns: readonly RegExp[],
  fits: (value: number) => boolean = () => true,
): number | undefined {
  for (const pattern of patterns) {
    const found = tokensWritten(pattern.exec(near)?.[1] ?? '')
    if (found !== undefined && fits(found)) return found
  }
  return undefined
}

function tokensWritten(written: string): number | undefined {
  const scaled = /^(\d{1,4}(?:\.\d{1,3})?) ?(k|m|million)$/.exec(written)
  const value =
    scaled === null
      ? Number(written.replace(/\D/g, ''))
      : Math.round(Number(scaled[1]) * (scaled[2] === 'k' ? 1_000 : 1_000_000))
  return Number.isSafeInteger(value) && value > 0 && value <= MAX_TOKENS ? value : undefined
}

function occurrences(near: string, value: number): number {
  return near.split(/[^\d,._']+/).filter((word) => Number(word.replace(/\D/g, '')) === value).length
}
