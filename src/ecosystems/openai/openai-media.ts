/*
 * How OpenAI names bytes, in its APIs and in what is built on them: data URLs, and sounds by a format of their own.
 */

/** Bytes as a data URL. One that was given stays as it is, parameters and all. */
export function dataUrlOf(data: string | Uint8Array, mediaType: string, base64: string): string {
  return typeof data === 'string' && /^data:/i.test(data) ? data : `data:${mediaType};base64,${base64}`
}

/** The format of a sound: `mp3` for `audio/mpeg`, else the subtype. */
export function audioFormatOf(mediaType: string): string {
  return mediaType === 'audio/mpeg' ? 'mp3' : mediaType.slice('audio/'.length)
}

/** The media type of a format of sound: `audioFormatOf` the other way round. */
export function audioTypeOf(format: string): string {
  return format === 'mp3' ? 'audio/mpeg' : `audio/${format}`
}

/** OpenAI's APIs want a name with every file. */
export function defaultName(mediaType: string): string {
  return mediaType === 'application/pdf' ? 'file.pdf' : 'file'
}
