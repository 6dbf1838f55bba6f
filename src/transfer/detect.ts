import { readHead } from './head.ts'
import { recogniseHistory } from './history-lines.ts'
import type { Head, Input, Source, SourceName } from './source.ts'
import { anthropic } from './sources/anthropic.ts'
import { chatgpt } from './sources/chatgpt.ts'
import { claude } from './sources/claude.ts'
import { claudeCode } from './sources/claude-code.ts'
import { openai } from './sources/openai.ts'
import { pi } from './sources/pi.ts'
import { roo } from './sources/roo.ts'
import { messages } from './sources/transcript.ts'

/** The sources, in the order they are asked: those with marks of their own first, plain messages last. */
export const SOURCES: readonly Source[] = [claudeCode, pi, roo, chatgpt, claude, openai, anthropic, messages]

/**
 * The source that reads a file; `history` for one with histories of ours, which no source reads; or what the file looked like where nothing
 * does: words for its shape, never text of it.
 */
type Detected = { readonly source: Source } | { readonly source: 'history' } | { readonly looks: string }

/**
 * Finds the source of a file by its first 256 KB: the first one that knows it. A source that is named is taken without asking it, for all
 * that is text; with `isAsked` it must know the file, though another would come before it.
 */
export async function detectSource(input: Input, named?: SourceName, isAsked = false): Promise<Detected> {
  const read = await readHead(input)
  const trusted = isAsked ? undefined : named
  if ('looks' in read)
    return trusted !== undefined && read.isText ? sourceNamed(trusted) : { looks: read.looks }
  if (trusted !== undefined) return sourceNamed(trusted)
  const beside = besideOf(read.head)
  if (beside !== undefined) return { looks: beside }
  return sourceKnowing(read.head, named) ?? { looks: lookOf(read.head) }
}

function sourceNamed(named: SourceName): Detected {
  if (named === 'undertext') return { source: 'history' }
  return { source: SOURCES.find(({ name }) => name === named)! }
}

/** The first source that knows a head, of all or of the one that is named. */
function sourceKnowing(head: Head, named: SourceName | undefined): Detected | undefined {
  if (recogniseHistory(head))
    return named === undefined || named === 'undertext' ? { source: 'history' } : undefined
  const source = SOURCES.find(
    ({ name, recognises }) => (named === undefined || name === named) && recognises(head),
  )
  return source && { source }
}

function besideOf(head: Head): string | undefined {
  for (const { isBeside } of SOURCES) {
    const looks = isBeside?.(head)
    if (looks !== undefined) return looks
  }
  return undefined
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
