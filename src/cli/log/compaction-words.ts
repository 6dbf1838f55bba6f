import type { Compaction } from '../../storage/storage.ts'
import { counted, money } from '../output/figures.ts'

/** Its kind, with the stage where that is another word. */
export function kindName(compaction: Compaction): string {
  const { kind, params } = compaction
  const usual = kind === 'condense' ? 'summarize' : kind
  return typeof params.stage === 'string' && params.stage !== usual ? `${kind} (${params.stage})` : kind
}

/** What it did: `228 rows hidden, 1 inserted`. */
export function workOf({ rowsHidden, partsReplaced, rowsInserted }: Compaction): string {
  const said = [
    ...(rowsHidden > 0 ? [`${counted(rowsHidden, 'row')} hidden`] : []),
    ...(partsReplaced > 0 ? [`${counted(partsReplaced, 'part')} replaced`] : []),
    ...(rowsInserted > 0 ? [`${counted(rowsInserted, 'row')} inserted`] : []),
  ]
  return said.length === 0 ? 'nothing changed' : said.join(', ')
}

/** Who wrote the summary and what it cost: `extractive`, `claude-haiku-4, $0.0123`. */
export function writerOf({ summarizer, model, cost, error }: Compaction): string {
  const name = model ?? summarizer
  return [
    ...(name === undefined ? [] : [name]),
    ...(cost === undefined ? [] : [money(cost)]),
    ...(error === undefined ? [] : [error]),
  ].join(', ')
}
