import { UndertextError } from '../../src/core/errors.ts'
import { claimName, isHeld } from '../../src/storage/process.ts'
import type {
  Circuit,
  Circuits,
  ClaimedJob,
  Job,
  JobClaim,
  JobEnd,
  JobRequest,
  Jobs,
  NewJob,
  Session,
  Spending,
} from '../../src/storage/storage.ts'

type Kept = { job: Job; request: JobRequest; claim: JobClaim | undefined }

/** Jobs and circuits in memory, for the pure model. Of a session that was purged nothing is found any more. */
export class ModelJobs implements Jobs, Circuits {
  readonly #session: (id: string) => Session | undefined
  readonly #jobs: (Kept & { readonly incarnation: string })[] = []
  readonly #circuits = new Map<string, Circuit>()

  constructor(session: (id: string) => Session | undefined) {
    this.#session = session
  }

  #required(id: string): Session {
    const session = this.#session(id)
    if (session === undefined) throw new UndertextError('SESSION_NOT_FOUND', { sessionId: id })
    return session
  }

  #of(id: string): Kept[] {
    const incarnation = this.#session(id)?.incarnation
    return this.#jobs.filter((kept) => kept.job.sessionId === id && kept.incarnation === incarnation)
  }

  #open(id: string): Kept | undefined {
    return this.#of(id).find(({ job }) => job.state === 'queued' || job.state === 'running')
  }

  #byId(jobId: string): Kept | undefined {
    const kept = this.#jobs.find(({ job }) => job.id === jobId)
    return kept && this.#of(kept.job.sessionId).find((one) => one === kept)
  }

  #change(kept: Kept, change: Partial<Job>): Job {
    kept.job = { ...kept.job, ...change, changedAt: Date.now() }
    return kept.job
  }

  enqueue(
    id: string,
    { id: jobId, request, notBefore }: NewJob,
    hurry: boolean,
  ): { job: Job; isNew: boolean } {
    const { incarnation, messageCount, viewEpoch } = this.#required(id)
    const open = this.#open(id)
    if (open !== undefined) {
      const now = Date.now()
      if (hurry && open.job.state === 'queued' && open.job.notBefore > now)
        this.#change(open, { notBefore: now })
      return { job: open.job, isNew: false }
    }
    const now = Date.now()
    const job: Job = {
      id: jobId,
      sessionId: id,
      state: 'queued',
      runId: undefined,
      attempts: 0,
      position: messageCount,
      viewEpoch,
      notBefore,
      error: undefined,
      createdAt: now,
      changedAt: now,
    }
    this.#jobs.push({ job, request, claim: undefined, incarnation })
    return { job, isNew: true }
  }

  #isHeld({ job, claim }: Kept): boolean {
    if (job.state !== 'running' || claim === undefined) return false
    const { holder, runId, expiresAt } = claim
    return isHeld({ holder, run: claimName(runId), expiresAt })
  }

  claim(id: string, claim: JobClaim, maxAttempts: number): ClaimedJob | undefined {
    const open = this.#open(id)
    if (open === undefined) return undefined
    const isDue = open.job.state === 'queued' ? open.job.notBefore <= Date.now() : !this.#isHeld(open)
    if (!isDue) return undefined
    const { attempts, error } = open.job
    if (attempts >= maxAttempts) {
      const job = this.#change(open, { state: 'failed', error: error ?? 'EXPIRED' })
      return { job, request: open.request, isExhausted: true }
    }
    open.claim = claim
    const change = { state: 'running', runId: claim.runId, attempts: attempts + 1, error: undefined } as const
    return { job: this.#change(open, change), request: open.request, isExhausted: false }
  }

  /** The job of a run that is still its own. */
  held(jobId: string, runId: string): Kept | undefined {
    const kept = this.#byId(jobId)
    return kept?.job.state === 'running' && kept.job.runId === runId ? kept : undefined
  }

  renew(_id: string, jobId: string, claim: JobClaim): boolean {
    const kept = this.held(jobId, claim.runId)
    if (kept !== undefined) kept.claim = claim
    return kept !== undefined
  }

  end(_id: string, jobId: string, runId: string, { state, error, notBefore, isUncounted }: JobEnd): boolean {
    const kept = this.held(jobId, runId)
    if (kept === undefined) return false
    const attempts = kept.job.attempts - (isUncounted === true ? 1 : 0)
    this.#change(kept, { state, error, attempts, ...(notBefore !== undefined && { notBefore }) })
    return true
  }

  cancel(jobId: string): Job | undefined {
    const kept = this.#byId(jobId)
    const isOpen = kept?.job.state === 'queued' || kept?.job.state === 'running'
    return isOpen ? this.#change(kept!, { state: 'cancelled' }) : undefined
  }

  job(jobId: string): Job | undefined {
    return this.#byId(jobId)?.job
  }

  open(id: string): { job: Job; isHeld: boolean } | undefined {
    const open = this.#open(id)
    return open && { job: open.job, isHeld: this.#isHeld(open) }
  }

  list(id: string, limit: number): Job[] {
    this.#required(id)
    return this.#of(id)
      .map(({ job }) => job)
      .reverse()
      .slice(0, limit)
  }

  waiting(limit: number): { readonly id: string }[] {
    const ids = this.#jobs
      .filter((kept) => this.#open(kept.job.sessionId) === kept)
      .map(({ job }) => ({ id: job.sessionId }))
    return ids.slice(0, limit)
  }

  circuit(id: string): Circuit | undefined {
    return this.#circuits.get(this.#session(id)?.incarnation ?? '')
  }

  fail(
    id: string,
    failure: Omit<Circuit, 'failures' | 'openUntil'>,
    { most, openUntil }: { readonly most: number; readonly openUntil: number },
  ): Circuit {
    const { incarnation } = this.#required(id)
    const before = this.circuit(id)
    const isSame = before?.viewEpoch === failure.viewEpoch && before.model === failure.model
    const failures = isSame ? before.failures + 1 : 1
    const circuit = { ...failure, failures, openUntil: failures >= most ? openUntil : undefined }
    this.#circuits.set(incarnation, circuit)
    return circuit
  }

  tryOnce(id: string, openUntil: number, next: number): boolean {
    const circuit = this.circuit(id)
    if (circuit?.openUntil !== openUntil) return false
    this.#circuits.set(this.#required(id).incarnation, { ...circuit, openUntil: next })
    return true
  }

  reset(id: string): Circuit | undefined {
    const circuit = this.circuit(id)
    this.#circuits.delete(this.#session(id)?.incarnation ?? '')
    return circuit
  }

  /** The model keeps no record of what summaries cost. */
  spending(): Spending {
    return { calls: 0, tokens: 0, cost: 0, oldest: undefined }
  }
}
