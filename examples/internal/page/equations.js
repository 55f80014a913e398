const rows = [...document.querySelectorAll("#equations .equation")];
const formulas = new Map([...document.querySelectorAll("#formulas .formula")].map(e => [e.dataset.name, e]));
const named = row => row.dataset.formulas ? row.dataset.formulas.split(" ") : [];
const plural = (n, word) => `${n} ${word}${n === 1 ? "" : "s"}`;
let visible = rows, lit = new Set(), first = new Set(); // lit: the formulas that the chosen ones, first, build on

// below is the set of some formulas and of all that they call.
function below(names, found = new Set()) {
  for (const name of names) if (!found.has(name)) {
    found.add(name);
    below(data.Calls[name] || [], found);
  }
  return found;
}

// light marks formulas and all that they build on.
function light(names) {
  first = new Set(names);
  lit = below(names);
  show(names);
  for (const [name, e] of formulas) {
    e.classList.toggle("first", first.has(name));
    e.classList.toggle("lit", lit.has(name) && !first.has(name));
  }
  arrows();
}

// show writes the formulas themselves, each with the chapter that derives it.
function show(names) {
  at("sources").replaceChildren(...names.filter(n => data.Sources[n]).map(name => {
    const chapter = data.Chapters && data.Chapters[name];
    const title = make("figcaption", {textContent: name + (chapter ? ", derived in " : "")});
    if (chapter) title.append(make("a", {href: chapter.Link, textContent: chapter.Title}));
    const code = make("pre", {textContent: data.Sources[name], tabIndex: 0});
    const figure = make("figure", {});
    figure.append(title, code);
    return figure;
  }));
}

// arrows draws a line for each call; calls of marked formulas stand out.
function arrows() {
  const svg = at("arrows"), box = at("formulas").getBoundingClientRect();
  const make = (tag, attributes) => {
    const e = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) e.setAttribute(name, value);
    return e;
  };
  svg.setAttribute("width", box.width);
  svg.setAttribute("height", box.height);
  const faint = [], strong = [];
  for (const [name, e] of formulas) for (const to of data.Calls[name] || []) {
    const a = e.getBoundingClientRect(), b = formulas.get(to).getBoundingClientRect(), on = lit.has(name);
    const x = a.left - box.left, y = (a.top + a.bottom) / 2 - box.top, u = b.right - box.left, v = (b.top + b.bottom) / 2 - box.top;
    const half = Math.max(24, (x - u) / 2);
    (on ? strong : faint).push(make("path", {d: `M${x} ${y}C${x - half} ${y} ${u + half} ${v} ${u + 5} ${v}`, class: on ? "on" : ""}),
      make("path", {d: `M${u + 7} ${v - 4}L${u + 1} ${v}L${u + 7} ${v + 4}`, class: on ? "on" : ""}));
  }
  svg.replaceChildren(...faint, ...strong);
}

// filter shows the equations of the chosen papers and marks that contain every word of the search.
function filter() {
  const values = name => new Set([...document.querySelectorAll(`input[name=${name}]:checked`)].map(e => e.value));
  const papers = values("paper"), marks = values("mark");
  const words = at("search").value.toLowerCase().split(/\s+/).filter(w => w);
  visible = rows.filter(row => {
    const text = row.textContent.toLowerCase();
    row.hidden = !papers.has(row.parentElement.dataset.paper) || !marks.has(row.dataset.mark) || !words.every(w => text.includes(w));
    return !row.hidden;
  });
  document.querySelectorAll("#equations tbody").forEach(e => { e.hidden = ![...e.querySelectorAll(".equation")].some(r => !r.hidden); });
  at("count").textContent = `${visible.length} of ${plural(rows.length, "equation")}`;
  mark = rove(at("equations"), visible, 1, choose);
  if (visible.length) mark(0);
}

let mark = null;
function choose(i) {
  mark(i);
  const row = visible[i], names = named(row);
  rows.forEach(r => r.querySelectorAll("a").forEach(a => { a.tabIndex = r === row ? 0 : -1; }));
  markFormula(-1);
  light(names);
  const more = [...lit].filter(n => !first.has(n));
  tell(`${row.querySelector("td:nth-child(2)").textContent} checks ${names.join(", ") || "no formula by hand"}` +
    (more.length ? `, which build on ${more.join(", ")}.` : "."));
}

const list = [...formulas.values()];
const roveFormulas = rove(at("formulas"), list, 1, i => {
  markFormula(i);
  const name = list[i].dataset.name, {file, line, link} = list[i].dataset;
  light([name]);
  const calls = data.Calls[name] || [], callers = Object.keys(data.Calls).filter(n => (data.Calls[n] || []).includes(name)).sort();
  const by = rows.filter(r => named(r).includes(name)).map(r => r.querySelector("td:nth-child(5)").textContent);
  tell(`${name}: calls ${calls.join(", ") || "no other formula"}; called by ${callers.join(", ") || "none"}; ` +
    `checked by ${by.join(", ") || "no equation directly"}. `, link && make("a", {href: link, textContent: `${file}:${line}`}));
});
// markFormula makes a formula the one that Tab reaches, or the first one.
function markFormula(i) {
  roveFormulas(Math.max(i, 0));
  if (i < 0) list[0].ariaSelected = "false";
}

const tell = (...parts) => at("says").replaceChildren(...parts.filter(p => p));

document.querySelectorAll("#filter input").forEach(e => { e.oninput = filter; });
new ResizeObserver(arrows).observe(at("formulas"));
markFormula(-1);
filter();
choose(0);
