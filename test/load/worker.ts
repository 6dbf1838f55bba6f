import { type LifeOptions, live } from './live.ts'

/* A process of the load: lives as it is told, says how it was, and goes. */

// Nobody is left to do it for.
process.on('disconnect', () => process.exit())

process.on('message', async (options: LifeOptions) => {
  try {
    process.send!({ report: await live(options) })
  } catch (error) {
    process.send!({ error: error instanceof Error ? `${error.stack}` : String(error) })
  }
})
process.send!({ ready: true })
