import type { ToolUse } from '../../messages/pairing.ts'

/** What is kept of an element: nothing of what it says. */
export type RooElement = {
  readonly kind: 'message' | 'summary' | 'marker'
  /** Of a summary or a marker: the id that tags name. */
  readonly id: string | undefined
  readonly condenseParent: string | undefined
  readonly truncationParent: string | undefined
  readonly use: ToolUse | undefined
  /** Whether it brings results of tools and nothing else. */
  readonly onlyResults: boolean
}

/** What was mended or kept of the element with this index. */
export type RooNote = { readonly index: number; readonly kind: 'mended' | 'kept'; readonly why: string }
