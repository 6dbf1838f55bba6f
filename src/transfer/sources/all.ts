import type { Source } from '../source.ts'
import { anthropic } from './anthropic.ts'
import { chatgpt } from './chatgpt.ts'
import { claude } from './claude.ts'
import { claudeCode } from './claude-code.ts'
import { messages } from './messages.ts'
import { openai } from './openai.ts'
import { pi } from './pi.ts'
import { roo } from './roo.ts'

/** The sources, in the order they are asked: those with marks of their own first, plain messages last. */
export const SOURCES: readonly Source[] = [claudeCode, pi, roo, chatgpt, claude, openai, anthropic, messages]
