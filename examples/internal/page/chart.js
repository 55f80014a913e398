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

const short = x => Math.abs(x) >= 1000 ? (x / 1000).toPrecision(3).replace(/\.?0+$/, "") + "k"
  : Number(x.toPrecision(3)).toString();

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

// chart makes an empty one. What it returns draws lines {name, color, points, style}, and tells of a step; move is told
// which one the reader wants, or Infinity, the last one whichever that is by then.
function chart(box, title, height, move) {
  const width = 560, left = 52, right = 10, top = 10, bottom = 26;
  const svg = picture("svg", {viewBox: `0 0 ${width} ${height}`, tabindex: 0, role: "slider", "aria-label": title});
  const plot = picture("g"), cursor = picture("line", {class: "cursor", y1: top, y2: height - bottom});
  const says = make("div", {className: "says"});
  svg.append(plot, cursor);
  box.append(make("figure", {}, make("figcaption", {}, title), svg, says));
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
    const all = lines.flatMap(l => l.points);
    if (!all.length) return;
    last = all.reduce((m, p) => Math.max(m, p[0]), 1);
    let low = all.reduce((m, p) => Math.min(m, p[1]), Infinity);
    let high = all.reduce((m, p) => Math.max(m, p[1]), -Infinity);
    if (low === high) [low, high] = [low - 0.5, high + 0.5];
    if (low > 0 && low < high / 3) low = 0;
    const y = v => top + (height - top - bottom) * (high - v) / (high - low);
    plot.replaceChildren(
      ...ticks(low, high, height / 45).flatMap(v => [
        picture("line", {class: "grid", x1: left, x2: width - right, y1: y(v), y2: y(v)}),
        picture("text", {x: left - 6, y: y(v) + 4, "text-anchor": "end"}, short(v))]),
      ...ticks(0, last, 6).map(s => picture("text", {x: x(s), y: height - 8, "text-anchor": "middle"}, short(s))),
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
