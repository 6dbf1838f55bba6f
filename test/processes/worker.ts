import { type JobName, jobs, stopJobs } from './jobs.ts'

/* A process of the fleet: does what it is told, one job or several at once, and says how each ended. */

type Order =
  | { readonly stop: true }
  | { readonly id: number; readonly name: JobName; readonly argument: never }

// Nobody is left to do it for.
process.on('disconnect', () => process.exit())

process.on('message', async (order: Order) => {
  if ('stop' in order) return stopJobs()
  // At once: a job may be told to stop before it has opened its file.
  stopJobs(true)
  try {
    const answer = await jobs[order.name](order.argument)
    process.send!({ id: order.id, answer })
  } catch (error) {
    process.send!({ id: order.id, error: error instanceof Error ? `${error.stack}` : String(error) })
  }
})
