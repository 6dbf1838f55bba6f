/** The formats of an exported view. In a separate file, because the help of the command lists them without loading the writers. */
export const VIEW_FORMATS = [
  'neutral',
  'flat',
  'openai',
  'openai-responses',
  'anthropic',
  'gemini',
  'ai-sdk',
  'ui',
  'langchain',
  'openai-agents',
] as const

/** The name of a format of an exported view. */
export type ViewFormat = (typeof VIEW_FORMATS)[number]
