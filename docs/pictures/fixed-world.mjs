/*
 * Loaded before the program when pictures are made: time stands still and chance is always the same, so that ids and times are.
 * `DEMO_TIME` is what time it is, milliseconds since 1970; `setDemoTime` changes it.
 */
import crypto from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'

const RealDate = Date
let now = Number(process.env.DEMO_TIME)

globalThis.setDemoTime = (ms) => {
  now = ms
}
globalThis.Date = class extends RealDate {
  constructor(...given) {
    super(...(given.length === 0 ? [now] : given))
  }
  static now() {
    return now
  }
}

/** A xorshift generator. */
let state = 0x9e3779b9
const nextByte = () => {
  state ^= state << 13
  state ^= state >>> 17
  state ^= state << 5
  return state & 255
}
const fill = (bytes) => {
  for (let at = 0; at < bytes.length; at++) bytes[at] = nextByte()
  return bytes
}
globalThis.crypto.getRandomValues = (values) => {
  fill(new Uint8Array(values.buffer, values.byteOffset, values.byteLength))
  return values
}
crypto.randomBytes = (size) => fill(Buffer.alloc(size))
syncBuiltinESMExports()
