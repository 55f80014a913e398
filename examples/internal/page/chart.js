// A chart is a picture of lines over steps, which styles colour; the reader moves a step along it.
const picture = (tag, attributes = {}, text = "") => {
  const e = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) e.setAttribute(name, value);
  e.textContent = text;
  return e;
};

// ticks are round numbers between two.
function ticks(from, to, most) {
  const rough = (to - from) / most || 1, power = 10 ** Math.floor(Math.log10(rough));
  const by = [1, 2, 5, 10].find(k => k * power >= rough) * power, list = [];
  for (let k = Math.ceil(from / by - 1e-9); k * by <= to + by * 1e-9; k++) list.push(k * by);
  return list;
}

// unit is the letter and the size of the thousands in which a number is written.
const unit = x => [["G", 1e9], ["M", 1e6], ["k", 1e3]].find(([, size]) => Math.abs(x) >= size) || ["", 1];

// minus has a true minus sign, and none before zero.
const minus = text => Number(text) === 0 ? text.replace("-", "") : text.replace("-", "−");

// short is a number with three digits.
function short(x) {
  const round = Number(x.toPrecision(3)), [letter, size] = unit(round);
  return minus(Number((round / size).toPrecision(3)).toString()) + letter;
}

// labels are the texts of ticks, with all digits in which they differ and the unit of the largest.
function labels(list) {
  const largest = Math.max(...list.map(Math.abs)), by = list.length > 1 ? list[1] - list[0] : largest;
  const [letter, size] = unit(largest), digits = Math.max(0, Math.ceil(-Math.log10(by / size) - 1e-9));
  return list.map(v => Math.abs(v) < by / 2 ? "0" : digits > 5 ? minus(Number(v.toPrecision(3)).toExponential())
    : minus((v / size).toFixed(digits)) + letter);
}

// thin is at most some 800 points of a line, of many the least and the greatest of each part.
function thin(points) {
  const per = Math.ceil(points.length / 400);
  if (per < 3) return points;
  const list = [];
  for (let i = 0; i < points.length; i += per) {
    const part = points.slice(i, i + per).sort((a, b) => a[1] - b[1]);
    list.push(...[part[0], part.at(-1)].sort((a, b) => a[0] - b[0]));
  }
  return list;
}

// below is the index of the last point at or before a step, −1 if there is none.
function below(points, step) {
  let low = 0, high = points.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (points[middle][0] <= step) low = middle + 1; else high = middle;
  }
  return low - 1;
}

// chart makes an empty one. What it returns draws lines {name, color, points, style}, of which band is the outline of an
// area in the same colour if there is one, and tells of a step; move is told
// which one the reader wants, or Infinity, the last one whichever that is by then.
function chart(box, title, height, move) {
  const width = 560, left = 56, right = 18, top = 10, bottom = 26;
  const svg = picture("svg", {viewBox: `0 0 ${width} ${height}`, tabindex: 0, role: "slider", "aria-label": title});
  const plot = picture("g"), cursor = picture("line", {class: "cursor", y1: top, y2: height - bottom});
  const says = make("div", {className: "says"});
  svg.append(plot, cursor);
  const figure = make("figure", {hidden: true}, make("figcaption", {}, title), svg, says);
  box.append(figure);
  let last = 1, now = 0;
  const x = step => left + (width - left - right) * step / last;
  svg.addEventListener("keydown", e => {
    const by = {ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -10, PageUp: 10}[e.key];
    const to = e.key === "Home" ? 0 : e.key === "End" ? last : now + by * Math.max(1, Math.round(last / 100));
    if (Number.isNaN(to)) return;
    e.preventDefault();
    move(to < last ? Math.max(0, to) : Infinity);
  });
  svg.addEventListener("pointermove", e => {
    const r = svg.getBoundingClientRect();
    const at = ((e.clientX - r.left) / r.width * width - left) / (width - left - right);
    move(Math.round(last * Math.max(0, Math.min(1, at))));
  });
  svg.addEventListener("pointerleave", () => move(Infinity));

  function draw(lines) {
    const all = lines.flatMap(l => [...l.points, ...l.band || []]);
    figure.hidden = !all.length;
    if (!all.length) return;
    last = all.reduce((m, p) => Math.max(m, p[0]), 1);
    let low = all.reduce((m, p) => Math.min(m, p[1]), Infinity);
    let high = all.reduce((m, p) => Math.max(m, p[1]), -Infinity);
    if (low === high) [low, high] = [low - 0.5, high + 0.5];
    if (low > 0 && low < high / 3) low = 0;
    const y = v => top + (height - top - bottom) * (high - v) / (high - low);
    const rows = ticks(low, high, height / 45), columns = ticks(0, last, 6), [beside, below] = [rows, columns].map(labels);
    plot.replaceChildren(
      ...rows.flatMap((v, i) => [
        picture("line", {class: "grid", x1: left, x2: width - right, y1: y(v), y2: y(v)}),
        picture("text", {x: left - 6, y: y(v) + 4, "text-anchor": "end"}, beside[i])]),
      ...columns.map((s, i) => picture("text", {x: x(s), y: height - 8, "text-anchor": "middle"}, below[i])),
      ...lines.filter(l => l.band).map(l => picture("polygon", {fill: l.color, opacity: 0.15,
        points: l.band.map(p => `${x(p[0]).toFixed(1)},${y(p[1]).toFixed(1)}`).join(" ")})),
      ...lines.filter(l => l.points.length).map(l => picture("polyline", {class: l.style, stroke: l.color,
        points: thin(l.points).map(p => `${x(p[0]).toFixed(1)},${y(p[1]).toFixed(1)}`).join(" ")})),
      ...lines.filter(l => l.style !== "thin" && l.points.length < 60).flatMap(l => l.points.map(p =>
        picture("circle", {cx: x(p[0]), cy: y(p[1]), r: 2.5, fill: l.color}))));
    svg.setAttribute("aria-valuemin", 0);
    svg.setAttribute("aria-valuemax", last);
  }

  function tell(step, lines) {
    now = Math.min(step, last);
    cursor.setAttribute("x1", x(now));
    cursor.setAttribute("x2", x(now));
    const values = lines.map(l => [l, l.points[below(l.points, now)]]).filter(([, p]) => p);
    says.replaceChildren(`step ${now}`, ...values.map(([l, p]) => {
      const dot = make("i", {});
      dot.style.background = l.color;
      return make("span", {}, dot, `${l.name} ${short(p[1])}`);
    }));
    svg.setAttribute("aria-valuenow", now);
    svg.setAttribute("aria-valuetext", `step ${now}: ` + values.map(([l, p]) => `${l.name} ${short(p[1])}`).join(", "));
  }
  return {draw, tell};
}
