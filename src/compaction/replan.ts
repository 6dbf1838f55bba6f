import { isUndertextError } from '../errors.ts'

/** How often something is planned when somebody changes the view in between. */
export const MOST_PLANS = 5

/** Plans and commits without a model, so nothing was paid for: a plan that went stale is simply made again. */
export async function replanned<T>(planAndCommit: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await planAndCommit()
    } catch (error) {
      if (!isUndertextError(error, 'STALE_PLAN') || attempt === MOST_PLANS) throw error
    }
  }
}
