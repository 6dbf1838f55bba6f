import fc from 'fast-check'
import { expect, it } from 'vitest'
import { openStore } from '../../src/index.ts'
import { runCli } from '../support/cli-run.ts'
import { newFile } from '../support/temporary.ts'

/*
 * A session in which every text is hostile: its id, title, owner, model, messages, tool names, file names, reasons, actors. Nothing of
 * it reaches a terminal or a pipe as anything but letters.
 */

/** What a terminal would obey or hide, our own colours taken out. */
const COLOURS = new RegExp(`${'\x1b'}\\[(?:1|2|22|31|32|33|34|35|36|39|90)m`, 'g')
const FORBIDDEN = new RegExp(
  [
    '[\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f]',
    '[\\u061c\\u200b\\u200e\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff]',
    '\\p{Cs}',
  ].join('|'),
  'u',
)

const piece = fc.oneof(
  fc.integer({ min: 1, max: 0x9f }).map((code) => String.fromCharCode(code)),
  fc.constantFrom(
    '\x1b[2J',
    '\x1b]0;x\x07',
    '\x1b]8;;http://x\x07',
    '\x9b31m',
    '\u202e',
    '\u2066',
    '\u200b',
    '\ud800',
    '\r\n',
    '日',
    '👨‍👩‍👧',
    'a',
  ),
)
const text = fc.array(piece, { minLength: 1, maxLength: 8 }).map((pieces) => pieces.join(''))
/** Fit for an id: no lone surrogates, which SQLite cannot keep. */
const name = text.map((one) => `x${one.replace(/\p{Cs}/gu, '')}`)

async function storeOf(
  path: string,
  [id, title, other, said]: readonly [string, string, string, string],
): Promise<readonly string[]> {
  const store = await openStore(path, { env: false })
  await store.sessions.create({
    id,
    title,
    owner: other,
    provider: 'openai',
    model: other,
    metadata: { [title]: title },
  })
  await store.append(id, [
    { role: 'system', content: said },
    {
      role: 'user',
      content: [
        { type: 'text', text: said },
        { type: 'file', data: new Uint8Array(3), mediaType: 'text/plain', filename: other },
      ],
    },
    {
      role: 'assistant',
      content: [
        { type: 'reasoning', text: said },
        { type: 'tool-call', toolCallId: other, toolName: other, input: { [title]: said } },
      ],
    },
    {
      role: 'tool',
      content: [
        {
          type: 'tool-result',
          toolCallId: other,
          toolName: other,
          output: { type: 'error-text', value: `${said}\n`.repeat(3_000) },
        },
      ],
    },
    { role: 'assistant', content: said },
    { role: 'user', content: 'and now' },
    { role: 'assistant', content: 'so be it' },
  ])
  const last = (await store.getMessages(id)).at(-2)!
  await store.compactions.hide(id, [last.id], { actor: other, reason: title })
  await store.undoCompaction(id, (await store.listCompactions(id)).at(-1)!.id, {
    actor: other,
    reason: title,
  })
  await store.requests.recordUsage(id, { inputTokens: 10, outputTokens: 1 })
  const compactions = (await store.listCompactions(id)).map((one) => one.id)
  await store.close()
  return compactions
}

it('reaches no terminal as it is, whatever is stored and whichever command shows it', async () => {
  await fc.assert(
    fc.asyncProperty(name, text, name, text, async (id, title, other, said) => {
      const path = newFile()
      const compactions = await storeOf(path, [id, title.replace(/\p{Cs}/gu, '?'), other, said])
      const commands = [
        ['sessions'],
        ['show', id, '--full'],
        ['show', '@', '--original', '--no-fold'],
        ['stats', '@'],
        ['stats', '@', '--model', `${other}/${other},${other}`],
        ['log', '@'],
        ...compactions.map((one) => ['diff', '@', one, '--full']),
        ['verify'],
        ['undo', '@', compactions[0]!, '--reason', title],
        ['redo', '@', compactions[0]!],
        ['doctor'],
        ['show', other],
        [other],
        ['show', `--${other}`],
        ['__complete', '--', 'show', ''],
        ['purge', '@'],
        ['purge', '@', '--yes'],
      ]
      for (const argv of commands) {
        for (const options of [{}, { columns: 40 }, { columns: 100 }, { json: true }]) {
          const isJson = 'json' in options
          const given = [...argv.slice(0, 1), '--db', path, ...(isJson ? ['--json'] : []), ...argv.slice(1)]
          if (isJson && argv[0] === 'purge') continue
          const columns = 'columns' in options ? { columns: options.columns } : {}
          const { out, err } = await runCli(given, columns)
          const seen = (out + err).replace(COLOURS, '')
          expect(
            FORBIDDEN.exec(seen)?.[0],
            `${JSON.stringify(argv)} ${JSON.stringify(options)}`,
          ).toBeUndefined()
          if (isJson && argv[0] !== '__complete') expect(() => JSON.parse(out)).not.toThrow()
        }
      }
    }),
    { numRuns: 4 },
  )
})
