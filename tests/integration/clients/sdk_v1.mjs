// The JavaScript SDK, version 1: handshake eras only. Many of today's clients are built on it.

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

import { input, tell } from './story.mjs';

const transport = input.url
  ? new StreamableHTTPClientTransport(new URL(input.url), { requestInit: { headers: input.headers } })
  : new StdioClientTransport({ command: input.command[0], args: input.command.slice(1), env: input.env });
const client = new Client({ name: 'sdk-v1', version: '0' });
await tell(client, transport, (call) => client.callTool(call));
