import { expect, it } from 'vitest'
import { share } from '../../src/cli/options.ts'

it('a share is a number from 0 to 1 or a percentage, in every option that takes one', () => {
  expect(['0.4', '.4', '40%', '40 %', '0', '1', '100%', '2.5%'].map(share)).toEqual([
    0.4, 0.4, 0.4, 0.4, 0, 1, 1, 0.025,
  ])
  for (const text of ['1.1', '101%', '40', '%', '', '-1', '4e1%', '40%%'])
    expect(() => share(text)).toThrow('It must be a share from 0 to 1, such as 0.4 or 40%.')
})
