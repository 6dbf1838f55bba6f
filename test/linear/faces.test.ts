import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { STORE_METHODS } from '../support/methods.ts'
import { FACES } from './faces.ts'
import { PATTERNS, textOf } from './patterns.ts'

const SOURCE = join(import.meta.dirname, '..', '..', 'src')
const COVERED = new Set(FACES.flatMap(({ covers }) => covers))

/** Public functions that take no text from outside, or only names and settings of the application's own. */
const NO_TEXT = new Set<string>([
  // Settings, names and figures.
  ...'calculateFileTokenBudget contextBudget contextManagement contextManagementBetas contextManagementTypes createStage'.split(
    ' ',
  ),
  ...'estimatePostProcessingTokens getAvailableInputTokens getOutputReserve hierarchicalSummaries isStage nextStep'.split(
    ' ',
  ),
  ...'priorityStage providerFactor shouldTruncateFile stageFrom namesOf calibratedEstimator'.split(' '),
  ...'allOf anyOf everyNTurns not onTokenThreshold SystemInjector'.split(' '),
  // Errors and stores themselves: what they do is tried verb by verb.
  ...'CompactionPreview ContextBudgetExceededError UndertextError isUndertextError originalErrorOf'.split(
    ' ',
  ),
  ...'recallTools aiSdkTools agentsTools langchainTools makeRoom'.split(' '),
  ...'openStore SqliteStore Store aiSdkSummarizer recoveringModel moveStore exportOwner'.split(' '),
])
/** Verbs of a store of which the same is true. */
const NO_TEXT_VERBS = new Set<string>([
  ...['forOwner', 'privacy.eraseOwner', 'privacy.applyRetention'],
  ...'sessions.fork sessions.forks sessions.bringBack needsCompaction sessions.get sessions.get sessions.list sessions.archive sessions.purge sessions.config sessions.reestimate on once off compactions.onBefore'.split(
    ' ',
  ),
  ...'jobs.start jobs.list jobs.get jobs.whenIdle jobs.cancel backup close offerBackground settleBackground forgetBackground'.split(
    ' ',
  ),
  ...'messages.moment messages.diff messages.timeline recordAppended messages.pin messages.unpin refuseWithin compactions.recordProvider listCompactions compactions.get sessions.audit sessions.activeTurn'.split(
    ' ',
  ),
  ...'undoCompaction requests.recordUsage requests.recordAnswer requests.usage requests.costs requests.list limits.set limits.list limits.forget stats statsOf estimatorNamed requireSession'.split(
    ' ',
  ),
])
/** Commands that show no text of a conversation, and two that are tried elsewhere: `import` as `importFile`, `chat` as what it calls. */
const NO_TEXT_COMMANDS = new Set([
  'backup',
  'bring-back',
  'chat',
  'completion',
  'fork',
  'import',
  // Its calls are methods of the store.
  'inspect',
  'move',
  'notes',
  'purge',
  'purge-text',
  'restore',
  'retention',
  'tree',
  'undo',
])

const entries = [
  'index.ts',
  'core/stages/index.ts',
  'core/summarizers/index.ts',
  'adapters/flat/index.ts',
  'store/recall/index.ts',
  'transfer/index.ts',
  ...['ai-sdk', 'openai', 'anthropic', 'google', 'langchain', 'openai-agents', 'claude-agent-sdk'].map(
    (name) => `adapters/${name}/index.ts`,
  ),
]

it('knows every public function', async () => {
  const modules = await Promise.all(entries.map((entry) => import(join(SOURCE, entry)) as Promise<object>))
  const names = modules.flatMap((module) =>
    Object.entries(module).flatMap(([name, value]) => (typeof value === 'function' ? [name] : [])),
  )
  expect(names.filter((name) => !COVERED.has(name) && !NO_TEXT.has(name))).toEqual([])
})

it('knows every method of a store', () => {
  const known = (name: string): boolean => COVERED.has(`store.${name}`) || NO_TEXT_VERBS.has(name)
  expect(STORE_METHODS.filter((name) => !known(name))).toEqual([])
})

it('knows every command', () => {
  const commands = readdirSync(join(SOURCE, 'cli', 'commands')).map((file) => file.replace('.ts', ''))
  expect(commands.filter((name) => !COVERED.has(`cli ${name}`) && !NO_TEXT_COMMANDS.has(name))).toEqual([])
})

it('takes a little text everywhere', async () => {
  const wrong: string[] = []
  const pattern = PATTERNS.find(({ name }) => name === 'requests')!
  for (const face of FACES.filter(({ name }) => !name.includes('(') || name.endsWith('(result of a call)'))) {
    const { run, clean } = await face.prepare(textOf(pattern, 600))
    try {
      await run()
    } catch (error) {
      wrong.push(`${face.name}, ${pattern.name}: ${String(error)}`)
    }
    await clean?.()
  }
  expect(wrong).toEqual([])
})
