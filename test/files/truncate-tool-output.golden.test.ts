import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { truncateToolOutput } from '../../src/compat/truncate-tool-output.ts'
import { sharedPath } from '../support/shared.ts'
import { newFolder } from '../support/temporary.ts'

/*
 * Recorded results of the original's truncateToolOutput, version 9.10.0. Where its limit of bytes took effect on
 * what is not ASCII it counted UTF-16 units, and a limit of 0 bytes kept everything: there it exceeds its own
 * limit, we do not, and only the law is checked.
 */

type Golden = {
  readonly texts: readonly (
    | string
    | { readonly seq: string; readonly n: number }
    | { readonly rep: string; readonly n: number }
  )[]
  readonly options: readonly (null | { maxBytes?: number; maxLines?: number; direction?: 'head' | 'tail' })[]
  readonly cases: readonly {
    readonly text: number
    readonly opts: number
    readonly truncated: boolean
    readonly originalSize: number
    readonly out:
      | string
      | {
          readonly len: number
          readonly bytes: number
          readonly sha256_16: string
          readonly head: string
          readonly tail: string
        }
    readonly saved?: { readonly matchesOriginal: boolean }
  }[]
}

const path = sharedPath('golden/neurolink-9.10.0/truncate_tool_output.json')
const folder = newFolder()

const NO_GOLDEN: Golden = { texts: [], options: [], cases: [] }
const golden = path === undefined ? NO_GOLDEN : (JSON.parse(readFileSync(path, 'utf8')) as Golden)

const texts = golden.texts.map((text) => {
  if (typeof text === 'string') return text
  if ('rep' in text) return text.rep.repeat(text.n)
  return Array.from({ length: text.n }, (_, at) => text.seq.replace('#', String(at))).join('\n')
})

/** Bytes of the output in a result. */
function keptBytes(content: string): number {
  return Number(/\[Output truncated from \d+ bytes to (\d+) bytes/.exec(content)?.[1])
}

describe.skipIf(path === undefined)('the recorded results of truncateToolOutput', () => {
  const cases = golden.cases.map((golden, at) => ({ ...golden, at }))
  const exceeds = ({ text, opts, truncated, out }: (typeof cases)[number]): boolean => {
    const maxBytes = golden.options[opts]?.maxBytes ?? 51_200
    if (!truncated) return false
    const content = typeof out === 'string' ? out : `${out.head}${out.tail}`
    // Of a long result only its two ends are recorded; the notice is in one of them, perhaps not whole.
    const kept = keptBytes(content)
    return Number.isNaN(kept) ? maxBytes === 0 || /[^\0-\x7f]/.test(texts[text]!) : kept > maxBytes
  }

  it('are 130, of which 39 exceed their own limit', () => {
    // Three texts with all ten options, and the nine other texts that are not empty with 0 bytes.
    expect(cases.length).toBe(130)
    expect(cases.filter(exceeds).map(({ text, opts }) => `${text}/${opts}`).length).toBe(39)
    const others = cases.filter((one) => exceeds(one) && golden.options[one.opts]?.maxBytes !== 0)
    // é, 你好 and 🙂
    expect([...new Set(others.map(({ text }) => text))]).toEqual([9, 10, 11])
  })

  it.each(cases.filter((one) => !exceeds(one)))(
    'text $text, options $opts',
    ({ text, opts, ...expected }) => {
      const options = golden.options[opts] ?? undefined
      const saving =
        expected.saved !== undefined || (options as { saveToDisk?: boolean } | undefined)?.saveToDisk
      const output = texts[text]!
      const result = truncateToolOutput(output, { ...options, ...(saving && { saveDir: folder }) })
      expect(result.truncated).toBe(expected.truncated)
      expect(result.originalSize).toBe(expected.originalSize)
      if (expected.saved !== undefined) expect(readFileSync(result.savedPath!, 'utf8')).toBe(output)
      else expect(result.savedPath).toBe(undefined)
      const content = result.content.replace(result.savedPath ?? '<path>', '<path>')
      const { out } = expected
      if (out === '=') expect(content).toBe(output)
      else if (typeof out === 'string') expect(content).toBe(out)
      else {
        const hash = createHash('sha256').update(content).digest('hex').slice(0, 16)
        expect([content.length, Buffer.byteLength(content), hash]).toEqual([
          out.len,
          out.bytes,
          out.sha256_16,
        ])
      }
    },
  )

  it.each(cases.filter(exceeds))(
    'text $text, options $opts: within the limit',
    ({ text, opts, originalSize }) => {
      const options = golden.options[opts] ?? undefined
      const saving = (options as { saveToDisk?: boolean } | undefined)?.saveToDisk === true
      const result = truncateToolOutput(texts[text]!, { ...options, ...(saving && { saveDir: folder }) })
      expect(result).toMatchObject({ truncated: true, originalSize })
      const maxBytes = options?.maxBytes ?? 51_200
      expect(keptBytes(result.content)).toBeLessThanOrEqual(maxBytes)
      // One character more would be too much.
      expect(keptBytes(result.content)).toBeGreaterThan(Math.min(maxBytes, originalSize) - 4)
    },
  )
})
