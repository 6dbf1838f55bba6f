/* The inspector as a handler of requests: the entry point `undertext/inspect`. */

export { type Inspector, type InspectorOptions, type InspectorStore, inspector } from './inspector.ts'
