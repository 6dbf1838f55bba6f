import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'

/* What a machine can check of the texts. The rest is CONTRIBUTING.md, "Style". */

const ROOT = join(import.meta.dirname, '..')
const filesIn = (folder: string, ending: string): string[] =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith(ending))
    .map((file) => `${folder}/${file.replaceAll('\\', '/')}`)
const PAGES = ['README.md', 'ARCHITECTURE.md', 'CONTRIBUTING.md']
const GUIDES = filesIn('docs', '.md').filter(
  (file) => !/^docs\/(?:reference|internals|\.vitepress)\//.test(file),
)

/** The lines of files that match, with the place of each. */
const linesWith = (files: readonly string[], pattern: RegExp): string[] =>
  files.flatMap((file) =>
    readFileSync(join(ROOT, file), 'utf8')
      .split('\n')
      .flatMap((line, i) => (pattern.test(line) ? [`${file}:${i + 1}: ${line.trim()}`] : [])),
  )

describe('the source and the guides', () => {
  const texts = [...filesIn('src', '.ts'), ...GUIDES, ...PAGES]

  it('refer to nothing that a reader of the repository cannot open', () => {
    expect(
      linesWith(texts, /\bseed 00\d|\bchecklist\b|\bS[0-4]-U?\d{2,3}\b|\bC-\d\d\b|\bdesign \d|\blaw \d/i),
    ).toEqual([])
  })

  it('use American spelling', () => {
    expect(
      linesWith(
        texts,
        /(?:recogni|normali|initiali|seriali|summari|organi)s(?:e|ed|es|ing|ation)\b|behaviour/i,
      ),
    ).toEqual([])
  })
})

it('the Markdown has no line above 140 characters, except rows of tables and code', () => {
  const long = [...GUIDES, ...PAGES].flatMap((file) => {
    const text = readFileSync(join(ROOT, file), 'utf8')
    const prose = text.replaceAll(/^\s*(`{3,}|~{3,})[\s\S]*?^\s*\1$/gm, (code) => code.replaceAll(/.+/g, ''))
    return prose
      .split('\n')
      .flatMap((line, i) => (line.length > 140 && !line.startsWith('|') ? [`${file}:${i + 1}`] : []))
  })
  expect(long).toEqual([])
})
