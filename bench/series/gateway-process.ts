// A gateway in a process of its own, before the provider at this address.
import { door } from './nerve-entry.ts'

const { createGateway, provider } = (await import(door('gateway'))) as typeof import('nerve/gateway')
const [, , url = ''] = process.argv
const gateway = await createGateway({ backend: provider('bench', { url, format: 'anthropic' }) })
console.log(JSON.stringify({ url: gateway.url, token: gateway.token().token }))
