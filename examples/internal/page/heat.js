// Weights as colours: by the root, which shows the small ones too. A weight of exactly 0 is masked, and is left out.
const darkly = matchMedia("(prefers-color-scheme: dark)");
const stops = {
  false: [[255, 253, 244], [252, 205, 120], [226, 104, 66], [132, 32, 107], [34, 12, 66]],
  true: [[14, 14, 22], [74, 44, 112], [176, 58, 104], [242, 136, 76], [255, 244, 190]],
};

function shade(weight) {
  const x = 4 * Math.sqrt(Math.min(1, weight)), i = Math.min(3, Math.floor(x)), list = stops[darkly.matches];
  return list[i].map((c, k) => c + (x - i) * (list[i + 1][k] - c));
}

// paint makes a cell of every weight a pixel, which the style makes larger.
function paint(canvas, rows) {
  canvas.width = rows[0].length;
  canvas.height = rows.length;
  const pen = canvas.getContext("2d"), image = pen.createImageData(canvas.width, canvas.height);
  rows.forEach((row, i) => row.forEach((w, j) => {
    if (w > 0) image.data.set([...shade(w), 255], 4 * (i * row.length + j));
  }));
  pen.putImageData(image, 0, 0);
}

// grid makes a small picture of every head, a row for a layer. It returns what marks a head, and what paints them all.
function grid(box, layers, choose) {
  const columns = layers[0].Heads.length, canvases = [], cells = [];
  const head = make("div", {role: "row"}, make("span", {role: "columnheader", ariaLabel: "block"}),
    ...layers[0].Heads.map((_, h) => make("span", {role: "columnheader", ariaLabel: `head ${h}`}, `${h}`)));
  box.style.setProperty("--heads", columns);
  box.replaceChildren(head, ...layers.map(layer => {
    const row = make("div", {role: "row"}, make("span", {role: "rowheader"}, layer.Name));
    layer.Heads.forEach((_, h) => {
      canvases.push(make("canvas", {ariaHidden: "true"}));
      const name = `${layer.Name} head ${h}`;
      cells.push(make("div", {role: "gridcell", ariaLabel: name, title: name}, canvases.at(-1)));
    });
    row.append(...cells.slice(-columns));
    return row;
  }));
  const mark = rove(box, cells, columns, i => choose(Math.floor(i / columns), i % columns));
  return {
    mark: (layer, head) => mark(layer * columns + head),
    paint: layers => layers.flatMap(layer => layer.Heads).forEach((rows, i) => paint(canvases[i], rows)),
  };
}

// matrix makes a large picture of a head, between its queries and its keys. Pointing calls point, clicking choose.
function matrix(box, tokens, point, choose) {
  const n = tokens.length, label = t => make("span", {textContent: seen(t).slice(0, 8), ariaHidden: "true"});
  const canvas = make("canvas", {}), row = make("div", {className: "row"});
  const field = make("div", {className: "field"}, canvas, row);
  const queries = make("div", {className: "queries"}, ...tokens.map(label));
  const keys = make("div", {className: "keys"}, ...tokens.map(label));
  box.style.setProperty("--n", n);
  box.replaceChildren(queries, field, keys);
  const cell = e => [e.offsetY / field.clientHeight, e.offsetX / field.clientWidth]
    .map(x => Math.max(0, Math.min(n - 1, Math.floor(x * n))));
  canvas.onmousemove = e => point(...cell(e));
  canvas.onmouseleave = () => point(null);
  canvas.onclick = e => choose(cell(e)[0]);
  return (rows, query) => {
    paint(canvas, rows);
    row.hidden = query < 0;
    row.style.top = `calc(100% * ${query} / ${n})`;
    [...queries.children].forEach((e, i) => e.classList.toggle("on", i === query));
  };
}

// ramp fills a box with the scale of the colours: weights at their roots, which is where their colours are. zero says
// what a weight of 0 is.
function ramp(box, zero = "exactly 0: masked") {
  const bar = make("canvas", {}), ticks = make("div", {className: "ticks"}, ...[0, 0.01, 0.1, 0.25, 0.5, 1].map(v => {
    const tick = make("span", {}, `${v}`);
    tick.style.left = `${100 * Math.sqrt(v)}%`;
    return tick;
  }));
  box.replaceChildren(make("div", {className: "scale"}, bar, ticks),
    make("span", {}, make("i", {className: "masked"}), zero));
  paint(bar, [Array.from({length: 200}, (_, i) => ((i + 0.5) / 200) ** 2)]);
}
