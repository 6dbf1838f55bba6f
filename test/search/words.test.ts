import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { stemOf } from '../../src/core/search/stem.ts'
import {
  distinctWordsOf,
  eachWord,
  searchedText,
  UNITS_AT_ONCE,
  wordsOf,
} from '../../src/core/search/words.ts'
import { growth } from '../support/growth.ts'

/** What a reading returns, and how often it paused. */
function wordsIn(reading: Generator<void, string[]>): { readonly words: string[]; readonly pauses: number } {
  for (let pauses = 0; ; pauses++) {
    const { done, value } = reading.next()
    if (done === true) return { words: value, pauses }
  }
}

describe('the words of a text', () => {
  it.each([
    ['stems, without stop words', 'She was running with the dogs', 'run dog'],
    ['one form of irregular verbs and nouns', 'went gone bought children mice', 'go go buy child mous'],
    ['without endings of apostrophes', "Anna's dogs don't; we’re", 'anna dog'],
    ['French without the article', "l'amour d'Anna", 'amour anna'],
    ['in lower case and without accents', 'Café Ünïcödé ŁÓDŹ straße', 'cafe unicod lodz strass'],
    ['the same of combining accents', 'Cafe\u0301', 'cafe'],
    ['the same of ligatures and full width', 'ﬁne ＡＢＣ', 'fine abc'],
    ['camel case: the parts and the whole', 'parseHTTPRequest', 'pars http request parsehttprequest'],
    ['snake case: the parts and the whole', 'user_name', 'user name usernam'],
    ['a code: letters, number and the whole', 'TS2345', 'ts 2345 ts2345'],
    ['a path: names, the file and the whole', 'src/lib/b.ts', 'src lib b ts bts srclibbt'],
    ['a place in a file', 'x/b.ts:12', 'x b ts bts 12 xbts12'],
    ['words with a hyphen', 'e-mail', 'e mail email'],
    ['numbers with points and dates', '3.5 2024-05-15', '3 5 3_5 2024 05 15 2024_05_15'],
    ['a hash as a whole', 'a1b2c3d4e5f6', 'a1b2c3d4e5f6'],
    ['Chinese in pairs', '上海天气', '上海 海天 天气'],
    ['a character alone', '猫', '猫'],
    ['Chinese beside Latin letters', '用React写', '用 react 写'],
    ['Japanese with its voiced letters', 'ガギ ｶﾞｷﾞ か', 'ガギ ガギ か'],
    ['Korean in pairs, also decomposed', `고양이 ${'고양이'.normalize('NFD')}`, '고양 양이 고양 양이'],
    ['Thai in pairs', 'กาแฟ', 'กา าแ แฟ'],
    ['Russian without endings', 'красивая машинами', 'красив машин'],
    ['emoji by their code', '🎉 cake', 'u1f389 cake'],
    ['nothing of spaces, marks and lone surrogates', ' … — \u0301 \ud800 \udc00 !?', ''],
    ['words beside a lone surrogate', 'red\ud800blue', 'red blue'],
  ])('are %s', (_, text, words) => {
    expect(wordsOf(text).join(' ')).toBe(words)
  })

  it('are cut after 40 characters, not inside a pair of surrogates', () => {
    expect(wordsOf('z'.repeat(1_000_000))).toEqual(['z'.repeat(40)])
    const [word] = wordsOf(`z${'𐐨'.repeat(50)}`)
    expect(word!.isWellFormed()).toBe(true)
    expect(word!.length).toBeLessThanOrEqual(40)
  })

  it('of a run of a script without spaces are all pairs, however long it is, and marks', () => {
    const text = Array.from({ length: 9_001 }, (_, at) => String.fromCharCode(0x4e00 + at)).join('')
    const pairs = Array.from({ length: 9_000 }, (_, at) => text.slice(at, at + 2))
    const found: string[] = []
    eachWord(text, (word, start, end) => {
      expect(text.slice(start, end)).toBe(word)
      found.push(word)
    })
    expect(found).toEqual(pairs)
    // The voicing mark is one with the letter before it, also after 4,000 of them.
    expect(new Set(wordsOf('カ\u3099'.repeat(9_000)))).toEqual(new Set(['ガガ']))
  })

  it.each(['漢', 'Ж', 'a\u0301'])(
    'of five million times %s are read',
    (unit) => {
      expect(wordsIn(distinctWordsOf(unit.repeat(5_000_000 / unit.length))).words.length).toBeLessThan(10)
    },
    60_000,
  )

  it.each([
    ['different words', Array.from({ length: 20_000 }, (_, at) => `w${at.toString(36)}`).join(' ')],
    ['words after a long piece', `${'a.b/'.repeat(40_000)} ${'one two '.repeat(10_000)}`],
    ['a path', 'src/漢/'.repeat(20_000)],
    ['a run of a script without spaces', '漢字'.repeat(60_000)],
    ['such a run within a path', `a/${'漢字'.repeat(60_000)}.ts`],
    ['signs', '=('.repeat(60_000)],
  ])('are the same of %s, which is read in bounded pieces', (_, text) => {
    const { words, pauses } = wordsIn(distinctWordsOf(text))
    expect(words).toEqual([...new Set(wordsOf(text))])
    // A piece ends at the next place where no word is cut, at most 4,000 units later.
    expect(pauses).toBeGreaterThanOrEqual(Math.floor(text.length / (UNITS_AT_ONCE + 5_000)) - 1)
    expect(pauses).toBeGreaterThan(1)
  })

  it('are letters, digits and _ only, at most 40, and the same when the text is read again', () => {
    const texts = fc.string({ unit: 'binary', maxLength: 200 })
    const pieces = fc.array(
      fc.constantFrom(
        'a',
        'Ab',
        '_',
        '-',
        '/',
        '.',
        ':',
        "'",
        '’',
        '7',
        '漢',
        'か',
        '\u3099',
        '각',
        'é',
        '\u0301',
        '🎉',
        '\ud83c',
        '½',
        'ﬁ',
        ' ',
        'ß',
        'İ',
      ),
    )
    fc.assert(
      fc.property(
        fc.oneof(
          texts,
          pieces.map((all) => all.join('')),
        ),
        (text) => {
          const words = wordsOf(text)
          for (const word of words) expect(word).toMatch(/^[\p{L}\p{N}_]{1,40}$/u)
          expect(wordsOf(text)).toEqual(words)
        },
      ),
      { numRuns: 2_000 },
    )
  })

  it('have places in the text, in which the word is found again', () => {
    const text = 'The quickFox went to src/b.ts in 上海, Café!'
    const places: string[] = []
    eachWord(text, (word, start, end) => {
      places.push(`${word}=${text.slice(start, end)}`)
    })
    expect(places).toEqual([
      'quick=quick',
      'fox=Fox',
      'quickfox=quickFox',
      'go=went',
      'src=src',
      'b=b',
      'ts=ts',
      'bts=b.ts',
      'srcbts=src/b.ts',
      '上海=上海',
      'cafe=Café',
    ])
  })

  it.each([
    'a',
    'ab ',
    'a.',
    'a/',
    'aB',
    'a1',
    "a'",
    '_',
    '漢',
    '가',
    '\u0301\u0316',
    'e\u0301',
    '😀',
    '\ud800',
    'A',
    '0',
    '½',
  ])('take linear time on %j', (unit) => {
    expect(growth((size) => wordsOf(unit.repeat(size / unit.length)), 100_000)).toBeLessThan(3.5)
  })
})

describe('a stem', () => {
  it.each([
    ['run', 'running', 'runs'],
    ['hope', 'hoping', 'hoped', 'hopes'],
    ['happy', 'happiness'],
    ['relate', 'relation', 'relational', 'relating'],
    ['cancel', 'cancels', 'canceled', 'cancelled'],
    ['organize', 'organizing', 'organization', 'organizer'],
    ['city', 'cities'],
    ['care', 'cares', 'caring'],
    ['agree', 'agreed', 'agreeing'],
    ['adopt', 'adoption', 'adopted', 'adopting'],
    ['cry', 'cried', 'cries'],
    ['class', 'classes'],
  ])('of %s is that of %s', (...forms) => {
    expect(new Set(forms.map(stemOf)).size).toBe(1)
  })

  it('does not join words of other meaning', () => {
    for (const [one, other] of [
      ['bus', 'bu'],
      ['sing', 's'],
      ['red', 'r'],
      ['hop', 'hope'],
      ['this', 'thi'],
    ])
      expect([stemOf(one!), one]).not.toEqual([stemOf(other!), one])
  })
})

describe('the searched text of a message', () => {
  it('has texts, reasoning, names and arguments of tools, outputs and names of files', () => {
    const text = searchedText({
      content: [
        { type: 'text', text: 'asked' },
        { type: 'reasoning', text: 'thought' },
        {
          type: 'tool-call',
          toolCallId: 'c1',
          toolName: 'read_file',
          input: { path: 'a.ts', lines: [1, 2], all: true },
        },
        { type: 'tool-result', toolCallId: 'c1', output: { type: 'json', value: { found: 'three' } } },
        { type: 'tool-result', toolCallId: 'c2', output: { type: 'error-text', value: 'failed' } },
        {
          type: 'tool-result',
          toolCallId: 'c3',
          output: {
            type: 'content',
            value: [
              { type: 'text', text: 'inner' },
              { type: 'image', image: 'aGlkZGVu' },
            ],
          },
        },
        { type: 'file', data: 'aGlkZGVu', mediaType: 'application/pdf', filename: 'report.pdf' },
        { type: 'image', image: 'aGlkZGVu' },
      ],
    })
    expect(text).toBe(
      'asked\nthought\nread_file path a.ts lines 1 2 all\nfound three\nfailed\ninner\nreport.pdf',
    )
  })

  it('has no encoded data, but long paths and names', () => {
    const encoded = Buffer.from(Array.from({ length: 300 }, (_, i) => (i * 7_919) % 256)).toString('base64')
    const path = '/home/anna/projects/undertext/packages/storage/postgres/migrations/0001_guards'
    expect(searchedText({ content: `see data:image/png;base64,${encoded} in ${path}` })).toBe(
      `see data:image/png;base64,  in ${path}`,
    )
  })

  it('of a string is the string', () => {
    expect(searchedText({ content: 'hello' })).toBe('hello')
  })
})
