declare module 'gifenc' {
  type Palette = number[][]
  type Encoder = {
    writeFrame(indexes: Uint8Array, width: number, height: number, options: object): void
    finish(): void
    bytes(): Uint8Array
  }
  const gifenc: {
    GIFEncoder(): Encoder
    quantize(pixels: Uint8Array, colors: number): Palette
    applyPalette(pixels: Uint8Array, palette: Palette): Uint8Array
  }
  export default gifenc
}
