// The tools, resources and prompts of `v2_server.py`, for servers of both lines of the TypeScript packages.
//
// `kit` holds what differs between the lines: schemas, what a handler's context offers, and how a tool asks its client.
import { once } from 'node:events';
import { z } from 'zod';

const cancelled = new Map();
const text = value => ({ content: [{ type: 'text', text: String(value) }] });

function cancellation(key) {
    if (!cancelled.has(key)) cancelled.set(key, new AbortController());
    return cancelled.get(key);
}

async function reached(signal, milliseconds) {
    if (signal.aborted) return true;
    const patience = AbortSignal.timeout(milliseconds);
    await Promise.race([once(signal, 'abort'), once(patience, 'abort')]);
    return signal.aborted;
}

export function register(server, kit) {
    const tool = (name, shape, run) => server.registerTool(name, { inputSchema: kit.object(shape) }, run);

    tool('add', { a: z.number(), b: z.number() }, async ({ a, b }) => text(a + b));
    tool('count', { steps: z.number() }, async ({ steps }, context) => {
        for (let step = 1; step <= steps; step++) await kit.progress(context, step, steps, `step ${step}`);
        return text(`counted ${steps}`);
    });
    tool('slow', { key: z.string() }, async ({ key }, context) => {
        await kit.progress(context, 1, 2);
        if (await reached(kit.signal(context), 60_000)) cancellation(key).abort();
        return text('never');
    });
    tool('was_cancelled', { key: z.string() }, async ({ key }) =>
        text((await reached(cancellation(key).signal, 5_000)) ? 'cancelled' : 'not cancelled')
    );
    tool('echo', { text: z.string() }, async ({ text: words }) => text(words));
    tool('fail', {}, async () => {
        throw new Error('no tea today');
    });
    tool('order', { item: z.string() }, kit.order(server));
    tool('joke', { topic: z.string() }, kit.joke(server));
    tool('where', {}, kit.where(server));
    tool('write', {}, async () => {
        await kit.changed(server, 'note://today');
        return text('written');
    });

    server.registerResource('today', 'note://today', { mimeType: 'text/plain' }, async uri => ({
        contents: [{ uri: uri.href, text: 'note' }]
    }));
    const template = new kit.ResourceTemplate('note://{day}/of/{month}', { list: undefined });
    server.registerResource('day', template, {}, async (uri, { day, month }) => ({
        contents: [{ uri: uri.href, text: `${day} ${month}` }]
    }));
    server.registerPrompt('greet', { argsSchema: kit.object({ name: z.string() }) }, async ({ name }) => ({
        messages: [{ role: 'user', content: { type: 'text', text: `Greet ${name}.` } }]
    }));
}

export const INFO = { name: 'peer', version: '1.2.3' };
export const OPTIONS = { instructions: 'Ask for tea.', capabilities: { resources: { subscribe: true } } };

export const QUESTIONS = {
    amount: item => ({
        message: `How many of ${item}?`,
        requestedSchema: { type: 'object', properties: { amount: { type: 'integer' } }, required: ['amount'] }
    }),
    joke: topic => ({
        messages: [{ role: 'user', content: { type: 'text', text: `A joke about ${topic}` } }],
        maxTokens: 20
    })
};

export const ANSWERS = {
    order: (item, answer) => text(answer?.action === 'accept' ? `${answer.content.amount} of ${item}` : `no ${item}`),
    joke: answer => text(answer.content.text),
    where: answer => text(answer.roots.map(root => root.uri).join(' '))
};

// Serve sessions of the handshake era over HTTP: `connect` gives a new transport a server.
export function sessions(Transport, connect) {
    const open = new Map();
    return async (request, response, body) => {
        const id = request.headers['mcp-session-id'];
        let transport = open.get(id);
        if (id !== undefined && transport === undefined) {
            response.writeHead(404).end();
            return;
        }
        if (transport === undefined) {
            transport = new Transport({
                sessionIdGenerator: () => crypto.randomUUID(),
                onsessioninitialized: created => open.set(created, transport)
            });
            await connect(transport);
        }
        await transport.handleRequest(request, response, body);
    };
}

export async function readBody(request) {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = Buffer.concat(chunks).toString();
    return body === '' ? undefined : JSON.parse(body);
}
