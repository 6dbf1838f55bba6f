import { someFaults } from './faults.ts'
import { describeSweeps } from './sweeps.ts'
import { VERBS } from './verbs.ts'

/* Every statement of a verb fails once. The long mode takes all verbs, and lets each statement fail in every way. */
const verbs = VERBS.filter(({ isLong }) => isLong !== true)
describeSweeps(verbs, someFaults)
