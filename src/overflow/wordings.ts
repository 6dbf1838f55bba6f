import { GENERAL_WORDINGS } from './general-wordings.ts'
import { OWN_WORDINGS } from './own-wordings.ts'
import { TABLE_WORDINGS } from './table-wordings.ts'
import type { Wording } from './wording.ts'

/** Every wording, in the order in which they are tried: the first that holds names the provider. */
export const WORDINGS: readonly Wording[] = [...OWN_WORDINGS, ...TABLE_WORDINGS, ...GENERAL_WORDINGS]
