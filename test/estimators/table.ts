import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { tokenizerEstimator } from '../../src/core/tokens/index.ts'
import { COLUMNS, columns, contextErrors, corpusRows, type Row, sampleRows } from './measurements.ts'
import { samples } from './samples.ts'

/*
 * Writes the tables of docs/estimators.md between their marks: `npm run estimators`. What needs the shared
 * data stays as it is where that is absent.
 */

export const DOCUMENT = fileURLToPath(new URL('../../docs/estimators.md', import.meta.url))

export function signed(percent: number): string {
  const rounded = percent.toFixed(1)
  return percent > 0 && rounded !== '0.0' ? `+${rounded}` : rounded.replace(/^-0\.0$/, '0.0')
}

function tableOf(rows: readonly Row[]): string {
  return [
    `| content | tokens (o200k) | ${COLUMNS.join(' | ')} |`,
    `| --- | --: | ${COLUMNS.map(() => '--:').join(' | ')} |`,
    ...rows.map(({ kind, tokens, errors }) => `| ${kind} | ${tokens} | ${errors.map(signed).join(' | ')} |`),
  ].join('\n')
}

function replaceBetween(document: string, mark: string, text: string): string {
  const [begin, end] = [`<!-- ${mark} -->`, `<!-- /${mark} -->`]
  const from = document.indexOf(begin) + begin.length
  return `${document.slice(0, from)}\n${text}\n${document.slice(document.indexOf(end))}`
}

/** Milliseconds for a megabyte of all samples one after the other, best of five. */
async function speeds(): Promise<string> {
  const all = samples()
    .map(([, text]) => text)
    .join('\n')
  const text = all.repeat(Math.ceil(1_000_000 / all.length)).slice(0, 1_000_000)
  const lines = [...(await columns()), await tokenizerEstimator('o200k_base')].map((estimator) => {
    let best = Number.POSITIVE_INFINITY
    for (let run = 0; run < 5; run++) {
      const start = performance.now()
      estimator.measureText(text)
      best = Math.min(best, performance.now() - start)
    }
    return `| ${estimator.name} | ${best < 0.1 ? '< 0.1' : best.toFixed(1)} |`
  })
  return ['| estimator | ms per million characters |', '| --- | --: |', ...lines].join('\n')
}

async function main(): Promise<void> {
  let document = readFileSync(DOCUMENT, 'utf8')
  document = replaceBetween(document, 'samples', tableOf(await sampleRows()))
  const corpus = await corpusRows()
  if (corpus !== undefined) document = replaceBetween(document, 'corpus', tableOf(corpus))
  const contexts = await contextErrors()
  if (contexts !== undefined) {
    const lines = contexts.map(
      ({ name, median, p5, p95 }) => `| ${name} | ${signed(median)} | ${signed(p5)} | ${signed(p95)} |`,
    )
    const head = ['| estimator | median | 5th percentile | 95th percentile |', '| --- | --: | --: | --: |']
    document = replaceBetween(document, 'context', [...head, ...lines].join('\n'))
  }
  document = replaceBetween(document, 'speed', await speeds())
  writeFileSync(DOCUMENT, document)
  console.log(`written: ${DOCUMENT}`)
}

if (process.argv[1] === join(import.meta.dirname, 'table.ts')) await main()
