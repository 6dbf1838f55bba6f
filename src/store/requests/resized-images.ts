import { createHash } from 'node:crypto'
import type { ImageToResize, LargeImage, ResizedImage, ResizeImage } from '../../core/rendering/media.ts'
import { checkResized } from '../../core/rendering/media.ts'

/** A function of the application that resizes an image; it returns `undefined` if it can't. */
export type ResizeStoredImage = (
  image: ImageToResize,
) => ResizedImage | undefined | Promise<ResizedImage | undefined>

/** Maximum bytes of remembered images; above that, the oldest are forgotten. */
const MAX_CACHED_BYTES = 256 * 1024 * 1024

/**
 * Images that the application's function resized, by the hash of their originals, so that each later request has the same bytes. Rendering
 * is synchronous and the function may not be, so a rendering requests images and is repeated when they are available.
 */
export class ResizedImages {
  readonly #resize: ResizeStoredImage
  /** `undefined` for images that can't be resized. */
  readonly #known = new Map<string, ResizedImage | undefined>()
  readonly #running = new Map<string, Promise<void>>()
  #bytes = 0
  /** The images that the current rendering requested. */
  #missing = new Map<string, ImageToResize>()

  constructor(resize: ResizeStoredImage) {
    this.#resize = resize
  }

  /** Returns the resized image to a rendering, if it is known. */
  readonly lookup: ResizeImage = (image) => {
    const key = keyOf(image)
    if (this.#known.has(key)) return this.#known.get(key)
    this.#missing.set(key, image)
    return undefined
  }

  /** Renders, and renders again once the requested images are available. */
  async rendered<T>(render: () => T): Promise<T> {
    this.#forget()
    for (;;) {
      this.#missing = new Map()
      const result = render()
      const missing = [...this.#missing]
      if (missing.length === 0) return result
      // One at a time: a decoded image may take hundreds of megabytes.
      for (const [key, image] of missing) await this.#make(key, image)
    }
  }

  /** Concurrent renderings share the work. */
  #make(key: string, image: ImageToResize): Promise<void> {
    const running = this.#running.get(key) ?? this.#made(key, image).finally(() => this.#running.delete(key))
    this.#running.set(key, running)
    return running
  }

  async #made(key: string, image: ImageToResize): Promise<void> {
    if (this.#known.has(key)) return
    const made = await this.#attempt(image)
    const resized = made === undefined ? undefined : checkResized(made)
    this.#known.set(key, resized)
    this.#bytes += resized?.data.length ?? 0
  }

  /** An image that can't be read doesn't make a request fail: a text replaces it, in later requests too. */
  async #attempt(image: ImageToResize): Promise<ResizedImage | undefined> {
    try {
      return await this.#resize(image)
    } catch (error) {
      const name = error instanceof Error ? error.name : typeof error
      process.emitWarning(`undertext: resizeImage failed (${name}); a text replaces the image`, {
        type: 'UndertextWarning',
        code: 'UNDERTEXT_RESIZE',
      })
      return undefined
    }
  }

  #forget(): void {
    for (const [key, resized] of this.#known) {
      if (this.#bytes <= MAX_CACHED_BYTES) return
      this.#known.delete(key)
      this.#bytes -= resized?.data.length ?? 0
    }
  }
}

function keyOf(image: ImageToResize): string {
  const { mediaType, maxWidth, maxHeight, maxPixels, maxBytes } = image
  const { source = image.data } = image as Partial<LargeImage>
  const hash = createHash('sha256').update(source)
  return [hash.digest('base64'), mediaType, maxWidth, maxHeight, maxPixels, maxBytes].join(' ')
}
