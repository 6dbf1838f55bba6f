import { z } from 'zod'
import { check, shareSchema } from '../messages/check.ts'
import type { ChatMessage } from '../model/message-parts.ts'
import { deduplicate } from '../stages/deduplicate.ts'
import { replaceParts } from './applied.ts'
import { rowsOf } from './rows.ts'
import { runStage } from './run-stage.ts'

const deduplicationConfigSchema = z.strictObject({
  /** Share, 0 to 1, of the re-read files' size that must be saved. Default 0.3, `DEDUP_THRESHOLD` (seed 003). */
  minimumSavings: shareSchema.optional(),
  /** Tools whose results show files. Default: the usual names. */
  readTools: z.array(z.string()).optional(),
  /** Arguments that name the file. Default: the usual names. */
  pathArguments: z.array(z.string()).optional(),
  /** Whether a result that begins with words like "Read file x" is taken for a read. Default true. */
  byText: z.boolean().optional(),
})
export type DeduplicationConfig = z.input<typeof deduplicationConfigSchema>

export type DeduplicationResult<M extends ChatMessage = ChatMessage> = {
  /** Whether anything was replaced: the saving reached `minimumSavings`. */
  readonly deduplicated: boolean
  /** All messages, superseded reads showing a pointer to the latest; hidden messages are passed through. */
  readonly messages: M[]
  /** How many distinct files had reads replaced. */
  readonly filesDeduped: number
}

/**
 * Shows "[File <path> - refer to latest read below]" in place of earlier reads of a file: stage 2 of seed 003, over
 * a plain array.
 *
 * A read is known by its tool and path argument, or, as in the seed, by words at the head of a tool result: `read`,
 * `reading`, `read_file`, `readFile`, `Read file` or `cat` and a path, with or without quotes or backticks. Unlike
 * the seed's pattern it never looks into the middle of a text nor at what the assistant says, where it takes prose
 * for reads (checklist C-04). An earlier read is replaced only by a later one that shows all its lines.
 *
 * Only contents of tool results change; the array given and its objects do not. Throws `INVALID_INPUT`.
 */
export function deduplicateFileReads<M extends ChatMessage>(
  messages: readonly M[],
  config: DeduplicationConfig = {},
): DeduplicationResult<M> {
  const checked = check(deduplicationConfigSchema, config, 'deduplicateFileReads')
  const plan = runStage(deduplicate, rowsOf(messages, '', 'deduplicateFileReads'), {
    deduplicateMinimumSavings: checked.minimumSavings,
    readTools: checked.readTools,
    pathArguments: checked.pathArguments,
    deduplicateByText: checked.byText,
  })?.plan
  if (plan === undefined) return { deduplicated: false, messages: [...messages], filesDeduped: 0 }
  return {
    deduplicated: true,
    messages: replaceParts(messages, plan.replace),
    filesDeduped: Number(plan.params.files),
  }
}
