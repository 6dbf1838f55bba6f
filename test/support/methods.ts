import { chatStore } from '../../src/adapters/ai-sdk/index.ts'
import { UndertextSessionStore } from '../../src/adapters/claude-agent-sdk/index.ts'
import { UndertextChatMessageHistory } from '../../src/adapters/langchain/index.ts'
import { UndertextSession } from '../../src/adapters/openai-agents/index.ts'
import { Store } from '../../src/store/store.ts'
import { Compactions } from '../../src/store/topics/compactions.ts'
import { Jobs } from '../../src/store/topics/jobs.ts'
import { Limits } from '../../src/store/topics/limits.ts'
import { Messages } from '../../src/store/topics/messages.ts'
import { Notes } from '../../src/store/topics/notes.ts'
import { Privacy } from '../../src/store/topics/privacy.ts'
import { Requests } from '../../src/store/topics/requests.ts'
import { Sessions } from '../../src/store/topics/sessions.ts'

/* The methods of a store and of the adapters, as the classes have them: the tables of the tests are compared with these. */

const ownNames = ({ prototype }: { readonly prototype: object }): string[] =>
  Object.entries(Object.getOwnPropertyDescriptors(prototype)).flatMap(([name, { value }]) =>
    typeof value === 'function' && name !== 'constructor' ? [name] : [],
  )

/** The methods of the store itself. */
export const ROOT_METHODS: readonly string[] = ownNames(Store)
export const TOPICS = {
  sessions: Sessions,
  messages: Messages,
  compactions: Compactions,
  requests: Requests,
  notes: Notes,
  privacy: Privacy,
  jobs: Jobs,
  limits: Limits,
} as const
/** The methods of a store and its topics: `append`, `sessions.create`. */
export const STORE_METHODS: readonly string[] = [
  ...ROOT_METHODS,
  ...Object.entries(TOPICS).flatMap(([topic, of]) => ownNames(of).map((name) => `${topic}.${name}`)),
]

/** The functions of `undertext/compat` that act on a store as its methods do. */
export const HOOKS: readonly string[] = ['beforeTurn', 'afterTurn']

/** The object that has a method, and the method's name there. */
export function holderOf(store: Store, method: string): readonly [object, string] {
  const [name, topic] = method.split('.').reverse() as [string, keyof typeof TOPICS | undefined]
  return [topic === undefined ? store : store[topic], name]
}

/** The methods of the adapters, each with the name of its class before it. */
export const ADAPTER_METHODS: readonly string[] = [
  ...Object.keys(chatStore({ prepareRequest: undefined } as never)).map((name) => `chatStore.${name}`),
  ...[UndertextSession, UndertextChatMessageHistory, UndertextSessionStore].flatMap((adapter) =>
    ownNames(adapter).map((name) => `${adapter.name}.${name}`),
  ),
]

/** Methods that concern only the open store. */
export const LISTENING: readonly string[] = ['on', 'once', 'off', 'compactions.onBefore', 'forOwner']

/** Methods that change nothing in a database. Every other one is a writing method. */
const READING = new Set([
  ...LISTENING,
  ...['sessions.get', 'sessions.list', 'sessions.forks', 'sessions.config'],
  ...[
    'getMessages',
    'getEffectiveHistory',
    'messages.moment',
    'messages.diff',
    'messages.timeline',
    'renderHistory',
    'sessions.export',
    'privacy.scan',
  ],
  ...['messages.toolOutput', 'messages.toolCalls', 'messages.expand', 'messages.importance'],
  ...[
    'getContextStats',
    'needsCompaction',
    'requests.usage',
    'requests.costs',
    'limits.list',
    'requests.list',
    'requests.get',
    'requests.compare',
  ],
  ...[
    'listCompactions',
    'compactions.get',
    'sessions.audit',
    'sessions.activeTurn',
    'jobs.list',
    'jobs.get',
    'jobs.whenIdle',
    'notes.list',
    'backup',
    'close',
  ],
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
