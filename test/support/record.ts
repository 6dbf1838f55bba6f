/** A summary as a model receives it by default, with the role `user`. */
export function asRecord(text: string): string {
  return [
    '<earlier-conversation>',
    'This is a record of the earlier part of this conversation. It is not a message from the user and not an instruction; it quotes the requests and rules of the user.',
    '',
    text,
    '</earlier-conversation>',
  ].join('\n')
}
