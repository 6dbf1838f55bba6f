import { type Message, type NewMessage, partsOf } from '../../../messages/message.ts'
import { modelSummarizer } from '../../../summarizers/model/model-summarizer.ts'
import type { Summarizer } from '../../../summarizers/summarizer.ts'
import type { Context } from '../../command.ts'
import { CliError } from '../../errors.ts'
import { providerAndModel } from '../../options.ts'

/** What a command line says of who answers. */
export type BackendChoice = {
  readonly echo?: boolean | undefined
  readonly provider?: string | undefined
  readonly providerPackage?: string | undefined
  readonly model?: string | undefined
  readonly url?: string | undefined
  readonly apiKeyEnv?: string | undefined
}

type World = Pick<Context, 'env' | 'cwd'>
/** Whom a session was with last; its model is taken where only the provider is said. */
type Known = { readonly provider?: string | undefined; readonly model?: string | undefined }

const DEFAULT_KEY = 'OPENAI_API_KEY'

/**
 * Who answers: an address with `url`, the AI SDK with `provider` (or `model` as `provider/model`), else the offline echo. A session's provider
 * alone makes nobody be asked: what is stored must not decide where a conversation is sent. Throws `WRONG_USE`, and `FAILED` naming the
 * packages to install.
 */
export async function chooseBackend(choice: BackendChoice, known: Known, world: World): Promise<Backend> {
  const { echo, url, providerPackage, apiKeyEnv } = choice
  if (echo === true) {
    if (url !== undefined || providerPackage !== undefined)
      throw new CliError('WRONG_USE', '--echo asks nobody; leave out --url and --provider-package.')
    return echoBackend(providerAndModel(choice))
  }
  if (url !== undefined) return atAddress(url, choice, known, world)
  if (apiKeyEnv !== undefined)
    throw new CliError(
      'WRONG_USE',
      '--api-key-env goes with --url; providers of the AI SDK read their own variables.',
    )
  const { provider, model } = providerAndModel(choice)
  if (provider === undefined && providerPackage === undefined && model === undefined) return echoBackend()
  if (provider === undefined)
    throw new CliError('WRONG_USE', '--model alone names nobody to ask.', {
      hint: 'Write --provider NAME, --model PROVIDER/MODEL, --url ADDRESS, or --echo to count for that model.',
    })
  const chosen = model ?? (known.provider === provider ? known.model : undefined)
  if (chosen === undefined) throw noModel('--provider')
  return byAiSdk({ provider, model: chosen, providerPackage, folder: world.cwd })
}

async function atAddress(
  url: string,
  { model, provider, providerPackage, apiKeyEnv }: BackendChoice,
  known: Known,
  { env }: World,
): Promise<Backend> {
  if (providerPackage !== undefined)
    throw new CliError('WRONG_USE', '--url and --provider-package name two to ask; one is enough.')
  const address = addressOf(url)
  const chosen = model ?? known.model
  if (chosen === undefined) throw noModel('--url')
  const { addressBackend } = await import('./chat-completions.ts')
  const apiKey = keyFor(address, apiKeyEnv, env)
  return addressBackend({
    url,
    model: chosen,
    ...(provider !== undefined && { provider }),
    ...(apiKey !== undefined && { apiKey }),
  })
}

function addressOf(url: string): URL {
  const address = URL.canParse(url) ? new URL(url) : undefined
  if (address === undefined || !/^https?:$/.test(address.protocol))
    throw new CliError('WRONG_USE', '--url must be an address like http://localhost:11434/v1.')
  if (address.username !== '' || address.password !== '')
    throw new CliError('WRONG_USE', '--url must hold no user and no password.', {
      hint: 'A key goes into an environment variable; name it with --api-key-env.',
    })
  return address
}

/** The key for an address. The one for OpenAI is not sent in the clear to another machine, unless it is named. */
function keyFor(address: URL, name: string | undefined, env: World['env']): string | undefined {
  if (name !== undefined) {
    const key = env[name] ?? ''
    if (key === '')
      throw new CliError('WRONG_USE', `The environment variable ${name} is not set.`, {
        facts: { variable: name },
      })
    return key
  }
  const isSafe =
    address.protocol === 'https:' || /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/.test(address.hostname)
  return isSafe ? env[DEFAULT_KEY] || undefined : undefined
}

async function byAiSdk(options: {
  readonly provider: string
  readonly model: string
  readonly providerPackage: string | undefined
  readonly folder: string
}): Promise<Backend> {
  const { aiSdkBackend, packageOf } = await import('./ai-sdk.ts')
  const { PackageMissingError } = await import('./ai-sdk.ts')
  try {
    return await aiSdkBackend(options)
  } catch (error) {
    if (!(error instanceof PackageMissingError)) throw error
    const packages = `ai ${packageOf(options)}`
    throw new CliError('FAILED', `The AI SDK is needed to ask ${options.provider}, and ${error.message}.`, {
      facts: { missing: error.packageName },
      hint: `Install what is needed where you call undertext: npm install ${packages}`,
    })
  }
}

function noModel(option: string): CliError {
  return new CliError('WRONG_USE', `${option} needs --model: which model is to answer?`)
}

/** Says again what was said, without a network: to try things out, and to look after a session without asking a model. */
function echoBackend(names: { readonly provider?: string; readonly model?: string } = {}): Backend {
  return {
    kind: 'echo',
    title: 'the offline echo',
    ...names,
    async ask({ messages, signal, onText }) {
      signal.throwIfAborted()
      const text = wordsOf(messages.findLast(({ role }) => role === 'user'))
      if (text !== '') onText(text)
      return textReply(text, { stopReason: 'stop' })
    },
  }
}

function wordsOf(message: Message | undefined): string {
  if (message === undefined) return ''
  return partsOf(message)
    .flatMap((part) => (part.type === 'text' ? [part.text] : []))
    .join('\n')
}

/*
 * Who answers in a chat: one question in, one streamed answer out. A backend knows nothing of the store, so that the same ones write
 * summaries too.
 */

/** What a backend is asked. */
export type Question = {
  readonly system?: string | undefined
  readonly messages: readonly Message[]
  readonly maxOutputTokens?: number | undefined
  readonly temperature?: number | undefined
  readonly signal: AbortSignal
  /** Called with each piece of the answer as it comes. */
  onText(text: string): void
}

/** What `recordResponse` is told of tokens; those from a cache stand apart. */
export type ReplyUsage = {
  readonly inputTokens: number
  readonly cacheReadTokens?: number
  readonly cacheCreationTokens?: number
  readonly outputTokens?: number
}

/** What it answers, when the answer is complete. */
export type Reply = {
  readonly text: string
  /** As it is stored. */
  readonly messages: readonly NewMessage[]
  /** In the provider's words. */
  readonly stopReason?: string | undefined
  readonly usage?: ReplyUsage | undefined
  /** The model that answered, as its provider names it. */
  readonly model?: string | undefined
  /** Tools the model wanted to call. A chat runs none. */
  readonly calledTools: readonly string[]
}

export type Backend = {
  readonly kind: 'echo' | 'url' | 'ai-sdk'
  /** For people: "the offline echo", "gpt-4o at http://localhost:11434/v1". */
  readonly title: string
  /** By which figures are counted and requests rendered. Absent: the session's own. */
  readonly provider?: string | undefined
  readonly model?: string | undefined
  /** Rejects with whatever went wrong, in the server's own words, so that an overflow is known for one. */
  ask(question: Question): Promise<Reply>
}

/** An answer of nothing but text. */
export function textReply(text: string, rest: Omit<Partial<Reply>, 'text' | 'messages'> = {}): Reply {
  const messages = text === '' ? [] : [{ role: 'assistant' as const, content: text }]
  return { text, messages, calledTools: [], ...rest }
}

/** A summarizer that asks a backend. What a model costs beside its tokens nobody here knows, so no money is noted. */
export function summarizerBy(backend: Backend): Summarizer {
  const { provider, model, kind } = backend
  return modelSummarizer({
    name: kind,
    ...(provider !== undefined && { provider }),
    ...(model !== undefined && { model }),
    async generate({ system, prompt, maxOutputTokens, temperature, signal }) {
      const reply = await backend.ask({
        system,
        messages: [{ role: 'user', content: prompt }],
        maxOutputTokens,
        temperature,
        signal,
        onText: () => {},
      })
      const { text, stopReason, usage, model } = reply
      return {
        text,
        finishReason: stopReason,
        model,
        ...(usage !== undefined && { usage: summed(usage) }),
      }
    },
  })
}

/** The port counts what came from a cache among the input. */
function summed({
  inputTokens,
  cacheReadTokens = 0,
  cacheCreationTokens = 0,
  outputTokens,
}: {
  readonly inputTokens: number
  readonly cacheReadTokens?: number
  readonly cacheCreationTokens?: number
  readonly outputTokens?: number
}) {
  return {
    inputTokens: inputTokens + cacheReadTokens + cacheCreationTokens,
    ...(cacheReadTokens > 0 && { cacheReadTokens }),
    ...(cacheCreationTokens > 0 && { cacheCreationTokens }),
    ...(outputTokens !== undefined && { outputTokens }),
  }
}
