import type { Connection } from './connection.ts'
import { blobPlaces, type EncodedContent } from './content-codec.ts'

/** Stores bytes once each and counts who refers to them, within the caller's transaction. */
export function keepBlobs(connection: Connection, bytes: EncodedContent['bytes']): void {
  for (const { hash, bytes: data } of bytes) {
    // Not "on conflict": the guard against replacing a blob fires before conflicts are looked at.
    const known = connection.run(
      'update undertext_blobs set reference_count = reference_count + 1 where hash = ?',
      hash,
    )
    if (known > 0) continue
    connection.run('insert into undertext_blobs (hash, reference_count, bytes) values (?, 1, ?)', hash, data)
  }
}

/** A function that reads bytes by the hash in hex. Anything but bytes counts as missing. */
export function blobReader(connection: Connection): (hash: string) => Uint8Array | undefined {
  return (hash) => {
    const row = connection.get('select bytes from undertext_blobs where hash = ?', Buffer.from(hash, 'hex'))
    return row?.[0] instanceof Uint8Array ? row[0] : undefined
  }
}

/** Gives up a session's references; answers how many blobs nobody refers to any more and are gone. */
export function dropBlobs(connection: Connection, session: number): number {
  const keys = connection.all(
    `select c.key from undertext_messages m join undertext_contents c on c.key = m.key
     where m.session = ? and c.blobs is not null`,
    session,
  )
  return dropBlobsOf(
    connection,
    keys.map(([key]) => key as number),
  )
}

/** Gives up the references of rows by key; answers how many blobs are gone. */
export function dropBlobsOf(connection: Connection, keys: readonly number[]): number {
  for (const key of keys) {
    const blobs = connection.get('select blobs from undertext_contents where key = ?', key)?.[0] ?? null
    if (blobs === null) continue
    for (const [, , hash] of blobPlaces(blobs as string, key)) {
      connection.run(
        'update undertext_blobs set reference_count = reference_count - 1 where hash = ?',
        Buffer.from(hash, 'hex'),
      )
    }
  }
  return connection.run('delete from undertext_blobs where reference_count <= 0')
}
