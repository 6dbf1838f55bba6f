import ts from 'typescript'
import { expect, it } from 'vitest'
import { checker, marked, nodesOf, type Place, placeOf, sampleFile, sourceFiles } from './program.ts'

/*
 * A step does nothing until someone runs it: a statement that is written without `yield*` is never sent, and a condition on one is
 * always true. The compiler accepts both, so this looks at the type of every call.
 */

/** The calls whose steps nobody runs, and the number of all that return one. */
function stepsIn(files: readonly ts.SourceFile[]): { readonly lost: Place[]; readonly count: number } {
  const lost: Place[] = []
  let count = 0
  for (const file of files)
    for (const node of nodesOf(file)) {
      const type = ts.isCallExpression(node) ? checker.getTypeAtLocation(node) : undefined
      const isList = type !== undefined && isListOfSteps(type)
      if (type === undefined || !(isList || isStep(type))) continue
      count++
      // A list of steps is `mapped`.
      if (isList || !isUsed(node as ts.CallExpression)) lost.push(placeOf(node))
    }
  return { lost, count }
}

const SAMPLE = sampleFile('steps')
const STEP = typeOf('step')

function typeOf(name: string): ts.Type {
  const symbol = checker
    .getExportsOfModule(checker.getSymbolAtLocation(SAMPLE)!)
    .find((one) => one.name === name)!
  return checker.getTypeOfSymbolAtLocation(symbol, SAMPLE)
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
  const lines = marked('steps', 'lost')
  expect(lines).toHaveLength(13)
  expect(stepsIn([SAMPLE]).lost.map(({ line }) => line)).toEqual(lines)
})

it('every step of the verbs is run', () => {
  const model = ['coverage.ts', 'expansion.ts'].map((file) => `core/model/${file}`)
  const { lost, count } = stepsIn(sourceFiles('storage/sql', ...model))
  expect(count).toBeGreaterThan(500)
  expect(lost).toEqual([])
})
