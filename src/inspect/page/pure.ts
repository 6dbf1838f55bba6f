import { Component, type ComponentType, h } from 'preact'

/** Returns a component that is rendered again only if one of its properties changed. */
export function pure<P extends object>(of: ComponentType<P>): ComponentType<P> {
  return class Pure extends Component<P> {
    override shouldComponentUpdate(next: Readonly<P>): boolean {
      const names = Object.keys(next) as (keyof P)[]
      return (
        names.length !== Object.keys(this.props).length ||
        names.some((name) => next[name] !== this.props[name])
      )
    }
    override render() {
      return h(of, this.props as P)
    }
  } as ComponentType<P>
}
