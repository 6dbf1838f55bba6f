import { Writable } from 'node:stream'
import type { Sink } from '../command.ts'

/** A sink as the stream that libraries for terminals write to: as it is, so only what was made safe may be given to them. */
export function terminalOf(sink: Sink): Writable & { isTTY: true; columns: number; rows: number } {
  const stream = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      sink.write(chunk.toString())
      done()
    },
  })
  return Object.assign(stream, { isTTY: true as const, columns: sink.columns, rows: sink.rows ?? 24 })
}
