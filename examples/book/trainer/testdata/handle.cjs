// Loads the WebAssembly of the page and answers requests, one in a line: node handle.cjs wasm_exec.js trainer.wasm
"use strict";
const fs = require("fs");
globalThis.fs = fs;
require(fs.realpathSync(process.argv[2]));
const requests = fs.readFileSync(0, "utf8").trim().split("\n");
const go = new Go();
WebAssembly.instantiate(fs.readFileSync(process.argv[3]), go.importObject).then(({instance}) => {
  go.run(instance);
  for (const r of requests) {
    const start = process.cpuUsage().user, answer = handle(r);
    fs.writeSync(1, `${(process.cpuUsage().user - start) / 1000} ${answer}\n`);
  }
  process.exit(0);
});
