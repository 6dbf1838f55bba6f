import type { TabProps } from './session.tsx'

export function Requests(_: TabProps) {
  return <div class="page" />
}
