import type { JsonObject } from '../messages/json.ts'
import { boundDigest, type Digest, filesOf, renderDigest } from '../summarizers/digest.ts'
import { judgeAnswer } from '../summarizers/judge-answer.ts'
import type { AnswerProblem, Summarizer, SummaryAnswer, SummaryRequest } from '../summarizers/summarizer.ts'
import type { Estimator } from '../tokens/estimators/estimator-schema.ts'
import { estimateTokens } from '../tokens/tokens.ts'
import { Bill } from './bill.ts'
import { shortenSummary } from './shorten-summary.ts'
import { Scale, takeChunk } from './summary-chunks.ts'
import { readableSource, type SummaryMaterial } from './summary-material.ts'

/** Share of a summary's tokens that its digest of tool calls may take. Source: checklist F3. */
const DIGEST_SHARE = 0.25
/** A summary of fewer tokens gives its digest a smaller share: what it is about comes first. */
const FULL_DIGEST_TOKENS = 400
/** Most of a summarizer's input that the summary so far may take: what is new needs room too. */
const PREVIOUS_SHARE = 0.5
/** What a summarizer wrote, and how it is to be kept. */
export type WrittenSummary = {
  /** What the summary row says: the summarizer's text, and the digest behind it. */
  readonly text: string
  readonly metadata: JsonObject
  /** The last answer, with what all of them cost. */
  readonly answer: SummaryAnswer
  /** Why the text is no summary; it is empty then. */
  readonly problem?: AnswerProblem
}

/**
 * Asks a summarizer for the text that is to stand for some rows, in chunks that fit it, each with the summary so
 * far, and adds the digest of the tool calls. Answers an empty text and the `problem` when an answer is no summary.
 *
 * `bill` hears of each answer as it comes, and is waited for: what was paid stands there also when a later chunk fails.
 *
 * What it is sent at once, messages and summary so far, takes at most `maxInputTokens` as the request's provider
 * counts, or `provider` when the request names none.
 *
 * Rejects with whatever the summarizer throws. Changes nothing.
 */
export async function writeSummary(
  summarizer: Summarizer,
  material: SummaryMaterial,
  { calling, ...request }: Omit<SummaryRequest, 'messages' | 'previousSummary' | 'files'>,
  estimator: Estimator,
  provider?: string,
  bill = new Bill(),
): Promise<WrittenSummary> {
  const { rest, reader } = material
  const digest = material.digest()
  const rendered = renderForSummary(digest, request.maxTokens)
  const textTokens = request.maxTokens - (rendered === '' ? 0 : estimateTokens(rendered))

  let previousSummary = material.earlier.join('\n\n')
  let answer: SummaryAnswer = { text: previousSummary }
  const scale = new Scale(estimator, request.provider ?? provider, summarizer.tokensPerMessage ?? 0)
  const asked = { ...request, maxTokens: Math.max(1, textTokens) }
  const limit = summarizer.inputTokensFor?.(asked) ?? summarizer.maxInputTokens
  const most = limit ?? Number.POSITIVE_INFINITY
  // A summarizer without a model reads everything at no cost, also what was cleared in the view.
  const readsAll = !summarizer.usesModel && limit === undefined
  if (reader !== undefined && material.count > 0) {
    request.signal?.throwIfAborted()
    answer = reader.answer({
      ...asked,
      files: material.files(),
      ...(previousSummary !== '' && { previousSummary }),
    })
    await bill.add(answer)
    const judged = judge(summarizer, answer)
    if ('problem' in judged) return noSummary(bill.total(''), judged.problem)
    answer = { ...answer, text: judged.text }
  }
  for (let from = 0; from < rest.length; ) {
    previousSummary = shortenSummary(
      previousSummary,
      request.sections,
      (text) => scale.ofText(text) <= most * PREVIOUS_SHARE,
    )
    const { chunk, next } = takeChunk(rest, from, most - scale.ofText(previousSummary), scale)
    from = next
    request.signal?.throwIfAborted()
    if (summarizer.announcesCalls !== true) await calling?.()
    answer = await summarizer.summarize({
      ...asked,
      ...(summarizer.announcesCalls === true && calling !== undefined && { calling }),
      messages: chunk.map((source) => ({ ...readableSource(source, readsAll), kind: source.kind })),
      files: filesOf(chunk.map(({ original }) => original)),
      ...(previousSummary !== '' && { previousSummary }),
    })
    await bill.add(answer)
    const judged = judge(summarizer, answer)
    if ('problem' in judged) return noSummary(bill.total(''), judged.problem)
    previousSummary = judged.text
    answer = { ...answer, text: judged.text }
  }

  const text = rendered === '' ? answer.text : `${answer.text}\n\n${rendered}`
  const memory = {
    isSummary: true,
    textLength: answer.text.length,
    digest: boundDigest(digest) as unknown as JsonObject,
  }
  return {
    text,
    metadata: memory,
    answer: bill.total(answer.text),
  }
}

/** What a model answers may be many things that are no summary; whoever calls no model writes one, or nothing. */
function judge(summarizer: Summarizer, answer: SummaryAnswer | undefined): ReturnType<typeof judgeAnswer> {
  if (summarizer.usesModel) return judgeAnswer(answer)
  const isText = typeof answer?.text === 'string' && answer.text.trim() !== ''
  return isText ? { text: answer.text } : { problem: 'EMPTY_SUMMARY' }
}

function noSummary(answer: SummaryAnswer, problem: AnswerProblem): WrittenSummary {
  return { text: '', metadata: {}, answer, problem }
}

/** The digest behind a summary's text. One that could only say how many calls it leaves out is not worth its room. */
function renderForSummary(digest: Digest, maxTokens: number): string {
  const { text, digest: shown } = renderDigest(
    digest,
    Math.floor(maxTokens * DIGEST_SHARE * Math.min(1, maxTokens / FULL_DIGEST_TOKENS)),
  )
  return shown.entries.length === 0 && digest.entries.length > 0 ? '' : text
}

/** A summary whose text the caller gave: the digest is added all the same, and says what was done. */
export function givenSummary(text: string, material: SummaryMaterial): WrittenSummary {
  return {
    text,
    metadata: {
      isSummary: true,
      textLength: text.length,
      digest: boundDigest(material.digest()) as unknown as JsonObject,
    },
    answer: { text },
  }
}
