import { calibratedEstimator } from './calibrated.ts'
import type { Estimator } from './estimator-schema.ts'
import { ncaBytesEstimator, ncaEstimator } from './nca.ts'
import { neurolinkAdditiveEstimator, neurolinkEstimator } from './neurolink.ts'
import { neuronBytesEstimator, neuronEstimator } from './neuron.ts'
import { promptfleetEstimator } from './promptfleet.ts'

/** The estimators that every store knows: sessions counted with them open anywhere. */
export const BUILT_IN_ESTIMATORS: readonly Estimator[] = [
  neurolinkEstimator,
  neurolinkAdditiveEstimator,
  neuronEstimator,
  neuronBytesEstimator,
  promptfleetEstimator,
  ncaEstimator,
  ncaBytesEstimator,
  calibratedEstimator,
]

/** Their names. */
export const ESTIMATOR_NAMES: readonly string[] = BUILT_IN_ESTIMATORS.map(({ name }) => name)

const byName: ReadonlyMap<string, Estimator> = new Map(BUILT_IN_ESTIMATORS.map((one) => [one.name, one]))

/** The built-in estimator with this name, or `undefined`. */
export function estimatorNamed(name: string): Estimator | undefined {
  return byName.get(name)
}
