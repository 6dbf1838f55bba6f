import type { ContextStats } from '../compaction/stats.ts'
import { RENDERING_KEYS } from '../config/settings.ts'
import type { StatsOptions } from '../config/store-options.ts'
import type { NewMessage } from '../messages/message.ts'
import type { RenderOptions } from '../rendering/render.ts'
import { fileRoom, type RequestFiles } from './files.ts'
import type { CheckedPrepare } from './options.ts'
import type { PreparedFiles } from './prepared.ts'
import { withSection } from './prompt.ts'
import { type Draft, drafted, promptTokens, type World } from './world.ts'

/** How often files are made smaller for the lines around them before they are left out. */
const MOST_FITTINGS = 8

/** Reads a session at one moment. */
export type ReadWorld = (
  sessionId: string,
  provider: string | undefined,
  model: string | undefined,
) => Promise<World>

/** What a request is asked with. */
export type Asked = {
  readonly sessionId: string
  readonly options: CheckedPrepare
  readonly prompt: readonly NewMessage[]
  readonly files: RequestFiles | undefined
}

/** What a draft was made of. */
export type Made = {
  readonly world: World
  readonly draft: Draft
  readonly prompt: readonly NewMessage[]
  readonly files: PreparedFiles | undefined
}

/** One consistent reading, rendered and counted; files are fitted to what it leaves. */
export async function draftRequest(read: ReadWorld, asked: Asked, request: StatsOptions): Promise<Made> {
  const { sessionId, options, files } = asked
  const world = await read(sessionId, options.provider, options.model)
  const going = { request, rendering: renderingOf(options) }
  if (files === undefined) {
    const { prompt } = asked
    return { world, draft: drafted(world, { ...going, prompt, section: '' }), prompt, files: undefined }
  }
  let room = roomFor(asked, world, bareStats(asked, world, request))
  for (let attempt = 1; ; attempt++) {
    const fitted = files.fit(room)
    const prompt = withSection(asked.prompt, fitted.section)
    const draft = drafted(world, { ...going, prompt, section: fitted.section })
    const over = draft.stats.estimatedInputTokens - draft.stats.availableInputTokens
    if (over <= 0) return { world, draft, prompt, files: fitted.files }
    // Not even the lines that say what was left out have room: the answer says it.
    if (room === 0) {
      const bare = drafted(world, { ...going, prompt: asked.prompt, section: '' })
      return {
        world,
        draft: bare,
        prompt: asked.prompt,
        files: { ...NO_FILES, ...droppedOf(fitted.files) },
      }
    }
    // The lines around the files take room too, and what is rendered may be longer than what is stored.
    room = attempt < MOST_FITTINGS ? Math.max(0, Math.min(room - 1, fitted.files.tokens - over)) : 0
  }
}

const NO_FILES = { included: [], budgetTokens: 0, tokens: 0 } as const

function droppedOf({
  included,
  dropped,
  notices,
}: PreparedFiles): Pick<PreparedFiles, 'dropped' | 'notices'> {
  const all = [
    ...included.map((file) => ({ ...file, content: '', how: 'dropped' as const, tokensAfter: 0 })),
    ...dropped,
  ]
  return { dropped: all.toSorted((a, b) => a.index - b.index), notices }
}

/** What the request holds besides history and prompt. */
export function requestOf(options: CheckedPrepare, systemPrompt: string | undefined): StatsOptions {
  const { tools, maxOutputTokens, contextWindowTarget, threshold } = options
  return {
    ...(systemPrompt !== undefined && { systemPrompt }),
    ...(tools !== undefined && { toolDefinitions: [...tools] }),
    ...(maxOutputTokens !== undefined && { maxTokens: maxOutputTokens }),
    ...(contextWindowTarget !== undefined && { contextWindowTarget }),
    ...(threshold !== undefined && { threshold }),
  }
}

function renderingOf(options: CheckedPrepare): Partial<RenderOptions> {
  const { preset, pendingCalls, alsoReads } = options
  const said = RENDERING_KEYS.filter((name) => options[name] !== undefined)
  return {
    ...Object.fromEntries(said.map((name) => [name, options[name]])),
    ...(preset !== undefined && { preset }),
    ...(pendingCalls !== undefined && { pendingCalls }),
    ...(alsoReads !== undefined && { alsoReads }),
  }
}

/** The stats of a request without its files. */
export function bareStats(
  { prompt }: Pick<Asked, 'prompt'>,
  world: World,
  request: StatsOptions,
): ContextStats {
  return world.stats({ ...request, pendingTokens: promptTokens(world, prompt) })
}

/** What files may take beside a request of so many tokens, tokens. */
export function roomFor(
  { options }: Pick<Asked, 'options'>,
  { settings }: World,
  stats: ContextStats,
): number {
  return fileRoom(stats, settings.fileReadBudgetPercent, options.summarizeFile !== undefined)
}
