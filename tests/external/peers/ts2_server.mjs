// A server written against `@modelcontextprotocol/server` 2.x, which serves both eras: `ts2_server.mjs http PORT | stdio`.
import { createServer } from 'node:http';
import { NodeStreamableHTTPServerTransport, toNodeHandler, toWebRequest } from '@modelcontextprotocol/node';
import { createMcpHandler, inputRequired, isLegacyRequest, McpServer, ResourceTemplate } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';
import { ANSWERS, INFO, OPTIONS, QUESTIONS, readBody, register, sessions } from './ts_tools.mjs';

let modern; // the handler of the modern era over HTTP: it knows who listens

const answer = context => context.mcpReq.inputResponses?.answer;
const ask = question => inputRequired({ inputRequests: { answer: question } });

const kit = {
    ResourceTemplate,
    object: shape => z.object(shape),
    signal: context => context.mcpReq.signal,
    async progress(context, progress, total, message) {
        const progressToken = context.mcpReq._meta?.progressToken;
        if (progressToken === undefined) return;
        const params = { progressToken, progress, total, message };
        await context.mcpReq.notify({ method: 'notifications/progress', params });
    },
    order: () => async ({ item }, context) =>
        answer(context)
            ? ANSWERS.order(item, answer(context))
            : ask(inputRequired.elicit(QUESTIONS.amount(item))),
    joke: () => async ({ topic }, context) =>
        answer(context) ? ANSWERS.joke(answer(context)) : ask(inputRequired.createMessage(QUESTIONS.joke(topic))),
    where: () => async (_, context) =>
        answer(context) ? ANSWERS.where(answer(context)) : ask(inputRequired.listRoots()),
    async changed(server, uri) {
        await modern?.notify.resourceUpdated(uri);
        if (server.isConnected()) await server.server.sendResourceUpdated({ uri });
    }
};

function build() {
    const server = new McpServer(INFO, OPTIONS);
    register(server, kit);
    server.server.setRequestHandler('resources/subscribe', async () => ({}));
    server.server.setRequestHandler('resources/unsubscribe', async () => ({}));
    return server;
}

if (process.argv[2] === 'stdio') {
    serveStdio(build);
} else {
    modern = createMcpHandler(build);
    const serveModern = toNodeHandler(modern);
    const serveLegacy = sessions(NodeStreamableHTTPServerTransport, transport => build().connect(transport));
    const server = createServer(async (request, response) => {
        const body = await readBody(request);
        const legacy = await isLegacyRequest(await toWebRequest(request, body), body);
        await (legacy ? serveLegacy : serveModern)(request, response, body);
    });
    server.listen(Number(process.argv[3]), '127.0.0.1');
}
