import { describePglite } from './pglite.ts'

/* The whole contract. */

describePglite()
