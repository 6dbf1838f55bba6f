import { partsOf } from '../../../core/messages/message.ts'
import type { Context } from '../../command.ts'
import { CliError } from '../../errors.ts'
import { providerAndModel } from '../../options.ts'
import { type Backend, textReply } from './backend.ts'

/** The options that select a backend. */
export type BackendChoice = {
  readonly echo?: boolean | undefined
  readonly provider?: string | undefined
  readonly providerPackage?: string | undefined
  readonly model?: string | undefined
  readonly url?: string | undefined
  readonly apiKeyEnv?: string | undefined
}

/** The last backend of a session; its model is used if only the provider is given. */
type LastUsed = { readonly provider?: string | undefined; readonly model?: string | undefined }

/**
 * Returns the backend that the options select: an address with `url`, the AI SDK with `provider` (or `model` as `provider/model`), else the
 * offline echo. A session's provider alone doesn't select one, because stored data must not decide where a conversation is sent. Throws
 * `WRONG_USE`, and `FAILED` naming the packages to install.
 */
export async function chooseBackend(
  choice: BackendChoice,
  last: LastUsed,
  context: Pick<Context, 'env' | 'cwd'>,
): Promise<Backend> {
  const { echo, url, providerPackage, apiKeyEnv } = choice
  if (echo === true) {
    if (url !== undefined || providerPackage !== undefined)
      throw new CliError('WRONG_USE', '--echo calls no model; omit --url and --provider-package.')
    return echoBackend(providerAndModel(choice))
  }
  if (url !== undefined) return urlBackend(url, choice, last, context.env)
  if (apiKeyEnv !== undefined)
    throw new CliError(
      'WRONG_USE',
      '--api-key-env requires --url; providers of the AI SDK read their own variables.',
    )
  const { provider, model } = providerAndModel(choice)
  if (provider === undefined && providerPackage === undefined && model === undefined) return echoBackend()
  if (provider === undefined)
    throw new CliError('WRONG_USE', '--model requires a provider.', {
      hint: 'Pass --provider NAME, --model PROVIDER/MODEL or --url ADDRESS, or --echo to use only the context window of that model.',
    })
  const chosen = model ?? (last.provider === provider ? last.model : undefined)
  if (chosen === undefined) throw modelMissing('--provider')
  return sdkBackend({ provider, model: chosen, providerPackage, folder: context.cwd })
}

function modelMissing(option: string): CliError {
  return new CliError('WRONG_USE', `${option} requires --model.`)
}

async function urlBackend(
  url: string,
  { model, provider, providerPackage, apiKeyEnv }: BackendChoice,
  last: LastUsed,
  env: Context['env'],
): Promise<Backend> {
  if (providerPackage !== undefined)
    throw new CliError('WRONG_USE', "--url and --provider-package can't be combined.")
  const address = URL.canParse(url) ? new URL(url) : undefined
  if (address === undefined || !/^https?:$/.test(address.protocol))
    throw new CliError('WRONG_USE', '--url must be an address like http://localhost:11434/v1.')
  if (address.username !== '' || address.password !== '')
    throw new CliError('WRONG_USE', '--url must not contain a user or a password.', {
      hint: 'Put the key in an environment variable, and name the variable with --api-key-env.',
    })
  const chosen = model ?? last.model
  if (chosen === undefined) throw modelMissing('--url')
  const { addressBackend } = await import('./chat-completions.ts')
  return addressBackend({ url, model: chosen, provider, apiKey: keyFor(address, apiKeyEnv, env) })
}

/** Returns the API key for an address. The default key isn't sent unencrypted to another machine unless its variable is named. */
function keyFor(address: URL, name: string | undefined, env: Context['env']): string | undefined {
  if (name === undefined) {
    const isLocal = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/.test(address.hostname)
    return address.protocol === 'https:' || isLocal ? env.OPENAI_API_KEY || undefined : undefined
  }
  const key = env[name]
  if (key) return key
  throw new CliError('WRONG_USE', `The environment variable ${name} isn't set.`, {
    facts: { variable: name },
  })
}

async function sdkBackend(options: {
  readonly provider: string
  readonly model: string
  readonly providerPackage: string | undefined
  readonly folder: string
}): Promise<Backend> {
  const { aiSdkBackend, PackageMissingError, packageOf } = await import('./ai-sdk.ts')
  try {
    return await aiSdkBackend(options)
  } catch (error) {
    if (!(error instanceof PackageMissingError)) throw error
    throw new CliError('FAILED', `Calling ${options.provider} needs the AI SDK, but ${error.message}.`, {
      facts: { missing: error.packageName },
      hint: `Install the packages in the folder where you run undertext: npm install ai ${packageOf(options)}`,
    })
  }
}

/** Repeats each prompt without a network: to try the chat, or to inspect a session without calling a model. */
function echoBackend(names: { readonly provider?: string; readonly model?: string } = {}): Backend {
  return {
    kind: 'echo',
    title: 'the offline echo',
    ...names,
    async ask({ messages, signal, onText }) {
      signal.throwIfAborted()
      const last = messages.findLast(({ role }) => role === 'user')
      const parts = last === undefined ? [] : partsOf(last)
      const text = parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n')
      if (text !== '') onText(text)
      return textReply(text, { stopReason: 'stop' })
    },
  }
}
