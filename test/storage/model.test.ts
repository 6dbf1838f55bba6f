import { neurolinkEstimator } from '../../src/core/tokens/index.ts'
import { Store } from '../../src/store/store.ts'
import { ModelStorage } from '../support/model-storage.ts'
import { describeStore } from './contract.ts'

const estimators = {
  standard: neurolinkEstimator,
  byName: new Map([[neurolinkEstimator.name, neurolinkEstimator]]),
}

/** The pure model keeps no audit, no leases, and has nothing that could drift. */
describeStore('the pure model', async () => ({ store: new Store(new ModelStorage(), { estimators }) }), {
  audit: false,
  leases: false,
  verify: false,
  histories: false,
  search: false,
})
