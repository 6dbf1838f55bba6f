import { readFileSync } from 'node:fs'

/* The API reference: one Markdown file per entry of package.json, made of the docstrings. `npm run reference` writes it. */

/** Whether an undocumented or unexported symbol is an error. False until the root entry is split. */
const STRICT = false

const { exports } = JSON.parse(readFileSync(new URL('package.json', import.meta.url), 'utf8'))

export default {
  name: 'undertext',
  entryPoints: Object.values(exports)
    .filter((entry) => typeof entry === 'object')
    .map(({ default: file }) => file.replace('./dist/', 'src/').replace(/\.js$/, '.ts'))
    // The tables of drizzle have no API of their own, and their types are long.
    .filter((file) => !file.endsWith('/schema.ts')),
  tsconfig: 'tsconfig.json',
  plugin: ['typedoc-plugin-markdown'],
  router: 'module',
  out: 'docs/reference',
  readme: 'none',
  disableSources: true,
  excludePrivate: true,
  excludeInternal: true,
  excludeExternals: true,
  hidePageHeader: true,
  hideBreadcrumbs: true,
  useCodeBlocks: true,
  parametersFormat: 'table',
  interfacePropertiesFormat: 'table',
  typeDeclarationFormat: 'table',
  validation: { notExported: true, notDocumented: true, invalidLink: true },
  requiredToBeDocumented: ['Class', 'Function', 'Interface', 'TypeAlias', 'Variable', 'Accessor'],
  treatValidationWarningsAsErrors: STRICT,
}
