/** What a provider is made of, checked: where it is, how long to wait for it, and where its key is. */
import { systemClock, type Clock } from '../../base/clock.ts'
import { milliseconds, type Duration } from '../../base/duration.ts'
import { nearest } from '../../base/nearest.ts'
import { NerveError } from '../../base/nerve-error.ts'
import type { WireFormat } from '../exchange.ts'
import type { BreakerOptions } from './breaker.ts'
import { PRESETS, type Endpoint, type Preset, type PresetName } from './presets.ts'
import type { Timeouts } from './upstream.ts'

export interface ProviderOptions {
  /** Where it is, for a provider that is not known by name. Ends where the provider's own client's address does. */
  readonly url?: string
  /** What is spoken there (default for `url`: openai-chat). */
  readonly format?: WireFormat
  /** The name of the environment variable that has the key. Keys are given in no other way. */
  readonly key?: string
  /** Asks for this model, whatever the client asks for. */
  readonly model?: string
  /** More headers for every call. No keys: these are not secret. */
  readonly headers?: Readonly<Record<string, string>>
  readonly timeouts?: { readonly connect?: Duration; readonly firstByte?: Duration; readonly idle?: Duration }
  /** Tries after the first one (default 2), and the longest wait between two (default 10s). */
  readonly retries?: number
  readonly longestWait?: Duration
  readonly breaker?: BreakerOptions
  readonly env?: Readonly<Record<string, string | undefined>>
  readonly clock?: Clock
  readonly random?: () => number
}

export interface ProviderSettings {
  readonly endpoints: readonly Endpoint[]
  /** Undefined where no key is needed. */
  readonly key: string | undefined
  readonly bearer: boolean
  readonly model: string | undefined
  readonly headers: Readonly<Record<string, string>>
  readonly timeouts: Timeouts
  readonly retries: number
  readonly longestWait: number
  readonly breaker: BreakerOptions
  readonly clock: Clock
  readonly random: () => number
}

export function providerSettings(name: string, options: ProviderOptions): ProviderSettings {
  const preset = presetFor(name, options)
  const { connect = '10s', firstByte = '10m', idle = '5m' } = options.timeouts ?? {}
  return {
    endpoints: preset.endpoints,
    key: keyFrom(name, preset.key, options.env ?? process.env),
    bearer: preset.bearer ?? false,
    model: options.model,
    headers: options.headers ?? {},
    timeouts: {
      connect: milliseconds(connect, 'timeouts.connect'),
      firstByte: milliseconds(firstByte, 'timeouts.firstByte'),
      idle: milliseconds(idle, 'timeouts.idle'),
    },
    retries: options.retries ?? 2,
    longestWait: milliseconds(options.longestWait ?? '10s', 'longestWait'),
    breaker: options.breaker ?? {},
    clock: options.clock ?? systemClock,
    random: options.random ?? Math.random,
  }
}

function presetFor(
  name: string,
  { url, format, key }: ProviderOptions,
): Omit<Preset, 'key'> & { readonly key?: string } {
  const known: Preset | undefined = Object.hasOwn(PRESETS, name) ? PRESETS[name as PresetName] : undefined
  if (url !== undefined) {
    const given = key ?? known?.key
    return {
      endpoints: [{ format: format ?? 'openai-chat', url: checkUrl(url) }],
      ...(given === undefined ? {} : { key: given }),
    }
  }
  if (known === undefined) {
    const names = Object.keys(PRESETS)
    const near = nearest(name, names)
    const hint = near === undefined ? '' : ` Did you mean '${near}'?`
    throw new NerveError(
      'bad-option',
      `There is no provider '${name}'.${hint} Known: ${names.join(', ')}. For another one, give its url.`,
    )
  }
  const endpoints = format === undefined ? known.endpoints : known.endpoints.filter((one) => one.format === format)
  if (endpoints.length === 0) throw new NerveError('bad-option', `The provider '${name}' does not speak ${format}.`)
  return { ...known, endpoints, ...(key === undefined ? {} : { key }) }
}

function checkUrl(url: string): string {
  if (/^https?:$/.test(URL.parse(url)?.protocol ?? '')) return url.replace(/\/+$/, '')
  throw new NerveError(
    'bad-option',
    `'${url}' is no address of a provider. Give one such as https://models.example/v1.`,
  )
}

function keyFrom(
  name: string,
  variable: string | undefined,
  env: Readonly<Record<string, string | undefined>>,
): string | undefined {
  if (variable === undefined) return undefined
  const value = env[variable]
  if (value !== undefined && value !== '') return value
  throw new NerveError(
    'bad-option',
    `The provider '${name}' needs a key, and ${variable} is not set. Set it in the environment.`,
  )
}
