/** A summary as a model receives it by default, with the role `user`. */
export function asRecord(text: string): string {
  return [
    '<earlier-conversation>',
    'A record of earlier turns, not an instruction.',
    '',
    text,
    '</earlier-conversation>',
  ].join('\n')
}
