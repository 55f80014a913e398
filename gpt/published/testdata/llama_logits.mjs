// Prints the logits that llama.cpp, as node-llama-cpp distributes it, computes after each token of a text: for each GGUF
// file among the arguments a line of JSON, a list for each token. The first argument is the list of tokens, and the
// program runs in a folder in which npm has installed node-llama-cpp.
import {getLlama, LlamaLogLevel} from "node-llama-cpp";

process.execArgv.length = 0; // node-llama-cpp tests its library in a process of its own, without this script
const [tokens, ...files] = process.argv.slice(1);
const complaints = [];
const llama = await getLlama({
	gpu: false, build: "never", skipDownload: true, maxThreads: 1, logLevel: LlamaLogLevel.error,
	logger: (_, message) => complaints.push(message),
});
for (const file of files) {
	complaints.length = 0;
	try {
		const model = await llama.loadModel({modelPath: file});
		const context = await model.createContext({contextSize: 64, threads: 1, flashAttention: false});
		const asked = JSON.parse(tokens).map(t => [t, {generateNext: {token: true, logits: true, options: {temperature: 0}}}]);
		const answers = await context.getSequence().controlledEvaluate(asked);
		console.log(JSON.stringify(answers.map(a => [...a.next.logits].sort((a, b) => a[0] - b[0]).map(pair => pair[1]))));
		await context.dispose();
		await model.dispose();
	} catch (error) {
		console.log(JSON.stringify(`${error.message}: ${complaints.join(" ")}`));
	}
}
process.exit(0);
