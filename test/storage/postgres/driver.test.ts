import { createServer } from 'node:net'
import { expect, it, onTestFinished, vi } from 'vitest'
import { fromUrl } from '../../../src/storage/postgres/drivers.ts'
import { expectFailure, failureOf } from '../../support/failures.ts'

it('without pg, a URL says what to install', async () => {
  vi.doMock('pg', () => {
    throw Object.assign(new Error("Cannot find package 'pg'"), { code: 'ERR_MODULE_NOT_FOUND' })
  })
  const error = await failureOf(() => fromUrl('postgres://localhost/chats'))
  expectFailure(error, 'DRIVER_UNAVAILABLE')
  expect(error).toMatchObject({ message: /^pg can't be loaded: .*npm install pg/ })
  vi.doUnmock('pg')
})

it('a server that ends a connection in the packet that opens it ends a query, not the process', async () => {
  const uncaught = vi.fn()
  process.on('uncaughtException', uncaught)
  const message = (type: string, body: Buffer): Buffer => {
    const head = Buffer.from(`${type}    `)
    head.writeInt32BE(body.length + 4, 1)
    return Buffer.concat([head, body])
  }
  const opening = Buffer.concat([
    message('R', Buffer.alloc(4)), // accepted without a password
    message('Z', Buffer.from('I')), // ready
    message('E', Buffer.from('SFATAL\0C57P01\0Mterminated\0\0')),
  ])
  const server = createServer((socket) => {
    socket.once('data', () => socket.end(opening))
    socket.on('error', () => {})
  }).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = server.address() as { port: number }
  const driver = await fromUrl(`postgres://me:secret@127.0.0.1:${port}/chats`)
  onTestFinished(async () => {
    process.off('uncaughtException', uncaught)
    await driver.end()
    server.close()
  })
  const connection = await driver.acquire()
  await expect(connection.query('select 1', [])).rejects.toThrow()
  connection.release(true)
  expect(uncaught).not.toHaveBeenCalled()
})
