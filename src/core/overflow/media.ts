import { isMentioned, isOtherCode, OTHER_STATUSES, speaksAgainst } from './contrary-signs.ts'
import { type ErrorNode, readError } from './read-error.ts'
import { normalizeText } from './text.ts'

/**
 * A refusal of a request for what it holds besides text. `media`: its images or files, their number, size or pixels. `bytes`: the
 * size of the whole.
 */
export type MediaRefusal = {
  readonly kind: 'media' | 'bytes'
  /** The most images that the provider accepts, where the error says so. */
  readonly mostImages?: number
}

/** Wordings about images and files; the first number in one is the most images. Sources: docs/overflow-errors.md. */
const MEDIA: readonly RegExp[] = [
  // Anthropic, also on Bedrock and Vertex.
  /image dimensions? exceeds? (?:the )?max|for many-image requests/,
  /image exceeds [\d.]+ ?[km]b maximum/,
  /too many images(?: and documents)?(?:: (?:\d+ \+ \d+|image_count) > (\d+))?/,
  /too much media: \d+ document pages \+ \d+ images > (\d+)/,
  /maximum number of images \((\d+)\)/,
  // Azure, Groq and servers with OpenAI's protocol.
  /too many images[^.]{0,60}(?:\. max is|supports up to|maximum is) (\d+)/,
  /request contains \d+ images, exceeding the maximum of (\d+)/,
  // vLLM.
  /at most (\d+) (?:image|video|audio|item)\(?s?\)? may be provided/,
  /(?:maximum|limit) of (\d+) images|(?:number of images|image count)[^.]{0,40}(?:exceed|maximum|limit)/,
  /image (?:file )?(?:is )?too large|image size (?:must be|exceeds|is too)/,
]

/** Wordings about the bytes of a request. */
const BYTES =
  /request_too_large|request (?:exceeds the maximum (?:allowed )?size|entity too large|too large|body (?:is )?too large)|(?:payload|content) too large|request payload size exceeds|maximum content size limit|request size exceeds|body exceeded? (?:the )?[\w. ]{0,20}(?:limit|size)/

const TOKENS = /\btokens?\b|context (?:length|window|size)|tokens_limit|context_too/
const TOO_LARGE = 413

/** How a provider refused the media or the bytes of a request; `undefined` for any other error. Never throws, in linear time. */
export function mediaRefusal(error: unknown): MediaRefusal | undefined {
  const nodes = readError(error).filter((node) => !node.isOurs)
  if (nodes.some(({ isOtherCall }) => isOtherCall)) return undefined
  let found: MediaRefusal | undefined
  for (const node of nodes) {
    const read = readNode(node)
    if (read?.kind === 'media') return read
    found ??= read
  }
  return found
}

function readNode(node: ErrorNode): MediaRefusal | undefined {
  const status = node.status ?? node.group.status
  if (OTHER_STATUSES.includes(status)) return undefined
  if ([node, node.group].some(({ codes }) => codes.some(isOtherCode))) return undefined
  const codes = node.codes.map(normalizeText).join(' ')
  const texts = node.texts.map((text) => `${codes} ${normalizeText(text)}`)
  let isBytes = false
  for (const text of texts.length === 0 ? [codes] : texts) {
    for (const pattern of MEDIA) {
      const match = pattern.exec(text)
      if (match === null || !isSaid(text, match.index)) continue
      const most = match[1] === undefined ? mostIn(text, match.index) : Number(match[1])
      return most === undefined ? { kind: 'media' } : { kind: 'media', mostImages: most }
    }
    const match = BYTES.exec(text)
    isBytes ||= match !== null && isSaid(text, match.index)
    // Limits of tokens, and of tokens a minute.
    if (TOKENS.test(text) || speaksAgainst(text.slice(0, 1_000))) return undefined
  }
  return isBytes || node.status === TOO_LARGE ? { kind: 'bytes' } : undefined
}

/** Whether a wording is the provider's own, and about nothing else. */
function isSaid(text: string, at: number): boolean {
  return !isMentioned(text, at) && !speaksAgainst(text.slice(Math.max(0, at - 200), at + 400))
}

/** The limit after a wording without a number of its own: `> 20`, `max is 10`, `up to 5`. */
function mostIn(text: string, at: number): number | undefined {
  const found =
    /too many images[^\n]{0,80}?(?:>|max(?:imum)? is|max allowed is|maximum of|up to|at most) ?(\d{1,5})\b/.exec(
      text.slice(at, at + 200),
    )
  return found === null ? undefined : Number(found[1])
}
