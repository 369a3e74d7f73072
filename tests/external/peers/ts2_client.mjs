// A client written against `@modelcontextprotocol/client` 2.x: the arguments and the report of `v2_client.py`.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { CAPABILITIES, reportOn, Seen } from './ts_scenarios.mjs';

const [, , mode, target, command, ...args] = process.argv;
const transport =
    target === '--' ? new StdioClientTransport({ command, args }) : new StreamableHTTPClientTransport(new URL(target));

const seen = new Seen();
const client = new Client(
    { name: 'client', version: '1' },
    { capabilities: CAPABILITIES, versionNegotiation: { mode } }
);
client.setRequestHandler('elicitation/create', seen.elicit);
client.setRequestHandler('sampling/createMessage', seen.sample);
client.setRequestHandler('roots/list', seen.roots);
client.setNotificationHandler('notifications/resources/updated', seen.update);
await client.connect(transport);
const version = client.getNegotiatedProtocolVersion();
await reportOn(client, seen, version, (params, options) => client.callTool(params, options));
