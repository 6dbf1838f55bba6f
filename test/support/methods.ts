import { chatStore } from '../../src/adapters/ai-sdk/index.ts'
import { UndertextSessionStore } from '../../src/adapters/claude-agent-sdk/index.ts'
import { UndertextChatMessageHistory } from '../../src/adapters/langchain/index.ts'
import { UndertextSession } from '../../src/adapters/openai-agents/index.ts'
import { Store } from '../../src/index.ts'

/* The methods of a store and of the adapters, as the classes have them: the tables of the tests are compared with these. */

const ownNames = ({ prototype }: { readonly prototype: object }): string[] =>
  Object.entries(Object.getOwnPropertyDescriptors(prototype)).flatMap(([name, { value }]) =>
    typeof value === 'function' && name !== 'constructor' ? [name] : [],
  )

/** The methods of a store. */
export const STORE_METHODS: readonly string[] = ownNames(Store)

/** The methods of the adapters, each with the name of its class before it. */
export const ADAPTER_METHODS: readonly string[] = [
  ...Object.keys(chatStore({ prepareRequest: undefined } as never)).map((name) => `chatStore.${name}`),
  ...[UndertextSession, UndertextChatMessageHistory, UndertextSessionStore].flatMap((adapter) =>
    ownNames(adapter).map((name) => `${adapter.name}.${name}`),
  ),
]

/** Methods that concern only the open store. */
export const LISTENING: readonly string[] = ['on', 'once', 'off', 'onBeforeCompaction']

/** Methods that change nothing in a database. Every other one is a writing method. */
const READING = new Set([
  ...LISTENING,
  ...['getSession', 'countMessages', 'listSessions', 'newestSession', 'listForks', 'getConfig'],
  ...['getMessages', 'getEffectiveHistory', 'getMoment', 'diffViews', 'renderHistory', 'exportSession'],
  ...['getToolOutput', 'listToolCalls', 'expand', 'getSources', 'getImportance'],
  ...['getContextStats', 'needsCompaction', 'getUsage', 'listLimits', 'listRequests', 'getRequest'],
  ...['listCompactions', 'getCompaction', 'getAuditLog', 'listJobs', 'getJob', 'whenIdle', 'recall', 'close'],
  ...['chatStore.load', 'chatStore.stats'],
  ...['getSessionId', 'getItems', 'recovering', 'prepareHistoryItemForModelInput'].map(ofAgents),
  ...['prepareHistoryItemsForPersistenceComparison', 'preserveReasoningItemIdsForPersistence'].map(ofAgents),
  ofAgents('getItemsWithCompactionOwnership'),
  'UndertextChatMessageHistory.getMessages',
  ...['load', 'listSessions', 'listSubkeys'].map((name) => `UndertextSessionStore.${name}`),
])

function ofAgents(name: string): string {
  return `UndertextSession.${name}`
}

export const READING_STORE_METHODS = STORE_METHODS.filter((name) => READING.has(name))
export const WRITING_STORE_METHODS = STORE_METHODS.filter((name) => !READING.has(name))
export const WRITING_ADAPTER_METHODS = ADAPTER_METHODS.filter((name) => !READING.has(name))

/** The method of a row: `rewind of nothing` is a row of `rewind`. */
export function methodOfRow(row: string): string {
  return row.replace(/ .*/, '')
}
