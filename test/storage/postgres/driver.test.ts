import { expect, it, vi } from 'vitest'
import { fromUrl } from '../../../src/storage/postgres/drivers.ts'
import { expectFailure, failureOf } from '../../support/failures.ts'

it('without pg, a URL says what to install', async () => {
  vi.doMock('pg', () => {
    throw Object.assign(new Error("Cannot find package 'pg'"), { code: 'ERR_MODULE_NOT_FOUND' })
  })
  const error = await failureOf(() => fromUrl('postgres://localhost/chats'))
  expectFailure(error, 'DRIVER_UNAVAILABLE')
  expect(error).toMatchObject({ message: /^pg cannot be loaded: .*npm install pg/ })
  vi.doUnmock('pg')
})
