import { z } from 'zod'
import { headOf } from '../messages/characters.ts'
import { check } from '../messages/check.ts'
import type { Estimator } from '../tokens/estimators/estimator-schema.ts'
import { neurolinkEstimator, tokensOfText } from '../tokens/measure.ts'
import { DEFAULT_TEXT_ENDING, truncateToTokenBudget } from '../tokens/truncate-text.ts'
import { type AttachedFile, checkFiles, fileName } from './attached-file.ts'
import {
  FILE_FAST_PATH_SIZE,
  FILE_PREVIEW_CHARS,
  FILE_PREVIEW_MODE_SIZE,
  fileBudgetTokens,
  fileShareShape,
} from './file-budget.ts'
import { byteLength } from './tool-output/cut-output.ts'

const parametersSchema = z.strictObject({
  provider: z.string(),
  model: z.string().optional(),
  maxOutputTokens: z.number().nonnegative().optional(),
  options: z.strictObject(fileShareShape).optional(),
})
/** Options of `enforceAggregateFileBudget`. */
export type AggregateFileBudgetOptions = NonNullable<z.input<typeof parametersSchema>['options']>

/** A file of a request: the caller's own object, or a marked copy with less content. */
export type IncludedFile<F extends AttachedFile> = F & { readonly truncated?: true }

/** The files to send, in the given order, and the omitted ones. Sizes are in tokens. */
export type AggregateFileBudget<F extends AttachedFile> = IncludedFile<F>[] & {
  /** Omitted files, in the given order. */
  readonly excluded: readonly F[]
  /** One line for each cut or omitted file, with its name. */
  readonly notices: readonly string[]
  readonly budgetTokens: number
  /** The size of the files to send, in tokens; at most the budget. */
  readonly fileTokens: number
}

/**
 * Fits the files of one request into a budget. A file above 5 MB is replaced with a preview of 2,000 characters. If the files together
 * are too large, previews and files below 100 KB stay unchanged if they fit together; otherwise only the previews stay unchanged, if they
 * fit. The other files are cut in proportion to their sizes, and files without room are omitted. Two files with the same path are two
 * files.
 *
 * The budget is floor((available input − used − reserve) × percent), where `maxOutputTokens` is the requested output, or else
 * `options.budgetTokens`. A first request has no used tokens and no reserve.
 *
 * Throws `INVALID_INPUT`.
 */
export function enforceAggregateFileBudget<F extends AttachedFile>(
  files: readonly F[],
  provider: string,
  model?: string,
  maxOutputTokens?: number,
  options?: AggregateFileBudgetOptions,
): AggregateFileBudget<F> {
  checkFiles(files, 'enforceAggregateFileBudget')
  const checked = check(
    parametersSchema,
    { provider, model, maxOutputTokens, options },
    'enforceAggregateFileBudget',
  )
  const budgetTokens = fileBudgetTokens({ provider, model, maxOutputTokens, ...checked.options }, 0)
  const estimator = checked.options?.estimator ?? neurolinkEstimator
  const fitted = fitFiles(files, budgetTokens, provider, estimator)
  const included = fitted.flatMap(({ how, file }) => (how === 'dropped' ? [] : [file]))
  return Object.assign(included, {
    excluded: files.filter((_, index) => fitted[index]?.how === 'dropped'),
    notices: fitted.flatMap((fit) => noticeOf({ ...fit, path: fit.file.path }) ?? []),
    budgetTokens,
    fileTokens: fitted.reduce((sum, { tokensAfter }) => sum + tokensAfter, 0),
  })
}

/** The result for one file. `tokensAfter` is 0 if the file is omitted. */
type FittedFile<F extends AttachedFile> = {
  readonly file: IncludedFile<F>
  /** The index of the file in the list. */
  readonly index: number
  readonly how: 'kept' | 'truncated' | 'dropped'
  readonly tokensBefore: number
  readonly tokensAfter: number
}

/**
 * Fits files: previews and small files stay whole, the rest are cut in proportion to their sizes. `isPaid`: the file is a summary, which
 * has precedence.
 */
export function fitFiles<F extends AttachedFile>(
  files: readonly F[],
  budgetTokens: number,
  provider: string,
  estimator: Estimator,
  isPaid: (file: F, index: number) => boolean = () => false,
): FittedFile<F>[] {
  const tokensOf = (text: string): number => tokensOfText(text, estimator, provider)
  const drafts = files.map((given, index) => {
    const tokensBefore = tokensOf(given.content)
    const file = previewed(given)
    const tokens = file === given ? tokensBefore : tokensOf(file.content)
    return { given, file, tokensBefore, tokens, isPaid: isPaid(given, index) }
  })
  const shares = sharesOf(drafts, budgetTokens)
  return drafts.map(({ given, file, tokensBefore, tokens }, index): FittedFile<F> => {
    const fitted = { file, index, tokensBefore, tokensAfter: tokens }
    const room = shares[index]!
    if (tokens <= room) return { ...fitted, how: file === given ? 'kept' : 'truncated' }
    const { text } = truncateToTokenBudget(file.content, room, provider, { estimator })
    // The result would be the ending alone.
    if (text.length <= DEFAULT_TEXT_ENDING.length)
      return { ...fitted, file: given, how: 'dropped', tokensAfter: 0 }
    const cut = { ...file, content: text, truncated: true as const }
    return { ...fitted, file: cut, how: 'truncated', tokensAfter: tokensOf(text) }
  })
}

/** Returns the preview that replaces a large file. */
export function previewed<F extends AttachedFile>(file: F): IncludedFile<F> {
  const { content } = file
  if (content.length <= FILE_PREVIEW_CHARS || byteLength(content) <= FILE_PREVIEW_MODE_SIZE) return file
  return { ...file, content: headOf(content, FILE_PREVIEW_CHARS), truncated: true }
}

type Sized = {
  readonly given: AttachedFile
  readonly file: AttachedFile
  readonly tokens: number
  readonly isPaid: boolean
}

/** Returns the token limit of each file. */
function sharesOf(files: readonly Sized[], budgetTokens: number): number[] {
  const sumOf = (some: readonly Sized[]): number => some.reduce((sum, { tokens }) => sum + tokens, 0)
  if (sumOf(files) <= budgetTokens) return files.map(({ tokens }) => tokens)
  const small = files.filter(({ given }) => byteLength(given.content) < FILE_FAST_PATH_SIZE)
  const paid = files.filter(({ isPaid }) => isPaid)
  // A preview is already cut; a share of it would be a few words.
  const short = [...paid, ...files.filter(({ given, file }) => file !== given)]
  const fitting = [[...new Set([...short, ...small])], [...new Set(short)], paid].find(
    (some) => sumOf(some) <= budgetTokens,
  )
  const whole = new Set(fitting ?? [])
  const others = files.filter((file) => !whole.has(file))
  const share = (budgetTokens - sumOf([...whole])) / sumOf(others)
  return files.map((file) => (whole.has(file) ? file.tokens : Math.floor(file.tokens * share)))
}

/** Returns the notice for a file that is cut or omitted; `undefined` for a whole file. */
export function noticeOf(
  file: Omit<FittedFile<AttachedFile>, 'file' | 'how'> & {
    readonly path?: string | undefined
    readonly how: 'kept' | 'summarized' | 'truncated' | 'dropped'
  },
): string | undefined {
  const { index, how, tokensBefore, tokensAfter } = file
  const name = fileName(file, index)
  switch (how) {
    case 'kept':
      return undefined
    case 'summarized':
      return `The file ${name} of ${tokensBefore} tokens is given as a summary of ${tokensAfter} tokens.`
    case 'truncated':
      return `The file ${name} was cut from ${tokensBefore} to ${tokensAfter} tokens to fit the context.`
    case 'dropped':
      return `The file ${name} of ${tokensBefore} tokens was left out: it does not fit the context.`
  }
}
