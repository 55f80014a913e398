// What is wrong with the layout of a page: texts that are cut off or lie on each other, boxes that hide something
// without a sign, tables that scroll beside free space or under columns that cover most of them, a page that is wider
// than the window, and zeros with a sign.
(() => {
  const faults = new Set(), groups = new Map();
  const name = e => `${e.tagName.toLowerCase()} “${e.textContent.trim().slice(0, 20)}”`;
  for (const e of document.querySelectorAll("body *")) {
    if (e.closest("script, style, noscript") || !e.checkVisibility()) continue;
    const style = getComputedStyle(e);
    if (e.matches(".scroll") && e.scrollWidth > e.clientWidth + 1 && !e.dataset.more) faults.add(`${name(e)} has no sign that it scrolls`);
    if (e.matches(".pair .scroll") && e.scrollWidth > e.clientWidth + 1) {
      const free = e.closest(".pair").clientWidth - e.offsetWidth;
      if (free > 10) faults.add(`${name(e)} scrolls, and ${free} pixels beside it are free`);
      const fixed = [...e.querySelector("tr").children].filter(c => getComputedStyle(c).position === "sticky" &&
        ["left", "right"].some(side => getComputedStyle(c)[side] === "0px"));
      const covered = fixed.reduce((sum, c) => sum + c.offsetWidth, 0);
      if (covered > e.clientWidth / 2) faults.add(`${name(e)}: fixed columns cover ${covered} of ${e.clientWidth} pixels`);
    }
    if (![...e.childNodes].some(n => n.nodeType === Node.TEXT_NODE && n.textContent.trim())) continue;
    const range = document.createRange();
    range.selectNodeContents(e);
    const text = range.getBoundingClientRect();
    for (let box = e; box && box !== document.body; box = box.parentElement) {
      const {overflowX, overflowY} = getComputedStyle(box), edge = box.getBoundingClientRect();
      if (/auto|scroll/.test(overflowX + overflowY)) break; // what it hides can be reached
      if (/hidden|clip/.test(overflowX) && (text.left < edge.left - 1 || text.right > edge.right + 1) ||
        /hidden|clip/.test(overflowY) && (text.top < edge.top - 1 || text.bottom > edge.bottom + 1)) faults.add(`${name(e)} is cut off`);
    }
    const group = e.closest(".heads, .ticks, .queries, .keys, svg");
    if (group) groups.set(group, [...groups.get(group) || [], [e, text]]);
  }
  for (const list of groups.values()) list.forEach(([a, r], i) => list.slice(0, i).forEach(([b, s]) => {
    const wide = Math.min(r.right, s.right) - Math.max(r.left, s.left), high = Math.min(r.bottom, s.bottom) - Math.max(r.top, s.top);
    if (wide > 2 && high > 3) faults.add(`${name(a)} lies on ${name(b)}`);
  }));
  for (const row of document.querySelectorAll(".heads [role=row]")) {
    const boxes = [...row.querySelectorAll("canvas")].map(e => e.getBoundingClientRect());
    if (boxes.some((r, i) => i && r.left < boxes[i - 1].right)) faults.add(`${name(row)}: heads lie on each other`);
    const edge = row.parentElement.parentElement.getBoundingClientRect();
    if (boxes.length && boxes.at(-1).right > edge.right + 1) faults.add(`${name(row)} is wider than its column`);
  }
  if (document.documentElement.scrollWidth > innerWidth) faults.add(`the page is ${document.documentElement.scrollWidth} wide`);
  const zero = document.body.innerText.match(/[-−]0(\.0+)?(?![.\d])/);
  if (zero) faults.add(`it says ${zero[0]}`);
  return [...faults].join("\n");
})()
