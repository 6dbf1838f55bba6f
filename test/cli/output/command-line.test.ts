import { execFileSync } from 'node:child_process'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { commandLine, shellWord } from '../../../src/cli/output/ids.ts'

describe('commandLine', () => {
  it.each([
    [['talk', '0198-a'], 'undertext undo talk 0198-a'],
    [['a b', '@'], "undertext undo 'a b' @"],
    [['x;touch y', '@'], "undertext undo 'x;touch y' @"],
    [["it's", '@'], "undertext undo 'it'\\''s' @"],
    [['-x', '@'], 'undertext undo -- -x @'],
    [['', '@'], "undertext undo '' @"],
    [['日本', '@'], "undertext undo '日本' @"],
  ])('writes %j so that a shell reads it as it is', (operands, line) => {
    expect(commandLine('undo', ...operands)).toBe(line)
  })

  it.skipIf(process.platform === 'win32')('is parsed by a shell into the same words', () => {
    const word = fc.string().filter((text) => !text.includes('\0'))
    fc.assert(
      fc.property(fc.array(word, { minLength: 1, maxLength: 5 }), (words) => {
        const typed = `printf '%s\\0' ${words.map(shellWord).join(' ')}`
        expect(execFileSync('sh', ['-c', typed]).toString().split('\0').slice(0, -1)).toEqual(words)
      }),
      { numRuns: 20 },
    )
  })
})
