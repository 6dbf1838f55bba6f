import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { RULES } from '../../src/core/validity/rules.ts'
import { rulesTable } from './table.ts'

const page = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'validity.md'), 'utf8')

describe('docs/validity.md', () => {
  it('has the table of the rules as they are', () => {
    const [, after = ''] = page.split('## The rules\n')
    const [section = ''] = after.split('\n## ')
    expect(section.slice(section.indexOf('### ')).trim()).toBe(rulesTable().trim())
  })
})

describe('every rule', () => {
  it('has an id of its own', () => {
    expect(new Set(RULES.map(({ id }) => id)).size).toBe(RULES.length)
  })

  it.each(RULES.map((rule) => [rule.id, rule] as const))('%s has scopes and says who says so', (_, rule) => {
    expect(rule.scopes.length).toBeGreaterThan(0)
    expect(rule.says).toMatch(/\.$/)
    expect(rule.sources.length).toBeGreaterThan(0)
    for (const source of rule.sources) expect(source).toMatch(/^(?:https:\/\/\S+|[\w.-]+\/[\w.-]+#\d+)$/)
  })
})
