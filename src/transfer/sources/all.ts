import type { Source } from '../source.ts'
import { anthropic } from './anthropic.ts'
import { chatgpt } from './chatgpt.ts'
import { messages } from './messages.ts'
import { openai } from './openai.ts'

/** The sources, in the order they are asked: those with marks of their own first, plain messages last. */
export const SOURCES: readonly Source[] = [chatgpt, openai, anthropic, messages]
