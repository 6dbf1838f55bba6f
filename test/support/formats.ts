import {
  type ConversionOptions,
  fromAnthropic,
  fromOpenAI,
  type Message,
  toAnthropic,
  toOpenAI,
} from '../../src/index.ts'

/** A form messages can have elsewhere: one line of the table that the tests of all formats go through. */
export type Format = {
  readonly name: string
  readonly to: (messages: readonly Message[], options?: ConversionOptions) => unknown
  readonly from: (wire: never, options?: ConversionOptions) => readonly Message[]
  /** The provider whose parts it has a place for. */
  readonly owner?: string
  /** The providers that are sent this form. */
  readonly providers: readonly string[]
}

/** Providers that are sent OpenAI's form, whatever they accept of it. */
const LIKE_OPENAI = ['openai', 'azure', 'mistral', 'ollama', 'litellm', 'huggingface', 'sagemaker', 'nobody']

export const FORMATS: readonly Format[] = [
  { name: 'openai', to: toOpenAI, from: fromOpenAI, owner: 'openai', providers: LIKE_OPENAI },
  {
    name: 'anthropic',
    to: toAnthropic,
    from: fromAnthropic,
    owner: 'anthropic',
    providers: ['anthropic', 'bedrock', 'vertex'],
  },
]

/** Every provider with every form it is sent, by name. */
export const SENT: readonly (readonly [provider: string, format: string, Format])[] = FORMATS.flatMap(
  (format) => format.providers.map((provider) => [provider, format.name, format] as const),
)

/** What a form makes of messages, and what is read of that. */
export function sentAndRead(
  { to, from }: Format,
  messages: readonly Message[],
  options?: ConversionOptions,
): readonly Message[] {
  return from(to(messages, options) as never, options)
}
