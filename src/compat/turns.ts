import { check, readable } from '../core/messages/check.ts'
import { defined } from '../core/messages/json.ts'
import { type NextStep, nextStep, withStopReason } from '../core/messages/stop-reason.ts'
import { wellFormed } from '../core/messages/well-formed.ts'
import { withRequestNames } from '../core/tokens/budget.ts'
import { checkId, storeSchema } from '../store/arguments.ts'
import type { CompactionResult } from '../store/compaction/result.ts'
import type { ContextStats } from '../store/compaction/stats.ts'
import { LeaseTaken, OTHERS_WAIT_MS, PREPARE_WAIT_MS } from '../store/compaction/waiting.ts'
import type { CompactOptions } from '../store/config/store-options.ts'
import type { StoreContext } from '../store/context.ts'
import { addedMessage } from '../store/requests/draft.ts'
import {
  type AfterTurnOptions,
  afterTurnSchema,
  type BeforeTurnOptions,
  beforeTurnSchema,
  type CheckedBefore,
  runOptions,
} from '../store/requests/options.ts'
import {
  type Before,
  type BeforeTurnResult,
  beforeRequest,
  outcomeOf,
  pendingOf,
  type TurnOutcome,
  turnStats,
} from '../store/requests/prepare.ts'
import type { AppendedTurn } from '../store/requests/record.ts'
import { Deadline } from '../store/requests/room.ts'
import { readShown } from '../store/requests.ts'
import type { Services } from '../store/services.ts'
import { type Store, servicesOf } from '../store/store.ts'

const turnStoreSchema = storeSchema<Store>('append', 'compactSession', 'sessions')

/** The result of `afterTurn`. */
export type AfterTurnResult = TurnOutcome & {
  /** The next step: the same request again, the results of tools, or nothing. */
  readonly next: NextStep
  /** Whether the answer was final, which completes the turn. */
  readonly final: boolean
  /** The appended messages, if the call had any. */
  readonly appended?: AppendedTurn
}

/**
 * Runs before a request to the model. Returns how full the context is with the coming request, warns if usage has crossed a level, compacts
 * if that is due (0.8) and `auto` isn't off (it waits for a background run and uses its result), and returns the system prompt of this
 * request with the texts of an injector and the sections of a persistent context. Nothing of that prompt is stored.
 *
 * For a model that binds its reasoning to what precedes it, the system prompt stays your own, and `added` is a message with these texts:
 * append it, so that later requests have it in the same place.
 *
 * Throws the errors of `compactSession`. An unknown session, or one without messages, isn't an error.
 */
export async function beforeTurn(
  store: Store,
  sessionId: string,
  options: BeforeTurnOptions = {},
): Promise<BeforeTurnResult> {
  const services = servicesOf(check(turnStoreSchema, store, 'beforeTurn: store'))
  const id = checkId(sessionId)
  const checked = check(beforeTurnSchema, withRequestNames(options), 'beforeTurn')
  const before = await beforeRequest(services, id, checked, (config, look) =>
    makeRoom(services, id, config, look),
  )
  const isAuto = checked.auto ?? (await services.settingsOf(id)).auto
  if (isAuto && before.stats !== null) services.background.offer(id, before.stats)
  services.context.warnOfWindow(id, before.stats)
  return withAddedMessage(services.context, id, checked, before)
}

/**
 * Runs after an answer: appends the answer if it is given, derives the next step from the stop reason, and at the end of a turn emits
 * `turnComplete` and compacts if that is due (0.8) and `auto` isn't off.
 *
 * Throws the errors of `append` and `compactSession`; appended messages stay.
 */
export async function afterTurn(
  store: Store,
  sessionId: string,
  options: AfterTurnOptions = {},
): Promise<AfterTurnResult> {
  const services = servicesOf(check(turnStoreSchema, store, 'afterTurn: store'))
  const id = checkId(sessionId)
  const checked = check(afterTurnSchema, withRequestNames(options), 'afterTurn')
  const { messages, stopReason } = checked
  const answer = messages && readable('afterTurn: messages', () => withStopReason(messages, stopReason))
  const appended = answer && (await services.append(id, answer))
  const next = nextStep(stopReason)
  const final = next === 'final'
  const settings = await services.settingsOf(id)
  const look = (): Promise<ContextStats | null> => turnStats(services, id, checked)
  const first = await look()
  let stats = first
  let run: CompactionResult | null = null
  if (first !== null && final) {
    const { storedMessages: position } = first
    services.context.events.emit('turnComplete', { sessionId: id, position, ...defined({ stopReason }) })
    const isAuto = checked.auto ?? settings.auto
    if (isAuto && first.shouldCompact) {
      run = await makeRoom(services, id, runOptions(checked, pendingOf(checked)), look)
      stats = await look()
    }
    if (isAuto && stats !== null) services.background.offer(id, stats)
  }
  return { ...outcomeOf(id, first, stats, run), next, final, ...defined({ appended }) }
}

/**
 * Waits for a background run, and starts one if it is still due afterwards. Waits only briefly for another caller's run: a turn whose
 * request fits needs no room yet.
 */
async function makeRoom(
  services: Services,
  sessionId: string,
  config: CompactOptions,
  look: () => Promise<ContextStats | null>,
): Promise<CompactionResult | null> {
  const { waitMs, whenBusy, signal } = config
  const others = new Deadline(sessionId, waitMs ?? OTHERS_WAIT_MS, signal)
  services.compactor.rejectReentry(sessionId)
  const limit = waitMs ?? PREPARE_WAIT_MS
  const settled = await services.background.settle(sessionId, limit, signal, others.leftMs)
  if ((await look())?.shouldCompact !== true) return settled
  try {
    return await services.compact(sessionId, { waitMs: others.leftMs, ...config })
  } catch (error) {
    const isBusy = error instanceof LeaseTaken && whenBusy === undefined
    if (isBusy && (await look())?.withinBudget === true) return settled
    throw error
  }
}

/** For a model that binds its reasoning to what precedes it, the texts are in a message rather than in the system prompt. */
async function withAddedMessage(
  context: StoreContext,
  id: string,
  { provider, model, system, prompt }: CheckedBefore,
  { texts, ...result }: Before,
): Promise<BeforeTurnResult> {
  if (texts.context === '' && texts.injected === '') return result
  const { reasoning, view } = await readShown(context, id, [provider, model], false)
  if (reasoning === undefined) return result
  const added = addedMessage(texts, view, prompt !== undefined && prompt !== '')
  const { systemPrompt: _, ...others } = result
  return { ...others, ...defined({ systemPrompt: wellFormed(system) || undefined, added }) }
}
