import type { Storage } from '../storage/storage.ts'
import { TransferVerbs } from './transfer-verbs.ts'

/**
 * A store of conversations. Made by `openStore`.
 *
 * Every verb but `getContextStats`, `needsCompaction`, `compactSession` and `whenIdle` throws `SESSION_NOT_FOUND` for an
 * unknown session; all throw `INVALID_INPUT` for arguments that cannot be, `STORE_CLOSED`, `STORE_BUSY`,
 * `STORE_CORRUPT`, `STORE_UNAVAILABLE`, `IN_TRANSACTION` (a connection handed in), and writing ones
 * `STORE_READONLY` and `STORE_FULL`. After any error nothing is written and the store is usable. One exception:
 * `compactSession` and `hideMessages` read what they answer behind their commit; when only that fails, the work is done.
 */
export class Store<S extends Storage = Storage> extends TransferVerbs<S> {}
