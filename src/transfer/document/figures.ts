/** A whole number with its thousands apart: `12,345`. */
export function figure(value: number): string {
  return String(Math.round(value)).replace(/\B(?=(?:\d{3})+$)/g, ',')
}

/** `1 message`, `3 messages`. */
export function counted(count: number, word: string): string {
  return `${figure(count)} ${word}${count === 1 ? '' : 's'}`
}

/** A time in UTC to the second: the same bytes wherever a document is made. */
export function time(ms: number): string {
  if (!Number.isFinite(ms) || Math.abs(ms) > 8.64e15) return 'at no time there is'
  return `${new Date(ms).toISOString().slice(0, -5).replace('T', ' ')} UTC`
}

/** Bytes as people say them: `612 bytes`, `34 KB`, `1.2 MB`. */
export function size(bytes: number): string {
  if (bytes < 1_000) return counted(bytes, 'byte')
  if (bytes < 1_000_000) return `${Math.round(bytes / 1_000)} KB`
  return `${(bytes / 1_000_000).toFixed(1)} MB`
}
