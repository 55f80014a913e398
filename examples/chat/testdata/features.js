// More calls of npm's client, in the forms of its own examples: node features.js PACKAGE URL MODEL. It fails at the first
// answer that is not as expected.
"use strict";
const [, , directory, url, model] = process.argv;
const {OpenAI} = require(directory);
const client = new OpenAI({baseURL: url + "/v1", apiKey: "secret", maxRetries: 0});
const assert = require("node:assert");

const messages = [{role: "developer", content: "Talk like a pirate."}, {role: "user", content: "Are semicolons optional?"}];
const schema = {
  type: "object",
  properties: {steps: {type: "array", items: {type: "string", maxLength: 8}, maxItems: 2}, answer: {enum: ["yes", "no"]}},
  required: ["steps", "answer"], additionalProperties: false,
};
const parameters = {
  type: "object", properties: {location: {type: "string", maxLength: 12}, unit: {type: ["string", "null"], enum: ["c", "f", null]}},
  required: ["location", "unit"], additionalProperties: false,
};

function holds(value) {
  assert(Array.isArray(value.steps) && value.steps.length <= 2 && ["yes", "no"].includes(value.answer));
}

function calls(text) {
  const value = JSON.parse(text);
  assert(typeof value.location === "string" && ["c", "f", null].includes(value.unit));
}

async function chats() {
  const several = await client.chat.completions.create({model, messages, n: 3, seed: 5, max_tokens: 9});
  assert.deepStrictEqual(several.choices.map(c => c.index), [0, 1, 2]);
  const biased = await client.chat.completions.create({model, messages, logit_bias: {40: 100}, max_tokens: 3});
  assert.strictEqual(new Set(biased.choices[0].message.content).size, 1);
  const echoed = await client.completions.create({model, prompt: "Hi", echo: true, max_tokens: 2});
  assert(echoed.choices[0].text.startsWith("Hi"));

  const object = await client.chat.completions.create({model, messages, response_format: {type: "json_object"}});
  JSON.parse(object.choices[0].message.content);
  const response_format = {type: "json_schema", json_schema: {name: "reasoning", strict: true, schema}};
  const parsed = await client.chat.completions.parse({model, messages, response_format});
  holds(JSON.parse(parsed.choices[0].message.content));

  const tools = [{type: "function", function: {name: "get_weather", description: "Weather", strict: true, parameters}}];
  const ask = {model, messages, tools, tool_choice: "required"};
  const called = (await client.chat.completions.create(ask)).choices[0];
  assert.strictEqual(called.finish_reason, "tool_calls");
  calls(called.message.tool_calls[0].function.arguments);
  const streamed = await client.chat.completions.stream({...ask, seed: 7}).finalMessage();
  assert.strictEqual(streamed.tool_calls[0].function.name, "get_weather");
  calls(streamed.tool_calls[0].function.arguments);
  const then = await client.chat.completions.create({
    model, tools, tool_choice: "auto", max_tokens: 5,
    messages: [...messages, called.message, {role: "tool", tool_call_id: called.message.tool_calls[0].id, content: "sunny"}],
  });
  assert.strictEqual(then.choices.length, 1);
}

// The older form of tools.
async function functions() {
  const list = [{name: "get_weather", parameters}];
  const ask = {model, messages, functions: list, function_call: {name: "get_weather"}};
  const {message, finish_reason} = (await client.chat.completions.create(ask)).choices[0];
  assert.strictEqual(finish_reason, "function_call");
  calls(message.function_call.arguments);
  const streamed = await client.chat.completions.stream(ask).finalMessage();
  calls(streamed.function_call.arguments);
  await client.chat.completions.create({
    model, functions: list, max_tokens: 5,
    messages: [...messages, message, {role: "function", name: "get_weather", content: "sunny"}],
  });
}

async function embeds() {
  const input = ["The quick brown fox", "jumped over the lazy dog"];
  const one = await client.embeddings.create({model, input});
  const other = await client.embeddings.create({model, input, encoding_format: "float"});
  assert.strictEqual(one.data.length, 2);
  for (const i of [0, 1]) {
    const norm = one.data[i].embedding.reduce((sum, x) => sum + x * x, 0);
    assert(Math.abs(norm - 1) < 1e-5, "norm " + norm);
    assert(one.data[i].embedding.every((x, j) => Math.abs(x - other.data[i].embedding[j]) < 1e-6));
  }
}

async function responds() {
  const ask = {model, instructions: "Talk like a pirate.", input: "Are semicolons optional?", max_output_tokens: 12};
  const whole = await client.responses.create(ask);
  assert(whole.output_text.length > 0 && whole.status === "incomplete" && whole.usage.output_tokens === 12);
  let text = "", kinds = [];
  for await (const event of await client.responses.create({...ask, stream: true})) {
    kinds.push(event.type);
    if (event.type === "response.output_text.delta") text += event.delta;
    if (event.type === "response.incomplete") assert.strictEqual(event.response.output[0].content[0].text, text);
  }
  assert.strictEqual(kinds[0], "response.created");
  assert.strictEqual(kinds.at(-1), "response.incomplete");
  assert((await client.responses.stream(ask).finalResponse()).output_text.length > 0);

  const format = {type: "json_schema", name: "reasoning", strict: true, schema};
  const parsed = await client.responses.parse({model, input: messages, text: {format}});
  holds(JSON.parse(parsed.output_text));

  const tools = [{type: "function", name: "get_weather", strict: true, parameters}];
  const called = await client.responses.create({model, input: messages, tools, tool_choice: "required"});
  assert.strictEqual(called.output[0].type, "function_call");
  calls(called.output[0].arguments);
  const streamed = await client.responses.stream({model, input: messages, tools, tool_choice: "required"}).finalResponse();
  calls(streamed.output[0].arguments);
  const input = [...messages, ...called.output, {type: "function_call_output", call_id: called.output[0].call_id, output: "sunny"}];
  const then = await client.responses.create({model, tools, max_output_tokens: 5, input});
  assert.strictEqual(then.object, "response");
  await assert.rejects(client.responses.create({model, input: "a", previous_response_id: "resp_1"}),
    e => e instanceof OpenAI.BadRequestError && e.param === "previous_response_id");
}

chats().then(functions).then(embeds).then(responds).then(() => console.log("all as expected"))
  .catch(e => { console.error(e); process.exit(1); });
