const tables = data.Study.tables, palette = ["first", "second", "third", "fourth", "fifth", "sixth"];
let table = tables[0], arm = 0, step = Infinity, cost = "ms_per_step";
const signed = (x, digits = 4) => (x < 0 ? "−" : "+") + Math.abs(x).toFixed(digits);
const half = d => (d.high - d.low) / 2, chance = x => x < 0.0005 ? "<0.001" : x.toFixed(3);
const within = d => `${signed(d.mean)} ± ${half(d).toFixed(4)}`;
const counted = r => r.seeds > 0;

// tone is the colour of a verdict.
const tone = d => ({better: "var(--third)", worse: "var(--second)"}[d && d.verdict] || "var(--soft)");

// measure is the unit of the differences: of a task those of the accuracy.
const measure = () => table.task ? "accuracy" : "nats a token";

function words(r) {
  const list = [r.arm];
  if (r.difference && r.difference.verdict) list.push(r.difference.verdict);
  if (r.setting) list.push(`tuned to ${r.setting}` + (r.edge ? ` (${r.edge.join(", ")} at the edge of its grid)` : ""));
  if (r.diverged) list.push(`${r.diverged} seeds diverged`);
  for (const [name, x] of Object.entries(r.measures || {})) list.push(`${name} ${short(x)}`);
  return list.join("; ");
}

// rows fills the table of the arms. It returns what marks the chosen one.
function rows() {
  const number = text => make("td", {className: "number", textContent: text});
  const items = table.rows.map(r => {
    const d = r.difference, verdict = make("td", {textContent: d && d.verdict || ""});
    verdict.style.color = tone(d);
    return make("tr", {role: "option"}, make("th", {scope: "row", textContent: r.arm}), number(r.seeds),
      number(r.parameters.toLocaleString("en")), number(counted(r) ? `${r.loss.toFixed(4)} ± ${r.se.toFixed(4)}` : "diverged"),
      number(counted(r) && !table.task ? r.bits_per_byte.toFixed(4) : ""), number(d ? within(d) : ""), number(d ? chance(d.p_holm) : ""),
      number(d ? chance(d.p_sign_flip) : ""), verdict, number(r.ms_per_step.toFixed(1)));
  });
  at("arms").replaceChildren(...items);
  return rove(at("arms"), items, 1, i => { arm = i; draw(); });
}

// forest draws the differences with their intervals.
function forest() {
  const list = table.rows.map((r, i) => [r, i]).filter(([r]) => r.difference), left = 260, right = 640, row = 24;
  const low = Math.min(0, ...list.map(([r]) => r.difference.low)), high = Math.max(0, ...list.map(([r]) => r.difference.high));
  const x = v => left + (right - left) * (v - low) / (high - low || 1), height = row * list.length + 40;
  const marks = ticks(low, high, 5), beside = labels(marks);
  const svg = picture("svg", {viewBox: `0 0 660 ${height}`, role: "img",
    "aria-label": list.map(([r]) => `${r.arm}: ${within(r.difference)}`).join("; ") || "no differences"});
  svg.append(...marks.flatMap((v, i) => [
    picture("line", {class: "grid", x1: x(v), x2: x(v), y1: 8, y2: height - 26}),
    picture("text", {x: x(v), y: height - 8, "text-anchor": "middle"}, beside[i])]),
  picture("line", {class: "cursor", x1: x(0), x2: x(0), y1: 8, y2: height - 26}),
  ...list.flatMap(([r, i], k) => {
    const d = r.difference, y = 20 + row * k, bold = i === arm ? "bold" : "";
    return [picture("text", {x: left - 12, y: y + 4, "text-anchor": "end", class: bold}, r.arm.length > 42 ? r.arm.slice(0, 41) + "…" : r.arm),
      picture("line", {x1: x(d.low), x2: x(d.high), y1: y, y2: y, stroke: tone(d), "stroke-width": i === arm ? 4 : 2}),
      picture("circle", {cx: x(d.mean), cy: y, r: i === arm ? 5.5 : 4, fill: tone(d)})];
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
  tell();
}

const costs = {ms_per_step: "ms a step", parameters: "parameters", seconds: "seconds", state: "KiB of a decoder’s state"};
// price returns the cost of an arm; the state is known if it was measured.
const price = r => cost === "state" ? (r.measures || {}).state : r[cost];

// pareto draws the loss of every arm against its cost, and a line through those that no other beats in both.
function pareto() {
  const list = table.rows.map((r, i) => [price(r), r.loss, i]).filter(([, , i]) => counted(table.rows[i]));
  const width = 660, height = 320, left = 60, right = 20, top = 14, bottom = 30;
  const span = k => {
    const v = list.map(p => p[k]), low = Math.min(...v), high = Math.max(...v), room = (high - low || Math.abs(high) || 1) * 0.06;
    return [low - room, high + room];
  };
  if (!list.length) return;
  const [x0, x1] = span(0), [y0, y1] = span(1);
  const x = v => left + (width - left - right) * (v - x0) / (x1 - x0), y = v => top + (height - top - bottom) * (y1 - v) / (y1 - y0);
  const columns = ticks(x0, x1, 6), levels = ticks(y0, y1, 6), [under, beside] = [columns, levels].map(labels);
  const front = list.filter(([a, b]) => !list.some(([c, d]) => c <= a && d <= b && (c < a || d < b))).sort((a, b) => a[0] - b[0]);
  const says = list.map(([a, b, i]) => `${table.rows[i].arm}: ${short(a)}, ${b.toFixed(4)}`).join("; ");
  const svg = picture("svg", {viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": says});
  svg.append(...levels.flatMap((v, i) => [picture("line", {class: "grid", x1: left, x2: width - right, y1: y(v), y2: y(v)}),
    picture("text", {x: left - 6, y: y(v) + 4, "text-anchor": "end"}, beside[i])]),
  ...columns.map((v, i) => picture("text", {x: x(v), y: height - 10, "text-anchor": "middle"}, under[i])),
  picture("polyline", {class: "dashed", stroke: "var(--soft)", points: front.map(([a, b]) => `${x(a)},${y(b)}`).join(" ")}),
  ...list.map(([a, b, i]) => {
    const dot = picture("circle", {cx: x(a), cy: y(b), r: i === arm ? 7 : 4, fill: i === arm ? "var(--accent)" : tone(table.rows[i].difference)});
    dot.append(picture("title", {}, `${table.rows[i].arm}: ${short(a)} ${costs[cost]}, ${b.toFixed(4)}`));
    return dot;
  }),
  ...list.filter(([, , i]) => i === arm).map(([a, b, i]) => picture("text", {class: "bold", x: x(a) + (x(a) > width / 2 ? -10 : 10),
    y: y(b) - 8, "text-anchor": x(a) > width / 2 ? "end" : "start"}, table.rows[i].arm)));
  at("pareto").replaceChildren(make("figure", {}, make("figcaption", {}, `loss against ${costs[cost]}`), svg));
}

// matrix shows the arms on all texts.
function matrix() {
  at("scores").hidden = tables.length < 2;
  at("texts").replaceChildren(make("tr", {}, make("th", {scope: "col", textContent: "arm"}),
    ...tables.map(t => make("th", {scope: "col", className: "number", textContent: t.text}))));
  at("matrix").replaceChildren(...tables[0].rows.slice(1).map((r, i) => make("tr", {}, make("th", {scope: "row", textContent: r.arm}),
    ...tables.map(t => {
      const d = t.rows[i + 1].difference, cell = make("td", {className: "number", textContent: d ? within(d) : "diverged"});
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
