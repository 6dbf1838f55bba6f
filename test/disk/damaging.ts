import type { Damaged, Sound } from './damage.ts'

/* The ways a file is damaged, each from a seed. */

const PAGE = 4_096

/** A sequence of numbers in [0, below), the same for the same seed. */
function randomFrom(seed: number): (below: number) => number {
  let state = (seed * 2_654_435_761) >>> 0
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below
  }
}

type Random = ReturnType<typeof randomFrom>

function flipped(bytes: Buffer, random: Random, count: number, from = 0): Buffer {
  const copy = Buffer.from(bytes)
  for (let flip = 0; flip < count; flip++) {
    const at = from + random(copy.length - from)
    copy[at] = copy[at]! ^ (1 + random(255))
  }
  return copy
}

function pageOf(bytes: Buffer, random: Random): number {
  return random(bytes.length / PAGE) * PAGE
}

const KINDS: Readonly<Record<string, (sound: Sound, random: Random) => Damaged>> = {
  'one byte': ({ file }, random) => ({ file: flipped(file, random, 1) }),
  'some bytes': ({ file }, random) => ({ file: flipped(file, random, 2 + random(30)) }),
  'one bit': ({ file }, random) => {
    const copy = Buffer.from(file)
    const at = random(copy.length)
    copy[at] = copy[at]! ^ (1 << random(8))
    return { file: copy }
  },
  // Where the cells of a page are named and the records begin: a flip there is seldom only another word.
  'the head of a page': ({ file }, random) => {
    const copy = Buffer.from(file)
    const page = pageOf(file, random)
    for (let flip = 0; flip < 2; flip++) copy[page + random(60)]! ^= 1 + random(255)
    return { file: copy }
  },
  'a page of zeros': ({ file }, random) => {
    const page = pageOf(file, random)
    return { file: Buffer.from(file).fill(0, page, page + PAGE) }
  },
  'a page in the place of another': ({ file }, random) => {
    const copy = Buffer.from(file)
    const [from, to] = [pageOf(file, random), pageOf(file, random)]
    file.copy(copy, to, from, from + PAGE)
    return { file: copy }
  },
  'cut off': ({ file }, random) => ({ file: file.subarray(0, random(file.length)) }),
  'cut off after a page': ({ file }, random) => ({ file: file.subarray(0, pageOf(file, random)) }),
  'a log that was cut off': ({ inUse }, random) => ({
    file: inUse.file,
    wal: inUse.wal.subarray(0, random(inUse.wal.length)),
  }),
  'a log with other bytes': ({ inUse }, random) => ({
    file: inUse.file,
    wal: flipped(inUse.wal, random, 1 + random(4)),
  }),
  'another index of the log': ({ inUse }, random) => ({
    ...inUse,
    shm: flipped(inUse.shm, random, 1 + random(40)),
  }),
}

/** The damaged copy of a seed, and how it was damaged. */
export function damagedBy(seed: number, sound: Sound): { readonly kind: string; readonly damaged: Damaged } {
  const names = Object.keys(KINDS)
  const kind = names[seed % names.length]!
  return { kind, damaged: KINDS[kind]!(sound, randomFrom(seed)) }
}
