import { check } from '../core/messages/check.ts'
import { withRequestNames } from '../core/tokens/budget.ts'
import { checkId, storeSchema } from '../store/arguments.ts'
import {
  type AfterTurnOptions,
  afterTurnSchema,
  type BeforeTurnOptions,
  beforeTurnSchema,
} from '../store/requests/options.ts'
import type { AfterTurnResult, BeforeTurnResult } from '../store/requests/turn-hooks.ts'
import { withAddedMessage } from '../store/requests.ts'
import { type Store, servicesOf } from '../store/store.ts'

const turnStoreSchema = storeSchema<Store>('append', 'compactSession', 'sessions')

/**
 * Runs before a request to the model: returns how full the context is with what is about to be sent, warns when usage has crossed a
 * level, compacts when that is due (0.8) and `auto` is not off (it waits for a run in the background and uses its result), and
 * returns the system prompt of this request with the texts of an injector and the sections of a persistent context. Nothing of that
 * prompt is stored. For a model that binds its reasoning to what precedes it, the system prompt stays your own, and `added` is a message
 * with these texts: append it, so that later requests have it in the same place.
 *
 * Throws what `compactSession` throws. An unknown session, or one without messages, is not an error.
 */
export async function beforeTurn(
  store: Store,
  sessionId: string,
  options: BeforeTurnOptions = {},
): Promise<BeforeTurnResult> {
  const { turns, context } = servicesOf(check(turnStoreSchema, store, 'beforeTurn: store'))
  const id = checkId(sessionId)
  const checked = check(beforeTurnSchema, withRequestNames(options), 'beforeTurn')
  const result = await turns.before(id, checked)
  context.warnOfWindow(id, result.stats)
  return withAddedMessage(context, id, checked, result)
}

/**
 * Runs after an answer: appends it when it is given, derives the next step from the stop reason, and at the end of a turn emits
 * `turnComplete` and compacts when that is due (0.8) and `auto` is not off.
 *
 * Throws what `append` and `compactSession` throw; appended messages stay.
 */
export async function afterTurn(
  store: Store,
  sessionId: string,
  options: AfterTurnOptions = {},
): Promise<AfterTurnResult> {
  const { turns } = servicesOf(check(turnStoreSchema, store, 'afterTurn: store'))
  return turns.after(checkId(sessionId), check(afterTurnSchema, withRequestNames(options), 'afterTurn'))
}
