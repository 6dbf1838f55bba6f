import { describe, expect, it } from 'vitest'
import { eachName, Names } from '../../src/core/summarizers/extractive/names.ts'
import { growth } from '../support/growth.ts'

function namesOf(text: string): string[] {
  const names: string[] = []
  eachName(text, (name) => names.push(name))
  return names
}

describe('names of a text', () => {
  it.each<[string, string, string[]]>([
    [
      'words of several parts',
      'call parseIni and max_size, then HTMLParser',
      ['parseIni', 'max_size', 'HTMLParser'],
    ],
    ['what is called', 'then render() and if (x)', ['render']],
    ['paths and file names', 'see src/core/index.ts and README.md.', ['src/core/index.ts', 'README.md']],
    ['ids', 'order #W4821137 of KD-20931', ['W4821137', 'KD-20931', '20931']],
    ['amounts', 'it was $12.50 or 80 EUR', ['$12.50', '80 EUR']],
    ['no closing tags', 'a </Card> and </h2>', []],
    ['no short classes', 'className p-4 mb-2', ['className']],
    ['amounts with thousands', 'a total of $1,095.55', ['$1,095.55']],
    ['days', 'from 2026-11-05 to 05.11.2026', ['2026-11-05', '2026', '05.11.2026', '2026']],
    ['addresses', 'ana.lopez@example.com', ['ana.lopez@example.com']],
    ['among Chinese words', '电话是010-81528822。', ['010-81528822', '010', '81528822']],
    ['no words and no small numbers', 'The file is large, 12 of them and/or more', []],
  ])('%s', (_, text, names) => {
    expect(namesOf(text)).toEqual(names)
  })

  it.each([
    ['an escaped line break', 'x\\nTypeName\\tmyValue', ['TypeName', 'myValue']],
    ['the colours of a terminal', '[38;5;255mTEST_NAME[0m', ['TEST_NAME']],
    ['an escape of a URL', 'q=%20toName', ['toName']],
    ['a folder of Windows', 'in C:\\task-1\\newFile.ts', ['task-1', 'newFile.ts', 'newFile']],
  ])('do not begin with the end of %s', (_, text, names) => {
    expect(namesOf(text)).toEqual(names)
  })

  it('has no parts of a UUID', () => {
    const uuid = '3fcb1a2e-b540-4d3a-8dd6-7dba866b3fd8'
    expect(namesOf(`id ${uuid} of it`)).toEqual([uuid])
  })

  it.each([
    ['letters', 'a'],
    ['names', 'aB_1 '],
    ['marks', '/.'],
    ['escapes', '\\n['],
    ['digits and commas', '1,'],
    ['blanks and digits at line starts', '        1\n'],
  ])('takes linear time for %s', (_, unit) => {
    const run = (size: number) => namesOf(unit.repeat(size / unit.length))
    expect(growth(run, 1_000_000)).toBeLessThan(3)
  })
})

describe('the value of a name', () => {
  const valued = (use: (names: Names) => void): number => {
    const names = new Names()
    use(names)
    return names.valueOf('userName', 100)
  }

  it('is greater for a name of the user than for one in an output, and greater for a recent one', () => {
    const ofUser = valued((names) => names.add('userName', 'user', 50, 0))
    const ofOutput = valued((names) => names.add('userName', 'output', 50, 0))
    const recent = valued((names) => names.add('userName', 'output', 99, 0))
    expect(ofUser).toBeGreaterThan(ofOutput)
    expect(recent).toBeGreaterThan(ofOutput)
  })

  it('is 0 for a number and a hash that only outputs contain', () => {
    const names = new Names()
    names.add('line 4711 of 0a1b2c3d, see userName', 'output', 0, 0)
    expect([names.valueOf('4711', 1), names.valueOf('0a1b2c3d', 1)]).toEqual([0, 0])
    names.add('look at 4711', 'input', 1, 0)
    expect(names.valueOf('4711', 2)).toBeGreaterThan(0)
  })
})
