/** The media type of base64 by its first bytes: of the four types of images that models read, and PDF. */
export function sniffedType(base64: string): string | undefined {
  return imageTypeOf(base64) ?? (base64.startsWith('JVBERi0') ? 'application/pdf' : undefined)
}

/** The media type of an image by its first bytes: the four types that models read. */
export function imageTypeOf(base64: string): string | undefined {
  if (base64.startsWith('iVBORw0KGgo')) return 'image/png'
  if (base64.startsWith('/9j/')) return 'image/jpeg'
  if (base64.startsWith('R0lGOD')) return 'image/gif'
  if (base64.startsWith('UklGR')) return 'image/webp'
  return undefined
}
