import { z } from 'zod'
import type { Summarizer } from './summarizer.ts'

/** What a caller may hand in as a summarizer. */
export const summarizerSchema = z.custom<Summarizer>(
  (value) =>
    typeof value === 'object' &&
    value !== null &&
    typeof (value as Summarizer).name === 'string' &&
    typeof (value as Summarizer).summarize === 'function' &&
    typeof (value as Summarizer).usesModel === 'boolean',
  'must be a summarizer: { name, usesModel, summarize }; aiSdkSummarizer and modelSummarizer make one of a model',
)
