/** The formats of an exported view. They are in a separate file, because the command's help lists them without loading the writers. */
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
