const tables = data.Study.tables, palette = ["first", "second", "third", "fourth", "fifth", "sixth"];
let table = tables[0], arm = 0, step = Infinity, cost = "ms_per_step";
const signed = (x, digits = 4) => (x < 0 ? "−" : "+") + Math.abs(x).toFixed(digits);
const chance = x => x < 0.0005 ? "<0.001" : x.toFixed(3);
const within = (d, digits = 4) => `${signed(d.mean, digits)} (${signed(d.low, digits)} to ${signed(d.high, digits)})`;
const counted = r => r.seeds > 0, whole = x => Math.round(x).toLocaleString("en");

// tone is the colour of a verdict.
const tone = d => d && d.verdict && (d.verdict.startsWith("better") ? "var(--third)" : d.verdict.startsWith("worse") && "var(--second)") || "var(--soft)";

// measure returns the unit of the differences.
const measure = () => table.task ? "accuracy" : "nats a token";

function words(r) {
  const list = [r.arm], d = r.difference;
  if (d && d.verdict) list.push(d.verdict);
  if (d && d.doubt) list.push(`${d.doubt}, so sign flips decide`);
  if (d && d.verdict && d.estimate !== d.mean) list.push(`estimate ${signed(d.estimate)} without the bias of early looks`);
  if (r.more) list.push(`${signed(100 * r.more, 1)} % parameters`);
  if (r.setting) list.push(`tuned to ${r.setting}` + (r.edge ? ` (${r.edge.join(", ")} at the edge of its grid)` : ""));
  if (r.diverged) list.push(`${r.diverged} seeds diverged`);
  for (const [name, x] of Object.entries(r.measures || {})) list.push(`${name} ${short(x)}`);
  return list.join("; ");
}

// reached is the number that decides.
const reached = r => !counted(r) ? "diverged" : r.outcome ? `${r.outcome.value.toFixed(3)} ± ${r.outcome.se.toFixed(3)}`
  : `${r.loss.toFixed(4)} ± ${r.se.toFixed(4)}`;

// rows fills the table of the arms. It returns what marks the chosen one.
function rows() {
  const number = text => make("td", {className: "number", textContent: text}), task = table.task;
  at("unit").textContent = task ? "The accuracy on the test rows" : "The loss is in nats a token over the validation split";
  at("outcome").textContent = task ? "accuracy" : "loss";
  at("other").textContent = task ? "loss" : "bits a byte";
  const judged = table.rows.some(r => r.difference && r.difference.verdict);
  for (const e of document.querySelectorAll(".interval")) {
    e.textContent = judged ? "adjusted as the verdicts are, for all arms and looks" : "of this arm alone, as there are no verdicts";
  }
  const items = table.rows.map(r => {
    const d = r.difference, verdict = make("span", {textContent: d && d.verdict || ""});
    verdict.style.color = tone(d);
    return make("tr", {role: "option"}, make("th", {scope: "row"}, r.arm, verdict), number(d ? within(d) : ""), number(reached(r)),
      number(d ? chance(d.p_holm) : ""), number(d ? chance(d.p_sign_flip) : ""), number(r.seeds), number(whole(r.parameters)),
      number(!counted(r) ? "" : (task ? r.loss : r.bits_per_byte).toFixed(4)), number(r.ms_per_step.toFixed(1)));
  });
  at("arms").replaceChildren(...items);
  at("names").replaceChildren(...table.rows.map(r => make("li", {textContent: r.arm})));
  at("trained").replaceChildren(...table.rows.map(r => {
    const w = r.flops_per_token || {Weights: 0, Mixing: 0, Optimizer: 0};
    return make("tr", {}, make("th", {scope: "row", textContent: r.arm}), make("td", {textContent: (r.changes || ["none"]).join(", ")}),
      ...[w.Weights + w.Mixing + w.Optimizer, w.Weights, w.Mixing, w.Optimizer].map(x => number(whole(x))));
  }));
  at("baseline").textContent = JSON.stringify(table.baseline || {}, null, 1);
  return rove(at("arms"), items, 1, i => { arm = i; draw(); });
}

// forest draws the differences with their intervals, in a narrow window below the names.
function forest() {
  const width = Math.max(320, Math.min(760, at("forest").clientWidth)), narrow = width < 560;
  const list = table.rows.map((r, i) => [r, i]).filter(([r]) => r.difference), left = narrow ? 12 : 270, right = width - 20;
  const low = Math.min(0, ...list.map(([r]) => r.difference.low)), high = Math.max(0, ...list.map(([r]) => r.difference.high));
  const row = narrow ? 40 : 24, x = v => left + (right - left) * (v - low) / (high - low || 1), height = row * list.length + 40;
  const marks = ticks(low, high, narrow ? 3 : 5), beside = labels(marks), most = Math.floor((narrow ? width - 24 : left - 20) / 6.2);
  const svg = picture("svg", {viewBox: `0 0 ${width} ${height}`, role: "img",
    "aria-label": list.map(([r]) => `${r.arm}: ${within(r.difference)}`).join("; ") || "no differences"});
  svg.append(...marks.flatMap((v, i) => [
    picture("line", {class: "grid", x1: x(v), x2: x(v), y1: 8, y2: height - 26}),
    picture("text", {x: x(v), y: height - 8, "text-anchor": "middle"}, beside[i])]),
  picture("line", {class: "cursor", x1: x(0), x2: x(0), y1: 8, y2: height - 26}),
  ...list.flatMap(([r, i], k) => {
    const d = r.difference, y = (narrow ? 32 : 20) + row * k, bold = i === arm ? "bold" : "";
    return [picture("text", {x: narrow ? left : left - 12, y: narrow ? y - 12 : y + 4, "text-anchor": narrow ? "start" : "end", class: bold},
      r.arm.length > most ? r.arm.slice(0, most - 1) + "…" : r.arm),
    picture("line", {x1: x(d.low), x2: x(d.high), y1: y, y2: y, stroke: tone(d), "stroke-width": i === arm ? 4 : 2}),
    picture("circle", {cx: x(d.mean), cy: y, r: i === arm ? 5.5 : 4, stroke: tone(d), "stroke-width": 2,
      fill: d.provisional ? "var(--card)" : tone(d)})];
  }));
  at("forest").replaceChildren(make("figure", {}, make("figcaption", {}, `difference, ${measure()}`), svg));
}

// drawn is the arms whose curves are drawn: the chosen one, the baseline and the four best.
function drawn() {
  const best = table.rows.map((_, i) => i).filter(i => counted(table.rows[i])).sort((a, b) => table.rows[a].loss - table.rows[b].loss);
  return [...new Set([0, arm, ...best.slice(0, 4)])];
}

const curves = chart(at("curves"), "validation loss, nats a token", 320, to => { step = to; tell(); });
let lines = [];
const tell = () => curves.tell(step, lines);

function curve() {
  lines = drawn().map((i, k) => {
    const points = table.rows[i].curve || [], color = `var(--${palette[k]})`;
    return {name: table.rows[i].arm, color, style: "full", points: points.map(p => [p.Step, p.Mean]),
      band: [...points.map(p => [p.Step, p.Mean + p.SD]), ...points.toReversed().map(p => [p.Step, p.Mean - p.SD])]};
  });
  curves.draw(lines);
  at("drawn").textContent = lines.length < table.rows.length
    ? `${lines.length} of ${table.rows.length} arms are drawn: the chosen one, the baseline and the lowest losses.` : "All arms are drawn.";
  tell();
}

const costs = {ms_per_step: "ms a step", parameters: "parameters", seconds: "seconds", state: "KiB of a decoder’s state"};
// price returns the cost of an arm; the state is known if it was measured.
const price = r => cost === "state" ? (r.measures || {}).state : r[cost];

// place finds room for a text of some width beside a dot, where it lies on no other text or dot.
function place(px, py, wide, taken, width) {
  const high = 12, spots = [];
  for (const far of [0, 12, 24, 36]) {
    spots.push([px + 9 + far, py + 4], [px - 9 - far - wide, py + 4], [px - wide / 2, py - 9 - far], [px - wide / 2, py + 19 + far],
      [px + 7 + far, py - 8 - far], [px - 7 - far - wide, py - 8 - far]);
  }
  const boxes = spots.map(([x, y]) => [x, y - high + 2, x + wide, y + 2]);
  const free = ([a, b, c, d]) => a >= 62 && c <= width - 4 && b >= 6 && d <= 288
    && !taken.some(([e, f, g, h]) => a < g && e < c && b < h && f < d);
  const box = boxes.find(free) || boxes[0];
  taken.push(box);
  return [box[0], box[3] - 2];
}

// pareto draws the loss of every arm against its cost, with the number of the arm in the list below, and a line through
// those that no other beats in both.
function pareto() {
  const list = table.rows.map((r, i) => [price(r), r.loss, i]).filter(([, , i]) => counted(table.rows[i]));
  const width = Math.max(320, Math.min(760, at("pareto").clientWidth)), height = 320, left = 60, right = 20, top = 14, bottom = 30;
  const span = k => {
    const v = list.map(p => p[k]), low = Math.min(...v), high = Math.max(...v), room = (high - low || Math.abs(high) || 1) * 0.06;
    return [low - room, high + room];
  };
  if (!list.length) return;
  const [x0, x1] = span(0), [y0, y1] = span(1);
  const x = v => left + (width - left - right) * (v - x0) / (x1 - x0), y = v => top + (height - top - bottom) * (y1 - v) / (y1 - y0);
  const columns = ticks(x0, x1, width / 110), levels = ticks(y0, y1, 6), [under, beside] = [columns, levels].map(labels);
  const front = list.filter(([a, b]) => !list.some(([c, d]) => c <= a && d <= b && (c < a || d < b))).sort((a, b) => a[0] - b[0]);
  const says = list.map(([a, b, i]) => `${table.rows[i].arm}: ${short(a)}, ${b.toFixed(4)}`).join("; ");
  const svg = picture("svg", {viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": says});
  const taken = list.map(([a, b]) => [x(a) - 5, y(b) - 5, x(a) + 5, y(b) + 5]);
  const chosen = list.filter(([, , i]) => i === arm), others = list.filter(([, , i]) => i !== arm);
  const name = ([a, b, i]) => {
    const full = table.rows[i].arm, text = i !== arm ? `${i + 1}` : full.length > 40 ? full.slice(0, 39) + "…" : full;
    const [tx, ty] = place(x(a), y(b), text.length * 6.6, taken, width);
    return picture("text", {class: i === arm ? "bold" : "", x: tx, y: ty}, text);
  };
  svg.append(...levels.flatMap((v, i) => [picture("line", {class: "grid", x1: left, x2: width - right, y1: y(v), y2: y(v)}),
    picture("text", {x: left - 6, y: y(v) + 4, "text-anchor": "end"}, beside[i])]),
  ...columns.map((v, i) => picture("text", {x: x(v), y: height - 10, "text-anchor": "middle"}, under[i])),
  picture("polyline", {class: "dashed", stroke: "var(--soft)", points: front.map(([a, b]) => `${x(a)},${y(b)}`).join(" ")}),
  ...list.map(([a, b, i]) => {
    const dot = picture("circle", {cx: x(a), cy: y(b), r: i === arm ? 7 : 4, fill: i === arm ? "var(--accent)" : tone(table.rows[i].difference)});
    dot.append(picture("title", {}, `${table.rows[i].arm}: ${short(a)} ${costs[cost]}, ${b.toFixed(4)}`));
    return dot;
  }),
  ...[...chosen, ...others].map(name));
  at("pareto").replaceChildren(make("figure", {}, make("figcaption", {}, `loss against ${costs[cost]}`), svg));
}

// matrix shows the arms on all texts.
function matrix() {
  at("scores").hidden = tables.length < 2;
  at("texts").replaceChildren(make("tr", {}, make("th", {scope: "col", textContent: "arm"}),
    ...tables.map(t => make("th", {scope: "col", className: "number", textContent: t.text}))));
  at("matrix").replaceChildren(...tables[0].rows.slice(1).map((r, i) => make("tr", {}, make("th", {scope: "row", textContent: r.arm}),
    ...tables.map(t => {
      const d = t.rows[i + 1].difference, cell = make("td", {className: "number", textContent: d ? within(d, 3) : "diverged"});
      cell.style.color = tone(d);
      return cell;
    }))));
}

let mark = rows();
function draw() {
  mark(arm);
  at("says").textContent = words(table.rows[arm]);
  forest();
  curve();
  pareto();
}

at("choice").hidden = tables.length < 2;
at("text").append(...tables.map((t, i) => make("option", {value: i, textContent: t.text})));
at("text").onchange = () => {
  table = tables[at("text").value];
  mark = rows();
  draw();
};
at("axis").append(...Object.entries(costs).filter(([key]) => key !== "state" || table.rows.some(r => r.measures && r.measures.state)).map(([key, name]) => {
  const input = make("input", {type: "radio", name: "axis", checked: key === cost});
  input.onchange = () => { cost = key; pareto(); };
  return make("label", {}, input, ` ${name}`);
}));
matrix();
draw();
let wide = innerWidth;
addEventListener("resize", () => {
  if (innerWidth === wide) return; // on a phone, the bar of addresses comes and goes
  wide = innerWidth;
  forest();
  pareto();
});
