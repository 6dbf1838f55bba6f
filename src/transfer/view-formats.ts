/** The forms a view is written in. They stand apart from what writes them: the help of a command names them, and loads no writer. */
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
export type ViewFormat = (typeof VIEW_FORMATS)[number]
