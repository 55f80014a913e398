// The worker has the library as WebAssembly. It answers each request of the page, in the order in which they come, with
// what handle returns and the milliseconds that it took.
"use strict";
importScripts("wasm_exec.js");

// program returns the bytes of the WebAssembly, which some servers decompress on the way.
async function program() {
  const response = await fetch("trainer.wasm.gz");
  if (!response.ok) throw new Error(`trainer.wasm.gz: ${response.status} ${response.statusText}`);
  const bytes = new Uint8Array(await response.arrayBuffer());
  if (bytes[0] !== 0x1f || bytes[1] !== 0x8b) return bytes;
  if (!self.DecompressionStream) throw new Error("this browser has no DecompressionStream to decompress the library");
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

async function begin() {
  const go = new Go();
  const {instance} = await WebAssembly.instantiate(await program(), go.importObject);
  go.run(instance).then(() => postMessage({failed: "the library has ended"}));
  onmessage = ({data}) => {
    const start = performance.now(), answer = self.handle(data.request);
    postMessage({id: data.id, answer, took: performance.now() - start});
  };
  postMessage({ready: true});
}
begin().catch(e => postMessage({failed: e.message}));
