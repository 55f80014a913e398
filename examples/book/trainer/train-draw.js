// What the page draws: the losses, matrices, heads of attention.
"use strict";
const at = id => document.getElementById(id);
const darkly = matchMedia("(prefers-color-scheme: dark)");

// make is an element with properties and what is in it.
function make(tag, properties, ...inside) {
  const e = Object.assign(document.createElement(tag), properties);
  e.append(...inside);
  return e;
}

// number is x in at most so many digits, with a power of ten if it is small.
function number(x, digits = 4) {
  const round = Number(x.toPrecision(digits)), [mantissa, power] = round.toExponential().split("e");
  const text = round !== 0 && Math.abs(round) < 0.001 ? `${mantissa} · 10^${power.replace("+", "")}` : `${round}`;
  return text.replaceAll("-", "−");
}

// mix is the colour of x from −1 to 1: blue, the paper, orange.
function mix(x) {
  const [paper, negative, positive] = darkly.matches ? [[27, 30, 36], [124, 176, 242], [240, 148, 107]]
    : [[255, 255, 255], [20, 80, 160], [190, 70, 20]];
  const end = x < 0 ? negative : positive;
  const share = Math.sqrt(Math.min(1, Math.abs(x)));
  return paper.map((c, i) => c + share * (end[i] - c));
}

// paint makes a pixel of every number, which the style makes larger.
function paint(canvas, rows, cols, values, largest) {
  const pen = canvas.getContext("2d"), image = pen.createImageData(cols, rows);
  values.forEach((x, i) => image.data.set([...mix(x / (largest || 1)), 255], 4 * i));
  if (canvas.width !== cols || canvas.height !== rows) Object.assign(canvas, {width: cols, height: rows});
  pen.putImageData(image, 0, 0);
}

const largest = values => values.reduce((most, x) => Math.max(most, Math.abs(x)), 0);

// field is a picture of a matrix in which a pointer or the arrow keys choose an entry, and Enter or a click calls ask.
function field(name, rows, cols, ask) {
  const canvas = make("canvas", {tabIndex: 0, width: cols, height: rows}), mark = make("i", {});
  const box = make("div", {className: "field"}, canvas, mark);
  const cell = Math.max(3, Math.min(6, Math.floor(560 / cols)));
  box.style.setProperty("--width", `${cell * cols + 2}px`);
  box.style.setProperty("--height", `${Math.max(cell, rows === 1 ? 16 : 3) * rows}px`);
  canvas.setAttribute("role", "application");
  let row = 0, col = 0, values = [];
  const label = () => {
    const value = values.length ? number(values[row * cols + col]) : "";
    canvas.ariaLabel = `${name}, ${rows} × ${cols}: row ${row}, column ${col} is ${value}. Enter: its gradient`;
    canvas.title = `${name}[${row}, ${col}] = ${value}`;
  };
  const go = (r, c) => {
    row = Math.max(0, Math.min(rows - 1, r));
    col = Math.max(0, Math.min(cols - 1, c));
    Object.assign(mark.style, {left: `${100 * col / cols}%`, top: `${100 * row / rows}%`, width: `${100 / cols}%`,
      height: `${100 / rows}%`});
    label();
  };
  const pointed = e => [e.offsetY / canvas.clientHeight * rows, e.offsetX / canvas.clientWidth * cols].map(Math.floor);
  canvas.onclick = e => { go(...pointed(e)); ask(name, row, col); };
  canvas.onmousemove = e => {
    const [r, c] = pointed(e);
    if (values.length && r < rows && c < cols) canvas.title = `${name}[${r}, ${c}] = ${number(values[r * cols + c])}`;
  };
  canvas.onkeydown = e => {
    const by = {ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0]}[e.key];
    if (by) go(row + by[0], col + by[1]);
    else if (e.key === "Home") go(row, 0);
    else if (e.key === "End") go(row, cols - 1);
    else if (e.key === "Enter" || e.key === " ") ask(name, row, col);
    else return;
    e.preventDefault();
  };
  go(0, 0);
  return {
    figure: make("figure", {}, box, make("figcaption", {textContent: `${name} (${rows}, ${cols})`})),
    show: list => { values = list; paint(canvas, rows, cols, values, largest(values)); label(); },
    mark: chosen => box.classList.toggle("chosen", chosen),
  };
}

// head is a picture of one head: the weight of every key for every query, or the norm of a state after every token.
function head(h, i, tokens) {
  const canvas = make("canvas", {}), cell = Math.max(8, Math.min(20, Math.floor(220 / h.cols)));
  const name = `${h.name} head ${i}`;
  paint(canvas, h.rows, h.cols, h.values, h.recurrent ? largest(h.values) : 1);
  canvas.setAttribute("role", "img");
  canvas.ariaLabel = name + (h.recurrent ? ": the norm of its state after each token" : ": weights of keys by queries");
  const letters = list => list.map(t => make("span", {textContent: t, ariaHidden: "true"}));
  const queries = make("div", {className: "queries"}, ...(h.recurrent ? [] : letters(tokens)));
  const keys = make("div", {className: "keys"}, ...letters(tokens));
  const box = make("div", {className: "head"}, queries, make("div", {}, canvas), keys);
  Object.assign(canvas.style, {width: `${cell * h.cols}px`, height: `${cell * h.rows}px`});
  queries.style.gridTemplateRows = `repeat(${h.rows}, ${cell}px)`;
  keys.style.gridTemplateColumns = `repeat(${h.cols}, ${cell}px)`;
  return make("figure", {}, box, make("figcaption", {textContent: name}));
}

// chart draws the losses of each lane, and the loss of a uniform guess.
function chart(svg, lanes, uniform) {
  const tag = (name, attributes, text = "") => {
    const e = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const key in attributes) e.setAttribute(key, attributes[key]);
    e.textContent = text;
    return e;
  };
  const [left, right, top, bottom] = [44, 590, 14, 250];
  const steps = Math.max(20, ...lanes.map(l => l.losses.length));
  const high = 1.08 * Math.max(uniform, ...lanes.map(l => l.losses[0] ?? 0));
  const x = step => left + (right - left) * step / steps;
  const y = loss => bottom - (bottom - top) * Math.min(1, loss / high);
  const parts = [];
  for (let i = 0; i <= 4; i++) {
    const loss = high * i / 4;
    parts.push(tag("line", {class: "axis", x1: left, x2: right, y1: y(loss), y2: y(loss)}),
      tag("text", {x: left - 6, y: y(loss) + 4, "text-anchor": "end"}, loss.toFixed(1)));
  }
  for (let i = 0; i <= 4; i++) {
    const step = Math.round(steps * i / 4);
    parts.push(tag("text", {x: x(step), y: 270, "text-anchor": i === 4 ? "end" : "middle"}, step));
  }
  parts.push(tag("line", {class: "guess", x1: left, x2: right, y1: y(uniform), y2: y(uniform)}));
  lanes.forEach((lane, i) => {
    const wide = Math.max(1, Math.ceil(lane.losses.length / 400)), points = [];
    for (let s = 0; s < lane.losses.length; s += wide) {
      const some = lane.losses.slice(s, s + wide);
      const mean = some.reduce((a, b) => a + b) / some.length;
      points.push(`${x(s + some.length / 2 + 0.5).toFixed(1)},${y(mean).toFixed(1)}`);
    }
    if (points.length === 1) points.push(points[0]); // a dot
    parts.push(tag("polyline", {class: i ? "second" : "first", points: points.join(" ")}));
  });
  svg.replaceChildren(...parts);
}
