import type { Rule } from './rule.ts'
import { CALL_RULES } from './rules-calls.ts'
import { MEDIA_RULES } from './rules-media.ts'
import { REASONING_RULES } from './rules-reasoning.ts'
import { ROLE_RULES } from './rules-roles.ts'
import { TEXT_RULES } from './rules-text.ts'

/** All rules, in the order in which they are checked. */
export const RULES: readonly Rule[] = [
  ...TEXT_RULES,
  ...ROLE_RULES,
  ...CALL_RULES,
  ...REASONING_RULES,
  ...MEDIA_RULES,
]
