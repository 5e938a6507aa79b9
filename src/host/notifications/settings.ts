import type { NotifyKind } from './notification.ts'

/** Who is told of what happens, as the project file says it. */
export interface NotifySettings {
  /** Show notifications on the desktop of whoever runs the server (default false). */
  readonly desktop?: boolean
  readonly webhooks?: readonly WebhookSettings[]
}

export interface WebhookSettings {
  readonly url: string
  /** The environment variable that has the secret with which requests are signed. */
  readonly secretEnv: string
  /** What it is told of (default: everything). */
  readonly on?: readonly NotifyKind[]
}
