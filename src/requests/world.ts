import type { ContextStats } from '../compaction/stats.ts'
import type { ChosenModel } from '../config/model.ts'
import type { ResolvedSettings } from '../config/resolve.ts'
import type { StatsOptions } from '../config/store-options.ts'
import type { NewMessage, ViewMessage } from '../messages/message.ts'
import { type Mend, type RenderOptions, renderView } from '../rendering/render.ts'
import type { Estimator } from '../tokens/estimators/estimator-schema.ts'
import { measureMessage, type Sizes, SizesSum, tokensOf, tokensOfText } from '../tokens/tokens.ts'
import type { RenderedMessage } from './prepared.ts'
import { asRows } from './prompt.ts'

/** A session at one moment: view, figures and position are of the same one. An unknown session is an empty one. */
export type World = {
  /** The last position of the log, 0 for none. */
  readonly position: number
  readonly viewEpoch: number
  readonly view: readonly ViewMessage[]
  /** Rows of the view and their sizes, as the session counts them. */
  readonly rows: number
  readonly sizes: Sizes
  readonly estimator: Estimator
  readonly chosen: ChosenModel
  readonly settings: ResolvedSettings
  /** How the session shows its view. */
  readonly manner: RenderOptions
  readonly stats: (request: StatsOptions) => ContextStats
}

/** What goes along with a view. */
type Going = {
  readonly prompt: readonly NewMessage[]
  /** The section of files that stands in the prompt, empty for none. */
  readonly section: string
  readonly request: StatsOptions
  readonly rendering: Partial<RenderOptions>
}

/** A request as it would be sent, and what it takes. */
export type Draft = {
  readonly messages: readonly RenderedMessage[]
  readonly mends: readonly Mend[]
  readonly stats: ContextStats
  /** What is told of the pending part, so that stats are those of the rendering. */
  readonly request: StatsOptions
  readonly pendingTokens: number
}

/** Tokens that a prompt adds to a view, by the estimator. */
export function promptTokens({ estimator, chosen, rows }: World, prompt: readonly NewMessage[]): number {
  if (prompt.length === 0) return 0
  const tokens = tokensOf(sizesOf(prompt, estimator), prompt.length, estimator, chosen.key)
  return rows === 0 ? tokens : tokens - estimator.tokensPerConversation
}

/**
 * Renders a request and counts what was rendered, text by text: mends, headers of summaries and marks between files are in the
 * figures. Where rendering makes a request shorter the longer figure stands.
 */
export function drafted(world: World, { prompt, section, request, rendering }: Going): Draft {
  const { view, estimator, chosen } = world
  const shown = prompt.length === 0 ? view : view.concat(asRows(prompt))
  const { messages, mends } = renderView(shown, { ...world.manner, ...rendering })
  const history = tokensOf(world.sizes, world.rows, estimator, chosen.key)
  const rendered = tokensOf(sizesOf(messages, estimator), messages.length, estimator, chosen.key)
  const pendingTokens = Math.max(0, promptTokens(world, prompt), rendered - history)
  const files = section === '' ? 0 : tokensOfText(section, estimator, chosen.key)
  const counted = {
    ...request,
    pendingTokens: Math.max(0, pendingTokens - files),
    ...(section !== '' && { fileAttachments: [{ content: section }] }),
  }
  return { messages, mends, stats: world.stats(counted), request: counted, pendingTokens }
}

function sizesOf(messages: readonly Pick<NewMessage, 'content'>[], estimator: Estimator): Sizes {
  const sum = new SizesSum()
  for (const message of messages) sum.add(measureMessage(message, estimator))
  return sum.value
}
