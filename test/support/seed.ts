import fc from 'fast-check'

/*
 * What chance decides in the suite follows one seed (vitest.config.ts): a failure is there again when it is run again.
 * `SEED=<number>` is another one, `SEED=random` a new one; the long mode takes a new one unless told. The very moment at
 * which a process is killed no seed repeats.
 */

/** The seed of this run. */
export const SEED = Number(process.env.SEED)

fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: SEED })
