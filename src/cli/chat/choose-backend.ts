import { type Message, partsOf } from '../../messages/message.ts'
import { CliError } from '../cli-error.ts'
import type { Context } from '../command.ts'
import { providerAndModel } from '../provider-and-model.ts'
import { type Backend, textReply } from './backends/backend.ts'

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
  const { addressBackend } = await import('./backends/chat-completions.ts')
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
  const { aiSdkBackend, packageOf } = await import('./backends/ai-sdk.ts')
  const { PackageMissingError } = await import('./backends/package-import.ts')
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
