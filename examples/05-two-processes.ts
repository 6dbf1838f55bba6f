/*
 * Two processes write to one conversation in one file at the same time. Run it:
 *
 *   npx tsx examples/05-two-processes.ts
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { openStore } from 'undertext'

const isSecond = process.argv[2] === 'second'
const name = isSecond ? 'second' : 'first'
const store = await openStore('shared.db')

// The first process starts the second one, which runs this same file, and waits until it is ready.
const second = isSecond ? undefined : fork(fileURLToPath(import.meta.url), ['second'])
if (second !== undefined) await once(second, 'message')
else process.send?.('ready')

for (let turn = 1; turn <= 50; turn++) {
  // The messages of one append stay together: none of the other process comes between them.
  await store.append('talk', [
    { role: 'user', content: `${name}: question ${turn}`, metadata: { by: name } },
    { role: 'assistant', content: `${name}: answer ${turn}`, metadata: { by: name } },
  ])
}

if (second !== undefined) {
  await once(second, 'exit')
  const messages = await store.getMessages('talk')
  console.log(
    `${messages.length} messages, numbered ${messages[0]?.position} to ${messages.at(-1)?.position}`,
  )
  for (const each of ['first', 'second'])
    console.log(`${each}: ${messages.filter(({ metadata }) => metadata?.by === each).length} messages`)
  const whole = messages.filter(
    ({ role, metadata }, i) => role === 'user' && messages[i + 1]?.metadata?.by === metadata?.by,
  )
  console.log(`${whole.length} questions are followed by their answers`)
}
await store.close()
