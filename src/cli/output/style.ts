import picocolors from 'picocolors'
import { type Sink, STYLES, type Style } from '../command.ts'
import { markStyles, safeText, unmark } from './safe-text.ts'

/** Colours and weights for sealed sinks. They make stored text safe, and end with each line. */
export function createStyle(enabled: boolean): Style {
  const colours = picocolors.createColors(true)
  const styled = (name: keyof Style) => (text: string) => {
    if (!enabled || text === '') return text
    const line = (one: string): string => markStyles(colours[name](unmark(one, true)))
    return safeText(text).split('\n').map(line).join('\n')
  }
  return Object.fromEntries(STYLES.map((name) => [name, styled(name)])) as Style
}

/** Whether a stream gets colours: `NO_COLOR` and `--no-color` turn them off, else `FORCE_COLOR` decides, else a terminal has them unless it is `dumb`. */
export function hasColours(
  sink: Pick<Sink, 'isTerminal'>,
  env: { readonly [name: string]: string | undefined },
  isOff: boolean,
): boolean {
  if (isOff || (env.NO_COLOR ?? '') !== '') return false
  const forced = env.FORCE_COLOR ?? ''
  if (forced !== '') return forced !== '0' && forced !== 'false'
  return sink.isTerminal && env.TERM !== 'dumb'
}

/** A sink that sends only safe text and our own sequences. */
export function sealed(raw: Sink, colours: boolean): Sink {
  return {
    get isTerminal() {
      return raw.isTerminal
    },
    get columns() {
      return raw.columns
    },
    write: (text) => raw.write(unmark(safeText(text), colours)),
  }
}
