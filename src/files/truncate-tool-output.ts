import { z } from 'zod'
import { invalid } from '../errors.ts'
import { check, isStorableText } from '../messages/check.ts'
import { saveOutput } from './save-output.ts'
import { cutOutput, outputLimitsSchema, withNotice } from './tool-output/cut-output.ts'

const optionsSchema = outputLimitsSchema
  .extend({
    /** Whether the full output is written to a file when it is cut. Default false. */
    saveToDisk: z.boolean().optional(),
    /** The folder of that file, made when it is missing. Default a private one under the temporary folder. */
    saveDir: z.string().min(1).refine(isStorableText, 'must be a path').optional(),
  })
  .optional()
export type TruncateOptions = z.input<typeof optionsSchema>

/** A tool output within its limits. */
export type TruncateResult = {
  /** What is kept, with the notice; the output itself when nothing was cut. */
  readonly content: string
  readonly truncated: boolean
  /** Where the full output is, when it was cut and saved. */
  readonly savedPath?: string
  /** Bytes of the output, UTF-8. */
  readonly originalSize: number
}

/**
 * One end of a tool output that exceeds a limit of bytes or lines, with a notice behind it (head) or in front of
 * it (tail); an output within both limits as it is. At most `maxBytes` bytes of it are kept, the notice not
 * counted, and no character is cut in two.
 *
 * With `saveToDisk` a cut output is first written in full to a new file that only this user can read. When
 * that fails nothing is returned, so that the output is not lost: cut it without saving, or elsewhere.
 *
 * Throws `INVALID_INPUT` and `OUTPUT_NOT_SAVED`. Source: seed 003, checklist S3-282 to S3-296, C-14.
 */
export function truncateToolOutput(output: string, options?: TruncateOptions): TruncateResult {
  if (typeof output !== 'string') throw invalid('truncateToolOutput: output must be a text')
  const { saveToDisk, saveDir, ...limits } = check(optionsSchema, options, 'truncateToolOutput') ?? {}
  const cut = cutOutput(output, limits)
  const { truncated, originalSize } = cut
  if (!truncated) return { content: output, truncated, originalSize }
  const savedPath = saveToDisk === true ? saveOutput(output, originalSize, saveDir) : undefined
  const content = withNotice(cut, limits.direction, savedPath)
  return { content, truncated, originalSize, ...(savedPath !== undefined && { savedPath }) }
}
