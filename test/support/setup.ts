import { afterAll } from 'vitest'
import { removeFolders } from './temporary.ts'

/** Setup of every test file (vitest.config.ts). */

afterAll(removeFolders)
