import { readHead } from './head.ts'
import { recogniseHistory } from './history-lines.ts'
import type { Head, Input, Source, SourceName } from './source.ts'
import { SOURCES } from './sources/all.ts'

/**
 * The source that reads a file; `history` for one with histories of ours, which no source reads; or what the file looked like where nothing
 * does: words for its shape, never text of it.
 */
export type Detected =
  | { readonly source: Source }
  | { readonly source: 'history' }
  | { readonly looks: string }

/**
 * Finds the source of a file by its first 256 KB: the first one that knows it. A source that is named is taken without asking it, for all
 * that is text.
 */
export async function detectSource(input: Input, named?: SourceName): Promise<Detected> {
  const read = await readHead(input)
  if ('looks' in read && !(read.isText && named !== undefined)) return { looks: read.looks }
  const isHistory = named === undefined && 'head' in read && recogniseHistory(read.head)
  if (named === 'undertext' || isHistory) return { source: 'history' }
  const source = SOURCES.find(({ name, recognises }) =>
    named !== undefined ? name === named : 'head' in read && recognises(read.head),
  )
  if (source !== undefined) return { source }
  return { looks: 'head' in read ? lookOf(read.head) : read.looks }
}

const SHAPES = {
  lines: 'JSON, a value a line',
  list: 'a JSON list',
  object: 'a JSON object',
} as const

function lookOf({ shape, values }: Head): string {
  const [first] = values
  const isBare = typeof first !== 'object' || first === null
  if (values.length === 0) return shape === 'list' ? 'an empty JSON list' : 'text that is no JSON'
  return `${SHAPES[shape]}${isBare ? ' of bare values' : ''}, in no form that is known`
}
