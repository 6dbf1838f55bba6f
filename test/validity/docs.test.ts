import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { RULES } from '../../src/core/validity/validate-request.ts'
import { expectedRows, rowsOf } from './table.ts'

const page = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'validity.md'), 'utf8')

const rows = rowsOf(page)

describe('docs/validity.md', () => {
  it('has the rules as they are', () => {
    expect(rows.map(({ id, apis, description }) => ({ id, apis, description }))).toEqual(expectedRows())
  })

  it.each(rows.map((row) => [row.id, row] as const))(
    'says of %s what breaks it and who says so',
    (_, row) => {
      expect(row.brokenBy).toMatch(/\S/)
      const links = row.sources.split(' ')
      expect(links.length).toBeGreaterThan(0)
      for (const link of links)
        expect(link).toMatch(
          /^\[(?:[\w.-]+\]\(https:\/\/\S+\)|([\w.-]+\/[\w.-]+)#(\d+)\]\(https:\/\/github\.com\/\1\/issues\/\2\))$/,
        )
    },
  )
})

describe('every rule', () => {
  it('has an id of its own', () => {
    expect(new Set(RULES.map(({ id }) => id)).size).toBe(RULES.length)
  })

  it.each(RULES.map((rule) => [rule.id, rule] as const))('%s has scopes and a sentence', (_, rule) => {
    expect(rule.scopes.length).toBeGreaterThan(0)
    expect(rule.description).toMatch(/\.$/)
  })
})
