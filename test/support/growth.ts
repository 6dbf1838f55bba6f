/** Milliseconds of processor time below which nothing is compared: garbage collection alone takes some. */
const FLOOR = 100
const TRIES = 4

/** Milliseconds of processor time, which other processes do not lengthen as they lengthen the time on the clock. */
function processorTime(run: () => void): number {
  const before = process.cpuUsage()
  run()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1_000
}

/** How many times as long `run(2 * size)` takes as `run(size)`: the least of several tries, 1 where both are short. Linear work gives 2. */
export function growth(run: (size: number) => void, size: number): number {
  let [whole, half] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY]
  for (let tries = 0; tries < TRIES; tries++) {
    whole = Math.min(
      whole,
      processorTime(() => run(2 * size)),
    )
    if (whole < FLOOR) return 1
    half = Math.min(
      half,
      processorTime(() => run(size)),
    )
  }
  return whole / half
}
