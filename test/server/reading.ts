/** Reads a feed as badly as clients do, and keeps account of what came. */
import { expect } from 'vitest'
import type { Host } from 'nerve'
import type { EventItem } from 'nerve/client'

/** What a reader saw, by run: every sequence number in the order in which it came. */
export class Account {
  readonly seen = new Map<string, number[]>()

  add(item: EventItem): void {
    if (!('seq' in item)) return
    const numbers = this.seen.get(item.run) ?? []
    numbers.push(item.seq)
    this.seen.set(item.run, numbers)
  }

  get events(): number {
    return [...this.seen.values()].reduce((sum, numbers) => sum + numbers.length, 0)
  }

  has(run: string, last: number): boolean {
    return this.seen.get(run)?.includes(last) === true
  }
}

/** Every event of every run, once each and in order. */
export async function expectWhole(host: Host, account: Account, runs: readonly string[]): Promise<void> {
  for (const run of runs) {
    const there = (await host.journal(run)).map(({ seq }) => seq)
    expect({ run, seen: account.seen.get(run) }).toEqual({ run, seen: there })
  }
}

export async function lengths(host: Host, runs: readonly string[]): Promise<Map<string, number>> {
  const found = new Map<string, number>()
  for (const run of runs) found.set(run, (await host.journal(run)).length)
  return found
}
