// One installer at a time in a checkout: a lock between processes, part of the bootstrap and bound by the same limits.
//
// The lock is a folder that holds one file, named after its owner's pid. A folder can be renamed onto an empty one but not
// onto a full one, so taking the lock is one atomic step, and clearing a dead owner's file can never clear a living one's.
import * as fs from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'

/**
 * Waits until `folder` is ours.
 * @param {string} folder
 * @param {(owner: string) => void} [waiting] called once, if a living process has it
 * @returns {Promise<() => void>} gives the lock back
 */
export async function lock(folder, waiting = () => {}) {
  const held = join(folder, 'lock')
  const mine = join(folder, `lock-${process.pid}`)
  fs.mkdirSync(mine, { recursive: true })
  fs.writeFileSync(join(mine, String(process.pid)), '')
  let told = false
  while (!take(mine, held)) {
    const owner = clearIfDead(held)
    if (owner !== undefined && !told) {
      told = true
      waiting(owner)
    }
    await wait(100)
  }
  return () => {
    fs.unlinkSync(join(held, String(process.pid)))
    removeIfEmpty(held)
  }
}

/**
 * @param {string} mine
 * @param {string} held
 */
function take(mine, held) {
  removeIfEmpty(held) // Windows does not rename onto an existing folder, not even an empty one.
  try {
    fs.renameSync(mine, held)
    return true
  } catch {
    return false
  }
}

/** @param {string} folder */
function removeIfEmpty(folder) {
  try {
    fs.rmdirSync(folder)
  } catch {
    // It has an owner again, or somebody else removed it: both are fine.
  }
}

/**
 * @param {string} held
 * @returns {string | undefined} the living owner
 */
function clearIfDead(held) {
  try {
    const owner = fs.readdirSync(held)[0]
    if (owner === undefined || isAlive(Number(owner))) return owner
    fs.unlinkSync(join(held, owner))
  } catch {
    // Given back, or cleared by somebody else, in the meantime.
  }
  return undefined
}

/** @param {number} pid */
function isAlive(pid) {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return /** @type {NodeJS.ErrnoException} */ (error).code === 'EPERM'
  }
}
