import { describe, expect, it } from 'vitest'
import { isUserTool } from '../../src/core/messages/tool-names.ts'
import { answerIn, approvalReason, isSpoken, reasonIn } from '../../src/core/messages/user-answers.ts'
import type { Part } from '../../src/index.ts'
import { growth } from '../support/growth.ts'

describe('the reason of a refusal is the user’s word', () => {
  it.each([
    [
      'Claude Code',
      "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the new_string was NOT written to the file). The user provided the following reason for the rejection:  use pnpm",
    ],
    [
      'Claude Code, later',
      "The user doesn't want to proceed with this tool use. The tool use was rejected. To tell you how to proceed, the user said:\nuse pnpm",
    ],
    [
      'Roo Code',
      "[execute_command for 'npm i'] Result:\nThe user denied this operation and provided the following feedback:\n<feedback>\nuse pnpm\n</feedback>\n<environment_details>x</environment_details>",
    ],
    ['Cline', 'The user denied this operation and provided the following feedback:\n"use pnpm"'],
    ['Roo Code with native tools', '{"status":"denied","feedback":"use pnpm"}'],
    [
      'opencode',
      'The user rejected permission to use this specific tool call with the following feedback: use pnpm',
    ],
  ])('of %s', (_, text) => {
    expect(reasonIn(text)).toBe('use pnpm')
    const output = { type: 'error-text', value: text } as const
    expect(isSpoken({ output })).toBe(true)
    expect(answerIn({ output }, 'bash')).toEqual({ text: 'use pnpm', isRefusal: true })
  })

  it('and so is what Roo Code reports as an object, and what a user adds to an approval', () => {
    const denied = { output: { type: 'json', value: { status: 'denied', feedback: 'use pnpm' } } } as const
    expect(isSpoken(denied)).toBe(true)
    expect(answerIn(denied, 'execute_command')).toEqual({ text: 'use pnpm', isRefusal: true })
    for (const value of [
      '{"status":"approved","feedback":"use pnpm"}',
      '{"status": "guidance", "feedback": "use pnpm"}',
      'The user provided the following feedback:\n<feedback>\nuse pnpm\n</feedback>',
    ])
      expect(answerIn({ output: { type: 'text', value } }, 'bash')).toEqual({
        text: 'use pnpm',
        isRefusal: false,
      })
    const response = { type: 'tool-approval-response', approvalId: 'p', approved: true, reason: 'use pnpm' }
    const part = { type: 'provider', provider: 'ai-sdk', data: { 'ai-sdk': response } } as const
    expect(approvalReason(part)).toBe('use pnpm')
    const refused = { ...part, data: { 'ai-sdk': { ...response, approved: false } } }
    expect(approvalReason(refused)).toBeUndefined()
  })

  it('and so is that of a denied approval in a chat of the AI SDK', () => {
    const result = {
      output: { type: 'error-text', value: 'use pnpm' },
      providerOptions: { 'ai-sdk': { denied: true, reason: 'use pnpm' } },
    } as const
    expect(isSpoken(result)).toBe(true)
    expect(answerIn(result, 'bash')).toEqual({ text: 'use pnpm', isRefusal: true })
  })

  it.each([
    "The user doesn't want to proceed with this tool use.",
    'Error: permission denied',
    '{"status":"denied","message":"The user denied this operation."}',
    '{"status":"ok","feedback":"use pnpm"}',
    '{"status": cut off',
    `${'line\n'.repeat(300)}To tell you how to proceed, the user said: x`,
  ])('but %j has none', (text) => {
    expect(reasonIn(text)).toBeUndefined()
  })

  it('takes time that grows with the text alone', () => {
    const long = (n: number) =>
      `The user denied this operation and provided the following feedback:\n${'<feedback>'.repeat(n)}`
    expect(growth((n) => reasonIn(long(n)), 60_000)).toBeLessThan(3.5)
  })
})

describe('an answer to a question is the user’s word', () => {
  const given = (value: unknown): Pick<Extract<Part, { type: 'tool-result' }>, 'output'> =>
    ({ output: typeof value === 'string' ? { type: 'text', value } : { type: 'json', value } }) as never

  it.each([
    ['ask_user', 'pnpm', 'pnpm'],
    [
      'AskUserQuestion',
      'User has answered your questions: "Which one?"="pnpm". You can now continue with the user\'s answers in mind.',
      'pnpm',
    ],
    [
      'AskUserQuestion',
      'User has answered your questions: "Which one, "a" or "b"?"="b, never "a"", "When?"="now". You can now continue with the user\'s answers in mind.',
      'b, never "a"\nnow',
    ],
    ['ask_followup_question', '<answer>\npnpm\n</answer>', 'pnpm'],
    ['request_user_input', { answers: { manager: 'pnpm' } }, 'manager: pnpm'],
    ['mcp__forms__elicitation', { answer: 'pnpm' }, 'pnpm'],
  ] as const)('to %s', (tool, value, text) => {
    expect(answerIn(given(value), tool)).toEqual({ text, isRefusal: false })
  })

  it('and a program’s output is none', () => {
    expect(answerIn(given('pnpm'), 'bash')).toBeUndefined()
    expect(answerIn(given('pnpm'), 'my_form')).toBeUndefined()
    expect(answerIn(given('pnpm'), 'my_form', ['my_form'])).toEqual({ text: 'pnpm', isRefusal: false })
    expect(
      answerIn(given('User has approved exiting plan mode. You can now proceed.'), 'ExitPlanMode'),
    ).toBeUndefined()
    expect(isUserTool('askUserQuestion')).toBe(true)
  })
})
