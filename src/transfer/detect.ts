import { readHead } from './head.ts'
import { recognizeHistory } from './history-lines.ts'
import type { Head, Input, Source, SourceName } from './source.ts'
import { chatgpt } from './sources/chatgpt.ts'
import { claude } from './sources/claude.ts'
import { claudeCode } from './sources/claude-code.ts'
import { pi } from './sources/pi.ts'
import { cline, roo } from './sources/roo.ts'
import { anthropic, messages, openai } from './sources/transcript.ts'

/** The sources in the order of detection: first those with distinctive marks, last plain messages. */
export const SOURCES: readonly Source[] = [
  claudeCode,
  pi,
  cline,
  roo,
  chatgpt,
  claude,
  openai,
  anthropic,
  messages,
]

/**
 * The source that reads a file; `history` for undertext's own histories, which aren't read by a source; or a description of an unrecognized
 * file, without its text.
 */
type Detected = { readonly source: Source } | { readonly source: 'history' } | { readonly looks: string }

/**
 * Returns the first source that recognizes the first 256 KB of a file. If a source is named, it is used for any text file without
 * detection; with `isAsked` it must recognize the file, even if another source precedes it.
 */
export async function detectSource(input: Input, named?: SourceName, isAsked = false): Promise<Detected> {
  const read = await readHead(input)
  const trusted = isAsked ? undefined : named
  if ('looks' in read)
    return trusted !== undefined && read.isText ? sourceNamed(trusted) : { looks: read.looks }
  if (trusted !== undefined) return sourceNamed(trusted)
  const other = otherLook(read.head)
  if (other !== undefined) return { looks: other }
  return sourceKnowing(read.head, named) ?? { looks: lookOf(read.head) }
}

function sourceNamed(named: SourceName): Detected {
  if (named === 'undertext') return { source: 'history' }
  return { source: SOURCES.find(({ name }) => name === named)! }
}

/** Returns the first source that recognizes a head, among all sources or only the named one. */
function sourceKnowing(head: Head, named: SourceName | undefined): Detected | undefined {
  if (recognizeHistory(head))
    return named === undefined || named === 'undertext' ? { source: 'history' } : undefined
  const source = SOURCES.find(
    ({ name, recognizes }) => (named === undefined || name === named) && recognizes(head),
  )
  return source && { source }
}

function otherLook(head: Head): string | undefined {
  for (const { describeOther } of SOURCES) {
    const looks = describeOther?.(head)
    if (looks !== undefined) return looks
  }
  return undefined
}

const SHAPES = {
  lines: 'JSONL',
  list: 'a JSON list',
  object: 'a JSON object',
} as const

function lookOf({ shape, values }: Head): string {
  const [first] = values
  const isBare = typeof first !== 'object' || first === null
  if (values.length === 0) return shape === 'list' ? 'an empty JSON list' : 'text that is not JSON'
  return `${SHAPES[shape]}${isBare ? ' of plain values' : ''} in an unknown form`
}
