import type { TabProps } from './session.tsx'

export function Compactions(_: TabProps) {
  return <div class="page" />
}
