import { expect } from 'vitest'
import { toSdkPrompt } from '../../src/adapters/ai-sdk/index.ts'
import { toAnthropic } from '../../src/adapters/anthropic/index.ts'
import { toGemini } from '../../src/adapters/google/index.ts'
import { toOpenAI, toOpenAIResponses } from '../../src/adapters/openai/index.ts'
import { endsInResult, partsOf, type ViewMessage } from '../../src/core/messages/message.ts'
import { renderView } from '../../src/core/rendering/render.ts'
import { type Message, type RequestFinding, type Store, validateRequest } from '../../src/index.ts'
import { FORMATS, ofOneForm } from './formats.ts'

/* What is sent to a provider, in every form that it is sent, checked by rules that share no code with the renderer. */

type Body = { readonly [field: string]: unknown }
type Sent = {
  readonly form: string
  readonly owner?: string
  readonly to: (messages: readonly Message[]) => Body
}

const tools = [{ name: 'look', input_schema: { type: 'object' } }]
const ANTHROPIC: Sent = {
  form: 'Messages API',
  owner: 'anthropic',
  to: (messages) => ({ ...toAnthropic(messages, { forRequest: true }), tools }),
}
const CHAT: Sent = {
  form: 'Chat Completions',
  to: (messages) => ({ messages: toOpenAI(messages) }),
}
const RESPONSES: Sent = { form: 'Responses API', to: (messages) => ({ input: toOpenAIResponses(messages) }) }
const GEMINI: Sent = {
  form: 'generateContent',
  owner: 'google-ai',
  to: (messages) => ({ ...toGemini(messages) }),
}

function sdk(provider: string): Sent {
  return {
    form: 'prompt of the AI SDK',
    to: (messages) => ({ prompt: toSdkPrompt(messages, { version: 'v3', provider }) }),
  }
}

/** Every form that a provider is sent. */
const FORMS: { readonly [provider: string]: readonly Sent[] } = {
  anthropic: [ANTHROPIC, sdk('anthropic')],
  bedrock: [ANTHROPIC, sdk('bedrock')],
  vertex: [ANTHROPIC, GEMINI],
  'google-ai': [GEMINI, sdk('google-ai')],
  openai: [CHAT, RESPONSES, sdk('openai')],
  azure: [CHAT, RESPONSES, sdk('azure')],
  mistral: [CHAT, sdk('mistral')],
  huggingface: [CHAT],
  ollama: [CHAT],
}

/** The providers whose requests have rules. */
export const CHECKED_PROVIDERS = Object.keys(FORMS)

/** What a provider would refuse of rendered messages, in all forms that it is sent. */
export function findingsOf(
  messages: readonly Message[],
  provider: string,
): (RequestFinding & { readonly form: string })[] {
  return (FORMS[provider] ?? [CHAT]).flatMap(({ form, to }) =>
    validateRequest(to(endsOpen(messages.at(-1)) ? messages : [...messages, PROMPT]), provider).map(
      (finding) => ({ ...finding, form }),
    ),
  )
}

/** Throws for messages that a provider would refuse. */
export function expectAccepted(messages: readonly Message[], provider: string, what = 'a rendering'): void {
  expect(findingsOf(messages, provider), `${what}, for ${provider}`).toEqual([])
}

/** Renders a session as it is now for every provider, and throws for what one would refuse. */
export async function expectSessionAccepted(
  store: Store,
  session: string,
  what = session,
  providers: readonly string[] = CHECKED_PROVIDERS,
): Promise<void> {
  for (const provider of providers) {
    if (provider === 'vertex') expectViewAccepted(await store.getEffectiveHistory(session), [provider], what)
    else expectAccepted((await store.renderHistory(session, { provider })).messages, provider, what)
  }
}

/** One provider after the other, for sequences whose every step is rendered. */
export function providerOfStep(step: number): string[] {
  return [CHECKED_PROVIDERS[step % CHECKED_PROVIDERS.length]!]
}

/**
 * Renders a view for every provider, with what the user says next where the view ends in an answer or is empty, and throws for what one
 * would refuse.
 */
export function expectViewAccepted(
  view: readonly ViewMessage[],
  providers: readonly string[] = CHECKED_PROVIDERS,
  what = 'a view',
): void {
  const rows = endsOpen(view.at(-1))
    ? view
    : [...view, { ...PROMPT, id: 'prompt', kind: 'message' as const, createdAt: 0 }]
  for (const provider of providers) {
    if (provider !== 'vertex') expectAccepted(renderView(rows, { provider }).messages, provider, what)
    // Vertex speaks two forms, and a model reads one of them.
    else
      for (const { form, owner, to } of FORMS.vertex!) {
        const format = FORMATS.find((one) => one.owner === owner)!
        const { messages } = renderView(ofOneForm(rows, provider, format), { provider })
        expect(validateRequest(to(messages), provider), `${what}, ${form}`).toEqual([])
      }
  }
}

const PROMPT = { role: 'user', content: 'Go on' } as const

/** Whether a model is to answer now. */
function endsOpen(last: Pick<Message, 'role' | 'content'> | undefined): boolean {
  return last !== undefined && (last.role === 'user' || last.role === 'tool' || endsInResult(partsOf(last)))
}
