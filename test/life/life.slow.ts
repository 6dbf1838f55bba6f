import { expect, it } from 'vitest'
import { expectHealthyLife } from './live.ts'

it('agents live for some turns: memory flat, the log bounded, the file as large as what is in it', async () => {
  const last = await expectHealthyLife(150, 0.5, 12, 1_200)
  expect(last.turns).toBeGreaterThanOrEqual(1_200)
}, 240_000)
