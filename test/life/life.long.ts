import { expect, it } from 'vitest'
import { expectHealthyLife } from './live.ts'

/** `LIFE_MINUTES` makes the hour shorter. */
const minutes = Number(process.env.LIFE_MINUTES ?? '60')

it(
  `agents live for ${minutes} minutes`,
  async () => {
    const last = await expectHealthyLife(minutes * 60, Math.max(1, minutes / 4), 400)
    console.info(`a life of ${minutes} minutes: ${JSON.stringify(last)}`)
    expect(last.at).toBeGreaterThan(minutes * 59_000)
  },
  (minutes + 10) * 60_000,
)
