// A client written against `@modelcontextprotocol/sdk` 1.x: the arguments and the report of `v2_client.py`.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
    CreateMessageRequestSchema,
    ElicitRequestSchema,
    ListRootsRequestSchema,
    ResourceUpdatedNotificationSchema
} from '@modelcontextprotocol/sdk/types.js';
import { CAPABILITIES, reportOn, Seen } from './ts_scenarios.mjs';

const [, , , target, command, ...args] = process.argv;
const transport = target.endsWith('/sse')
    ? new SSEClientTransport(new URL(target))
    : target === '--'
      ? new StdioClientTransport({ command, args })
      : new StreamableHTTPClientTransport(new URL(target));
let version;
transport.setProtocolVersion = (set => value => {
    version = value;
    set?.call(transport, value);
})(transport.setProtocolVersion);

const seen = new Seen();
const client = new Client({ name: 'client', version: '1' }, { capabilities: CAPABILITIES });
client.setRequestHandler(ElicitRequestSchema, seen.elicit);
client.setRequestHandler(CreateMessageRequestSchema, seen.sample);
client.setRequestHandler(ListRootsRequestSchema, seen.roots);
client.setNotificationHandler(ResourceUpdatedNotificationSchema, seen.update);
await client.connect(transport);
await reportOn(client, seen, version, (params, options) => client.callTool(params, undefined, options));
