import type { NextConfig } from 'next'

// Next.js leaves better-sqlite3 out of its bundles on its own (it is on its list of serverExternalPackages).
const config: NextConfig = {}

export default config
