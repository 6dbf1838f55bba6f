/*
 * Restores a history from a file of lines, a few lines at a time, and says how many there were.
 *
 *   node restore-in-process.js <store file> <lines file> <lines until it waits to be killed, or "all">
 */
import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import { openStore } from '../../src/index.ts'
import type { HistoryLine } from '../../src/transfer/history-lines.ts'
import { restoreFrom } from '../../src/transfer/history-lines.ts'

const [file = '', source = '', until = 'all'] = process.argv.slice(2)

async function* lines(): AsyncGenerator<HistoryLine> {
  let number = 0
  for await (const text of createInterface({ input: createReadStream(source) })) {
    if (String(number) === until) {
      process.stdout.write('waiting\n')
      await new Promise((resolve) => setTimeout(resolve, 600_000))
    }
    number += 1
    yield { number, text }
  }
}

const store = await openStore(file)
for await (const one of restoreFrom(store, lines())) process.stdout.write(`${JSON.stringify(one)}\n`)
await store.close()
