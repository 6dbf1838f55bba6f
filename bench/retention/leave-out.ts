import type { Message } from 'undertext'
import { TextAgentReader } from '../../src/core/messages/text-agent.ts'
import { CallReader } from '../../src/core/summarizers/calls.ts'
import { ConversationReader } from '../../src/core/summarizers/extractive/conversation-reader.ts'
import { type Names, WEIGHTS } from '../../src/core/summarizers/extractive/names.ts'
import { CONTESTANTS } from './contestants.ts'
import type { File } from './conversations.ts'
import { Words } from './identifiers.ts'
import { type Cut, cutsOf, measure, SHARES } from './measure.ts'
import { wordsOfAssistant } from './parts.ts'
import { fitWeights, type Sample } from './regression.ts'
import { aligned } from './table.ts'

/*
 * Whether the weights of names suit only the conversations that they were chosen for. Each kind is measured
 * with the weights of the package, with weights fitted here to all kinds, and with weights fitted to the
 * others only. The last two differ by the advantage of having seen the kind.
 *
 * All weights are fitted. That of the length is no price: where names are chosen, their value is divided by
 * their length, and the weight only reflects that long names are needed less often.
 */

const FEATURES = Object.keys(WEIGHTS)
const SHIPPED = Object.values(WEIGHTS)

/** Measures each file with weights that are fitted without it, and returns the table. */
export async function leaveOut(files: readonly File[]): Promise<string> {
  if (files.length < 2) return 'Leaving one out needs two files or more.\n'
  const groups = files.map(({ conversations }) => conversations.flatMap(cutsOf).flatMap(samplesAt))
  const all = fitWeights(groups)
  const rows = [
    [
      `loss (said) at ${SHARES.map((share) => share * 100).join(', ')} %`,
      'cuts',
      'shipped',
      'all kinds',
      'without it',
    ],
  ]
  for (const [i, file] of files.entries()) {
    const without = fitWeights(groups.filter((_, other) => other !== i))
    const cells: string[] = []
    let cuts = 0
    for (const weights of [SHIPPED, all, without]) {
      setWeights(weights)
      const figures = await measure(file, DEFAULT)
      cells.push(figures.map(({ loss, lossSaid }) => `${loss.toFixed(2)} (${lossSaid.toFixed(2)})`).join(' '))
      cuts = figures[0]!.cuts
    }
    rows.push([file.name, String(cuts), ...cells])
  }
  setWeights(SHIPPED)
  const weights = FEATURES.map((name, i) => `${name} ${SHIPPED[i]} (${all[i]!.toFixed(2)})`)
  return `${aligned(rows)}\nWeights (and fitted to all kinds): ${weights.join(', ')}\n`
}

const DEFAULT = CONTESTANTS.filter(({ name }) => name === 'default')

/** The names before a cut, and whether the assistant uses them after it. */
function samplesAt({ before, after }: Cut): Sample[] {
  const reader = new ConversationReader()
  const textAgent = new TextAgentReader()
  const calls = new CallReader()
  for (const message of before) {
    const read = textAgent.read(message as Message)
    reader.add(read, calls.add(read))
  }
  const { names, count } = reader.conversation()
  const columns = FEATURES.map((_, i) => featureOf(names, count, i))
  const used = new Words(wordsOfAssistant(after))
  return [...columns[0]!.keys()].flatMap((name): Sample[] => {
    const features = columns.map((column) => column.get(name)!)
    // Noise is worth nothing whatever the weights.
    return features.every(Number.isFinite) ? [{ features, isTrue: used.has(name) }] : []
  })
}

/** One feature of each name: the logit of its value when this feature has the weight 1 and the others 0. */
function featureOf(names: Names, at: number, index: number): ReadonlyMap<string, number> {
  setWeights(FEATURES.map((_, i) => Number(i === index)))
  const found = new Map<string, number>()
  names.each((name) => {
    const value = names.valueOf(name, at)
    found.set(name, Math.log(value / (1 - value)))
  })
  setWeights(SHIPPED)
  return found
}

/** Sets the weights of the summarizer, in the order of `FEATURES`. */
function setWeights(weights: readonly number[]): void {
  Object.assign(WEIGHTS, Object.fromEntries(FEATURES.map((name, i) => [name, weights[i]!])))
}
