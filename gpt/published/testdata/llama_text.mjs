// Prints the text with which llama.cpp, as node-llama-cpp distributes it, continues a prompt by its likeliest tokens: for
// each GGUF file among the arguments a line of JSON with the tokens of the prompt, those drawn and their text. The first
// arguments are the prompt and the number of tokens, and the program runs in a folder in which npm has installed
// node-llama-cpp.
import {getLlama, LlamaLogLevel} from "node-llama-cpp";

process.execArgv.length = 0; // node-llama-cpp tests its library in a process of its own, without this script
const [prompt, count, ...files] = process.argv.slice(1);
const complaints = [];
const llama = await getLlama({
	gpu: false, build: "never", skipDownload: true, maxThreads: 1, logLevel: LlamaLogLevel.error,
	logger: (_, message) => complaints.push(message),
});
for (const file of files) {
	complaints.length = 0;
	try {
		const model = await llama.loadModel({modelPath: file});
		const context = await model.createContext({contextSize: 256, threads: 1, flashAttention: false});
		const asked = [...model.tokenize(prompt)], drawn = [];
		if (model.tokens.shouldPrependBosToken) asked.unshift(model.tokens.bos);
		for await (const token of context.getSequence().evaluate(asked, {temperature: 0})) {
			if (drawn.push(token) == count) break;
		}
		console.log(JSON.stringify({asked, drawn, text: model.detokenize(drawn, false, asked)}));
		await context.dispose();
		await model.dispose();
	} catch (error) {
		console.log(JSON.stringify(`${error.message}: ${complaints.join(" ")}`));
	}
}
process.exit(0);
