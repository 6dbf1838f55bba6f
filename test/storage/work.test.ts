import { readdirSync } from 'node:fs'
import { join, relative } from 'node:path'
import ts from 'typescript'
import { expect, it } from 'vitest'

/*
 * A step does nothing until someone runs it: a statement that is written without `yield*` is never sent, and a condition on one is
 * always true. The compiler accepts both, so this looks at the type of every call.
 */

const ROOT = join(import.meta.dirname, '..', '..')
const SQL = join(ROOT, 'src', 'storage', 'sql')
const MODEL = join(ROOT, 'src', 'model')

const CHECKED = [
  ...readdirSync(SQL).map((file) => join(SQL, file)),
  ...['nesting.ts', 'expansion.ts', 'work.ts'].map((file) => join(MODEL, file)),
]

/** Every way to lose a step, and every way to run one. */
const SAMPLE = join(SQL, 'sample-of-the-test.ts')
const SAMPLE_TEXT = `
import { complete, mapped, type Step, type Work } from '../../model/work.ts'
import type { Sql } from './sql.ts'
export declare const step: Step<unknown>
declare function some(value: unknown): void
type Asked = { readonly later: Step<number>; readonly ask: () => Step<number> }

export function* lost(sql: Sql): Work<number> {
  sql.run('1') // lost
  void sql.run('2') // lost
  if (sql.get('3')) return 1 // lost
  while (!sql.get('4')) return 1 // lost
  const five = sql.get('5') ?? 5 // lost
  const six = sql.run('6') // lost
  some(sql.run('7')) // lost
  for (const eight of [1, 2]) kept(sql, eight) // lost
  ;[1, 2].forEach((nine) => sql.run('9', nine)) // lost
  some([1, 2].map((ten) => sql.run('10', ten))) // lost
  yield sql.run('11') as never // lost
  const [twelve] = [sql.run('12')] // lost
  const isThere = (yield* sql.get('13')) !== undefined && sql.get('14') !== undefined // lost
  return [five, six, twelve, isThere].length
}

export function* kept(sql: Sql, value: number): Work<number> {
  yield* sql.run('1')
  const later = sql.run('2')
  const asked: Asked = { later: sql.run('3'), ask: () => sql.run('4') }
  yield* mapped([1], (one) => sql.run('5', one))
  yield* mapped([1], function* (one): Work<number> {
    return yield* sql.run('6', one)
  })
  if ((yield* sql.get('7')) === undefined) return complete(kept(sql, 8))
  yield* value > 1 ? sql.run('9') : sql.run('10')
  return (yield* later) + (yield* asked.later) + (yield* asked.ask())
}

export const returned = (sql: Sql): Step<number> => sql.run('11')
`

type Lost = { readonly file: string; readonly line: number; readonly text: string }

function program(): ts.Program {
  const { config } = ts.readConfigFile(join(ROOT, 'tsconfig.json'), ts.sys.readFile)
  const { options } = ts.parseJsonConfigFileContent({ ...config, files: CHECKED, include: [] }, ts.sys, ROOT)
  const host = ts.createCompilerHost(options)
  const { getSourceFile, fileExists } = host
  host.fileExists = (file) => file === SAMPLE || fileExists.call(host, file)
  host.getSourceFile = (file, ...rest) =>
    file === SAMPLE
      ? ts.createSourceFile(file, SAMPLE_TEXT, rest[0], true)
      : getSourceFile.call(host, file, ...rest)
  return ts.createProgram([...CHECKED, SAMPLE], options, host)
}

/** The calls whose steps nobody runs, and the number of all that return one. */
function stepsIn(files: readonly string[]): { readonly lost: Lost[]; readonly count: number } {
  const lost: Lost[] = []
  let count = 0
  for (const file of files) {
    const source = compiled.getSourceFile(file)!
    const visit = (node: ts.Node): void => {
      const type = ts.isCallExpression(node) ? checker.getTypeAtLocation(node) : undefined
      const isList = type !== undefined && isListOfSteps(type)
      if (type !== undefined && (isList || isStep(type))) {
        count++
        // A list of steps is `mapped`.
        if (isList || !isUsed(node as ts.CallExpression)) {
          const { line } = source.getLineAndCharacterOfPosition(node.getStart(source))
          lost.push({ file: relative(ROOT, file), line: line + 1, text: node.getText(source) })
        }
      }
      ts.forEachChild(node, visit)
    }
    visit(source)
  }
  return { lost, count }
}

const compiled = program()
const checker = compiled.getTypeChecker()
const STEP = typeOf('step')

function typeOf(name: string): ts.Type {
  const source = compiled.getSourceFile(SAMPLE)!
  const symbol = checker
    .getExportsOfModule(checker.getSymbolAtLocation(source)!)
    .find((one) => one.name === name)!
  return checker.getTypeOfSymbolAtLocation(symbol, source)
}

/** Whether a value of this type may be a step. */
function isStep(type: ts.Type): boolean {
  if (type.isUnion()) return type.types.some(isStep)
  const isEverything = (type.flags & (ts.TypeFlags.Any | ts.TypeFlags.Unknown | ts.TypeFlags.Never)) !== 0
  return !isEverything && !checker.isArrayLikeType(type) && checker.isTypeAssignableTo(type, STEP)
}

function isListOfSteps(type: ts.Type): boolean {
  return checker.isArrayLikeType(type) && checker.getTypeArguments(type as ts.TypeReference).some(isStep)
}

/** Whether a step is run, or given to someone who expects one. */
function isUsed(node: ts.Expression): boolean {
  const { parent } = node
  if (ts.isYieldExpression(parent)) return parent.asteriskToken !== undefined
  if (ts.isParenthesizedExpression(parent) || ts.isNonNullExpression(parent)) return isUsed(parent)
  if (ts.isConditionalExpression(parent) && parent.condition !== node) return isUsed(parent)
  if (ts.isVariableDeclaration(parent)) return ts.isIdentifier(parent.name) && isRunLater(parent.name)
  if (
    ts.isReturnStatement(parent) ||
    ts.isArrowFunction(parent) ||
    ts.isCallExpression(parent) ||
    ts.isPropertyAssignment(parent)
  )
    return isExpected(node)
  return false
}

/** A callback whose result nobody looks at expects none. */
function isExpected(node: ts.Expression): boolean {
  const expected = checker.getContextualType(node)
  return expected === undefined ? ts.isReturnStatement(node.parent) : isStep(expected)
}

function isRunLater(name: ts.Identifier): boolean {
  const symbol = checker.getSymbolAtLocation(name)
  let isRun = false
  const visit = (node: ts.Node): void => {
    if (ts.isIdentifier(node) && node !== name && checker.getSymbolAtLocation(node) === symbol)
      isRun ||= isUsed(node)
    ts.forEachChild(node, visit)
  }
  visit(name.getSourceFile())
  return isRun
}

it('finds each step that is lost, and none that is run', () => {
  const marked = SAMPLE_TEXT.split('\n').flatMap((line, index) =>
    line.endsWith('// lost') ? [index + 1] : [],
  )
  expect(marked).toHaveLength(13)
  expect(stepsIn([SAMPLE]).lost.map(({ line }) => line)).toEqual(marked)
})

it('every step of the verbs is run', () => {
  const { lost, count } = stepsIn(CHECKED)
  expect(count).toBeGreaterThan(500)
  expect(lost).toEqual([])
})
