/** The door to the project file. It brings nothing but types with it. */
export { config } from './host/config/project-config.ts'
export type { ConfigDefaults, ConfigSession, ProjectConfig } from './host/config/project-config.ts'
export type { NotifySettings, WebhookSettings } from './host/notifications/settings.ts'
