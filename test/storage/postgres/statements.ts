import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'

/* The statements that the source of the verbs contains, to see whether a suite executes all of them. */

const FOLDER = join(import.meta.dirname, '../../../src/storage/sql')
const SQL =
  /\b(?:select\b.+\bfrom\b|insert into undertext_|update undertext_|delete from undertext_|(?:join|cross\}) undertext_|order by )/s

type Statement = { readonly where: string; readonly text: string; readonly pattern: RegExp }

/** The texts with SQL in the source, whole statements and parts of them. An expression in a text may have any value. */
export function statementsOfSource(): Statement[] {
  return readdirSync(FOLDER).flatMap((file) => {
    const source = ts.createSourceFile(file, readFileSync(join(FOLDER, file), 'utf8'), ts.ScriptTarget.Latest)
    const found: Statement[] = []
    const visit = (node: ts.Node): void => {
      const pieces = piecesOf(node)
      const text = pieces?.join('${}') ?? ''
      if (pieces !== undefined && SQL.test(text)) {
        const { line } = source.getLineAndCharacterOfPosition(node.getStart(source))
        const pattern = new RegExp(pieces.map((piece) => escaped(plain(piece))).join('.*'), 's')
        found.push({ where: `${file}:${line + 1}`, text: plain(text), pattern })
      }
      ts.forEachChild(node, visit)
    }
    visit(source)
    return found
  })
}

/** A text whose white space does not matter. */
export function plain(text: string): string {
  return text.replaceAll(/\s+/g, ' ')
}

function piecesOf(node: ts.Node): string[] | undefined {
  if (ts.isStringLiteral(node) || ts.isNoSubstitutionTemplateLiteral(node)) return [node.text]
  if (!ts.isTemplateExpression(node)) return undefined
  return [node.head.text, ...node.templateSpans.map(({ literal }) => literal.text)]
}

function escaped(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')
}
