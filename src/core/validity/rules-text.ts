import { MOST_TEXT } from './limits.ts'
import { CHAT_OPENAI, CLAUDE, EVERY_FORM, RESPONSES, type Rule, SDK_GOOGLE } from './rule.ts'
import { allBlocks, type Block } from './wire.ts'

/* Rules about texts, and about the form of the body. */

const TRAILING_SPACE = /\s$/

/** The last block of a turn that is not only a mark. */
function lastBlock(blocks: readonly Block[]): Block | undefined {
  return blocks.findLast(({ kind }) => kind !== 'other')
}

export const TEXT_RULES: readonly Rule[] = [
  {
    id: 'json',
    group: 'text',
    scopes: EVERY_FORM,
    says: 'The body consists of what JSON can express.',
    brokenBy: 'a cycle, a function, a big integer, a number that is not finite, a field that throws',
    sources: ['https://www.rfc-editor.org/rfc/rfc8259'],
    check: ({ notJson }, report) => {
      for (const { path, detail } of notJson) report(path, detail)
    },
  },
  {
    id: 'shape',
    group: 'text',
    scopes: EVERY_FORM,
    says: 'Messages, contents and blocks have the types that the API documents.',
    brokenBy: 'a message that is no object, a content that is neither a text nor a list',
    sources: [
      'https://platform.claude.com/docs/en/agents-and-tools/tool-use/handle-tool-calls',
      'https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Message.html',
      'https://platform.openai.com/docs/api-reference/responses',
    ],
    check: ({ misshapen }, report) => {
      for (const { path, detail } of misshapen) report(path, detail)
    },
  },
  {
    id: 'surrogate',
    group: 'text',
    scopes: EVERY_FORM,
    says: 'No text and no name of a field has half a surrogate pair.',
    brokenBy: 'an output or an input that was cut within an emoji',
    sources: [
      'anthropics/claude-code#56064',
      'anthropics/claude-code#69927',
      'anthropics/claude-code#68325',
      'openclaw/openclaw#18105',
    ],
    check: ({ surrogates }, report) => {
      for (const { path, detail } of surrogates) report(path, detail)
    },
  },
  {
    id: 'empty-text',
    group: 'text',
    scopes: [...CLAUDE, { form: 'gemini' }, SDK_GOOGLE],
    says: 'No text block and no message is empty.',
    brokenBy: 'a tool that returned nothing, an answer that was stopped at once',
    sources: [
      'stackblitz/bolt.new#7426',
      'HKUDS/nanobot#949',
      'vercel/ai#3775',
      'NousResearch/hermes-agent#9486',
    ],
    check: (request, report) => {
      for (const block of allBlocks(request))
        if (block.kind === 'text' && block.text === '' && block.mayBeEmpty !== true)
          report(block.path, 'an empty text')
      for (const { path, blocks, role } of request.turns)
        if (blocks.length === 0 && role !== 'system') report(path, 'no content')
    },
  },
  {
    id: 'blank-text',
    group: 'text',
    scopes: CLAUDE,
    says: 'Every text block has a sign that is not white space.',
    brokenBy: 'an answer of two line feeds before a tool call, a placeholder of one space',
    sources: [
      'anthropics/claude-code#23440',
      'nick1udwig/kibitz#78',
      'NousResearch/hermes-agent#41985',
      'anomalyco/opencode#31259',
    ],
    check: (request, report) => {
      for (const block of allBlocks(request))
        if (
          block.kind === 'text' &&
          block.mayBeEmpty !== true &&
          block.text !== '' &&
          block.text.trim() === ''
        )
          report(block.path, 'a text of white space alone')
    },
  },
  {
    id: 'text-length',
    group: 'text',
    scopes: [CHAT_OPENAI, RESPONSES],
    says: 'A text has at most 10,485,760 characters, on Azure 1,048,576.',
    brokenBy: 'the output of a command or a file that was read whole',
    sources: [
      'VectorlyApp/bluebox#31',
      'Shopify/roast#52',
      'https://learn.microsoft.com/en-us/azure/ai-services/openai/quotas-limits',
    ],
    check: (request, report) => {
      const most = request.provider === 'azure' ? MOST_TEXT.azure : MOST_TEXT.openai
      for (const block of allBlocks(request))
        if (block.kind === 'text' && block.text.length > most)
          report(block.path, `${block.text.length} characters, and ${most} are allowed`)
    },
  },
  {
    id: 'trailing-space',
    group: 'text',
    scopes: [{ form: 'messages' }, { form: 'converse' }],
    says: "A last message of the assistant's does not end in white space.",
    brokenBy: 'the beginning of an answer that the application puts in the mouth of the model',
    sources: ['langchain-ai/langchain#35072', 'tailcallhq/forgecode#1872', 'anomalyco/opencode#1295'],
    check: ({ turns }, report) => {
      const last = turns.at(-1)
      const block = last?.role === 'assistant' ? lastBlock(last.blocks) : undefined
      if (block?.kind === 'text' && block.text.trim() !== '' && TRAILING_SPACE.test(block.text.slice(-1)))
        report(block.path, 'white space at the end')
    },
  },
]
