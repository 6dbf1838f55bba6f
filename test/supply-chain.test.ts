import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'

/* What SECURITY.md and package.json promise about the package and its origin. test/package.slow.ts has the packed package. */

const ROOT = join(import.meta.dirname, '..')
const textOf = (path: string): string => readFileSync(join(ROOT, path), 'utf8')
const manifest = JSON.parse(textOf('package.json')) as {
  readonly files: readonly string[]
  readonly scripts: Readonly<Record<string, string>>
  readonly dependencies: Readonly<Record<string, string>>
  readonly publishConfig: object
}
const page = textOf('SECURITY.md')
/** The rows of the table in a section. */
const rowsOf = (section: string): string[][] =>
  page
    .split(`\n## ${section}\n`)[1]!
    .split(/\n## |\nKnown advisories /)[0]!
    .trim()
    .split('\n\n')
    .find((block) => block.startsWith('| '))!
    .split('\n')
    .slice(2)
    .map((row) => row.split('|').slice(1, -1))

describe('the package', () => {
  it('runs nothing when it is installed', () => {
    const run = ['preinstall', 'install', 'postinstall', 'prepublish', 'preprepare', 'prepare', 'postprepare']
    expect(run.filter((name) => name in manifest.scripts)).toEqual([])
    // npm would compile a package that has this file.
    expect(existsSync(join(ROOT, 'binding.gyp'))).toBe(false)
  })

  it('has a reason of one line for each dependency', () => {
    const rows = rowsOf('Dependencies').map(([name, reason]) => [
      name!.replaceAll(/[ `]/g, ''),
      reason!.trim(),
    ])
    expect(rows.map(([name]) => name)).toEqual(Object.keys(manifest.dependencies))
    for (const [name, reason] of rows) expect(reason, name).toMatch(/^\S.{19,}$/)
  })

  it('contains SECURITY.md, and is published with provenance', () => {
    expect(manifest.files).toContain('SECURITY.md')
    expect(manifest.publishConfig).toEqual({ access: 'public', provenance: true })
  })
})

describe('SECURITY.md', () => {
  it('names for each promise tests that exist', () => {
    const rows = rowsOf('Promises, and the tests that prove them')
    expect(rows.length).toBeGreaterThan(15)
    for (const [promise, tests] of rows) {
      const files = [...tests!.matchAll(/`([^`]+)`/g)].map(([, file]) => file!)
      expect(files.length, promise).toBeGreaterThan(0)
      expect(
        files.filter(
          (file) => !/^test\/.*\.(?:test|slow|long)\.ts$/.test(file) || !existsSync(join(ROOT, file)),
        ),
        promise,
      ).toEqual([])
    }
  })

  it('links to pages that exist', () => {
    for (const [, path] of page.matchAll(/\]\(([^)#]+)/g))
      expect(existsSync(join(ROOT, path!)), path).toBe(true)
  })
})

describe('the workflow that publishes', () => {
  const workflow = textOf('.github/workflows/publish.yml')

  it('has an identity for npm, no token, and no other permission than to read', () => {
    expect(workflow).toMatch(/^permissions: \{\}$/m)
    const granted = /\n {4}permissions:\n((?: {6}.+\n)+)/.exec(workflow)![1]!
    expect(granted).toBe('      contents: read\n      id-token: write\n')
    expect(workflow).not.toMatch(/secrets\.|NODE_AUTH_TOKEN|NPM_TOKEN/)
  })

  it('names actions by commit, and runs only scripts that exist', () => {
    const actions = [...workflow.matchAll(/uses: (\S+)( #.*)?$/gm)]
    expect(actions.length).toBe(3)
    for (const [, action, version] of actions) {
      expect(action).toMatch(/^actions\/[\w-]+@[0-9a-f]{40}$/)
      expect(version).toMatch(/^ # v\d+\.\d+\.\d+$/)
    }
    const scripts = [...workflow.matchAll(/npm run (?:--silent )?([\w:]+)/g)].map(([, name]) => name!)
    expect(scripts.filter((name) => !(name in manifest.scripts))).toEqual([])
    expect(scripts).toContain('sbom')
  })

  it('stops for advisories and for wrong signatures before it publishes', () => {
    const lines = workflow.split('\n')
    const at = (command: string): number => lines.findIndex((line) => line.includes(`- run: ${command}`))
    const order = ['npm audit signatures', 'npm audit --omit=dev', 'npm test', 'npm publish'].map(at)
    expect(order.every((line) => line > 0)).toBe(true)
    expect(order).toEqual(order.toSorted((a, b) => a - b))
  })
})

it('there is no workflow that is not looked at here', () => {
  expect(readdirSync(join(ROOT, '.github', 'workflows'))).toEqual(['publish.yml'])
})
