/* Summarizers without a model, and the sections of a summary. The entry `undertext/summarizers`. */

export { extractiveSummarizer } from './extractive.ts'
export { snippetSummarizer } from './snippets.ts'
export {
  ANSWER_PROBLEMS,
  type AnswerProblem,
  NINE_SECTIONS,
  SUMMARY_SECTIONS,
  type Summarizer,
  type SummaryAnswer,
  type SummaryRequest,
  type SummaryUsage,
} from './summarizer.ts'
