import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { PACKAGE_VERSION } from '../src/core/version.ts'

it('is the version in package.json', () => {
  const manifest = JSON.parse(readFileSync(join(import.meta.dirname, '..', 'package.json'), 'utf8')) as object
  expect({ version: PACKAGE_VERSION }).toEqual({ version: (manifest as { version: string }).version })
})
