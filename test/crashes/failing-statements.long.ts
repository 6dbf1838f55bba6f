import { FAULTS } from './faults.ts'
import { describeSweeps } from './sweeps.ts'
import { VERBS } from './verbs.ts'

describeSweeps(VERBS, () => FAULTS)
