import ts from 'typescript'
import { expect, it } from 'vitest'
import { checker, marked, nodesOf, type Place, placeOf, sampleFile, sourceFiles } from './program.ts'

/*
 * The arguments of a call are on the stack, which has room for about 120,000: a list from outside that is spread into them ends in a
 * `RangeError`. Lists of a fixed length may be, and the parameters of a statement, which are as many as the question marks in its text.
 */

const SAMPLE = sampleFile('spreads')
const SQL = checker
  .getExportsOfModule(checker.getSymbolAtLocation(SAMPLE)!)
  .map((symbol) => checker.getTypeOfSymbolAtLocation(symbol, SAMPLE))[0]!
  .getCallSignatures()[0]!
  .getParameters()
  .map((parameter) => checker.getTypeOfSymbol(parameter))[0]!

/** Whether a list has a fixed length: an array literal, a tuple, or one of several. */
function isFixed(list: ts.Expression): boolean {
  if (ts.isArrayLiteralExpression(list))
    return list.elements.every((one) => !ts.isSpreadElement(one) || isFixed(one.expression))
  return isFixedType(checker.getTypeAtLocation(list))
}

function isFixedType(type: ts.Type): boolean {
  if (type.isUnion()) return type.types.every(isFixedType)
  return (
    checker.isTupleType(type) &&
    !((type as ts.TupleTypeReference).target.combinedFlags & ts.ElementFlags.Variable)
  )
}

/** Whether a call runs a statement. */
function isStatement({ expression }: ts.CallExpression | ts.NewExpression): boolean {
  return (
    ts.isPropertyAccessExpression(expression) &&
    ['get', 'all', 'run', 'change', 'insert'].includes(expression.name.text) &&
    checker.isTypeAssignableTo(checker.getTypeAtLocation(expression.expression), SQL)
  )
}

function isSpread(node: ts.Node): boolean {
  if (!ts.isCallExpression(node) && !ts.isNewExpression(node)) return false
  const given = node.arguments ?? []
  if (isStatement(node)) return false
  if (given.some((one) => ts.isSpreadElement(one) && !isFixed(one.expression))) return true
  // `call.apply(self, list)` and `Reflect.apply(call, self, list)`
  if (!ts.isPropertyAccessExpression(node.expression) || node.expression.name.text !== 'apply') return false
  const isOfFunction =
    node.expression.expression.getText() === 'Reflect' ||
    checker.getTypeAtLocation(node.expression.expression).getCallSignatures().length > 0
  return isOfFunction && given.length > 1 && !isFixed(given.at(-1)!)
}

function spreadIn(files: readonly ts.SourceFile[]): Place[] {
  return files.flatMap((file) => [...nodesOf(file)].filter(isSpread).map(placeOf))
}

/** Calls that pass on the arguments that they were called with, those of SQLite's driver (of one statement), and names in the source. */
const PASSED_ON: ReadonlySet<string> = new Set([
  '(await load())(context, ...(given as never[]))',
  // At most ten arguments: the schema of a call limits them.
  'Reflect.apply(method, owner, args)',
  'verb(sql, ...parameters)',
  'work(sql, ...parameters)',
  'rule(redaction, ...parameters)',
  'method(...rule(redaction, ...parameters))',
  'connection[call](own, ...values)',
  'connection[call](own, ...values, { owner: seen })',
  'oneOf(...STATES)',
  'oneOf(...types)',
  'this.#statement(sql, false).run(...parameters)',
  'this.#statement(sql, true).get(...parameters)',
  'this.#statement(sql, true).all(...parameters)',
])
/** Functions that add parameters to a statement of their own; their callers are few, and each gives a fixed number. */
const OF_STATEMENTS = /^(?:insertSession|someCompactions|sessionsWhere|rowsIn|add)\(/

it('finds each list that is spread into arguments, and none of a fixed length', () => {
  const lines = marked('spreads', 'spread')
  expect(lines).toHaveLength(7)
  expect(spreadIn([SAMPLE]).map(({ line }) => line)).toEqual(lines)
}, 300_000)

it('spreads no list from outside into arguments', () => {
  const found = spreadIn(sourceFiles()).map(({ text }) => text)
  expect(found.filter((text) => !PASSED_ON.has(text) && !OF_STATEMENTS.test(text))).toEqual([])
  // No exception stays for a call that is gone.
  expect([...PASSED_ON].filter((text) => !found.includes(text))).toEqual([])
}, 300_000)
