import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { usageIn } from '../../../adapters/ai-sdk/answers.ts'
import { fromModelMessages, toModelMessages } from '../../../adapters/ai-sdk/model-messages.ts'
import type { SdkModelMessage, SdkVersion } from '../../../adapters/ai-sdk/types.ts'
import { namesOf } from '../../../adapters/ai-sdk/types.ts'
import { invalid } from '../../../core/errors.ts'
import { isObject } from '../../../core/messages/json.ts'
import { type Message, type NewMessage, partsOf } from '../../../core/messages/message.ts'
import { canonicalProvider } from '../../../core/tokens/providers.ts'
import type { Backend, Question, Reply } from './backend.ts'

type AiSdkOptions = {
  /** A provider by our name or its package's: "anthropic", "google-ai", "google". */
  readonly provider: string
  readonly model: string
  /** The package to load instead of `@ai-sdk/PROVIDER`. */
  readonly providerPackage?: string | undefined
  /** Where packages are searched first. */
  readonly folder: string
}

/** Packages whose name is not our name of the provider. */
const PACKAGES: ReadonlyMap<string, string> = new Map([
  ['google-ai', '@ai-sdk/google'],
  ['vertex', '@ai-sdk/google-vertex'],
  ['bedrock', '@ai-sdk/amazon-bedrock'],
])

/** The parts of the AI SDK that are used. */
type LanguageModel = {
  readonly specificationVersion: string
  readonly provider: string
  readonly modelId: string
}
type Provider = { languageModel(id: string): LanguageModel }
type StreamText = (options: { readonly [name: string]: unknown }) => {
  readonly fullStream: AsyncIterable<Part>
  readonly response: PromiseLike<{ readonly messages: readonly SdkModelMessage[]; readonly modelId?: string }>
}
type Part = { readonly type: string; readonly [name: string]: unknown }
type Module = { readonly [name: string]: unknown }

/**
 * Returns a backend for any provider of the AI SDK, version 5 or later. `ai` and the provider's package are loaded from the folder where
 * the command was called; the package finds its key. Rejects with `PackageMissingError`, and with `INVALID_INPUT` for a package without a
 * provider.
 */
export async function aiSdkBackend(options: AiSdkOptions): Promise<Backend> {
  const { model: id, folder } = options
  const name = packageOf(options)
  const { streamText, convertToModelMessages } = await importFrom(folder, 'ai')
  // Version 4 exports only the first of them.
  if (typeof streamText !== 'function' || typeof convertToModelMessages !== 'function')
    throw invalid('ai: the installed version is too old; version 5 or later is required')
  const provider = providerIn(await importFrom(folder, name), options.provider)
  if (provider === undefined) throw invalid(`${name} doesn't export a provider of the AI SDK`)
  const model = provider.languageModel(id)
  const names = namesOf(model)
  return {
    kind: 'ai-sdk',
    title: `${names.provider}/${id} through the AI SDK`,
    ...names,
    ask: (question) => ask(streamText as StreamText, model, names.provider, question),
  }
}

/** The package of a provider. Throws `INVALID_INPUT` for a name that no package can have. */
export function packageOf({
  provider,
  providerPackage,
}: Pick<AiSdkOptions, 'provider' | 'providerPackage'>): string {
  const canonical = canonicalProvider(provider)
  const name = providerPackage ?? PACKAGES.get(canonical) ?? `@ai-sdk/${canonical}`
  if (!/^(?:@[a-z0-9~-][a-z0-9._~-]*\/)?[a-z0-9~-][a-z0-9._~-]*$/.test(name))
    throw invalid(`${JSON.stringify(name)} isn't a valid package name`)
  return name
}

/** The provider that a package exports: by its own name, else the first one. */
function providerIn(module: Module, provider: string): Provider | undefined {
  const last = provider.split('-').at(-1)!
  const camel = provider.replace(/-([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())
  const named = [camel, provider, last, 'default'].map((name) => module[name])
  return [...named, ...Object.values(module)].find(isProvider)
}

function isProvider(value: unknown): value is Provider {
  const isHolder = typeof value === 'function' || isObject(value)
  return isHolder && typeof (value as { languageModel?: unknown }).languageModel === 'function'
}

async function ask(
  streamText: StreamText,
  model: LanguageModel,
  provider: string,
  { system, messages, maxOutputTokens, temperature, signal, onText }: Question,
): Promise<Reply> {
  const version = model.specificationVersion as SdkVersion
  const tools = toolsIn(messages)
  const stream = streamText({
    model,
    messages: toModelMessages(messages, { version }),
    abortSignal: signal,
    // By default errors are printed; they are part of the stream as well.
    onError: () => {},
    ...(system !== undefined && { system }),
    ...(maxOutputTokens !== undefined && { maxOutputTokens }),
    ...(temperature !== undefined && { temperature }),
    ...(Object.keys(tools).length > 0 && { tools }),
  })
  let text = ''
  const calledTools: string[] = []
  let finish: Part = { type: 'finish' }
  for await (const part of stream.fullStream) {
    if (part.type === 'error') throw part.error
    if (part.type === 'abort') signal.throwIfAborted()
    if (part.type === 'text-delta' && typeof part.text === 'string') {
      text += part.text
      onText(part.text)
    } else if (part.type === 'tool-call') calledTools.push(String(part.toolName))
    else if (part.type === 'finish-step') finish = part
  }
  signal.throwIfAborted()
  const response = await stream.response
  const { usage, providerMetadata, finishReason } = finish
  return {
    text,
    messages: withoutCalls(fromModelMessages(response.messages)),
    calledTools,
    stopReason: typeof finishReason === 'string' ? finishReason : undefined,
    usage: usageIn({ usage: modelUsage(usage), providerMetadata }, provider),
    model: response.modelId,
  }
}

/** The tools in the history, because some providers reject a history with calls of undefined tools. None of them can be run here. */
function toolsIn(messages: readonly Message[]): { readonly [name: string]: unknown } {
  const names = messages.flatMap((message) =>
    partsOf(message).flatMap((part) => (part.type === 'tool-call' ? [part.toolName] : [])),
  )
  const inputSchema = {
    [Symbol.for('vercel.ai.schema')]: true,
    jsonSchema: { type: 'object', properties: {}, additionalProperties: true },
    validate: (value: unknown) => ({ success: true, value }),
  }
  const description = 'Was used earlier in this conversation and cannot be used now. Do not call it.'
  return Object.fromEntries(names.map((name) => [name, { description, inputSchema }]))
}

/** Usage as version 6 and later report it, in the form that models use. */
function modelUsage(usage: unknown): unknown {
  if (!isObject(usage) || !isObject(usage.inputTokenDetails)) return usage
  const { cacheReadTokens: cacheRead, cacheWriteTokens: cacheWrite } = usage.inputTokenDetails
  return {
    inputTokens: { total: usage.inputTokens, cacheRead, cacheWrite },
    outputTokens: { total: usage.outputTokens },
  }
}

/** The answer without tool calls, which would never get a result. */
function withoutCalls(messages: readonly NewMessage[]): NewMessage[] {
  return messages.flatMap((message) => {
    if (message.role !== 'assistant') return []
    if (typeof message.content === 'string') return message.content === '' ? [] : [message]
    const { metadata: _, ...rest } = message
    const content = message.content.filter(({ type }) => type !== 'tool-call' && type !== 'tool-result')
    if (content.length === message.content.length) return [message]
    return content.some(({ type }) => type === 'text') ? [{ ...rest, content }] : []
  })
}

export class PackageMissingError extends Error {
  readonly packageName: string

  constructor(packageName: string) {
    super(`${packageName} isn't installed`)
    this.name = 'PackageMissingError'
    this.packageName = packageName
  }
}

/**
 * Loads a package as a program in `folder` would, since the command line may be installed elsewhere than the project it is called in; else
 * as this package would. Rejects with `PackageMissingError`, or with an error of the package.
 */
async function importFrom(folder: string, name: string): Promise<Module> {
  const path = entryFrom(folder, name)
  if (path !== undefined) return import(pathToFileURL(path).href)
  try {
    return await import(name)
  } catch (error) {
    if ((error as { code?: unknown } | null)?.code !== 'ERR_MODULE_NOT_FOUND') throw error
    throw new PackageMissingError(name)
  }
}

/** The entry of a package in the nearest `node_modules` that has it. */
function entryFrom(folder: string, name: string): string | undefined {
  for (let at = folder; ; at = dirname(at)) {
    const root = join(at, 'node_modules', name)
    if (existsSync(join(root, 'package.json'))) return join(root, entryOf(root))
    if (at === dirname(at)) return undefined
  }
}

function entryOf(root: string): string {
  const { exports, module, main } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    exports?: unknown
    module?: string
    main?: string
  }
  const own = isObject(exports) && '.' in exports ? exports['.'] : exports
  return targetIn(own) ?? main ?? module ?? 'index.js'
}

/** The conditions of a package's exports that apply. */
const CONDITIONS: ReadonlySet<string> = new Set(['node', 'import', 'module-sync', 'default'])

function targetIn(target: unknown): string | undefined {
  if (typeof target === 'string') return target
  const choices = Array.isArray(target)
    ? target
    : isObject(target)
      ? Object.keys(target).flatMap((key) => (CONDITIONS.has(key) ? [target[key]] : []))
      : []
  for (const choice of choices) {
    const found = targetIn(choice)
    if (found !== undefined) return found
  }
  return undefined
}
