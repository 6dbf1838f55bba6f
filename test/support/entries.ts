import * as anthropic from '../../src/adapters/anthropic/index.ts'
import * as google from '../../src/adapters/google/index.ts'
import * as openai from '../../src/adapters/openai/index.ts'
import * as arrays from '../../src/compat/arrays/index.ts'
import * as compat from '../../src/compat/index.ts'
import * as tokens from '../../src/core/tokens/index.ts'
import * as root from '../../src/index.ts'

/** Everything that the entries without a peer dependency export. */
export const everything = { ...root, ...tokens, ...arrays, ...compat, ...anthropic, ...google, ...openai }

/** The files of these entries. */
export const ENTRY_FILES = ['index', 'tokens', 'arrays', 'compat', 'anthropic', 'google', 'openai'].map(
  (name) => `src/${name}.ts`,
)
