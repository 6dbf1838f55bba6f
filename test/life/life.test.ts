import { expect, it } from 'vitest'
import { expectHealthyLife } from './live.ts'

it('agents live for some seconds: memory flat, the log bounded, the file as large as what is in it', async () => {
  const last = await expectHealthyLife(12, 1, 12)
  expect(last.at).toBeGreaterThan(11_000)
})
