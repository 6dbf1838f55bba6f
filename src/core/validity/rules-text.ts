import { MAX_TEXT_LENGTH } from './limits.ts'
import { CLAUDE, EVERY_FORM, type Rule } from './rule.ts'
import { allBlocks, type Block } from './wire.ts'

/* Rules about texts, and about the form of the body. */

const TRAILING_SPACE = /\s$/

/** Returns the last block of a turn that is more than a mark. */
function lastBlock(blocks: readonly Block[]): Block | undefined {
  return blocks.findLast(({ kind }) => kind !== 'other')
}

export const TEXT_RULES: readonly Rule[] = [
  {
    id: 'json',
    scopes: EVERY_FORM,
    description: 'The body contains only values that JSON can express.',
    check: ({ notJson }, report) => {
      for (const { path, detail } of notJson) report(path, detail)
    },
  },
  {
    id: 'shape',
    scopes: EVERY_FORM,
    description: 'Messages, content and blocks have the types that the API documents.',
    check: ({ malformed }, report) => {
      for (const { path, detail } of malformed) report(path, detail)
    },
  },
  {
    id: 'surrogate',
    scopes: EVERY_FORM,
    description: 'No text and no field name contains a lone surrogate.',
    check: ({ surrogates }, report) => {
      for (const { path, detail } of surrogates) report(path, detail)
    },
  },
  {
    id: 'empty-text',
    scopes: [...CLAUDE, 'gemini', 'sdk: google-ai'],
    description: 'No text block and no message is empty.',
    check: (request, report) => {
      for (const block of allBlocks(request))
        if (block.kind === 'text' && block.text === '' && block.mayBeEmpty !== true)
          report(block.path, 'empty text')
      for (const { path, blocks, role } of request.turns)
        if (blocks.length === 0 && role !== 'system') report(path, 'no content')
    },
  },
  {
    id: 'blank-text',
    scopes: CLAUDE,
    description: 'Every text block contains a character other than whitespace.',
    check: (request, report) => {
      for (const block of allBlocks(request))
        if (
          block.kind === 'text' &&
          block.mayBeEmpty !== true &&
          block.text !== '' &&
          block.text.trim() === ''
        )
          report(block.path, 'only whitespace')
    },
  },
  {
    id: 'text-length',
    scopes: ['chat: openai azure', 'responses'],
    description: 'A text has at most 10,485,760 characters; on Azure, 1,048,576.',
    check: (request, report) => {
      const most = request.provider === 'azure' ? MAX_TEXT_LENGTH.azure : MAX_TEXT_LENGTH.openai
      for (const block of allBlocks(request))
        if (block.kind === 'text' && block.text.length > most)
          report(block.path, `${block.text.length} characters; at most ${most} are allowed`)
    },
  },
  {
    id: 'trailing-space',
    scopes: ['messages', 'converse'],
    description: "If the last message is the assistant's, it doesn't end in whitespace.",
    check: ({ turns }, report) => {
      const last = turns.at(-1)
      const block = last?.role === 'assistant' ? lastBlock(last.blocks) : undefined
      if (block?.kind === 'text' && block.text.trim() !== '' && TRAILING_SPACE.test(block.text.slice(-1)))
        report(block.path, 'whitespace at the end')
    },
  },
]
