const n = data.Tokens.length, layers = data.Layers || [], losses = data.Losses || [];
let token = n - 1, layer = 0, head = 0, by = losses.length ? "loss" : layers.length ? "head" : "";

// signed is a number with two digits behind the point, a true minus sign, and none before zero.
const signed = x => (Math.round(100 * x) / 100 + 0).toFixed(2).replace("-", "−");

const words = data.Tokens.map((t, i) => make("span", {
  role: "option", textContent: t === "\n" ? "⏎\n" : t,
  ariaLabel: `${i} “${seen(t)}”` + (i > 0 && i <= losses.length ? `, loss ${signed(losses[i - 1])}` : ""),
}));
at("tokens").append(...words);
const markToken = rove(at("tokens"), words, 1, i => choose(i, layer, head));
const show = layers.length && {
  heads: grid(at("heads"), layers, (l, h) => choose(token, l, h)),
  matrix: matrix(at("matrix"), data.Tokens, point, i => choose(i, layer, head)),
};
const rows = [...document.querySelectorAll("#lens tbody tr")];
rows.forEach((row, i) => { row.onclick = () => choose(i, layer, head); });

// strip shows a number of every token in a row, which is clicked to choose one.
function strip(numbers, most) {
  const canvas = make("canvas", {ariaHidden: "true"}), mark = make("i", {});
  canvas.onclick = e => choose(Math.min(n - 1, Math.floor(n * e.offsetX / canvas.clientWidth)), layer, head);
  mark.style.width = `calc(100% / ${n})`;
  return {
    cell: make("td", {}, make("div", {className: "over"}, canvas, mark)),
    paint: () => paint(canvas, [numbers.map(x => x / most)]),
    mark: token => { mark.style.left = `calc(100% * ${token} / ${n})`; },
  };
}

// states has a row for every head of a recurrence.
const states = (data.States || []).map(s => {
  const numbers = [s.Alpha, s.Beta, s.Norm].map(() => make("td", {className: "number"}));
  const strips = [s.Alpha && strip(s.Alpha, 1), strip(s.Norm, Math.max(...s.Norm) || 1)];
  at("states").tBodies[0].append(make("tr", {}, make("th", {scope: "row", textContent: s.Name}), ...numbers,
    ...strips.map(x => x ? x.cell : make("td", {}))));
  const drawn = strips.filter(x => x);
  return {
    paint: () => drawn.forEach(x => x.paint()),
    mark: token => {
      [s.Alpha, s.Beta, s.Norm].forEach((list, i) => {
        numbers[i].textContent = list ? Number(list[token].toPrecision(3)) : "–";
      });
      drawn.forEach(x => x.mark(token));
    },
  };
});

// tint colours the text: each token by its loss, of 6 nats or more in full, or by what the chosen one takes of it.
function tint() {
  if (by) words.forEach((word, i) => {
    const share = by === "loss" ? Math.min(1, (losses[i - 1] || 0) / 6)
      : Math.sqrt(layers[layer].Heads[head][token][i]);
    word.style.setProperty("--tint", by === "loss" ? "var(--warm)" : "var(--accent)");
    word.style.setProperty("--share", (0.75 * share).toFixed(3));
  });
}

// say tells of the chosen token, or of a cell that is pointed at.
function say(query, key) {
  const name = i => `${i} “${seen(data.Tokens[i])}”`;
  let text = "";
  if (key !== undefined) {
    const l = layers[layer];
    text = `: takes ${l.Heads[head][query][key]} of ${name(key)} in ${l.Name} head ${head}`;
  } else if (query < losses.length) {
    text = `: what comes is “${seen(data.Tokens[query + 1])}”, loss ${signed(losses[query])} nats`;
  } else if (data.Lens) {
    text = `: the likeliest to come is “${seen(data.Lens[query].at(-1).Token)}”`;
  }
  at("says").textContent = `Token ${name(query)}${text}`;
}

function point(query, key) { query === null ? say(token) : say(query, key); }

function looks() {
  const weights = layers[layer].Heads[head][token], name = `${layers[layer].Name} head ${head}`;
  at("head").textContent = name;
  at("looks").textContent = `${name}: token ${token} “${seen(data.Tokens[token])}” looks at`;
  const order = weights.map((w, j) => j).filter(j => weights[j] > 0).sort((a, b) => weights[b] - weights[a]);
  at("keys").replaceChildren(...order.map(j => {
    const bar = make("i", {});
    bar.style.setProperty("--share", weights[j]);
    return make("tr", {}, make("td", {className: "number", textContent: j}),
      make("th", {scope: "row", className: "token", textContent: seen(data.Tokens[j])}),
      make("td", {className: "number", textContent: weights[j].toFixed(3)}), make("td", {className: "bar"}, bar));
  }));
}

// adds shows the sum behind the chosen token, by colours of which the largest part has the strongest.
function adds() {
  const sum = data.Sum, table = at("adds"), all = sum.Rows.flatMap(r => [r.All, ...Object.values(r.Parts)]);
  const most = Math.max(...all.map(list => Math.abs(list[token])));
  const cell = x => {
    const td = make("td", {textContent: x === undefined ? "" : signed(x)});
    td.style.setProperty("--tint", x > 0 ? "var(--accent)" : "var(--warm)");
    td.style.setProperty("--share", (Math.abs(x || 0) / most).toFixed(3));
    return td;
  };
  const row = (name, ...cells) => make("tr", {}, make("th", {scope: "row", textContent: name}), ...cells);
  const [of, behind] = [sum.Of[token], data.Tokens[token]].map(seen);
  table.caption.textContent = `the logit of “${of}” behind token ${token} “${behind}”`;
  table.tBodies[0].replaceChildren(
    ...sum.Rows.map(r => row(r.Name, cell(r.All[token]), ...sum.Columns.map(c => cell(r.Parts[c]?.[token])))),
    row("the logit", make("td", {textContent: signed(sum.Logits[token])}), ...sum.Columns.map(() => make("td"))));
}

function choose(i, l, h) {
  [token, layer, head] = [i, l, h];
  markToken(token);
  rows.forEach((row, j) => { row.ariaCurrent = j === token ? "true" : null; });
  const box = rows.length && at("lens").parentElement; // not the page, which stays where it is
  if (box) box.scrollTop = rows[token].offsetTop - box.clientHeight / 2;
  if (show) {
    show.heads.mark(layer, head);
    show.matrix(layers[layer].Heads[head], token);
    looks();
  }
  if (data.Sum) adds();
  states.forEach(s => s.mark(token));
  tint();
  say(token);
}

function repaint() {
  states.forEach(s => s.paint());
  if (!show) return;
  show.heads.paint(layers);
  ramp(at("ramp"));
  choose(token, layer, head);
}

document.querySelectorAll("#shades input").forEach(e => { e.onchange = () => { by = e.value; tint(); }; });
darkly.onchange = repaint;
choose(token, layer, head);
repaint();
