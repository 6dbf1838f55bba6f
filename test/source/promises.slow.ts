import ts from 'typescript'
import { expect, it } from 'vitest'
import { checker, marked, nodesOf, type Place, placeOf, sampleFile, sourceFiles } from './program.ts'

/*
 * A rejection that no code handles ends the process, whichever conversation the work was for. So the rejection of each promise has a
 * handler: it is awaited, returned or passed on at once, or it has a `catch`.
 */

const { SyntaxKind } = ts
const LOGICAL: ReadonlySet<ts.SyntaxKind> = new Set([
  SyntaxKind.AmpersandAmpersandToken,
  SyntaxKind.BarBarToken,
  SyntaxKind.QuestionQuestionToken,
  SyntaxKind.CommaToken,
])
const ASSIGNING: ReadonlySet<ts.SyntaxKind> = new Set([
  SyntaxKind.EqualsToken,
  SyntaxKind.BarBarEqualsToken,
  SyntaxKind.QuestionQuestionEqualsToken,
])
/** Methods that keep what they receive. */
const KEEPING: ReadonlySet<string> = new Set(['set', 'add', 'push', 'unshift'])

/** Whether a value may be a promise, or a list of promises. */
function isPromise(type: ts.Type, isItem = false): boolean {
  if ((type.flags & (ts.TypeFlags.Any | ts.TypeFlags.Unknown | ts.TypeFlags.Never)) !== 0) return false
  if (type.isUnion()) return type.types.some((one) => isPromise(one, isItem))
  if (checker.isArrayLikeType(type)) {
    const items = checker.getTypeArguments(type as ts.TypeReference)
    return !isItem && items.some((one) => isPromise(one, true))
  }
  const then = checker.getPropertyOfType(checker.getApparentType(type), 'then')
  return then !== undefined && checker.getTypeOfSymbol(then).getCallSignatures().length > 0
}

function isVoid(type: ts.Type): boolean {
  if (type.isUnion()) return type.types.every(isVoid)
  return (type.flags & (ts.TypeFlags.Void | ts.TypeFlags.Undefined)) !== 0
}

/** What an expression may be, without parentheses, conditions and `void`. */
function values(node: ts.Expression): ts.Expression[] {
  if (ts.isParenthesizedExpression(node) || ts.isVoidExpression(node)) return values(node.expression)
  if (ts.isConditionalExpression(node)) return [...values(node.whenTrue), ...values(node.whenFalse)]
  if (ts.isBinaryExpression(node) && LOGICAL.has(node.operatorToken.kind))
    return [...values(node.left), ...values(node.right)]
  return [node]
}

/** Whether the rejections of an expression have a handler, or it has none. */
function isHandled(node: ts.Expression): boolean {
  return values(node).every((value) => {
    if (ts.isAwaitExpression(value) || isAssignment(value)) return true
    return !isPromise(checker.getTypeAtLocation(value)) || hasHandler(value)
  })
}

function isAssignment(node: ts.Node): node is ts.BinaryExpression {
  return ts.isBinaryExpression(node) && ASSIGNING.has(node.operatorToken.kind)
}

function hasHandler(node: ts.Expression): boolean {
  if (ts.isNewExpression(node)) return neverRejects(node)
  if (!ts.isCallExpression(node)) return false
  if (ts.isPropertyAccessExpression(node.expression)) {
    const [name, { length }] = [node.expression.name.text, node.arguments]
    if ((name === 'catch' && length === 1) || (name === 'then' && length === 2))
      return !returnsPromise(node.arguments[length - 1]!)
    if (name === 'finally') return hasHandler(node.expression.expression)
  }
  const declaration = checker.getResolvedSignature(node)?.declaration
  return declaration !== undefined && handlesItself(declaration as ts.SignatureDeclaration)
}

/** `new Promise((resolve) => …)` */
function neverRejects({ expression, arguments: given }: ts.NewExpression): boolean {
  const [executor] = given ?? []
  if (expression.getText() !== 'Promise' || executor === undefined) return false
  return ts.isArrowFunction(executor) && executor.parameters.length === 1
}

function returnsPromise(node: ts.Expression): boolean {
  return checker
    .getTypeAtLocation(node)
    .getCallSignatures()
    .some((signature) => isPromise(signature.getReturnType()))
}

/** Whether a function returns only promises that have a handler already. */
function handlesItself(declaration: ts.SignatureDeclaration): boolean {
  if (!ts.isMethodDeclaration(declaration) && !ts.isFunctionDeclaration(declaration)) return false
  const { body, modifiers } = declaration
  if (body === undefined || modifiers?.some(({ kind }) => kind === SyntaxKind.AsyncKeyword)) return false
  const returned = within(body).flatMap((node) =>
    ts.isReturnStatement(node) && node.expression !== undefined ? [node.expression] : [],
  )
  const isCaught = (node: ts.Expression): boolean =>
    ts.isIdentifier(node) &&
    within(body).some(
      (one) =>
        ts.isExpressionStatement(one) &&
        ts.isCallExpression(one.expression) &&
        hasHandler(one.expression) &&
        ts.isPropertyAccessExpression(one.expression.expression) &&
        one.expression.expression.expression.getText() === node.text,
    )
  return returned.length > 0 && returned.every((node) => isCaught(node) || hasHandler(node))
}

/** The nodes of a function in order, without those of functions within it. */
function within(body: ts.Node): ts.Node[] {
  const found: ts.Node[] = []
  const visit = (node: ts.Node): void => {
    found.push(node)
    if (!ts.isFunctionLike(node)) ts.forEachChild(node, visit)
  }
  ts.forEachChild(body, visit)
  return found
}

function functionAround(node: ts.Node): ts.Node {
  let around = node.parent
  while (!ts.isFunctionLike(around) && !ts.isSourceFile(around)) around = around.parent
  return around
}

/** Whether a promise that was kept is used, for more than keeping it, before anything is waited for. */
function isUsedAtOnce(kept: ts.Node, name: string): boolean {
  for (const node of within(functionAround(kept))) {
    if (node.pos < kept.end) continue
    if (ts.isAwaitExpression(node) && node.expression.getText() !== name && !mentions(node, name))
      return false
    if (ts.isForOfStatement(node) && node.awaitModifier !== undefined && !mentions(node.expression, name))
      return false
    if (node.getText() === name && !isKept(node)) return true
  }
  return false
}

function mentions(node: ts.Node, name: string): boolean {
  return [node, ...within(node)].some((one) => one.getText() === name)
}

function isKept(node: ts.Node): boolean {
  const { parent } = node
  if (ts.isPropertyAccessExpression(parent) && parent.name === node) return true
  if (ts.isExpressionStatement(parent) || isAssignment(parent)) return true
  return ts.isCallExpression(parent) && isKeeping(parent)
}

function isKeeping(node: ts.CallExpression): boolean {
  return ts.isPropertyAccessExpression(node.expression) && KEEPING.has(node.expression.name.text)
}

/** Whether the function at a place is expected to return nothing, so that its promise is dropped. */
function isDropped(node: ts.Expression): boolean {
  if (ts.isCallExpression(node) || ts.isLiteralExpression(node) || ts.isObjectLiteralExpression(node))
    return false
  if (!returnsPromise(node)) return false
  const expected = checker.getContextualType(node)
  if (expected === undefined) return false
  const signatures = (expected.isUnion() ? expected.types : [expected]).flatMap((type) =>
    type.getCallSignatures(),
  )
  return signatures.length > 0 && signatures.every((signature) => isVoid(signature.getReturnType()))
}

function isLost(node: ts.Node): boolean {
  if (ts.isExpressionStatement(node))
    return !ts.isVoidExpression(node.expression) && !isHandled(node.expression)
  if (ts.isVoidExpression(node)) return !isHandled(node.expression)
  if (ts.isVariableDeclaration(node) && node.initializer !== undefined)
    return isLostIn(node, node.name, node.initializer)
  if (isAssignment(node)) return isLostIn(node, node.left, node.right)
  if (ts.isCallExpression(node) || ts.isNewExpression(node)) {
    const given = node.arguments ?? []
    const isKept = ts.isCallExpression(node) && isKeeping(node)
    return given.some((one) => isDropped(one) || (isKept && !ts.isIdentifier(one) && !isHandled(one)))
  }
  return ts.isPropertyAssignment(node) && isDropped(node.initializer)
}

function isLostIn(kept: ts.Node, name: ts.Node, value: ts.Expression): boolean {
  if (!isPromise(checker.getTypeAtLocation(value)) || isHandled(value)) return false
  if (isAssignment(kept) && ts.isIdentifier(value)) return false
  return !isUsedAtOnce(kept, name.getText())
}

/** Places where the promises never reject, and why. */
const NEVER: ReadonlyMap<string, string> = new Map([
  ['before = this.#worker.works(sessionId)', 'works resolve when they are over, whatever fails'],
  ['before = this.#liveWork(sessionId)', 'works, and offers, which have a handler'],
])

function lostIn(files: readonly ts.SourceFile[]): Place[] {
  return files.flatMap((file) => [...nodesOf(file)].filter(isLost).map(placeOf))
}

it('finds each promise whose rejection is lost, and none that is handled', () => {
  const lines = marked('promises', 'lost')
  expect(lines).toHaveLength(20)
  expect(lostIn([sampleFile('promises')]).map(({ line }) => line)).toEqual(lines)
})

it('no rejection is lost', () => {
  const lost = lostIn(sourceFiles())
  expect(lost.filter(({ text }) => !NEVER.has(text))).toEqual([])
  // No reason stays for a place that is gone.
  expect(lost.map(({ text }) => text).sort()).toEqual([...NEVER.keys()].sort())
}, 300_000)
