// A server written against `@modelcontextprotocol/sdk` 1.x: `ts1_server.mjs http PORT | stdio`.
import { createServer } from 'node:http';
import { McpServer, ResourceTemplate } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { SubscribeRequestSchema, UnsubscribeRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { ANSWERS, INFO, OPTIONS, QUESTIONS, readBody, register, sessions } from './ts_tools.mjs';

const kit = {
    ResourceTemplate,
    object: shape => shape,
    signal: context => context.signal,
    async progress(context, progress, total, message) {
        const progressToken = context._meta?.progressToken;
        if (progressToken === undefined) return;
        const params = { progressToken, progress, total, message };
        await context.sendNotification({ method: 'notifications/progress', params });
    },
    order: server => async ({ item }) => ANSWERS.order(item, await server.server.elicitInput(QUESTIONS.amount(item))),
    joke: server => async ({ topic }) => ANSWERS.joke(await server.server.createMessage(QUESTIONS.joke(topic))),
    where: server => async () => ANSWERS.where(await server.server.listRoots()),
    changed: (server, uri) => server.server.sendResourceUpdated({ uri })
};

async function connect(transport) {
    const server = new McpServer(INFO, OPTIONS);
    register(server, kit);
    server.server.setRequestHandler(SubscribeRequestSchema, async () => ({}));
    server.server.setRequestHandler(UnsubscribeRequestSchema, async () => ({}));
    await server.connect(transport);
}

if (process.argv[2] === 'stdio') {
    await connect(new StdioServerTransport());
} else {
    const serve = sessions(StreamableHTTPServerTransport, connect);
    const server = createServer(async (request, response) => serve(request, response, await readBody(request)));
    server.listen(Number(process.argv[3]), '127.0.0.1');
}
