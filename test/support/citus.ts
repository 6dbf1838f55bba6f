import { query } from './postgres.ts'

/** The addresses of the machines of a cluster of Citus, its coordinator first; a server alone is the only one. */
export async function nodesOf(url: string): Promise<string[]> {
  const [citus] = await query(url, "select 1 from pg_extension where extname = 'citus'")
  if (citus === undefined) return [url]
  const nodes = await query(url, 'select nodename, nodeport from pg_dist_node order by groupid')
  return nodes.map(([host, port]) => {
    const node = new URL(url)
    node.host = `${host}:${port}`
    return node.href
  })
}

/** Makes one cluster of databases that are empty, on the machines of one. */
export async function joinNodes(nodes: readonly string[]): Promise<void> {
  for (const node of nodes) await query(node, 'create extension citus')
  const [coordinator, ...workers] = nodes.map((node) => {
    const { hostname, port } = new URL(node)
    return `'${hostname}', ${port}`
  })
  await query(
    nodes[0]!,
    `select citus_set_coordinator_host(${coordinator})`,
    ...workers.map((worker) => `select citus_add_node(${worker})`),
  )
}
