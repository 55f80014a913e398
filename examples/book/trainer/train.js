// The page that trains: it asks the worker for steps and for what to show, one request after the other.
"use strict";
let worker, choices, playing = false, changed = 0, fields = {}, chosen = null, wanted = Promise.resolve();
let lanes = []; // of each run: its choice, what it started with, its losses, and the milliseconds of a step
const waiting = new Map();

// failed ends the training and says why.
function failed(text) {
  playing = false;
  at("notice").hidden = false;
  at("notice").textContent = `This went wrong: ${text}`;
}

// ask sends a request to the worker and returns its answer.
let sent = 0;
function ask(request) {
  return new Promise((resolve, reject) => {
    waiting.set(++sent, {resolve, reject});
    worker.postMessage({id: sent, request: JSON.stringify(request)});
  });
}

function load() {
  try {
    worker = new Worker("train-worker.js");
  } catch {
    return serve();
  }
  worker.onerror = e => location.protocol === "file:" ? serve() : failed(e.message || "the worker could not be loaded");
  worker.onmessage = ({data}) => {
    if (data.failed) return location.protocol === "file:" ? serve() : failed(data.failed);
    if (data.ready) return ready().catch(e => failed(e.message));
    const {resolve, reject} = waiting.get(data.id), answer = JSON.parse(data.answer);
    waiting.delete(data.id);
    if (answer.error) reject(new Error(answer.error));
    else resolve(Object.assign(answer, {took: data.took}));
  };
}

function serve() {
  at("notice").textContent = "Browsers start no worker for a page that is opened as a file. Serve this folder, for " +
    "example with “python3 -m http.server”, and open the page there.";
}

// offer fills a select with names.
function offer(select, names, name) {
  select.replaceChildren(...names.map(n => make("option", {value: n, textContent: n, selected: n === name})));
}

async function ready() {
  choices = await ask({do: "choices"});
  const usual = choices.default;
  offer(at("task"), choices.tasks.map(t => t.name), usual.task);
  for (const s of document.querySelectorAll("[data-part]")) {
    offer(s, choices[`${s.dataset.part}s`], usual[s.dataset.part]);
  }
  document.querySelector("[data-lane='1'][data-part=attention]").value = "gated_deltanet";
  at("text").value = choices.verses;
  at("notice").hidden = true;
  for (const b of document.querySelectorAll("button")) b.disabled = false;
  await begin();
}

// choice is what the form says of a lane.
function choice(lane) {
  const c = {task: at("task").value, seed: Number(at("seed").value) || 0};
  if (c.task === "text") c.text = at("text").value;
  for (const s of document.querySelectorAll(`[data-lane='${lane}']`)) c[s.dataset.part] = s.value;
  return c;
}

// begin starts the runs that the form describes.
async function begin() {
  pause();
  const mine = ++changed, race = at("race").checked;
  at("second").hidden = at("which").hidden = !race;
  at("own").hidden = at("task").value !== "text";
  at("about").textContent = choices.tasks.find(t => t.name === at("task").value).about + ".";
  const next = [];
  for (const lane of race ? [0, 1] : [0]) {
    const c = choice(lane);
    try {
      next.push({choice: c, about: await ask({do: "start", lane, choice: c}), losses: [], took: 0});
    } catch (e) {
      if (mine === changed) says(`The ${lane ? "second model" : "model"} cannot be built: ${e.message}`);
      return;
    }
    if (mine !== changed) return;
  }
  lanes = next;
  chosen = null;
  at("gradient").hidden = at("hashes").hidden = true;
  if (!race) at("lane").value = "0";
  arrange();
  await look();
  report();
}

const says = text => { at("says").textContent = text; };
const shown = () => lanes[Number(at("lane").value)] ?? lanes[0];

// arrange makes a field for each matrix of the model that is shown.
function arrange() {
  const blocks = {};
  fields = {};
  for (const m of shown().about.matrices) {
    fields[m.name] = field(m.name, m.rows, m.cols, (...entry) => gradient(...entry).catch(e => failed(e.message)));
    const block = /^h\.\d+/.exec(m.name)?.[0] ?? (Object.keys(blocks).length > 1 ? "after" : "before");
    (blocks[block] ??= make("div", {className: "block"})).append(fields[m.name].figure);
  }
  at("matrices").replaceChildren(...Object.values(blocks));
}

// report says how far the runs are.
function report() {
  for (const id of ["says", "gradient"]) at(id).ariaLive = playing ? "off" : "polite";
  chart(at("loss"), lanes, lanes[0].about.uniform);
  const one = (l, i) => {
    const recent = l.losses.slice(-20), mean = recent.reduce((a, b) => a + b, 0) / recent.length;
    return `${lanes.length > 1 ? `${i ? "Second" : "First"} model, ${l.choice.attention}: ` : ""}` +
      `${l.about.parameters.toLocaleString("en")} parameters, step ${l.losses.length}` +
      (recent.length ? `, loss ${mean.toFixed(3)}, ${l.took.toFixed(1)} ms for a step.` : ".");
  };
  says(lanes.map(one).join(" "));
}

// look shows the matrices, the samples and the attention of the model that is shown.
async function look() {
  const mine = changed, lane = lanes.indexOf(shown()), l = await ask({do: "look", lane});
  if (mine !== changed) return;
  for (const m of l.matrices) fields[m.name]?.show(m.values);
  const before = i => l.heads.slice(0, i).filter(h => h.name === l.heads[i].name).length;
  at("heads").replaceChildren(...l.heads.map((h, i) => head(h, before(i), l.tokens)));
  const recurrent = l.heads.some(h => h.recurrent);
  at("heads-says").textContent = `For the text ${l.tokens.join("")}: ` + (recurrent ?
    "the norm of the state of each head after each token." :
    "each row is a token that looks back, each column a token that it may see.");
  const right = s => make("td", {className: s.says === s.answer ? "right" : "wrong",
    textContent: s.says === s.answer ? "right" : `wrong, ${s.answer}`});
  if (l.samples.some(s => s.answer)) {
    at("samples-says").textContent =
      `${l.right} of ${l.samples.length} questions that it was not trained on are answered right.`;
    at("samples").replaceChildren(make("table", {}, ...l.samples.map(s => make("tr", {},
      make("th", {textContent: s.ask, scope: "row"}), make("td", {textContent: s.says}), right(s)))));
  } else {
    at("samples-says").textContent = "The model continues the beginning of the text.";
    at("samples").replaceChildren(...l.samples.map(s => make("p", {textContent: s.ask + s.says})));
  }
}

// steps trains every run.
async function steps(n) {
  const mine = changed;
  for (const [lane, l] of lanes.entries()) {
    const done = await ask({do: "step", lane, steps: n});
    if (mine !== changed) return;
    l.losses.push(...done.losses);
    l.took = done.took / n;
  }
  report();
}

function pause() {
  playing = false;
  at("train").textContent = "Train";
}

// play trains until someone pauses: about a tenth of a second between two reports, and half of one between two looks.
async function play() {
  playing = true;
  at("train").textContent = "Pause";
  let looked = performance.now();
  while (playing) {
    const slowest = Math.max(...lanes.map(l => l.took || 100));
    await steps(Math.max(1, Math.min(50, Math.round(100 / slowest / lanes.length))));
    if (performance.now() - looked < 500) continue;
    await look();
    if (chosen && playing) await gradient(...chosen);
    looked = performance.now();
  }
  await look();
}

// gradient shows the derivative of the loss by an entry of a matrix.
async function gradient(name, row, col) {
  const mine = changed, lane = lanes.indexOf(shown());
  chosen = [name, row, col];
  const g = await ask({do: "gradient", lane, name, row, col});
  if (mine !== changed) return;
  for (const key in fields) fields[key].mark(key === name);
  const list = [
    ["weight", number(g.weight, 6)],
    ["equation", [g.equation, g.states].filter(Boolean).join(": ") || "the formula of its layer in verify/hand"],
    ["by hand, float64", number(g.hand, 16)],
    ["by autodiff, float64", `${number(g.autodiff, 16)}; distance over the matrix ${number(g.autodiffDistance, 2)}`],
    ["as it trains, float32", `${number(g.trained, 8)}; distance over the matrix ${number(g.trainedDistance, 2)}`],
  ];
  at("gradient").replaceChildren(
    make("h3", {textContent: `∂L/∂${g.symbol || "w"}[${row}, ${col}] of ${name}, for the batch of step ${g.step}`}),
    make("dl", {}, ...list.flatMap(([term, text]) =>
      [make("dt", {textContent: term}), make("dd", {textContent: text})])));
  at("gradient").hidden = false;
}

// hash shows the hash of the run that is shown, and the command that prints the same one.
async function hash() {
  pause();
  const l = shown(), {step, hash} = await ask({do: "hash", lane: lanes.indexOf(l)}), c = l.choice;
  const data = c.task === "text" && c.text !== choices.verses ? " -data text.txt" : "";
  const flags = ["task", "attention", "position", "norm", "seed"]
    .filter(f => String(c[f]) !== String(choices.default[f])).map(f => ` -${f} ${c[f]}`).join("");
  at("hashes").textContent = step === 0 ? "There is no hash before the first step." :
    `${hash}  after step ${step}\n\ngo run ./examples/book/trainer/hash${flags}${data} -steps ${step}`;
  at("hashes").hidden = false;
}

// guarded is a handler of an event that says what went wrong, and waits for the handlers before it.
const guarded = f => () => { wanted = wanted.then(f).catch(e => failed(e.message)); };
at("train").onclick = () => playing ? pause() : guarded(() => { play().catch(e => failed(e.message)); })();
at("step").onclick = guarded(async () => {
  pause();
  await steps(1);
  await look();
  if (chosen) await gradient(...chosen);
});
at("again").onclick = guarded(begin);
at("hash").onclick = guarded(hash);
at("lane").onchange = guarded(async () => { chosen = null; at("gradient").hidden = true; arrange(); await look(); });
at("choice").onchange = guarded(begin);
at("choice").onsubmit = e => e.preventDefault();
darkly.onchange = guarded(look);
load();
