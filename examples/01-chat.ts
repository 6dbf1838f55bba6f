/*
 * A chat that continues where it stopped: it is stored in chat.db. Run it several times, with a question each:
 *
 *   npx tsx examples/01-chat.ts 'My name is Ada.'
 *   npx tsx examples/01-chat.ts 'What is my name?'
 */
import { openStore } from 'undertext'
import { type OpenAIMessage, toOpenAI } from 'undertext/openai'

/** Stands for the model. With the SDK of OpenAI: `client.chat.completions.create({ model: 'gpt-5', messages })`. */
async function callModel(messages: readonly OpenAIMessage[]): Promise<string> {
  const name = /My name is (\w+)/.exec(JSON.stringify(messages))?.[1]
  return name === undefined ? 'I do not know your name.' : `Your name is ${name}.`
}

const prompt = process.argv[2] ?? 'What is my name?'
const store = await openStore('chat.db')

// The request holds the whole conversation, or what fits the model's window of it, and the new question.
const request = await store.prepareRequest('chat', { prompt })
const content = await callModel(toOpenAI(request.messages))
// Stores the question and the answer together.
await store.recordResponse('chat', { request, messages: [{ role: 'assistant', content }] })

const { messageCount } = await store.sessions.get('chat')
console.log(`${content} (${messageCount} messages stored)`)
await store.close()
