import { z } from 'zod'
import { check, nameSchema } from '../../messages/check.ts'

/** What documents for people can be told. */
export const documentSchema = z.strictObject({
  /** Hidden rows: left out, with a word where they stood, or shown with the reason why they are hidden. Default: omitted in Markdown, shown in HTML. */
  hidden: z.enum(['omit', 'show']).optional(),
  /** Pictures: within the document, or a word with their size. Default: a word in Markdown, within in HTML. */
  images: z.enum(['inline', 'word']).optional(),
  /** Characters of a tool's output beyond which the rest is left out, and said to be. Default: none is. */
  cutOutputs: z.int().positive().optional(),
  /** The title. Default: the session's own, else its id. */
  title: nameSchema.optional(),
  /** When the document was made, milliseconds since 1970, to be said in it. Default: it is not said, so that the same session gives the same bytes. */
  exportedAt: z.int().min(-8.64e15).max(8.64e15).optional(),
})

export type DocumentOptions = z.input<typeof documentSchema>

/** The same with every default applied. */
export type DocumentSettings = {
  readonly hidden: 'omit' | 'show'
  readonly images: 'inline' | 'word'
  readonly cutOutputs: number | undefined
  readonly title: string | undefined
  readonly exportedAt: number | undefined
}

/** Checks options and applies the defaults of one kind of document. Throws `INVALID_INPUT`. */
export function documentSettings(
  options: DocumentOptions,
  defaults: Pick<DocumentSettings, 'hidden' | 'images'>,
  verb: string,
): DocumentSettings {
  const { hidden, images, cutOutputs, title, exportedAt } = check(documentSchema, options, verb)
  return {
    hidden: hidden ?? defaults.hidden,
    images: images ?? defaults.images,
    cutOutputs,
    title,
    exportedAt,
  }
}
