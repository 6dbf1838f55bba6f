import { PassThrough } from 'node:stream'
import { expect, it } from 'vitest'
import { Keyboard } from '../../../src/cli/commands/chat/prompts.ts'

/** A keyboard on a stream, and what comes out of it. */
function keyboard() {
  const modes: boolean[] = []
  const terminal = Object.assign(new PassThrough(), { setRawMode: (mode: boolean) => modes.push(mode) })
  const keys = new Keyboard(terminal)
  let seen = ''
  keys.keys.on('data', (bytes: Buffer) => {
    seen += bytes.toString()
  })
  keys.start()
  const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
  const type = async (...pieces: (string | Buffer)[]): Promise<string> => {
    seen = ''
    for (const piece of pieces) {
      terminal.write(piece)
      await settle()
    }
    await settle()
    return seen
  }
  const release = async (): Promise<string> => {
    seen = ''
    keys.release()
    await settle()
    return seen
  }
  return { keys, modes, type, release }
}

it('lets keys through as they are, arrows and a lone Escape too', async () => {
  const { type } = keyboard()
  expect(await type('a', '\x1b[A', '\x1b', 'é')).toBe('a\x1b[A\x1bé')
  expect(await type(Buffer.from('€').subarray(0, 1), Buffer.from('€').subarray(1))).toBe('€')
})

it('makes one line of a paste, however its marks are cut', async () => {
  const { type } = keyboard()
  const paste = '\x1b[200~one\rtwo\r\nthree\n\x1b[201~'
  expect(await type(paste)).toBe('one␤two␤three')
  // An Escape alone may be a key, so the first two characters come together.
  expect(await type(paste.slice(0, 2), ...paste.slice(2).split(''))).toBe('one␤two␤three')
  expect(await type(`x${paste}y`)).toBe('xone␤two␤threey')
})

it('lets no control character of a paste through', async () => {
  const { type } = keyboard()
  expect(await type('\x1b[200~a\x1b[2Jb\x03c\x07\td\x9b\x1b[201~')).toBe('a[2Jbc  d')
})

it('holds keys while an answer arrives, and passes Ctrl-C to the waiter', async () => {
  const { keys, type, release } = keyboard()
  let interrupts = 0
  keys.hold(() => {
    interrupts += 1
  })
  expect(await type('next', '\r')).toBe('')
  expect(interrupts).toBe(0)
  expect(await release()).toBe('next\r')
  keys.hold(() => {
    interrupts += 1
  })
  await type('gone\x03kept')
  expect(interrupts).toBe(1)
  expect(await release()).toBe('kept')
})

it('leaves raw mode when it closes', () => {
  const { keys, modes } = keyboard()
  keys.close()
  expect(modes).toEqual([true, false])
})
