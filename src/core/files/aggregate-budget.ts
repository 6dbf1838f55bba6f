import { z } from 'zod'
import { check } from '../check.ts'
import { type Estimator, neurolinkEstimator, tokensOfText } from '../tokens.ts'
import { DEFAULT_TEXT_ENDING, truncateToTokenBudget } from '../truncate-text.ts'
import { type AttachedFile, checkFiles, fileName } from './attached-file.ts'
import { fileBudgetTokens, fileShareShape } from './file-budget.ts'

const parametersSchema = z.strictObject({
  provider: z.string(),
  model: z.string().optional(),
  maxTokens: z.number().nonnegative().optional(),
  options: z.strictObject(fileShareShape).optional(),
})
export type AggregateFileBudgetOptions = NonNullable<z.input<typeof parametersSchema>['options']>

/** A file that is part of a request: the caller's own, or a copy with less content, marked. */
export type IncludedFile<F extends AttachedFile> = F & { readonly truncated?: true }

/** What became of the files of a request. Sizes in tokens. */
export type AggregateFileBudget<F extends AttachedFile> = {
  /** What to send, in the order given. The same list as `included`. */
  readonly files: readonly IncludedFile<F>[]
  readonly included: readonly IncludedFile<F>[]
  /** Left out, in the order given. */
  readonly excluded: readonly F[]
  /** A line for each file that was cut or left out, by name. */
  readonly notices: readonly string[]
  readonly budgetTokens: number
  /** What the included files take; not more than the budget. */
  readonly fileTokens: number
}

/**
 * The files of one request, limited together: the smallest first, so that most of them survive; the first that
 * fits only in part is cut, and larger ones are left out. Two files of one path are two files.
 *
 * The budget is floor((available input − used − reserve) × percent), where `maxTokens` are the output tokens
 * asked for, or `options.budgetTokens`. Nothing used and no reserve is the case of a first request.
 *
 * Throws `INVALID_INPUT`. Source: seed 003, checklist S3-304 to S3-307, C-16.
 */
export function enforceAggregateFileBudget<F extends AttachedFile>(
  files: readonly F[],
  provider: string,
  model?: string,
  maxTokens?: number,
  options?: AggregateFileBudgetOptions,
): AggregateFileBudget<F> {
  checkFiles(files, 'enforceAggregateFileBudget')
  const checked = check(
    parametersSchema,
    { provider, model, maxTokens, options },
    'enforceAggregateFileBudget',
  )
  const budgetTokens = fileBudgetTokens({ provider, model, maxTokens, ...checked.options }, 0)
  const estimator = checked.options?.estimator ?? neurolinkEstimator
  const fitted = fitFiles(files, budgetTokens, provider, estimator)
  const included = fitted.flatMap(({ how, file }) => (how === 'dropped' ? [] : [file]))
  return {
    files: included,
    included,
    excluded: files.filter((_, index) => fitted[index]?.how === 'dropped'),
    notices: fitted.flatMap((fit, index) => noticeOf(fit, index) ?? []),
    budgetTokens,
    fileTokens: fitted.reduce((sum, { tokens }) => sum + tokens, 0),
  }
}

/** What became of one file. `tokens` is what it takes now, 0 for none of it. */
export type FittedFile<F extends AttachedFile> = {
  readonly file: IncludedFile<F>
  readonly how: 'kept' | 'truncated' | 'dropped'
  readonly originalTokens: number
  readonly tokens: number
}

/** Makes files fit together, the smallest first, each in its place. */
export function fitFiles<F extends AttachedFile>(
  files: readonly F[],
  budgetTokens: number,
  provider: string,
  estimator: Estimator,
): FittedFile<F>[] {
  const sizes = files.map(({ content }) => tokensOfText(content, estimator, provider))
  const smallestFirst = sizes.map((tokens, index) => ({ tokens, index })).sort((a, b) => a.tokens - b.tokens)
  const fitted: FittedFile<F>[] = []
  let room = budgetTokens
  for (const { index, tokens: originalTokens } of smallestFirst) {
    const file = files[index] as F
    if (originalTokens <= room) {
      fitted[index] = { file, how: 'kept', originalTokens, tokens: originalTokens }
      room -= originalTokens
      continue
    }
    // What is left goes to the first that does not fit; those behind it are as large or larger.
    fitted[index] = cutFile(file, originalTokens, room, provider, estimator)
    room = 0
  }
  return fitted
}

function cutFile<F extends AttachedFile>(
  file: F,
  originalTokens: number,
  room: number,
  provider: string,
  estimator: Estimator,
): FittedFile<F> {
  const { text } = truncateToTokenBudget(file.content, room, provider, { estimator })
  if (text === '' || text === DEFAULT_TEXT_ENDING) return { file, how: 'dropped', originalTokens, tokens: 0 }
  const tokens = tokensOfText(text, estimator, provider)
  return { file: { ...file, content: text, truncated: true }, how: 'truncated', originalTokens, tokens }
}

/** A line on a file that was cut or left out; none on a file that is whole. */
export function noticeOf(fit: FittedFile<AttachedFile>, index: number): string | undefined {
  const name = fileName(fit.file, index)
  switch (fit.how) {
    case 'kept':
      return undefined
    case 'truncated':
      return `The file ${name} was cut from ${fit.originalTokens} to ${fit.tokens} tokens to fit the context.`
    case 'dropped':
      return `The file ${name} of ${fit.originalTokens} tokens was left out: it does not fit the context.`
  }
}
