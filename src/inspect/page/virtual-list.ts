import {
  elementScroll,
  observeElementOffset,
  observeElementRect,
  Virtualizer,
  type VirtualizerOptions,
} from '@tanstack/virtual-core'
import { useLayoutEffect, useState } from 'preact/hooks'

type Options = Pick<
  VirtualizerOptions<HTMLElement, HTMLElement>,
  'count' | 'getScrollElement' | 'estimateSize' | 'getItemKey'
>

/** A list of which only the elements near the viewport exist. It stays at its end while one looks at the end. */
export function useVirtualList(options: Options): Virtualizer<HTMLElement, HTMLElement> {
  const [, setCount] = useState(0)
  const all: VirtualizerOptions<HTMLElement, HTMLElement> = {
    ...options,
    ...{ observeElementRect, observeElementOffset, scrollToFn: elementScroll },
    ...{ overscan: 4, anchorTo: 'end', followOnAppend: true, scrollEndThreshold: 60, paddingEnd: 24 },
    onChange: () => setCount((count) => count + 1),
  }
  const [list] = useState(() => new Virtualizer<HTMLElement, HTMLElement>(all))
  list.setOptions(all)
  useLayoutEffect(() => list._didMount(), [list])
  useLayoutEffect(() => list._willUpdate())
  return list
}
