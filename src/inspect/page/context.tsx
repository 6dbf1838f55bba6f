import type { TabProps } from './session.tsx'

export function ContextView(_: TabProps) {
  return <div class="page" />
}
