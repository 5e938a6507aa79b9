/** How agents and programs are pointed at a gateway. Each of these was run against one. */
export interface AgentSettings {
  readonly agent: string
  readonly env: Readonly<Record<string, string>>
  /** Where variables are not enough. */
  readonly note?: string
}

export function agentSettings(url: string, token: string): readonly AgentSettings[] {
  const openai = `${url}/v1`
  return [
    {
      agent: 'Claude Code',
      env: { ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: token, CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1' },
    },
    {
      agent: 'Codex',
      env: { NERVE_GATEWAY_KEY: token },
      note: `-c model_provider="nerve" -c 'model_providers.nerve={name="nerve",base_url="${openai}",env_key="NERVE_GATEWAY_KEY",wire_api="responses",supports_websockets=false}'`,
    },
    {
      agent: 'Copilot CLI',
      env: {
        COPILOT_PROVIDER_BASE_URL: openai,
        COPILOT_PROVIDER_API_KEY: token,
        COPILOT_PROVIDER_TYPE: 'openai',
        COPILOT_OFFLINE: 'true',
      },
    },
    { agent: 'Gemini CLI', env: { GOOGLE_GEMINI_BASE_URL: url, GEMINI_API_KEY: token } },
    {
      agent: 'OpenCode',
      env: { NERVE_GATEWAY_KEY: token },
      note: `a provider of the package @ai-sdk/openai-compatible with "baseURL": "${openai}", "apiKey": "{env:NERVE_GATEWAY_KEY}"`,
    },
    { agent: 'OpenAI clients', env: { OPENAI_BASE_URL: openai, OPENAI_API_KEY: token } },
  ]
}
