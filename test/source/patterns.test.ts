import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'
import { expect, it } from 'vitest'

/*
 * Patterns that take the square of the length of a run of one kind of character, because they are tried anew from each of its
 * characters. `test/linear` measures all others.
 */

const SOURCE = join(import.meta.dirname, '..', '..', 'src')

const ONE = String.raw`(?:\\[pP]\{[^}]*\}|\\.|\[(?:\\.|[^\]\\])+\]|[^\\[\](){}|^$*+?])`
/** `=+$` and the like: what a text ends with. */
const ENDLESS_RUN = new RegExp(String.raw`^${ONE}[+*]\$$`)
/**
 * `\s*\|` and the like: a run before something that must follow. A run alone is matched at once, and so is one before a group that may be
 * absent.
 */
const LEADING_RUN = new RegExp(String.raw`^(?:\(\?:|\()*${ONE}[+*](?!\??\)?$|\(\?:[^()]*\)[*?]$).`)
/** Begins with a run of at most 160 units. */
const SHORT: ReadonlySet<string> = new Set([
  // Tried with a secret of 20 characters.
  '/.+EXAMPLE$/',
  String.raw`/\p{Lu}+(?!\p{Ll})|\p{Lu}?[\p{Ll}\p{Lt}\p{Lm}\p{Lo}]+|\p{N}+/gu`,
])

function isSquare(pattern: string): boolean {
  const end = pattern.lastIndexOf('/')
  const [body, flags] = [pattern.slice(1, end), pattern.slice(end + 1)]
  // A sticky pattern is tried from one place.
  return !flags.includes('y') && (ENDLESS_RUN.test(body) || LEADING_RUN.test(body))
}

function patternsIn(file: string): string[] {
  const source = ts.createSourceFile(file, readFileSync(join(SOURCE, file), 'utf8'), ts.ScriptTarget.ES2023)
  const found: string[] = []
  const visit = (node: ts.Node): void => {
    if (ts.isRegularExpressionLiteral(node)) found.push(node.text)
    ts.forEachChild(node, visit)
  }
  visit(source)
  return found
}

it.each([
  '/=+$/',
  '/\\n+$/',
  '/\\s*$/',
  '/[\'"`]+$/g',
  '/[.,:;)\\]]+$/',
  '/\\s*\\|\\s*head$/',
  '/(\\d+) edit/',
  '/(?:[\\w.]+\\/)?x/g',
  '/\\p{L}+:/u',
  '/\\w+(?:-\\w+)*:/',
])('finds %s', (pattern) => {
  expect(isSquare(pattern)).toBe(true)
})

it.each([
  '/^\\s*a/',
  '/\\s+/g',
  '/(\\d+)/',
  '/a+b{0,9}x/y',
  '/[a-z]{1,9} x/',
  '/\\d{1,9}[ab]+/',
  '/\\w+(?:-\\w+)*/g',
])('does not find %s', (pattern) => {
  expect(isSquare(pattern)).toBe(false)
})

it('no pattern takes the square of the length of a run', () => {
  const files = readdirSync(SOURCE, { recursive: true, encoding: 'utf8' }).filter((file) =>
    file.endsWith('.ts'),
  )
  const found = files.flatMap(patternsIn).filter(isSquare)
  expect(found.filter((pattern) => !SHORT.has(pattern))).toEqual([])
  expect([...SHORT].filter((pattern) => !found.includes(pattern))).toEqual([])
})
