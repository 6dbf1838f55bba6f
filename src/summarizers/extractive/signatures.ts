/*
 * Definitions that no word announces: functions of C and its kin, and what SQL creates.
 */

/** Words that stand before a name and a bracket in no head of a function. */
const NO_TYPE =
  /^(?:return|else|if|for|while|do|switch|case|new|throw|await|yield|typeof|delete|go|defer|import|from|export|function|class|interface|record|trait|impl|type|module|namespace|def|fn|fun|func|sub|proc|let|var|val|using|use|goto|sizeof|assert|print|echo|test|describe|it|and|or|not|in|is|when|match|unless|until|object|protocol|with)\b/
const HEAD =
  /^((?:[A-Za-z_][\w:<>]{0,60}[\s*&]{1,6}){1,6})((?:[A-Za-z_]\w{0,60}::){0,3})(~?[A-Za-z_]\w{1,60})( ?)\(([^=;]*)$/

/** A parameter with its type. */
const PARAMETER = /^(?:(?:const|struct|unsigned) )?[\w:<>]{1,60}[ *&]{1,4}\w{1,60}(?:\[\w{0,20}\])?,/

/**
 * The name of the function whose head a line of C or C++ without indent is, and the type it belongs to. `opensNext`:
 * the next line begins with a brace.
 */
export function functionOfC(
  text: string,
  opensNext: boolean,
): { readonly name: string; readonly owner?: string } | undefined {
  if (!text.includes('(') || NO_TYPE.test(text)) return undefined
  const [, , scope = '', name, space, behind = ''] = HEAD.exec(text) ?? []
  if (name === undefined) return undefined
  const isOpen = text.endsWith('{') && behind.includes(')')
  const isWhole = opensNext && behind.includes(')')
  // Arguments on lines of their own: prose has a blank before its brackets.
  const isBroken = text.endsWith(',') && space === '' && PARAMETER.test(behind)
  if (!isOpen && !isWhole && !isBroken) return undefined
  const owner = scope.split('::').at(-2)
  return owner === undefined ? { name } : { name, owner }
}

const CREATED =
  /^create\s{1,4}(?:or\s{1,4}replace\s{1,4})?(?:(?:global|local|temp|temporary|unlogged|unique|virtual|materialized)\s{1,4}){0,2}(table|view|index|function|procedure|trigger|type|sequence|schema)\s{1,4}(?:concurrently\s{1,4})?(?:if\s{1,4}not\s{1,4}exists\s{1,4})?([\w."`[\]]{1,120})/i

/** What a line of SQL creates. */
export function createdBySql(text: string): { readonly name: string; readonly kind: string } | undefined {
  const [, kind, path] = CREATED.exec(text) ?? []
  const name = path
    ?.replaceAll(/["`[\]]/g, '')
    .split('.')
    .at(-1)
  // "Create table views" is prose: what is created has its brackets, its body or its table behind it.
  if (kind === undefined || name === undefined || !/^[A-Za-z_]\w*$/.test(name)) return undefined
  if (!/^CREATE/.test(text) && !/\(|\b(?:as|on|returns)\b|;$/i.test(text)) return undefined
  return { name, kind: kind.toLowerCase() }
}
