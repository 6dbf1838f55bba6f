/* What the names of Claude's models tell, on all of its hosts. */

const VERSION = /claude-(?:opus|sonnet|haiku|fable|mythos)-(\d{1,2})(?:[-.](\d{1,2})(?!\d))?/

/** Whether a model continues an answer that the request begins. Claude does so before version 4.6. */
export function takesPrefill(model: string): boolean {
  const found = VERSION.exec(model.toLowerCase())
  if (found === null) return true
  const [major, minor] = [Number(found[1]), Number(found[2] ?? 0)]
  return major < 4 || (major === 4 && minor < 6)
}
