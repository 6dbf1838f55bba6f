import { expect, it } from 'vitest'
import { openStore } from '../../src/index.ts'
import { assistant, type Row, sectionsOf, summarize, user } from './support.ts'

const FILLER = 'The build finished and nothing else was printed. '.repeat(60)
const named = (name: string, row: Row): Row => ({ ...row, metadata: { openai: { name } } })

it('a console and a sub-agent are not the user', () => {
  const sections = sectionsOf(
    summarize([
      named('console', user('Never run this in production. Use /help.')),
      user('Draw the curve of the prices.'),
      assistant(`Drawn in curve.svg. ${FILLER}`),
      named('reviewer', user('Always review the curve before the release.')),
    ]),
  )

  expect(sections['Primary Request and Intent']).toEqual(['First request: "Draw the curve of the prices."'])
  expect(sections['Constraints and Established Rules']).toBeUndefined()
  expect(sections['Pending Tasks']).toBeUndefined()
})

it('the first speaker is the user, when all have names', () => {
  const sections = sectionsOf(
    summarize([
      named('anna', user('Never paint the gate red.')),
      named('planner', user('You must paint the gate green.')),
      assistant(`Painted. ${FILLER}`),
    ]),
  )

  expect(sections['Constraints and Established Rules']).toEqual(['User: "Never paint the gate red."'])
})

it('a group talk is told by topic and speaker, without requests and rules', () => {
  const sections = sectionsOf(
    summarize([
      named('ann', user('How do I refund a charge that was captured last year?')),
      named('bob', user('Hi all, my webhook is called twice for each invoice, why?')),
      named('cleo', user('ann: you must create a transfer instead, refunds end after 180 days')),
      named('cleo', user('bob: always compare the id of the event, deliveries are repeated')),
      named('bob', user(`thanks, that explains it. ${FILLER}`)),
    ]),
  )

  expect(sections['Task Evolution']).toEqual([
    'ann: "How do I refund a charge that was captured last year?" → cleo: "you must create a transfer instead, refunds end after 180 days"',
    'bob: "Hi all, my webhook is called twice for each invoice, why?" → cleo: "always compare the id of the event, deliveries are repeated"',
  ])
  expect(sections['Primary Request and Intent']).toBeUndefined()
  expect(sections['Constraints and Established Rules']).toBeUndefined()
})

it('of several agents the last statement of each is told', () => {
  const sections = sectionsOf(
    summarize([
      user('Which season pass is cheaper?'),
      named('Planner', assistant('The searcher has to find both prices.')),
      named('Searcher', assistant(`The gold pass costs 130 dollars.\n\nShall I go on? ${FILLER}`)),
      named('Planner', assistant('The pass is cheaper by 60 dollars.')),
    ]),
  )

  expect(sections['Task Evolution']?.filter((line) => !line.startsWith('→')).slice(1)).toEqual([
    'Searcher: "The gold pass costs 130 dollars."',
    'Planner: "The pass is cheaper by 60 dollars."',
  ])
})

it('a store passes the names of the speakers to the summarizer', async () => {
  await using store = await openStore(':memory:', { env: false })
  const said = (name: string, content: string) => ({ role: 'user' as const, content, metadata: { name } })
  await store.append('s', [
    said('ann', 'How do I refund a charge that was captured last year?'),
    said('cleo', 'ann: you must create a transfer instead, refunds end after 180 days'),
    said('bob', `I was away. ${FILLER}`),
    said('ann', 'It worked.'),
    said('ann', 'Good night, all of you.'),
  ])
  await store.compactSession('s', { targetTokens: 400, keepRecentTokens: 20, summaryMaxTokens: 300 })
  const [row] = await store.getEffectiveHistory('s')

  expect(row!.content).toContain(
    'ann: "How do I refund a charge that was captured last year?" → cleo: "you must create a transfer instead, refunds end after 180 days"',
  )
  expect(row!.content).not.toContain('Rules')
})
