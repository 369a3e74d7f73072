// The scenarios of `v2_client.py`, for clients of both lines of the TypeScript packages.
const PATIENCE = 10_000;
const textOf = result => result.content.map(part => part.text).join('');

export const CAPABILITIES = { elicitation: {}, sampling: {}, roots: { listChanged: true } };

export class Seen {
    asked = [];
    updates = [];
    #updated = new AbortController();

    elicit = async request => {
        this.asked.push(request.params.message);
        return { action: 'accept', content: { amount: 3 } };
    };
    sample = async () => ({ role: 'assistant', content: { type: 'text', text: 'Tea-hee.' }, model: 'm' });
    roots = async () => ({ roots: [{ uri: 'file:///tea', name: 'tea' }] });
    update = async notification => {
        this.updates.push(notification.params.uri);
        this.#updated.abort();
    };
    updated = () =>
        new Promise(resolve => {
            if (this.#updated.signal.aborted) resolve();
            this.#updated.signal.addEventListener('abort', resolve);
        });
}

const scenarios = {
    opening: (client, seen, version) => [version, client.getServerVersion()?.name, client.getInstructions()],
    listing: async client => ({
        tools: (await client.listTools()).tools.map(tool => tool.name).sort(),
        resources: (await client.listResources()).resources.map(resource => resource.uri),
        templates: (await client.listResourceTemplates()).resourceTemplates.map(template => template.uriTemplate),
        prompts: (await client.listPrompts()).prompts.map(prompt => prompt.name)
    }),
    call: async client => textOf(await client.callTool({ name: 'add', arguments: { a: 2, b: 3 } })),
    many_calls: client =>
        Promise.all(
            Array.from({ length: 20 }, async (_, number) =>
                textOf(await client.callTool({ name: 'add', arguments: { a: number, b: number } }))
            )
        ),
    payloads: async client => {
        const texts = ['a\r\nb\u2028c\u2029d\x85e\0\u{1f375} data: x\n\n', 'tea'.repeat(100_000)];
        const echo = async text => textOf(await client.callTool({ name: 'echo', arguments: { text } })) === text;
        return [await echo(texts[0]), await echo(texts[1])];
    },
    failing_call: async client => (await client.callTool({ name: 'fail', arguments: {} })).isError,
    refusal: client => client.readResource({ uri: 'note://nothing' }).then(() => 'no error', () => 'an error'),
    progress: async (client, seen, version, call) => {
        const steps = [];
        const onprogress = ({ progress, total, message }) => steps.push([progress, total, message]);
        return [textOf(await call({ name: 'count', arguments: { steps: 3 } }, { onprogress })), steps];
    },
    cancelling: async (client, seen, version, call) => {
        const key = { key: crypto.randomUUID() };
        const controller = new AbortController();
        const options = { onprogress: () => controller.abort('enough'), signal: controller.signal };
        await call({ name: 'slow', arguments: key }, options).catch(() => {});
        return textOf(await client.callTool({ name: 'was_cancelled', arguments: key }));
    },
    elicitation: async (client, seen) => {
        return [textOf(await client.callTool({ name: 'order', arguments: { item: 'tea' } })), seen.asked];
    },
    sampling: async client => textOf(await client.callTool({ name: 'joke', arguments: { topic: 'tea' } })),
    roots: async client => textOf(await client.callTool({ name: 'where', arguments: {} })),
    reading: async client => {
        return (await client.readResource({ uri: 'note://1/of/May' })).contents.map(part => [part.uri, part.text]);
    },
    prompting: async client => {
        const { messages } = await client.getPrompt({ name: 'greet', arguments: { name: 'Ann' } });
        return messages.map(message => message.content.text);
    },
    watching: async (client, seen, version) => {
        const subscription =
            version >= '2026' ? await client.listen({ resourceSubscriptions: ['note://today'] }) : undefined;
        await client.callTool({ name: 'write', arguments: {} });
        await seen.updated();
        await subscription?.close();
        return seen.updates;
    }
};

function bounded(promise) {
    let timer;
    const late = new Promise((_, reject) => {
        timer = setTimeout(() => reject(new Error('it took too long')), PATIENCE);
    });
    return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

// Run them all and print the report; `call` is `callTool` with options.
export async function reportOn(client, seen, version, call) {
    const report = {};
    for (const [name, run] of Object.entries(scenarios)) {
        try {
            report[name] = await bounded(Promise.resolve(run(client, seen, version, call)));
        } catch (error) {
            report[name] = { error: String(error), details: String(error.cause ?? '') };
        }
    }
    await bounded(client.close());
    report.closing = 'closed';
    console.log(JSON.stringify(report));
}
