import type { RecallTool } from '../../src/store/recall/index.ts'

/**
 * A model that follows a rule and never sees the answer: it searches with the question, and, when it does not find what it looks for, takes the
 * next page, or reads around the best hit when there is none. Returns the number of the call whose answer has the text; 0 for none.
 */
export async function callsToFind(
  tools: readonly RecallTool[],
  question: string,
  answer: string,
): Promise<number> {
  const [search, read] = ['search_history', 'read_history'].map(
    (name) => tools.find((tool) => tool.name === name)!,
  )
  const first = await search!.answer({ query: question })
  if (has(first.text, answer)) return 1
  const position = first.pieces[0]?.position
  const second =
    first.cursor === undefined
      ? position === undefined
        ? undefined
        : await read!.answer({ position, query: question })
      : await search!.answer({ query: question, cursor: first.cursor })
  return second !== undefined && has(second.text, answer) ? 2 : 0
}

function has(text: string, answer: string): boolean {
  return text.includes(answer)
}
