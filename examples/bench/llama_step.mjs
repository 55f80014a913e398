// Reads a prompt and writes tokens with llama.cpp, as node-llama-cpp distributes it, for `bench -compare`.
//
// Arguments: a GGUF file, or nothing to look only; threads; tokens of the prompt; tokens to write. It runs in a folder in
// which npm has installed node-llama-cpp, and prints a line of JSON with the fields that the benchmark has too.
import {getLlama} from "node-llama-cpp";

process.execArgv.length = 0; // node-llama-cpp tests its library in a process of its own, without this script
const [file, threads, prompt, tokens] = process.argv.slice(1).map((x, i) => i === 0 ? x : Number(x));
const llama = await getLlama({gpu: false, build: "never", skipDownload: true, maxThreads: threads || 1, logLevel: "error"});
const line = {release: llama.llamaCppRelease.release, system: llama.systemInfo};
if (file) {
	const model = await llama.loadModel({modelPath: file});
	const context = await model.createContext({
		contextSize: prompt + tokens + 8, batchSize: prompt, threads: {ideal: threads, min: threads}, flashAttention: false,
	});
	const sequence = context.getSequence();
	const ids = n => Array.from({length: n}, (_, i) => i % 256);
	// read returns the tokens per second of a prompt, whose last token gets logits.
	const read = async n => {
		await sequence.clearHistory();
		const start = performance.now();
		for await (const _ of sequence.evaluate(ids(n), {temperature: 0})) break;
		return n / (performance.now() - start) * 1e3;
	};
	// write returns the tokens per second of n tokens after one.
	const write = async n => {
		await sequence.clearHistory();
		let count = -1, start;
		for await (const _ of sequence.evaluate(ids(1), {temperature: 0, yieldEogToken: true})) {
			if (++count === 0) start = performance.now();
			if (count === n) break;
		}
		return count / (performance.now() - start) * 1e3;
	};
	await read(prompt);
	line.prompt_tok_per_s = await read(prompt);
	line.decode_tok_per_s = await write(tokens);
}
console.log(JSON.stringify(line));
process.exit(0);
