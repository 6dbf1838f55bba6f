/** Whether an answer ended at the limit of output tokens, in the words of any provider. */
export function isCut(stopReason: string | undefined): boolean {
  return stopReason === 'length' || stopReason === 'max_tokens'
}
