/**
 * What can be asked of a run from outside. A command is data: it is performed here when this process drives the run,
 * posted to the process that does, or done on the stored run when nobody drives it. It is acknowledged when what it
 * caused is committed.
 */
import { NerveError, errorFrom, type ErrorData } from '../base/nerve-error.ts'
import { failpoint } from '../base/failpoint.ts'
import type { Actor, Budget, QuestionAsked } from '../journal/events.ts'
import { isOfStep } from '../journal/outcomes.ts'
import { checkAnswer } from './check-answer.ts'
import type { AnyDefinition } from './definition.ts'
import type { Engine } from './engine.ts'
import { runEnded } from './troubles.ts'
import type { Execution } from './execution.ts'
import { readEntries } from './reader.ts'
import { checkBudget } from './start.ts'
import type { Tree } from './tree.ts'
import { dispatchSignals } from './waits.ts'

export type RunCommand = Actor &
  (
    | { readonly verb: 'answer'; readonly question: string; readonly value: unknown }
    | { readonly verb: 'signal'; readonly name: string; readonly value?: unknown }
    | { readonly verb: 'pause' }
    | { readonly verb: 'resume'; readonly budget?: Budget }
    | { readonly verb: 'interrupt'; readonly path?: string }
    | { readonly verb: 'cancel'; readonly reason?: string }
  )

const RESULT_POLL_MS = 25

/** Does what was asked, wherever the run is. */
export async function command(engine: Engine, id: string, wanted: RunCommand): Promise<unknown> {
  // What is wrong in itself is refused before anything is done for it.
  if (wanted.verb === 'resume') checkBudget(wanted.budget)
  // A root run that is open in this process needs no looking up.
  const open = engine.live(id)?.executions.get(id)
  if (open !== undefined && open.closed === undefined) return performHere(engine, { root: id, run: id }, wanted)
  for (;;) {
    const found = await engine.store.find(id)
    if (found === undefined) throw new NerveError('not-found', `There is no run ${id}. List them with: nerve ps`)
    const { run, root, status } = found.head
    if (found.head.ended !== undefined) {
      if (wanted.verb === 'answer') throw await notOpen(engine, run, wanted.question)
      throw runEnded(run, status)
    }
    const here = engine.live(root)
    if (here !== undefined) return performHere(engine, { root, run }, wanted)
    const owner = found.owner?.host
    if (owner !== undefined && owner !== engine.ownership.host && (await engine.ownership.living()).has(owner)) {
      const reply = await post(engine, { root, run }, wanted)
      if (reply !== undefined) return readReply(reply)
      continue
    }
    return performStored(engine, root, run, wanted)
  }
}

interface Target {
  readonly root: string
  readonly run: string
  /** The posted command that is to be settled with what is done. */
  readonly id?: number
}

/** Performs a command on a run that this process has in memory, or takes. */
export async function performHere(engine: Engine, target: Target, wanted: RunCommand): Promise<unknown> {
  try {
    return await performIn(engine, target, wanted)
  } finally {
    engine.letRest(target.root)
  }
}

async function performIn(engine: Engine, target: Target, wanted: RunCommand): Promise<unknown> {
  const { root, run } = target
  // Nothing is waited for that is there: between an answer and what it sets going, every turn of a promise counts.
  const tree = engine.keep(root) ?? (await engine.take(root))
  const execution = tree.executions.get(run) ?? (await tree.busy(openRun(tree, run)))
  if (execution === undefined) throw notThere(tree, run)
  if (execution.replayEnd !== undefined) await execution.replayEnd
  if (execution.closed?.code === 'diverged') throw execution.closed
  // It may have been parked while it was waited for: then it is taken again.
  if (execution.closed !== undefined && execution.state.end === undefined && tree.lost === undefined)
    return performIn(engine, target, wanted)
  tree.commands += 1
  try {
    return await perform(engine, execution, wanted, target.id)
  } finally {
    tree.commands -= 1
  }
}

const OPEN_LOOK_MS = 5
const MOST_OPEN_LOOKS = 200

/** A child is opened by its parent's code: after the replay of whatever is above it, however long that takes, and then at once. */
async function openRun(tree: Tree, run: string): Promise<Execution | undefined> {
  const { executions } = tree
  for (let looks = 0; looks < MOST_OPEN_LOOKS; looks += 1) {
    await new Promise((resolve) => setTimeout(resolve, OPEN_LOOK_MS))
    const execution = executions.get(run)
    if (execution !== undefined || tree.rootExecution?.closed !== undefined) return execution
    for (const one of executions.values()) if (one.replaying || one.opening.size > 0) looks = 0
  }
  return undefined
}

/** Its code has gone another way, this process is not to speak for it any more, or it is over. */
function notThere({ lost, rootExecution }: Tree, run: string): NerveError {
  const why = lost ?? rootExecution?.closed
  return why === undefined || why.code === 'run-ended'
    ? new NerveError('run-ended', `Run ${run} is not open any more.`)
    : why
}

/** Nobody drives the run. Pausing and cancelling need no code; the rest loads the run and goes on. */
async function performStored(engine: Engine, root: string, run: string, wanted: RunCommand): Promise<unknown> {
  switch (wanted.verb) {
    case 'pause':
    case 'cancel':
      return engine.alone(root, () => withoutCode(engine, root, run, wanted))
    case 'resume':
      await engine.alone(root, () => withoutCode(engine, root, run, wanted))
      await engine.take(root).catch(async (error: unknown) => {
        await engine.store.release(root, engine.ownership.host)
        throw error
      })
      return undefined
    default:
      await engine.take(root)
      return performHere(engine, { root, run }, wanted)
  }
}

const NO_CODE: AnyDefinition = {
  kind: 'workflow',
  name: 'stored run',
  options: {},
  run: () => {
    throw new Error('a stored run is not driven')
  },
}

async function withoutCode(engine: Engine, root: string, run: string, wanted: RunCommand): Promise<unknown> {
  if (engine.live(root) !== undefined) return performHere(engine, { root, run }, wanted)
  const tree = await engine.open(root, NO_CODE)
  let isDone = false
  try {
    if (tree.rootExecution !== undefined) await engine.children.openBelow(tree.rootExecution)
    const execution = tree.executions.get(run)
    if (execution === undefined) return undefined
    if (wanted.verb === 'cancel') {
      tree.cancelRun(execution, actorOf(wanted))
      tree.cancelled(execution)
      await engine.committer.drained()
      if (tree.lost !== undefined) throw tree.lost
    } else {
      await perform(engine, execution, wanted)
    }
    isDone = true
    return undefined
  } finally {
    // Who resumes it is about to take it.
    await engine.letGo(tree, isDone && wanted.verb === 'resume')
  }
}

/**
 * Performs a command on a run that this process holds. Whoever asked hears when it is committed; the store may refuse what
 * was written, and then that it was not done.
 */
function perform(engine: Engine, execution: Execution, wanted: RunCommand, posted?: number): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const forget = engine.watchers.onFailure(execution.run, reject)
    act(engine, execution, wanted, posted).then(
      (done) => {
        forget()
        if (execution.tree.lost === undefined) resolve(done)
        else reject(execution.tree.lost)
      },
      (error: unknown) => {
        forget()
        reject(error)
      },
    )
  })
}

async function act(engine: Engine, execution: Execution, wanted: RunCommand, posted?: number): Promise<unknown> {
  const { tree } = execution
  const actor = actorOf(wanted)
  const acknowledge = (): void => {
    if (posted !== undefined) execution.settle(posted, '{}')
  }
  switch (wanted.verb) {
    case 'answer':
      return answer(engine, execution, wanted.question, { value: wanted.value, actor, acknowledge })
    case 'signal': {
      const value = wanted.value === undefined ? {} : { value: wanted.value }
      const received = execution.commit({ type: 'signal-received', name: wanted.name, ...value, ...actor })
      acknowledge()
      if (!execution.replaying) dispatchSignals(execution)
      return received
    }
    case 'pause': {
      const root = tree.rootExecution ?? execution
      tree.setHold('paused', true)
      const paused = root.state.paused
        ? Promise.resolve()
        : root.commit({ type: 'run-paused', reason: 'asked', ...actor })
      acknowledge()
      return paused
    }
    case 'resume':
      tree.raise(execution, wanted.budget, actor)
      acknowledge()
      return execution.committer.drained()
    case 'interrupt': {
      const path = wanted.path === undefined ? {} : { path: wanted.path }
      const requested = execution.commit({ type: 'interrupt-requested', ...path, ...actor })
      acknowledge()
      interrupt(execution, wanted.path)
      return requested
    }
    default:
      tree.cancelRun(execution, { ...actor, ...(wanted.reason === undefined ? {} : { reason: wanted.reason }) })
      acknowledge()
      return execution.committer.drained()
  }
}

/** What runs in this run and below it; a run above it, or beside it, goes on. */
function interrupt(execution: Execution, path: string | undefined): void {
  for (const call of execution.calls) {
    if (path !== undefined && call.path !== path) continue
    call.stop('interrupt', new NerveError('interrupted', `Step '${call.path}' was interrupted.`, { retry: 'later' }))
  }
  for (const child of execution.children.values()) interrupt(child, path)
}

interface Answering {
  readonly value: unknown
  readonly actor: Actor
  readonly acknowledge: () => void
}

async function answer(engine: Engine, execution: Execution, id: string, answering: Answering): Promise<void> {
  const question = findQuestion(execution, id)
  if (question === undefined) throw await notOpen(engine, execution.run, id)
  const checked = checkAnswer(question.asked, question.schema, answering.value)
  const value = checked instanceof Promise ? ((await checked) as unknown) : checked
  // While a schema looked at the answer, there may have been another one.
  const still = findQuestion(execution, id)
  if (still === undefined) throw await notOpen(engine, execution.run, id)
  failpoint('answer-before')
  const accepted = still.accept(value, answering.actor)
  answering.acknowledge()
  await accepted
}

function findQuestion(execution: Execution, id: string) {
  for (const wait of execution.waits.values()) if (wait.question?.asked.id === id) return wait.question
  return undefined
}

/** Why a question cannot be answered: it was, by whom, or it is not there. */
async function notOpen(engine: Engine, run: string, id: string): Promise<NerveError> {
  let asked: QuestionAsked | undefined
  // An answer that was given a moment ago may still be on its way to the store.
  await engine.committer.drained()
  for (const { event } of await readEntries(engine.store, run)) {
    if (event.type === 'question-asked' && event.id === id) asked = event
    if (event.type === 'question-answered' && event.id === id) {
      const who = [
        event.by === undefined ? undefined : `by ${event.by}`,
        event.via === undefined ? undefined : `via ${event.via}`,
      ]
        .filter(Boolean)
        .join(' ')
      return new NerveError(
        'already-answered',
        `Question ${id} was answered already${who === '' ? '' : ` ${who}`}: ${JSON.stringify(event.value)}. Nothing was changed.`,
        {
          data: { question: id, value: event.value, by: event.by, via: event.via },
        },
      )
    }
  }
  if (asked === undefined)
    return new NerveError('not-found', `There is no question ${id}. List the open ones with: nerve inbox`)
  const why = isOfStep(asked.path)
    ? `: the call that asked it is over, or died with its process. A step that goes on asks again, while something drives it: nerve resume ${run}`
    : ''
  return new NerveError('run-ended', `Question ${id} ('${asked.prompt}') is closed${why}. Nothing was changed.`)
}

/** Posts a command to the process that owns the run, and waits for its reply; undefined when the run left that process. */
async function post(
  engine: Engine,
  to: { readonly root: string; readonly run: string },
  wanted: RunCommand,
): Promise<string | undefined> {
  const id = await engine.store.post({ ...to, body: JSON.stringify(wanted) })
  failpoint('post-after')
  for (let round = 1; ; round += 1) {
    const result = await engine.store.result(id)
    if (result !== undefined) return result
    if (round % 10 === 0) {
      const found = await engine.store.find(to.run)
      const now = found?.owner?.host
      // Whoever has the run now finds the command; only when nobody has it, or it has ended, is it taken back.
      const gone = now === undefined || found?.head.ended !== undefined || !(await engine.ownership.living()).has(now)
      if (gone && (await engine.store.withdraw(id, now))) return undefined
    }
    await new Promise((resolve) => setTimeout(resolve, RESULT_POLL_MS))
  }
}

function readReply(reply: string): undefined {
  const { error } = JSON.parse(reply) as { error?: ErrorData }
  if (error !== undefined) throw errorFrom(error)
  return undefined
}

function actorOf(actor: Actor): Actor {
  return { ...(actor.by === undefined ? {} : { by: actor.by }), ...(actor.via === undefined ? {} : { via: actor.via }) }
}
