import { planRun } from '../compaction/plan-run.ts'
import type { ContentReader, PlannedRun } from '../compaction/run-draft.ts'
import { resolveModel } from '../config/model.ts'
import { arrayRunConfig, type CompactionOptions, resolveSettings } from '../config/run-config.ts'
import { isJsonObject, type JsonObject } from '../messages/json.ts'
import type { ChatMessage } from '../model/message-parts.ts'
import { NO_SIZES } from '../tokens/tokens.ts'
import { getContextWindowSize } from '../tokens/windows.ts'
import { type ArrayRows, rowsOf } from './rows.ts'

type Snapshot = PlannedRun['snapshot']

/**
 * Plans a run over an array by the store's own pipeline: the same stages in the same order, the same defaults,
 * the same rules for what a summary must be. Nothing is stored; the array is not changed.
 *
 * The list may grow meanwhile: `given` is what it held. Throws `INVALID_INPUT` for messages it cannot read, and `ABORTED`.
 */
export async function runPipeline(
  messages: readonly ChatMessage[],
  options: CompactionOptions,
  what: string,
): Promise<PlannedRun & { readonly given: readonly ChatMessage[] }> {
  const config = arrayRunConfig(options)
  const chosen = resolveModel(undefined, config.provider, config.model)
  const rows = rowsOf(messages, chosen.key, what)
  const given = [...messages]
  const snapshot: Snapshot = { session: NO_SESSION, view: rows.view, nextOrdinal: 1 }
  const settings = resolveSettings(config, {
    chosen,
    contextWindow: getContextWindowSize(chosen.key, chosen.model),
    viewEpoch: 0,
    readings: { measurement: undefined, calibration: undefined },
    historyTokens: rows.view.tokens,
    estimator: rows.view.estimator,
  })
  const run = await planRun(contentsOf(given, rows), snapshot, settings, config, { kind: 'write' })
  return { ...run, given }
}

/** An array belongs to no session; what a session would say about provider and model, the config says. */
const NO_SESSION: Snapshot['session'] = {
  id: '',
  incarnation: '',
  owner: undefined,
  title: undefined,
  provider: undefined,
  model: undefined,
  config: undefined,
  metadata: undefined,
  estimator: '',
  createdAt: 0,
  updatedAt: 0,
  archivedAt: undefined,
  messageCount: 0,
  visibleCount: 0,
  visibleSizes: NO_SIZES,
  hidden: { condensed: 0, truncated: 0, byHand: 0 },
  activeCompactions: 0,
  undoneAutomatic: 0,
  version: 0,
  viewEpoch: 0,
}

/** An array as what planning reads contents from. It shows no replacements: its messages are what they show. */
function contentsOf(messages: readonly ChatMessage[], { parts }: ArrayRows): ContentReader {
  return {
    contents: () => parts,
    metadata: (keys) => {
      const found = keys.map((key) => [key, messages[key - 1]?.metadata] as const)
      return new Map(found.filter((entry): entry is [number, JsonObject] => isJsonObject(entry[1])))
    },
    shownTexts: () => new Map(),
  }
}
