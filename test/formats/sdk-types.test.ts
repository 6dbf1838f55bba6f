import type Anthropic from '@anthropic-ai/sdk'
import { type Content, FunctionResponse, type GenerateContentParameters, type Part } from '@google/genai'
import { expect, it } from 'vitest'
import { fromAnthropic, toAnthropic } from '../../src/adapters/anthropic/index.ts'
import { fromGemini, toGemini } from '../../src/adapters/google/index.ts'

/*
 * The types of the SDKs, held against ours in both directions: what does not fit does not compile (`npm run check`).
 */

it("accepts Anthropic's messages and answers, and returns what its SDK accepts", () => {
  const asked: Anthropic.MessageParam[] = [{ role: 'user', content: 'What is in a.ts?' }]
  const answer = {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    content: [{ type: 'text', text: 'Nothing.', citations: null }],
  } as Anthropic.Message

  const { system, messages } = toAnthropic(
    fromAnthropic({ system: 'Be brief.', messages: [...asked, answer] }),
  )
  const request: Pick<Anthropic.MessageCreateParams, 'system' | 'messages'> = {
    messages,
    ...(system !== undefined && { system }),
  }

  expect(request).toStrictEqual({ system: 'Be brief.', messages: [...asked, answer] })
})

it("takes Gemini's contents and parts, and gives what its SDK takes", () => {
  const parts: Part[] = [{ functionCall: { name: 'read', args: { path: 'a.ts' } }, thoughtSignature: 'c2ln' }]
  const answered = new FunctionResponse()
  answered.name = 'read'
  answered.response = { output: 'nothing' }
  const contents: Content[] = [
    { role: 'user', parts: [{ text: 'What is in a.ts?' }] },
    { role: 'model', parts },
    { role: 'user', parts: [{ functionResponse: answered }] },
  ]

  const sent = toGemini(fromGemini({ systemInstruction: 'Be brief.', contents }))
  const request: GenerateContentParameters = {
    model: 'gemini-3-pro-preview',
    contents: sent.contents,
    config: { ...(sent.systemInstruction !== undefined && { systemInstruction: sent.systemInstruction }) },
  }
  const again: Content[] = sent.contents

  expect(request.config).toStrictEqual({ systemInstruction: 'Be brief.' })
  expect(again).toEqual(JSON.parse(JSON.stringify(contents)))
})
