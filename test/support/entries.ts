import * as anthropic from '../../src/adapters/anthropic/index.ts'
import * as formats from '../../src/adapters/flat/index.ts'
import * as google from '../../src/adapters/google/index.ts'
import * as openai from '../../src/adapters/openai/index.ts'
import * as arrays from '../../src/compat/arrays/index.ts'
import * as compat from '../../src/compat/index.ts'
import * as stages from '../../src/core/stages/index.ts'
import * as summarizers from '../../src/core/summarizers/index.ts'
import * as tokens from '../../src/core/tokens/index.ts'
import * as root from '../../src/index.ts'

/** Everything that the entries without a peer dependency export. */
export const everything = {
  ...root,
  ...stages,
  ...summarizers,
  ...formats,
  ...tokens,
  ...arrays,
  ...compat,
  ...anthropic,
  ...google,
  ...openai,
}

/** The files of these entries. */
export const ENTRY_FILES = [
  'src/index.ts',
  'src/core/stages/index.ts',
  'src/core/summarizers/index.ts',
  'src/adapters/flat/index.ts',
  'src/core/tokens/index.ts',
  'src/compat/arrays/index.ts',
  'src/compat/index.ts',
  ...['anthropic', 'google', 'openai'].map((name) => `src/adapters/${name}/index.ts`),
]
