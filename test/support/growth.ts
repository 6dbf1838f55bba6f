/** Milliseconds of processor time below which nothing is compared: garbage collection alone takes some. */
const FLOOR = 100
/** Garbage and other processes only lengthen a measurement, so the least of several is used: of four, or of more while the ratio is unclear. */
const [TRIES, MAX_TRIES] = [4, 10]
/** A ratio that more measurements need not improve. */
const CLEAR = 2.5

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
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    whole = Math.min(
      whole,
      processorTime(() => run(2 * size)),
    )
    if (whole < FLOOR) return 1
    half = Math.min(
      half,
      processorTime(() => run(size)),
    )
    if (tries >= TRIES - 1 && whole / half < CLEAR) break
  }
  return whole / half
}
