// The calls of Vercel's client: node aisdk.mjs NODE_MODULES URL MODEL. It fails at the first answer that is not as
// expected.
import assert from "node:assert";
import {pathToFileURL} from "node:url";
const [, , directory, url, name] = process.argv;
const load = file => import(pathToFileURL(directory + "/" + file));
const {generateText, streamText, generateObject, embed, tool, jsonSchema} = await load("ai/dist/index.js").catch(() => load("ai/dist/index.mjs"));
const {createOpenAI} = await load("@ai-sdk/openai/dist/index.js").catch(() => load("@ai-sdk/openai/dist/index.mjs"));
const openai = createOpenAI({baseURL: url + "/v1", apiKey: "secret"});

const schema = jsonSchema({
  type: "object", properties: {city: {type: "string", maxLength: 12}}, required: ["city"], additionalProperties: false,
});
for (const model of [openai.chat(name), openai(name)]) { // the second is by /v1/responses
  const more = {model, maxRetries: 0, system: "Be brief.", prompt: "Hi"};
  assert((await generateText({...more, maxOutputTokens: 9})).text.length > 0);
  let text = "";
  for await (const piece of streamText({...more, maxOutputTokens: 9}).textStream) text += piece;
  assert(text.length > 0);
  const {object} = await generateObject({...more, schema});
  assert.strictEqual(typeof object.city, "string");
  const tools = {weather: tool({description: "Weather", inputSchema: schema, execute: async ({city}) => city + " is sunny"})};
  const called = await generateText({...more, tools, toolChoice: "required"});
  assert.strictEqual(called.toolCalls[0].toolName, "weather");
  assert.strictEqual(called.toolResults[0].output, called.toolCalls[0].input.city + " is sunny");
}
const {embedding} = await embed({model: openai.embedding(name), value: "sunny day", maxRetries: 0});
assert(Math.abs(embedding.reduce((sum, x) => sum + x * x, 0) - 1) < 1e-5);
console.log("all as expected");
