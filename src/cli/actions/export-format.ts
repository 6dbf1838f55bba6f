import { extname } from 'node:path'

/** What `export` can write. The forms of the view are those of `exportView`; a test holds the two lists together. */
export const EXPORT_FORMATS = [
  'history',
  'markdown',
  'html',
  'neutral',
  'flat',
  'openai',
  'openai-responses',
  'anthropic',
  'gemini',
  'ai-sdk',
  'ui',
  'langchain',
  'openai-agents',
] as const
export type ExportFormat = (typeof EXPORT_FORMATS)[number]

export type ExportCommandOptions = {
  readonly all?: boolean
  readonly format?: ExportFormat
  readonly output?: string
  readonly force?: boolean
  readonly lines?: boolean
  readonly rendered?: boolean | string
  readonly full?: boolean
  readonly hidden?: string
  readonly images?: string
  readonly cutOutputs?: number
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
