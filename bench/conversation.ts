import type { NewMessage } from 'undertext'

/* Made-up conversations, always the same: words of a fixed list in an order that a small generator decides. */

const WORDS =
  `the parser reads a file and gives back one tree for each module so that later passes can walk over
  it without asking the disk again when a test fails we look at its output first then change the smallest thing
  const function return import export await string number undefined value index result error`.split(/\s+/)

/** Numbers from 0 up to 2^32, always the same ones (a linear congruential generator; constants of Numerical Recipes). */
export function makeRandom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state
  }
}

/** About `characters` characters of text. */
export function textOf(characters: number, random: () => number): string {
  let text = ''
  while (text.length < characters) text += `${WORDS[random() % WORDS.length]} `
  return text.slice(0, characters)
}

/** A request and its answer, 400 characters each. */
export function textTurn(random: () => number): NewMessage[] {
  return [
    { role: 'user', content: textOf(400, random) },
    { role: 'assistant', content: textOf(400, random) },
  ]
}

/** A call of a tool and its result of 3.3 KB. */
export function toolTurn(random: () => number, number: number): NewMessage[] {
  const toolCallId = `call_${number}`
  const path = `src/module-${random() % 50}.ts`
  return [
    {
      role: 'assistant',
      content: [{ type: 'tool-call', toolCallId, toolName: 'read_file', input: { path } }],
    },
    {
      role: 'tool',
      content: [
        {
          type: 'tool-result',
          toolCallId,
          toolName: 'read_file',
          output: { type: 'text', value: textOf(3_300, random) },
        },
      ],
    },
  ]
}

/**
 * A coding agent's session: each request is followed by three calls with results and an answer. Of 10,000
 * messages of it the contents take about 8 MB.
 */
export function agentSession(messages: number, seed = 7): NewMessage[] {
  const random = makeRandom(seed)
  const session: NewMessage[] = []
  for (let number = 0; session.length < messages; ) {
    session.push({ role: 'user', content: textOf(200 + (random() % 400), random) })
    for (let call = 0; call < 3; call++) {
      number += 1
      const toolCallId = `call_${number}`
      const reads = random() % 2 === 0
      const toolName = reads ? 'read_file' : 'bash'
      const input = reads ? { path: `src/module-${random() % 200}.ts` } : { command: textOf(60, random) }
      session.push(
        { role: 'assistant', content: [{ type: 'tool-call', toolCallId, toolName, input }] },
        {
          role: 'tool',
          content: [
            {
              type: 'tool-result',
              toolCallId,
              toolName,
              output: { type: 'text', value: textOf(500 + (random() % 2_600), random) },
            },
          ],
        },
      )
    }
    session.push({ role: 'assistant', content: textOf(300 + (random() % 300), random) })
  }
  return session.slice(0, messages)
}
