import { readFileSync } from 'node:fs'
import { Converter, ReflectionKind } from 'typedoc'

/*
 * The API reference: one Markdown file per entry of package.json, made of the docstrings. `npm run reference` writes it to
 * docs/reference, which `npm run docs` makes a part of the site; git ignores it. An undocumented name is an error.
 */

/** Whether an undocumented or unexported symbol is an error. */
const STRICT = true

/** Writes out a type that is made of a schema or a list, so that the reference shows its fields and values. */
function resolveDerivedTypes({ converter }) {
  converter.on(Converter.EVENT_CREATE_DECLARATION, (context, reflection) => {
    if (reflection.kind !== ReflectionKind.TypeAlias) return
    const declaration = context.getSymbolFromReflection(reflection)?.declarations?.[0]
    if (/\btypeof [a-zA-Z_]/.test(declaration?.type?.getText() ?? ''))
      reflection.comment?.modifierTags.add('@useDeclaredType')
  })
}

/** Names the pages as one imports them: `undertext/openai`. */
function nameEntries({ converter }) {
  converter.on(Converter.EVENT_RESOLVE_BEGIN, ({ project }) => {
    for (const [entry, source] of entries) {
      const path = source.replace(/^src\/|\.ts$/g, '').replace(/\/index$/, '')
      const module = project.children.find(({ name }) => name === path)
      module.name = entry.replace('.', 'undertext')
    }
  })
}

/** Lists the fields of `Readonly<{ … }>` with their docstrings, and the methods of a class once, where they are declared. */
function simplifyReflections({ converter }) {
  converter.on(Converter.EVENT_RESOLVE_BEGIN, ({ project }) => {
    for (const alias of project.getReflectionsByKind(ReflectionKind.TypeAlias)) {
      const fields = alias.type?.name === 'Readonly' && alias.type.typeArguments[0]
      if (fields?.type !== 'reflection' || fields.declaration.children === undefined) continue
      delete alias.type
      project.mergeReflections(fields.declaration, alias)
    }
  })
  converter.on(Converter.EVENT_RESOLVE_END, ({ project }) => {
    for (const member of project.getReflectionsByKind(ReflectionKind.ClassMember))
      if (member.parent?.kind === ReflectionKind.Class && member.inheritedFrom)
        project.removeReflection(member)
  })
}

const { exports } = JSON.parse(readFileSync(new URL('package.json', import.meta.url), 'utf8'))

const entries = Object.entries(exports)
  // The tables of drizzle have no API of their own, and their types are long.
  .filter(([entry, target]) => typeof target === 'object' && !entry.startsWith('./schema'))
  .map(([entry, target]) => [entry, target.default.replace('./dist/', 'src/').replace(/\.js$/, '.ts')])

export default {
  name: 'undertext',
  entryPoints: entries.map(([, source]) => source),
  tsconfig: 'tsconfig.build.json',
  // `npm run check` does that, in a third of the time.
  skipErrorChecking: true,
  plugin: ['typedoc-plugin-markdown', resolveDerivedTypes, nameEntries, simplifyReflections],
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
  typeAliasPropertiesFormat: 'table',
  typeDeclarationFormat: 'table',
  // Parts of other types, and types that only the package itself creates.
  intentionallyNotExported:
    'Applied AppliedMessages Awaitable Content Context ContextCompactionSpelling Cost Database EventList Field Injector Item MaterialMessage MessageOf ModelApprovalResponse ModelAssistantPart ModelFile ModelImage ModelText ModelToolResult OfJob OfRun Options Planned RecoveringStore RunCompactionArgs Sentences SnippetMessage src/adapters/ai-sdk/types.ts:ToolCall src/transfer/source.ts:Place Storage SummaryRecord ToolState TurnOutcome WithMetadata'.split(
      ' ',
    ),
  validation: { notExported: true, notDocumented: true, invalidLink: true },
  requiredToBeDocumented: ['Class', 'Function', 'Interface', 'TypeAlias', 'Variable', 'Accessor'],
  treatValidationWarningsAsErrors: STRICT,
}
