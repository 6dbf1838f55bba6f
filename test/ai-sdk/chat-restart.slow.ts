import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { lastAssistantMessageIsCompleteWithToolCalls, type UIMessage } from 'ai'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openStore } from '../../src/index.ts'
import { type Compiled, compile } from '../support/compiled.ts'
import { newFolder } from '../support/temporary.ts'
import { Browser, plain } from './chat-browser.ts'
import { type Content, call } from './models.ts'

let compiled: Compiled
let folder: string
beforeAll(() => {
  compiled = compile('test/ai-sdk')
  folder = newFolder()
})
afterAll(() => {
  compiled.remove()
})

/** A server's process over a file, until it is killed. */
async function serve(file: string, script: readonly (string | Content)[]) {
  const child: ChildProcess = spawn(
    process.execPath,
    [compiled.script('test/ai-sdk/chat-server.ts'), file, JSON.stringify(script)],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  )
  const [line] = (await once(child.stdout!, 'data')) as [Buffer]
  const url = `http://127.0.0.1:${line.toString().trim()}`
  const get = async <T>(path: string): Promise<T> => (await (await fetch(`${url}${path}`)).json()) as T
  return {
    api: `${url}/api/chat`,
    create: async () => ((await (await fetch(url, { method: 'POST' })).json()) as { id: string }).id,
    load: (id: string) => get<UIMessage[]>(`/chats/${id}`),
    sent: () => get<{ role: string; content: unknown }[][]>('/sent'),
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL')
      await once(child, 'exit')
    },
  }
}

/** What of each message a model was sent says who speaks. */
const roles = (prompt: readonly { role: string }[] | undefined) => prompt?.map(({ role }) => role)

describe('a chat of useChat over a restart of the process', () => {
  it('is loaded as the browser saw it, and continues', async () => {
    const file = join(folder, 'restart.db')
    let id: string
    let seen: UIMessage[]
    {
      await using server = await serve(file, [
        call('c1', { at: 'x' }),
        'It is x.',
        'Pardon: x.',
        call('c2', {}, 'ask'),
      ])
      id = await server.create()
      const chat = new Browser(id, server.api)
      await chat.sendMessage({ text: 'Look at x.' })
      expect(chat.error).toBeUndefined()
      expect(chat.said).toEqual(['user: Look at x.', 'assistant: tool-look output-available | It is x.'])
      await chat.regenerate()
      expect(chat.said.at(-1)).toBe('assistant: Pardon: x.')
      await chat.sendMessage({ text: 'Ask me.', metadata: { from: 'a page' } })
      expect(chat.said.at(-1)).toBe('assistant: tool-ask input-available')
      seen = plain(chat.messages)
      expect(await server.load(id)).toEqual(seen)
    }
    await using server = await serve(file, ['You said blue.', 'Fine.'])
    const loaded = await server.load(id)
    expect(loaded).toEqual(seen)
    const chat = new Browser(id, server.api, loaded, {
      sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithToolCalls,
    })
    await chat.addToolOutput({ tool: 'ask', toolCallId: 'c2', output: 'blue' } as never)
    while (chat.status !== 'ready' || chat.said.length < 4 || !chat.said.at(-1)!.includes('blue'))
      await new Promise((resolve) => setTimeout(resolve, 5))
    expect(chat.said.at(-1)).toBe('assistant: tool-ask output-available | You said blue.')
    await chat.sendMessage({ text: 'Good.' })
    expect(await server.load(id)).toEqual(plain(chat.messages))
    const [first, second] = await server.sent()
    expect(roles(first)).toEqual(['system', 'user', 'assistant', 'user', 'assistant', 'tool'])
    expect(roles(second)).toEqual([...roles(first)!, 'assistant', 'user'])

    // The answer that was made anew stands in the log with its call and result, and can be given back.
    await using store = await openStore(file)
    const compactions = await store.listCompactions(id)
    expect(compactions.map(({ kind, rowsHidden }) => [kind, rowsHidden])).toEqual([['manual', 3]])
    expect((await store.sessions.verify(id)).findings).toEqual([])
  })

  it('runs a tool that was allowed after the restart, and edits a message', async () => {
    const file = join(folder, 'approval.db')
    let id: string
    {
      await using server = await serve(file, [call('c1', {}, 'remove')])
      id = await server.create()
      const chat = new Browser(id, server.api, [], { whole: true })
      await chat.sendMessage({ text: 'Remove it.' })
      expect(chat.said.at(-1)).toBe('assistant: tool-remove approval-requested')
    }
    await using server = await serve(file, ['It is gone.', 'Kept.'])
    const chat = new Browser(id, server.api, await server.load(id), { whole: true })
    const part = chat.lastMessage!.parts.find(({ type }) => type === 'tool-remove') as {
      readonly approval: { readonly id: string }
    }
    await chat.addToolApprovalResponse({ id: part.approval.id, approved: true })
    await chat.sendMessage()
    expect(chat.error).toBeUndefined()
    expect(chat.said).toEqual(['user: Remove it.', 'assistant: tool-remove output-available | It is gone.'])
    expect(await server.load(id)).toEqual(plain(chat.messages))
    await chat.sendMessage({ text: 'Keep it.', messageId: chat.messages[0]!.id })
    expect(chat.said).toEqual(['user: Keep it.', 'assistant: Kept.'])
    expect(await server.load(id)).toEqual(plain(chat.messages))
  })

  it('two processes that answer at once lose nothing', async () => {
    const file = join(folder, 'two.db')
    await using one = await serve(file, Array(6).fill('one'))
    await using two = await serve(file, Array(6).fill('two'))
    const id = await one.create()
    const tabs = [new Browser(id, one.api), new Browser(id, two.api)]
    for (let round = 0; round < 3; round++)
      await Promise.all(tabs.map((tab, index) => tab.sendMessage({ text: `${index} in round ${round}` })))
    expect(tabs.map(({ error }) => error)).toEqual([undefined, undefined])
    const stored = await one.load(id)
    const known = new Map(stored.map((message) => [message.id, message]))
    expect(known.size).toBe(12)
    for (const tab of tabs)
      for (const message of plain(tab.messages)) expect(known.get(message.id)).toEqual(message)
    await using store = await openStore(file)
    expect(await store.listCompactions(id)).toEqual([])
  })
})
