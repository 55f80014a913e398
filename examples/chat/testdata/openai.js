// The calls of npm's client: node openai.js PACKAGE URL MODEL. It fails at the first answer that is not as expected.
"use strict";
const [, , directory, url, model] = process.argv;
const {OpenAI} = require(directory);
const client = new OpenAI({baseURL: url + "/v1", apiKey: "secret", maxRetries: 0});
const assert = require("node:assert");

async function main() {
  const list = await client.models.list();
  assert.deepStrictEqual(list.data.map(m => m.id), [model]);

  const messages = [{role: "system", content: "Be brief."}, {role: "user", content: "Hi"}];
  const ask = more => client.chat.completions.create({model, messages, max_completion_tokens: 12, seed: 5, ...more});
  const whole = await ask({});
  assert.strictEqual(whole.choices[0].message.role, "assistant");
  assert.strictEqual(whole.usage.total_tokens, whole.usage.prompt_tokens + whole.usage.completion_tokens);

  let text = "", usage = null, finish = null;
  for await (const chunk of await ask({stream: true, stream_options: {include_usage: true}})) {
    text += chunk.choices[0]?.delta.content ?? "";
    finish = chunk.choices[0]?.finish_reason ?? finish;
    usage = chunk.usage ?? usage;
  }
  assert.strictEqual(text, whole.choices[0].message.content);
  assert.strictEqual(finish, whole.choices[0].finish_reason);
  assert.deepStrictEqual(usage, whole.usage);
  const streamed = client.chat.completions.stream({model, messages, max_completion_tokens: 12, seed: 5});
  assert.strictEqual(await streamed.finalContent(), text);

  const at = [...text].slice(3, 5).join("");
  const stopped = await ask({stop: [at]});
  assert.strictEqual(stopped.choices[0].message.content, text.slice(0, text.indexOf(at)));
  assert.strictEqual(stopped.choices[0].finish_reason, "stop");

  const {logprobs} = (await ask({logprobs: true, top_logprobs: 2})).choices[0];
  assert.strictEqual(logprobs.content.length, usage.completion_tokens);
  assert(logprobs.content.every(t => t.logprob <= t.top_logprobs[0].logprob && t.top_logprobs.length === 2));
  assert.strictEqual(Buffer.from(logprobs.content.flatMap(t => t.bytes)).toString(), text);

  const tools = [{type: "function", function: {name: "weather", parameters: {}}}];
  await assert.rejects(ask({tools}), e => e instanceof OpenAI.BadRequestError && e.param === "tools" && /writes no tools/.test(e.message));
  await assert.rejects(client.chat.completions.create({model: "another", messages}), OpenAI.NotFoundError);
  const foreign = new OpenAI({baseURL: url + "/v1", apiKey: "wrong", maxRetries: 0});
  await assert.rejects(foreign.models.list(), OpenAI.AuthenticationError);

  const completion = await client.completions.create({model, prompt: "Hi", max_tokens: 3, logprobs: 1});
  assert.strictEqual(completion.choices[0].logprobs.tokens.length, 3);

  for (let i = 0; i < 3; i++) { // a client that leaves frees its lane: the server has one, and no queue
    const long = await ask({stream: true, max_completion_tokens: 900, temperature: 0});
    for await (const chunk of long) {
      long.controller.abort();
      break;
    }
    const until = Date.now() + 5000;
    for (;;) {
      try {
        await ask({max_completion_tokens: 1});
        break;
      } catch (e) {
        if (!(e instanceof OpenAI.RateLimitError) || Date.now() > until) throw e;
      }
    }
  }
  console.log("all as expected");
}
main().catch(e => { console.error(e); process.exit(1); });
