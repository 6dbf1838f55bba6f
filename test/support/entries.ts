import * as anthropic from '../../src/anthropic.ts'
import * as arrays from '../../src/arrays.ts'
import * as compat from '../../src/compat.ts'
import * as google from '../../src/google.ts'
import * as root from '../../src/index.ts'
import * as openai from '../../src/openai.ts'
import * as tokens from '../../src/tokens.ts'

/** Everything that the entries without a peer dependency export. */
export const everything = { ...root, ...tokens, ...arrays, ...compat, ...anthropic, ...google, ...openai }

/** The files of these entries. */
export const ENTRY_FILES = ['index', 'tokens', 'arrays', 'compat', 'anthropic', 'google', 'openai'].map(
  (name) => `src/${name}.ts`,
)
