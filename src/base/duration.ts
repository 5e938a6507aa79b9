import { NerveError } from './nerve-error.ts'

/** Milliseconds, or text such as '500ms', '90s', '2m', '1.5h', '3d', '2w'. */
export type Duration = number | string

const UNITS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
}
const FORM = /^(\d+(?:\.\d+)?)\s*(ms|s|m|h|d|w)$/

export function milliseconds(duration: Duration, what = 'duration'): number {
  if (typeof duration === 'number' && Number.isFinite(duration) && duration >= 0) return duration
  const found = typeof duration === 'string' ? FORM.exec(duration.trim()) : null
  if (found !== null) return Math.round(Number(found[1]) * (UNITS[found[2] ?? ''] ?? Number.NaN))
  throw new NerveError(
    'bad-duration',
    `${what}: ${typeof duration === 'number' ? duration : JSON.stringify(duration)} is not a duration. Give milliseconds, or a number with ms, s, m, h, d or w, such as '90s' or '2h'.`,
  )
}

export function showDuration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)}ms`
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)}s`
  if (ms < 3_600_000) return `${Math.floor(ms / 60_000)}m${String(Math.floor((ms % 60_000) / 1_000)).padStart(2, '0')}s`
  if (ms < 86_400_000)
    return `${Math.floor(ms / 3_600_000)}h${String(Math.floor((ms % 3_600_000) / 60_000)).padStart(2, '0')}m`
  return `${Math.floor(ms / 86_400_000)}d${String(Math.floor((ms % 86_400_000) / 3_600_000)).padStart(2, '0')}h`
}
