// Renders templates by Hugging Face's library: node oracle.mjs PACKAGE, with a list of {template, values} on its input.
import {readFileSync} from "node:fs";
const {Template} = await import(process.argv[2] + "/dist/index.js");
const list = JSON.parse(readFileSync(0, "utf8"));
process.stdout.write(JSON.stringify(list.map(({template, values}) => {
  try {
    return new Template(template).render(values);
  } catch (e) {
    return "refused";
  }
})));
