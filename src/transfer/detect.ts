import { readHead } from './head.ts'
import type { Head, Input, Source, SourceName } from './source.ts'
import { SOURCES } from './sources/all.ts'

/** The source that reads a file, or what the file looked like where none does: words for its shape, never text of it. */
export type Detected = { readonly source: Source } | { readonly looks: string }

/** Finds the source of a file by its first 256 KB: the first one that knows it, or the one that is named. */
export async function detectSource(input: Input, named?: SourceName): Promise<Detected> {
  const read = await readHead(input)
  if ('looks' in read) return read
  const source = SOURCES.find(({ name, recognises }) =>
    named === undefined ? recognises(read.head) : name === named,
  )
  return source === undefined ? { looks: lookOf(read.head) } : { source }
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
