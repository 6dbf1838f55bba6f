import { extname } from 'node:path'
import type { DocumentOptions } from '../../transfer/document/options.ts'
import { VIEW_FORMATS } from '../../transfer/view-formats.ts'

/** What `export` can write: everything of a session, documents for people, and the forms of the view. */
export const EXPORT_FORMATS = ['history', 'markdown', 'html', ...VIEW_FORMATS] as const
export type ExportFormat = (typeof EXPORT_FORMATS)[number]

export type ExportCommandOptions = Pick<DocumentOptions, 'hidden' | 'images' | 'cutOutputs'> & {
  readonly all?: boolean
  readonly format?: ExportFormat
  readonly output?: string
  readonly force?: boolean
  readonly lines?: boolean
  readonly rendered?: boolean | string
  readonly full?: boolean
}

/** `-` is the standard output, as programs have it. */
export function toOutput(options: ExportCommandOptions): ExportCommandOptions {
  const { output, ...others } = options
  return output === '-' ? others : options
}

/** The format that was named, or that the file's name tells. */
export function formatOf({ format, output }: ExportCommandOptions): ExportFormat {
  if (format !== undefined) return format
  const end = extname(output ?? '').toLowerCase()
  if (end === '.md' || end === '.markdown') return 'markdown'
  return end === '.html' || end === '.htm' ? 'html' : 'history'
}
