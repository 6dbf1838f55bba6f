/* Files of Claude Code whose entries branch in ways that cost much to follow. */

/** The entry that each one follows, by its number; −1 for none. */
export const BRANCHED: { readonly [shape: string]: (nth: number) => number } = {
  'one after the other': (nth) => nth - 1,
  'all after the first': (nth) => (nth === 0 ? -1 : 0),
  'all by themselves': () => -1,
  'two in turn': (nth) => (nth === 0 ? -1 : Math.max(0, nth - 2)),
  'a tooth at each': (nth) => (nth < 2 ? nth - 1 : nth % 2 === 0 ? nth - 2 : nth - 1),
  'long ones': (nth) => (nth % 300 === 0 ? Math.min(nth, 1) - 1 : nth - 1),
  // A fixed scatter over all that came before.
  anywhere: (nth) => (nth === 0 ? -1 : (nth * 7_919 + 13) % nth),
}

export function branchedLines(shape: string, entries: number): string[] {
  return Array.from({ length: entries }, (_, nth) => {
    const parent = BRANCHED[shape]!(nth)
    const role = nth % 2 === 0 ? 'user' : 'assistant'
    return JSON.stringify({
      ...{
        uuid: `e${nth}`,
        parentUuid: parent < 0 ? null : `e${parent}`,
        sessionId: 's',
        isSidechain: false,
      },
      ...{ type: role, timestamp: new Date(1_700_000_000_000 + nth * 1_000).toISOString() },
      // All answers have one id, which is looked up for each entry that is left.
      message: {
        role,
        ...(nth % 2 === 1 && { id: `answer${nth % 5}` }),
        content: [{ type: 'text', text: `m${nth}` }],
      },
    })
  })
}
