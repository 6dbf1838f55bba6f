import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'

/** What every page of an ecosystem tells, in this order; what else it tells stands in between. */
const TOLD = ['What is stored', 'What is reported', 'What can be undone', 'Limits']

const PAGES = ['anthropic', 'claude-agent-sdk', 'google', 'langchain', 'openai', 'openai-agents']

it.each(PAGES)('the page of %s begins with how to install it and tells what all pages tell', (name) => {
  const page = readFileSync(join(import.meta.dirname, '..', '..', 'docs', `${name}.md`), 'utf8')
  const headings = [...page.matchAll(/^## (.+)$/gm)].map(([, heading]) => heading!)
  expect(page).toMatch(/^# .+\n\n```sh\nnpm install undertext @?[a-z]/)
  expect(page.indexOf('```ts\n')).toBeLessThan(page.indexOf('\n## '))
  expect(headings.filter((heading) => TOLD.includes(heading))).toEqual(TOLD)
  expect(headings.slice(-2)).toEqual(['Limits', 'Names'])
})
