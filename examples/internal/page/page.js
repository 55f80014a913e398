"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const at = id => document.getElementById(id);

// make is an element with properties and what is in it.
function make(tag, properties, ...inside) {
  const e = Object.assign(document.createElement(tag), properties);
  e.append(...inside);
  return e;
}

// seen is a token of which one can see every character.
const seen = t => t.replaceAll(" ", "␣").replaceAll("\n", "⏎").replaceAll("\t", "→");

// rove lets arrow keys go from item to item, in rows of so many; Tab reaches the chosen one alone. It returns what
// marks an item as chosen.
function rove(box, items, columns, choose) {
  let now = 0;
  box.onkeydown = e => {
    const by = {ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns, ArrowDown: columns}[e.key];
    const to = e.key === "Home" ? 0 : e.key === "End" ? items.length - 1 : now + by; // NaN of other keys
    if (!items[to]) return;
    e.preventDefault();
    choose(to);
    items[to].focus();
  };
  items.forEach((item, i) => { item.onclick = () => choose(i); });
  return chosen => {
    now = chosen;
    items.forEach((item, i) => {
      item.tabIndex = i === chosen ? 0 : -1;
      item.ariaSelected = String(i === chosen);
    });
  };
}

// edges marks a box by the sides where it hides something, as long as it does.
function edges(box) {
  const look = () => {
    const behind = box.scrollLeft > 1, ahead = box.scrollLeft + box.clientWidth < box.scrollWidth - 1;
    box.dataset.more = [behind ? "left" : "", ahead ? "right" : ""].join(" ").trim();
  };
  box.addEventListener("scroll", look, {passive: true});
  const sizes = new ResizeObserver(look);
  [box, ...box.children].forEach(e => sizes.observe(e));
  look();
}
document.querySelectorAll(".scroll").forEach(edges);
