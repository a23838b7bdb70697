// The JavaScript client, version 2: with the handshake unless it is told to negotiate.

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

import { input, tell } from './story.mjs';

const transport = input.url
  ? new StreamableHTTPClientTransport(new URL(input.url), { requestInit: { headers: input.headers } })
  : new StdioClientTransport({ command: input.command[0], args: input.command.slice(1), env: input.env });
const options = input.negotiation ? { versionNegotiation: { mode: input.negotiation } } : undefined;
const client = new Client({ name: 'client-v2', version: '0' }, options);
await tell(client, transport, (call) => client.callTool(call));
