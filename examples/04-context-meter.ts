/*
 * A meter that shows how full the context window is, and a warning before it is full. Run it:
 *
 *   npx tsx examples/04-context-meter.ts
 */
import { openStore } from 'undertext'

// The model has a window of 1,000 tokens. 35 % of it is reserved for the answer, so 650 are left for the input.
const contextWindows = { acme: { _default: 1_000 } }
// This estimator counts one token for every four characters, and four more for each message.
const store = await openStore(':memory:', { contextWindows, estimator: 'neuron' })
store.on('contextWarning', ({ level }) => console.log(`Warning: ${level * 100} % of the input is used`))

async function showMeter(): Promise<void> {
  const stats = await store.getContextStats('talk', 'acme')
  if (stats === null) return
  const { estimatedInputTokens, availableInputTokens, usageRatio } = stats
  const bar = '#'.repeat(Math.round(usageRatio * 20)).padEnd(20, '.')
  console.log(`[${bar}] ${estimatedInputTokens} of ${availableInputTokens} tokens`)
}

for (let turn = 1; turn <= 3; turn++) {
  // The question has 304 characters, so it counts as 80 tokens. So does the answer, which stands for a model's.
  const request = await store.prepareRequest('talk', { provider: 'acme', prompt: 'Why so? '.repeat(38) })
  await store.recordResponse('talk', {
    request,
    messages: [{ role: 'assistant', content: 'Because '.repeat(38) }],
  })
  await showMeter()
}
await store.close()
