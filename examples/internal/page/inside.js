const n = data.Tokens.length, layers = data.Layers || [], losses = data.Losses || [];
let token = n - 1, layer = 0, head = 0, by = losses.length ? "loss" : layers.length ? "head" : "";

const words = data.Tokens.map((t, i) => make("span", {
  role: "option", textContent: t === "\n" ? "⏎\n" : t,
  ariaLabel: `${i} “${seen(t)}”` + (i > 0 && i <= losses.length ? `, loss ${losses[i - 1].toFixed(2)}` : ""),
}));
at("tokens").append(...words);
const markToken = rove(at("tokens"), words, 1, i => choose(i, layer, head));
const show = layers.length && {
  heads: grid(at("heads"), layers, (l, h) => choose(token, l, h)),
  matrix: matrix(at("matrix"), data.Tokens, point, i => choose(i, layer, head)),
};
const rows = [...document.querySelectorAll("#lens tbody tr")];
rows.forEach((row, i) => { row.onclick = () => choose(i, layer, head); });

// tint colours the text: each token by its loss, of 6 nats or more in full, or by what the chosen one takes of it.
function tint() {
  if (by) words.forEach((word, i) => {
    const share = by === "loss" ? Math.min(1, (losses[i - 1] || 0) / 6) : Math.sqrt(layers[layer].Heads[head][token][i]);
    word.style.setProperty("--tint", by === "loss" ? "var(--warm)" : "var(--accent)");
    word.style.setProperty("--share", (0.75 * share).toFixed(3));
  });
}

// say tells of the chosen token, or of a cell that is pointed at.
function say(query, key) {
  const name = i => `${i} “${seen(data.Tokens[i])}”`, parts = [`Token ${name(query)}`];
  if (key !== undefined) parts.push(`takes ${layers[layer].Heads[head][query][key]} of ${name(key)} in ${layers[layer].Name} head ${head}`);
  else if (query < losses.length) parts.push(`what comes is “${seen(data.Tokens[query + 1])}”, loss ${losses[query].toFixed(2)} nats`);
  else if (data.Lens) parts.push(`the likeliest to come is “${seen(data.Lens[query].at(-1).Token)}”`);
  at("says").textContent = parts.join(": ");
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

function choose(i, l, h) {
  [token, layer, head] = [i, l, h];
  markToken(token);
  rows.forEach((row, j) => { row.ariaCurrent = j === token ? "true" : null; });
  if (show) {
    show.heads.mark(layer, head);
    show.matrix(layers[layer].Heads[head], token);
    looks();
  }
  tint();
  say(token);
}

function repaint() {
  if (!show) return;
  show.heads.paint(layers);
  ramp(at("ramp"));
  choose(token, layer, head);
}

document.querySelectorAll("#shades input").forEach(e => { e.onchange = () => { by = e.value; tint(); }; });
darkly.onchange = repaint;
choose(token, layer, head);
repaint();
