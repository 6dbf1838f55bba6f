/*
 * How the figures are taken. Contestants run in short blocks whose order rotates, each on its own file, in one
 * process: the disk drifts by half within the hour, and who comes after a heavy writer pays for it. Medians.
 */

export type Contestant = {
  readonly name: string
  /** One block. */
  readonly block: () => void | Promise<void>
}

/** Milliseconds that this process has worked. */
export function processorTime(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1_000
}

/** Milliseconds of a block by contestant: the median over the rounds, after one round that does not count. */
export async function medianBlocks(
  contestants: readonly Contestant[],
  rounds: number,
  clock: () => number = () => performance.now(),
): Promise<(name: string) => number> {
  const times = new Map(contestants.map(({ name }) => [name, [] as number[]] as const))
  for (let round = -1; round < rounds; round++) {
    for (let turn = 0; turn < contestants.length; turn++) {
      const { name, block } = contestants[(turn + round + contestants.length) % contestants.length]!
      const start = clock()
      await block()
      if (round >= 0) times.get(name)!.push(clock() - start)
    }
  }
  return (name) => median(times.get(name)!)
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}

/** Milliseconds that one piece of work takes. */
export async function timed(work: () => unknown): Promise<number> {
  const start = performance.now()
  await work()
  return performance.now() - start
}
