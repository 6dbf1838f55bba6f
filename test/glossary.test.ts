import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'

/* One word for each thing: comments, names and messages of the source, and the docs. */

/** Words that this project does not use, and the words to use. */
const GLOSSARY: readonly (readonly [word: RegExp, instead: string])[] = [
  [/\b(?:stands?|stood)\b/i, 'is, is stored, replaces'],
  [/\bbehind\b|\bin front of\b/i, 'after, before'],
  [/\b(?:told|hears)\b/i, 'receives, is notified, lists'],
  [/\bunasked\b|\bnobody asked\b/i, 'automatic'],
  [/\b(?:nobody|somebody|whoever)\b/i, 'the caller, another process, no …'],
  [/(?<!\bthere )\bis none\b/i, 'is undefined, null or ignored'],
  [/\bby hand\b/i, 'manual, manually'],
  [/\b(?:taken?|takes|took|puts?) (?:it |them )?back\b/i, 'undone, redone; rewound for messages'],
  [/\bthrown away\b/i, 'invalidated'],
  [/\b(?:un)?said\b/i, 'a text, a message'],
  [/\/\*\* (?:Answers|Says|Tells)\b/, 'Returns, Reports'],
  // References that a reader of the repository cannot open.
  [/\bseed 00\d|\bchecklist\b|\bS[0-4]-U?\d{2,3}\b|\bC-\d\d\b|\bdesign \d|\blaw \d/i, 'the reason itself'],
]

/** Names in files and APIs, which stay. */
const KEPT = /moved-behind-block|hidden_manual/g

/** Texts for models: a changed prompt changes its answers. Wordings of clients. Words of a language. And the map to the founding documents. */
const LEFT_OUT = [
  'src/core/summarizers/model/prompt.ts',
  'src/core/summarizers/prompts.ts',
  'src/core/files/summary-plan.ts',
  'src/core/files/attached-file.ts',
  'src/core/messages/user-answers.ts',
  'src/core/search/english.ts',
  'docs/internals/seeds.md',
]
/** A text that a model receives in place of an empty error. */
const SENT = "'[The tool failed and said nothing]'"

/** CONTRIBUTING.md has the glossary as a table. */
const isGlossaryRow = (file: string, line: string): boolean =>
  file === 'CONTRIBUTING.md' && line.startsWith('| ')

const ROOT = join(import.meta.dirname, '..')
const filesIn = (folder: string, ending: string): string[] =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith(ending))
    .map((file) => `${folder}/${file.replaceAll('\\', '/')}`)

const FILES = [
  ...filesIn('src', '.ts'),
  ...filesIn('docs', '.md').filter((file) => !file.startsWith('docs/reference/')),
  'README.md',
  'ARCHITECTURE.md',
  'CONTRIBUTING.md',
].filter((file) => !LEFT_OUT.includes(file))

describe('the glossary', () => {
  it.each(GLOSSARY)('%s is not used (instead: %s)', (word) => {
    const found = FILES.flatMap((file) =>
      readFileSync(join(ROOT, file), 'utf8')
        .split('\n')
        .flatMap((line, i) =>
          !isGlossaryRow(file, line) && word.test(line.replace(KEPT, '').replace(SENT, ''))
            ? [`${file}:${i + 1}: ${line.trim()}`]
            : [],
        ),
    )
    expect(found).toEqual([])
  })

  it('leaves out only files that exist', () => {
    for (const file of LEFT_OUT) expect(readFileSync(join(ROOT, file), 'utf8')).not.toBe('')
  })
})

it('the Markdown has no line above 140 characters, except rows of tables and code', () => {
  const guides = readdirSync(join(ROOT, 'docs')).filter((name) => name.endsWith('.md'))
  const files = [...guides.map((name) => `docs/${name}`), 'README.md', 'ARCHITECTURE.md', 'CONTRIBUTING.md']
  const long = files.flatMap((file) => {
    const text = readFileSync(join(ROOT, file), 'utf8')
    const prose = text.replaceAll(/^\s*(`{3,}|~{3,})[\s\S]*?^\s*\1$/gm, (code) => code.replaceAll(/.+/g, ''))
    return prose
      .split('\n')
      .flatMap((line, i) => (line.length > 140 && !line.startsWith('|') ? [`${file}:${i + 1}`] : []))
  })
  expect(long).toEqual([])
})
