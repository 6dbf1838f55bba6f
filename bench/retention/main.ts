import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { CONTESTANTS } from './contestants.ts'
import { type Conversation, corpusPath, filesToMeasure, readConversations } from './conversations.ts'
import { leaveOut } from './leave-out.ts'
import { longLife } from './long-life.ts'
import { type Figures, measure, SHARES } from './measure.ts'
import { compareReferences } from './reference.ts'
import {
  type Label,
  rulesWritten,
  SUMMARY_SHARE,
  summaryFigures,
  summaryRows,
  type Written,
} from './summaries.ts'
import { aligned } from './table.ts'

/*
 * How much of what is needed later a compacted view still holds. `--json` prints the figures as one line a
 * file; `--only a,b` measures these contestants and the window; other arguments name files of conversations.
 *
 * The summaries in the views of 25 % are measured by themselves. `--print` prints the last one of each conversation and contestant,
 * `--rules` their lines about rules as JSON lines. In these, `isRule` can be set by hand to true or false; `--labels FILE` reads them and
 * reports how many lines are rules.
 *
 * Three other measurements: `--leave-out` measures each kind of conversations with weights of names that are
 * fitted without it, `--long-life` a store over 1,100 turns, `--reference` summaries by models beside
 * offline ones.
 */

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    json: { type: 'boolean', default: false },
    only: { type: 'string' },
    'leave-out': { type: 'boolean', default: false },
    'long-life': { type: 'boolean', default: false },
    reference: { type: 'boolean', default: false },
    print: { type: 'boolean', default: false },
    rules: { type: 'boolean', default: false },
    labels: { type: 'string' },
  },
})

const wanted = values.only?.split(',')
const contestants = CONTESTANTS.filter(({ name }, at) => at === 0 || (wanted?.includes(name) ?? true))
const labels = readLabels(values.labels)
const paths = filesToMeasure(positionals)
if (paths.length === 0) {
  process.stdout.write(
    'Nothing to measure: name files of conversations, or set UNDERTEXT_SHARED to the folder with the corpus.\n',
  )
}
if (values['leave-out']) process.stdout.write(await leaveOut(paths.map(readConversations)))
else if (values['long-life']) process.stdout.write(await longLife(codingSession()))
else if (values.reference) process.stdout.write(await compareReferences())
else for (const path of paths) await measureFile(path)

function codingSession(): Conversation {
  return readConversations(positionals[0] ?? corpusPath('coding-session.anthropic.jsonl')).conversations[0]!
}

function readLabels(path: string | undefined): readonly Label[] {
  const lines = path === undefined ? [] : readFileSync(path, 'utf8').split('\n')
  return lines.filter((line) => line.trim() !== '').map((line) => JSON.parse(line) as Label)
}

async function measureFile(path: string): Promise<void> {
  try {
    const file = readConversations(path)
    const written = new Map<string, Written[]>()
    const figures = await measure(file, contestants, (contestant, share, summary) => {
      if (share !== SUMMARY_SHARE) return
      written.set(contestant, [...(written.get(contestant) ?? []), summary])
    })
    const own = labels.filter((label) => label.file === file.name)
    const summaries = new Map([...written].map(([name, all]) => [name, summaryFigures(all, own)]))
    if (values.print) for (const [name, all] of written) process.stdout.write(texts(name, all))
    else if (values.rules)
      for (const all of written.values())
        for (const rule of rulesWritten(file.name, all, own))
          process.stdout.write(`${JSON.stringify(rule)}\n`)
    else if (values.json) process.stdout.write(`${JSON.stringify(figures.map(withSummaries))}\n`)
    else {
      process.stdout.write(table(figures))
      if (summaries.size > 0) process.stdout.write(`\n${aligned(summaryRows(summaries))}`)
    }

    function withSummaries(one: Figures): Figures & { summaries?: unknown } {
      const found = one.share === SUMMARY_SHARE ? summaries.get(one.contestant) : undefined
      return found === undefined ? one : { ...one, summaries: found }
    }
    for (const { contestant, share, holes, cuts } of figures) {
      if (holes === 0) continue
      process.stderr.write(
        `${contestant}, ${share * 100} %: after ${holes} of ${cuts} cuts, messages after the newest summary are in no summary and not in the view\n`,
      )
      process.exitCode = 1
    }
  } catch (error) {
    process.stderr.write(`${path} cannot be measured: ${error instanceof Error ? error.message : error}\n`)
    process.exitCode = 2
  }
}

/** The last summary of each conversation, with what it replaces. */
function texts(contestant: string, written: readonly Written[]): string {
  const last = new Map(written.map((one) => [one.conversation, one]))
  return [...last.values()]
    .map(
      ({ conversation, before, covered, text }) =>
        `\n===== ${conversation}, ${contestant} at ${SUMMARY_SHARE * 100} %, ${covered} of ${before.length} messages\n${text}\n`,
    )
    .join('')
}

/** A line a contestant: what it kept, what it lost over the window's loss, how it used its budget, and which
 * share of the questions about facts it answers right and wrong, at each share. */
function table(figures: readonly Figures[]): string {
  const [first] = figures
  if (first === undefined) return ''
  const names = [...new Set(figures.map(({ contestant }) => contestant))]
  const width = Math.max(...names.map((name) => name.length))
  const lines = names.map((name) => {
    const cells = SHARES.map((share) => {
      const found = figures.find((one) => one.contestant === name && one.share === share)!
      const figure = (value: number) => (Number.isFinite(value) ? value.toFixed(2) : '–').padStart(5)
      const { retention, loss, lossSaid, filled, met, over, right, wrong } = found
      return `${retention.toFixed(3)} ${figure(loss)} ${figure(lossSaid)}  ${[filled, met, over, right, wrong].map(figure).join(' ')}`
    })
    const milliseconds = figures.find((one) => one.contestant === name)!.milliseconds
    return `${name.padEnd(width)}  ${cells.join(' | ')}  ${milliseconds.toFixed(0).padStart(5)}\n`
  })
  const heads = SHARES.map((share) =>
    `${share * 100} %: kept loss said filled met over right wrong`.padEnd(49),
  ).join('| ')
  return `\n${first.file}, ${first.cuts} cuts, ${first.used} identifiers\n${' '.repeat(width + 2)}${heads} ms\n${lines.join('')}`
}
