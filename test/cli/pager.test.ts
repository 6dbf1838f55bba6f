import { expect, it } from 'vitest'
import type { Io } from '../../src/cli/command.ts'
import { page } from '../../src/cli/context.ts'

/** Pages pieces on a terminal of so many rows; says what was written beside the pager, and how many pieces were asked for. */
async function paged(pieces: readonly string[], pager: NonNullable<Io['page']>, rows = 3) {
  let written = ''
  let taken = 0
  async function* source(): AsyncGenerator<string> {
    for (const piece of pieces) {
      taken += 1
      yield piece
    }
  }
  const write = (text: string): void => {
    written += text
  }
  const out = { isTerminal: true, columns: 80, rows, write }
  const io = { out, env: {}, page: pager } as unknown as Io
  await page(io, { out, pour: async (text) => write(text) }, false, source(), true)
  return { written, taken }
}

const LINES = ['1\n', '2\n', '3\n', '4\n', '5\n', '6\n']

it('asks for no more than a pager takes', async () => {
  const seen: string[] = []
  const { written, taken } = await paged(LINES, async (_command, pieces) => {
    for await (const piece of pieces) {
      seen.push(piece)
      if (seen.length === 4) break
    }
    return true
  })
  expect(seen).toEqual(['1\n', '2\n', '3\n', '4\n'])
  expect([written, taken]).toEqual(['', 4])
})

it('loses nothing of what a pager took that was never started', async () => {
  for (const most of [0, 1, 4, 9]) {
    const { written } = await paged(LINES, async (_command, pieces) => {
      let took = 0
      if (most > 0) for await (const _ of pieces) if (++took === most) break
      return false
    })
    expect(written).toBe('1\n2\n3\n4\n5\n6\n')
  }
})

it('nor of a piece that is longer than what is kept', async () => {
  const pieces = ['1\n', '2\n', '3\n', `${'x'.repeat(3_000_000)}\n`, '5\n']
  const { written } = await paged(pieces, async (_command, given) => {
    for await (const piece of given) if (piece.length > 2) break
    return false
  })
  expect(written === pieces.join('')).toBe(true)
})

it('writes what fits the terminal itself', async () => {
  const never = async (): Promise<boolean> => {
    throw new Error('a pager was started')
  }
  expect((await paged(['1\n'], never)).written).toBe('1\n')
})
