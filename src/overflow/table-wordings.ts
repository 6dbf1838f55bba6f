import type { Wording } from './wording.ts'

/** Who serves Anthropic's models, and hands on what they say. */
const HOSTS_OF_CLAUDE = [
  'bedrock',
  'vertex',
  'azure',
  'openrouter',
  'github-copilot',
  'databricks',
  'snowflake',
  'litellm',
]

/** The table of seed 003 in its order, and what the same providers say besides. */
export const TABLE_WORDINGS: readonly Wording[] = [
  {
    provider: 'openai',
    trust: 'certain',
    pattern: /this model's maximum context length is/,
    sample: "This model's maximum context length is",
    also: 'compatible',
  },
  {
    provider: 'openai',
    trust: 'certain',
    pattern:
      /your (?:input|request|prompt) exceeds? (?:the|this) (?:model's )?context window|exceeds? the context window of this model/,
    sample: 'Your input exceeds the context window of this model',
    also: 'compatible',
  },
  {
    provider: 'openai',
    trust: 'certain',
    pattern: /input tokens exceed the configured limit/,
    sample: 'Input tokens exceed the configured limit of N tokens',
    also: ['azure', 'github-copilot'],
  },
  {
    provider: 'openai',
    trust: 'likely',
    pattern: /reduce the length of the (?:input )?messages/,
    sample: 'reduce the length of the messages',
    also: 'compatible',
  },
  {
    provider: 'azure',
    trust: 'certain',
    pattern: /content_length_exceeded/,
    sample: 'content_length_exceeded',
  },
  {
    provider: 'google',
    trust: 'loose',
    pattern: /resource_exhausted/,
    needs: 'size',
    sample: 'RESOURCE_EXHAUSTED',
    also: ['vertex'],
  },
  {
    provider: 'google',
    trust: 'likely',
    pattern: /exceeds the maximum number of tokens/,
    sample: 'exceeds the maximum number of tokens',
    also: ['vertex'],
  },
  {
    provider: 'google',
    trust: 'loose',
    pattern: /content is too long/,
    sample: 'content is too long',
    also: ['vertex'],
  },
  {
    provider: 'bedrock',
    trust: 'loose',
    pattern: /validationexception/,
    needs: 'tokens',
    sample: 'ValidationException.*token',
  },
  {
    provider: 'bedrock',
    trust: 'likely',
    pattern: /expected maxlength: \d{4}/,
    sample: 'Malformed input request: expected maxLength: N, actual: M',
  },
  {
    provider: 'bedrock',
    trust: 'loose',
    pattern: /input is too long/,
    sample: 'Input is too long',
    also: ['anthropic', 'replicate', 'huggingface', 'vertex'],
  },
  {
    provider: 'bedrock',
    trust: 'loose',
    pattern: /exceeds the model's maximum/,
    sample: "exceeds the model's maximum",
    also: 'compatible',
  },
  {
    provider: 'mistral',
    trust: 'certain',
    pattern: /context length exceeded/,
    sample: 'context length exceeded',
    also: 'compatible',
  },
  {
    provider: 'mistral',
    trust: 'loose',
    pattern: /maximum number of tokens/,
    sample: 'maximum number of tokens',
    also: 'compatible',
  },
  {
    provider: 'openrouter',
    trust: 'certain',
    pattern: /context_length_exceeded/,
    sample: 'context_length_exceeded',
    also: 'compatible',
  },
  {
    provider: 'anthropic',
    trust: 'certain',
    pattern: /prompt is too long(?!.{0,60}char)/,
    sample: 'prompt is too long',
    also: HOSTS_OF_CLAUDE,
  },
  {
    provider: 'anthropic',
    trust: 'certain',
    pattern: /input length and max_tokens exceed/,
    sample: 'input length and `max_tokens` exceed context limit: A + B > C',
    also: HOSTS_OF_CLAUDE,
  },
  {
    // The window of the plan, 200,000 tokens: a shorter history is served again.
    provider: 'anthropic',
    trust: 'certain',
    pattern: /extra usage is required for (?:long context|1m context)/,
    sample: 'Extra usage is required for long context requests.',
    also: HOSTS_OF_CLAUDE,
  },
  { provider: 'anthropic', trust: 'loose', pattern: /input is too long/, sample: 'input is too long' },
  {
    provider: 'anthropic',
    trust: 'loose',
    pattern: /too many tokens/,
    sample: 'too many tokens',
    also: HOSTS_OF_CLAUDE,
  },
  {
    provider: 'litellm',
    trust: 'certain',
    pattern: /contextwindowexceedederror/,
    sample: 'litellm.ContextWindowExceededError',
    also: 'anyone',
  },
]
