import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { JOB_STATES } from '../../src/storage/storage.ts'
import { examplesOf, runAsUser } from '../support/run-as-user.ts'

const PAGE = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'background.md'), 'utf8')

it('has an example that prints the output shown', async () => {
  const [example] = examplesOf(PAGE)
  expect((await runAsUser(example!)).trim().split('\n')).toEqual([
    'queued',
    'started',
    'completed',
    'done summary',
  ])
})

it('tells of every state', () => {
  expect([...PAGE.matchAll(/^\| `(\w+)` \| (?=[a-z])/gm)].map(([, state]) => state)).toEqual([...JOB_STATES])
})
