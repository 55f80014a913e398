const colors = ["var(--first)", "var(--second)", "var(--third)", "var(--fourth)"];
const runs = data.Runs.map((r, i) => ({name: r.Name, color: colors[i]}));

// forget is what to do when a file of a run begins again.
function forget(run, file) {
  if (file === "looks.jsonl") run.looks = new Map();
  else Object.assign(run, {steps: [], evals: [], full: null});
}
for (const run of runs) for (const file of ["metrics.jsonl", "looks.jsonl"]) forget(run, file);

const most = 4096, mostLooks = 400; // of lines, and of looks, that are kept of a run

// thinned is a list with one line more. Of a list that has become long it keeps of every four lines those with the
// smallest and the greatest value.
function thinned(list, line, key) {
  list.push(line);
  if (list.length <= 2 * most) return list;
  const kept = [];
  for (let i = 0; i < list.length - 1; i += 4) {
    const part = list.slice(i, Math.min(i + 4, list.length - 1)), values = part.map(l => l[key]);
    const low = values.indexOf(Math.min(...values)), high = values.lastIndexOf(Math.max(...values));
    kept.push(...part.filter((_, k) => k === low || k === high));
  }
  return [...kept, line];
}

// keep adds a look. Of many it forgets every second one, but for the first and the last.
function keep(looks, line) {
  looks.set(line.step, line);
  if (looks.size > mostLooks) [...looks.keys()].slice(0, -1).forEach((step, i) => { if (i % 2) looks.delete(step); });
}

// spread adds the largest imbalance of the experts of a step, and their mean.
function spread(line) {
  const all = (line.experts || []).map(e => e.imbalance);
  if (all.length) Object.assign(line, {worst: Math.max(...all), usual: all.reduce((a, b) => a + b) / all.length});
  return line;
}

// take reads a line of a run's files.
function take(run, line) {
  if (line.sample !== undefined) keep(run.looks, line);
  else if (line.val_loss !== undefined) run.evals = thinned(run.evals, line, "val_loss");
  else if (line.loss !== undefined) run.steps = thinned(run.steps, spread(line), "loss");
  else if (line.val_loss_full !== undefined) run.full = line.val_loss_full;
}

let cursor = Infinity, following = true, waiting = false; // cursor: the step that the charts tell of, the last one or another

// line is one of a chart, for which a run's name is enough where it has no other.
const line = (run, name, list, key, style) => ({
  name: runs.length > 1 ? `${run.name} ${name}`.trim() : name, color: run.color, style,
  points: list.filter(l => l[key] > 0).map(l => [l.step, l[key]]),
});
const kinds = [
  {title: "loss, nats", height: 300, of: r => [line(r, "batch", r.steps, "loss", "thin"),
    line(r, "train", r.evals, "train_loss", "full"), line(r, "val", r.evals, "val_loss", "dashed")]},
  {title: "norm of the gradients", height: 300, of: r => [line(r, "", r.steps, "norm", "thin")]},
  {title: "tokens a second", height: 190, of: r => [line(r, "", r.steps, "tok_per_s", "thin")]},
  {title: "learning rate", height: 190, of: r => [line(r, "", r.steps, "lr", "full")]},
  {title: "largest load of an expert over the mean load", height: 190, of: r => [
    line(r, "worst layer", r.steps, "worst", "full"), line(r, "mean", r.steps, "usual", "dashed")]},
  {title: "largest eigenvalue of the Hessian", height: 190, of: r => [line(r, "", r.evals, "curvature", "full")]},
];
for (const kind of kinds) kind.chart = chart(at("charts"), kind.title, kind.height, step => { cursor = step; tell(); });

function tell() {
  kinds.forEach(k => k.chart.tell(cursor, k.lines));
  loads();
}
const cells = (...list) => list.map(text => make("td", {className: "number", textContent: text}));
const digits = (x, n) => x === undefined ? "–" : x.toFixed(n);

function name(run) {
  const dot = make("i", {className: "dot"});
  dot.style.background = run.color;
  return make("th", {scope: "row"}, dot, run.name);
}

// loads shows how the experts of every layer are loaded in the step of the cursor, or the last before it that is kept.
function loads() {
  const rows = runs.flatMap(r => {
    const s = r.steps.findLast(s => s.experts && s.step <= cursor);
    return s ? s.experts.map(e => loaded(r, s.step, e)) : [];
  });
  at("experts").hidden = !rows.length;
  at("starving").textContent = starving();
  at("loads").replaceChildren(...rows);
  if (rows.length) ramp(at("shares"), "0: no token");
}

// starving names the experts that got less than a tenth of the mean tokens before the last evaluation up to the cursor.
function starving() {
  return runs.flatMap(r => {
    const e = r.evals.findLast(e => e.step <= cursor);
    const of = runs.length > 1 ? r.name + ", " : "";
    return (e && e.starving || []).map(s => `${of}${s.layer}: experts ${s.experts.join(", ")} starve, ` +
      `with less than a tenth of the mean tokens before step ${e.step}.`);
  }).join(" ");
}

function loaded(run, step, {layer, load, imbalance}) {
  const most = Math.max(...load), least = Math.min(...load), percent = x => `${(100 * x).toFixed(1)} %`;
  const strip = make("canvas", {className: "strip", role: "img", title: load.map((f, e) => `expert ${e}: ${percent(f)}`).join("\n")});
  strip.ariaLabel = load.map((f, e) => `expert ${e} ${percent(f)}`).join(", ");
  paint(strip, [load]);
  return make("tr", {}, name(run), ...cells(step, layer, digits(imbalance, 2), `${percent(most)} of ${load.indexOf(most)}`,
    `${percent(least)} of ${load.indexOf(least)}`), make("td", {}, strip));
}

// reached says at which step of how many a run is.
function reached(step, evaluation) {
  const now = step.step ?? evaluation.step;
  if (now === undefined) return "–";
  return step.max_iters ? `${now.toLocaleString("en")} of ${step.max_iters.toLocaleString("en")}` : now.toLocaleString("en");
}

// remaining is the time that a run still takes by its last step, such as 1 h 05 min.
function remaining(run, {step, max_iters, eta_s}) {
  if (run.full !== null || step >= max_iters) return "0 s";
  if (eta_s === undefined) return "–";
  const two = x => String(x).padStart(2, "0"), minutes = Math.floor(eta_s / 60);
  if (minutes >= 60) return `${Math.floor(minutes / 60)} h ${two(minutes % 60)} min`;
  return minutes ? `${minutes} min ${two(Math.round(eta_s % 60))} s` : `${Math.round(eta_s)} s`;
}

// draw shows everything; later asks for it, once a frame.
function draw() {
  waiting = false;
  at("now").replaceChildren(...runs.map(r => {
    const s = r.steps.at(-1) || {}, e = r.evals.at(-1) || {};
    return make("tr", {}, name(r), ...cells(reached(s, e), remaining(r, s), digits(s.loss, 4), digits(e.train_loss, 4),
      digits(e.val_loss, 4), digits(e.bits_per_byte, 4), digits(s.norm, 2), s.tok_per_s ? Math.round(s.tok_per_s).toLocaleString("en") : "–"),
      make("td", {}, r.full === null ? "" : `finished: ${r.full.toFixed(4)} over the whole validation text`));
  }));
  at("evaluations").replaceChildren(...runs.flatMap(r => r.evals.map(e =>
    make("tr", {}, name(r), ...cells(e.step, digits(e.train_loss, 4), digits(e.val_loss, 4),
      digits(e.bits_per_byte, 4))))));
  for (const kind of kinds) {
    kind.lines = runs.flatMap(kind.of);
    kind.chart.draw(kind.lines);
  }
  tell();
  looks();
}

function later() {
  if (!waiting) requestAnimationFrame(draw);
  waiting = true;
}

// looks shows what each run wrote, and what its heads looked at, behind the chosen evaluation or the last before it.
let panels = null, chosen = [0, 0];
function looks() {
  const steps = [...new Set(runs.flatMap(r => [...r.looks.keys()]))].sort((a, b) => a - b);
  if (!steps.length) return;
  at("writing").hidden = false;
  at("when").max = steps.length - 1;
  if (following) at("when").value = steps.length - 1;
  const step = steps[at("when").value];
  at("step").textContent = step;
  at("when").setAttribute("aria-valuetext", `step ${step}`);
  panels = panels || runs.map(panel);
  panels.forEach((show, i) => show(runs[i].looks.get(Math.max(...[...runs[i].looks.keys()].filter(s => s <= step)))));
  ramp(at("ramp"));
}

function panel(run) {
  const sample = make("pre", {tabIndex: 0, ariaLabel: `what ${run.name} writes`});
  const heads = make("div", {className: "heads", role: "grid", ariaLabel: `heads of ${run.name}`});
  const caption = make("figcaption"), field = make("div", {className: "matrix"});
  const figure = make("figure", {}, caption, field);
  const title = make("h3", {}, make("i", {className: "dot"}), run.name);
  title.firstChild.style.background = run.color;
  const article = make("article", {}, title, sample, heads, figure);
  at("looks").append(article);
  let small = null, large = null, tokens = "";
  return look => {
    article.hidden = !look; // it has none so far, or was trained without -serve
    if (!look) return;
    sample.textContent = look.sample;
    heads.hidden = figure.hidden = !look.layers;
    if (!look.layers) return;
    const layers = look.layers, show = (l, h) => { chosen = [l, h]; looks(); };
    if (tokens !== look.tokens.join()) {
      tokens = look.tokens.join();
      small = grid(heads, layers, show);
      large = matrix(field, look.tokens, () => {}, () => {});
    }
    const l = Math.min(chosen[0], layers.length - 1), h = Math.min(chosen[1], layers[l].Heads.length - 1);
    caption.textContent = `${layers[l].Name} head ${h}, behind step ${look.step}`;
    small.paint(layers);
    small.mark(l, h);
    large(layers[l].Heads[h], -1);
  };
}

at("when").addEventListener("input", () => {
  following = at("when").value === at("when").max;
  looks();
});
darkly.onchange = later;
data.Runs.forEach((r, i) => (r.Lines || []).forEach(l => take(runs[i], l)));
draw();

if (data.Live) {
  const events = new EventSource("events"), state = text => { at("state").textContent = text; };
  events.onopen = () => state("live"); // everything comes again, and says so first
  events.onmessage = e => {
    const {run, line, again} = JSON.parse(e.data);
    if (again) forget(runs[run], again); else take(runs[run], line);
    later();
  };
  events.addEventListener("end", () => {
    events.close();
    state("the program has ended; what it showed stays until this page is closed");
  });
  events.onerror = () => state(events.readyState === EventSource.CLOSED
    ? "the server refuses this page, for others are open; load it again later" : "the connection is lost; trying again");
}
