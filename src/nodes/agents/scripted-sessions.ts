/** The sessions of the scripted agent: a file for each. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { NerveError } from '../../base/nerve-error.ts'

export interface Saved {
  readonly prompts: readonly string[]
  /** How many steps of the last prompt are done; undefined when all are. */
  readonly done?: number
  /** What a person has answered last. */
  readonly answer?: string
}

export class ScriptedSessions {
  readonly agent: string
  readonly #folder: string

  constructor(agent: string, folder: string) {
    this.agent = agent
    this.#folder = folder
    mkdirSync(folder, { recursive: true })
  }

  load(id: string): Saved {
    try {
      return JSON.parse(readFileSync(this.#file(id), 'utf8')) as Saved
    } catch (cause) {
      throw new NerveError('agent-failed', `There is no session ${id} of ${this.agent}.`, { cause })
    }
  }

  save(id: string, saved: Saved): void {
    writeFileSync(this.#file(id), JSON.stringify(saved))
  }

  #file(id: string): string {
    return join(this.#folder, `${id}.json`)
  }
}
