const removed = new Set(); // of "block head", and "block mlp"
let seenHeads = null, asked = 0;

// ask sends a question to the server, and returns its answer or throws its message.
async function ask(path, question) {
  const answer = await fetch(path, question && {method: "POST", body: JSON.stringify(question)});
  if (!answer.ok) throw new Error(await answer.text());
  return answer.json();
}

const percent = p => (100 * p).toFixed(1);
const signed = x => (x >= 0 ? "+" : "−") + Math.abs(x).toFixed(2);
const word = t => make("th", {scope: "row", className: "token", textContent: seen(t)});
const number = s => make("td", {className: "number", textContent: s});

// show draws an answer of look.
function show(now) {
  at("next").tBodies[0].replaceChildren(...now.Next.map(n => {
    const bar = make("i", {}), cell = make("td", {className: "bar"}, bar);
    bar.style.setProperty("--share", n.Changed);
    return make("tr", {}, word(n.Token), number(percent(n.P)), number(percent(n.Changed)), number(signed(n.Moved)), cell);
  }));
  if (now.Layers) {
    seenHeads ??= grid(at("heads"), now.Layers, toggle);
    seenHeads.paint(now.Layers);
    mark();
  }
  const token = at("token").value;
  at("token").replaceChildren(...now.Tokens.map((t, i) => make("option", {value: i, textContent: `${i} “${seen(t)}”`})));
  at("token").value = now.Tokens[token] === undefined ? now.Tokens.length - 1 : token;
  const parts = [...removed].map(r => `h.${r.replace(" ", " ").replace("mlp", "MLP")}`);
  at("says").textContent = (now.Tokens.length > 1 ? `Loss of the text: ${now.Loss.toFixed(3)} nats per token` +
    (now.Changed === now.Loss ? ". " : `, now ${now.Changed.toFixed(3)}. `) : "") +
    (parts.length ? `Without ${parts.join(", ")}. ` : "") + (at("block").value && at("other").value ? "With a patch." : "");
}

// mark shows which heads and MLPs are removed.
function mark() {
  [...at("heads").querySelectorAll("[role=gridcell]")].forEach((cell, i) => {
    const heads = data.Heads, out = removed.has(`${Math.floor(i / heads)} ${i % heads}`);
    cell.classList.toggle("removed", out);
    cell.setAttribute("aria-pressed", String(out));
  });
}

function toggle(block, head) {
  const name = `${block} ${head}`;
  removed.has(name) ? removed.delete(name) : removed.add(name);
  seenHeads.mark(block, head);
  look();
}

// look asks what the changed model predicts. A later question overtakes an earlier one.
async function look() {
  const turn = ++asked;
  at("says").textContent = "…";
  const question = {
    Text: at("prompt").value,
    Removed: [...removed].map(r => {
      const [block, part] = r.split(" ");
      return part === "mlp" ? {Block: +block, MLP: true} : {Block: +block, Head: +part};
    }),
  };
  if (at("block").value && at("other").value)
    question.Patch = {Text: at("other").value, Block: +at("block").value, Token: +at("token").value};
  try {
    const now = await ask("look", question);
    if (turn === asked) show(now);
  } catch (err) {
    if (turn === asked) at("says").textContent = err.message;
  }
}

at("ask").onsubmit = e => { e.preventDefault(); look(); };
at("prompt").onkeydown = e => {
  if (e.key === "Enter" && !e.shiftKey) { e.preventDefault(); look(); }
};
at("restore").onclick = () => {
  removed.clear();
  document.querySelectorAll("#mlps input").forEach(e => { e.checked = false; });
  at("block").value = "";
  look();
};
document.querySelectorAll("#mlps input").forEach(e => {
  e.onchange = () => { e.checked ? removed.add(`${e.value} mlp`) : removed.delete(`${e.value} mlp`); look(); };
});
["block", "token", "other"].forEach(id => { at(id).onchange = look; });

at("find").onsubmit = async e => {
  e.preventDefault();
  const rows = at("places").tBodies[0], wait = make("tr", {}, make("td", {textContent: "…"}));
  rows.replaceChildren(wait);
  try {
    const list = await ask(`neurons?block=${at("of").value}&neuron=${at("neuron").value}`);
    rows.replaceChildren(...list.map(n => make("tr", {}, number(n.Value.toFixed(2)),
      make("td", {className: "token", textContent: seen(n.Before)}),
      make("th", {scope: "row", className: "token found", textContent: seen(n.Token)}),
      make("td", {className: "token", textContent: seen(n.After)}))));
  } catch (err) {
    wait.firstChild.textContent = err.message;
  }
};

at("compose").onclick = async () => {
  const rows = at("circuits").tBodies[0], wait = make("tr", {}, make("td", {textContent: "…"}));
  rows.replaceChildren(wait);
  try {
    const list = await ask("circuits");
    rows.replaceChildren(make("tr", {}, ...["from", "to", "queries", "keys", "values"].map(t => make("th", {scope: "col", textContent: t}))),
      ...list.map(c => make("tr", {}, make("td", {textContent: `h.${c.FromBlock} head ${c.FromHead}`}),
        make("td", {textContent: `h.${c.ToBlock} head ${c.ToHead}`}),
        ...[c.Query, c.Key, c.Value].map(x => number(x.toFixed(3))))));
  } catch (err) {
    wait.firstChild.textContent = err.message;
  }
};

at("prompt").value = data.Prompt;
darkly.onchange = look;
show(data.First);
