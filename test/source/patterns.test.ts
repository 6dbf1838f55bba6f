import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'

const SOURCE = join(import.meta.dirname, '..', '..', 'src')
/** `/=+$/` and the like: a run of one kind of character, tried anew from each of its characters, takes the square of its length. */
const ENDLESS_RUN = /\/(?:\\.|\[(?:\\.|[^\]\\])+\]|[^/\\[\]\s^])[+*]\$\/[a-z]*/g

it.each(['/=+$/', '/\\n+$/', '/\\s*$/', '/[\'"`]+$/g', '/[.,:;)\\]]+$/'])('finds %s', (pattern) => {
  expect(`text.replace(${pattern}, '')`.match(ENDLESS_RUN)).toEqual([pattern])
})

it('cuts what a text ends with without a pattern that takes the square of its length', () => {
  const files = readdirSync(SOURCE, { recursive: true, encoding: 'utf8' }).filter((file) =>
    file.endsWith('.ts'),
  )
  const found = files.flatMap((file) =>
    (readFileSync(join(SOURCE, file), 'utf8').match(ENDLESS_RUN) ?? []).map(
      (pattern) => `${file}: ${pattern}`,
    ),
  )
  expect(found).toEqual([])
})
