"use strict";

// The program that marks is loaded when a reader first asks for it.
let marker;

function load(source) {
  return new Promise((done, failed) => {
    const script = document.createElement("script");
    script.src = source;
    script.onload = done;
    script.onerror = () => failed(new Error(source + " cannot be loaded"));
    document.head.append(script);
  });
}

async function startMarker() {
  await Promise.all([load("wasm_exec.js"), load("marker.js")]);
  const packed = Uint8Array.from(atob(markerProgram), c => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  const go = new Go();
  const { instance } = await WebAssembly.instantiate(await new Response(stream).arrayBuffer(), go.importObject);
  go.run(instance);
}

// ready waits until the marker runs. After a failure the next call tries again.
function ready() {
  marker ??= startMarker().catch(err => {
    marker = undefined;
    throw err;
  });
  return marker;
}

// A box that scrolls says so, as long as it hides something.
for (const box of document.querySelectorAll(".scroll, pre, .experiment")) {
  box.classList.add("scroll");
  const look = () => {
    const behind = box.scrollLeft > 1, ahead = box.scrollLeft + box.clientWidth < box.scrollWidth - 1;
    box.dataset.more = [behind ? "left" : "", ahead ? "right" : ""].join(" ").trim();
    if (box.dataset.more) Object.assign(box, {tabIndex: 0, role: "region", ariaLabel: "a part that scrolls sideways"});
  };
  box.addEventListener("scroll", look, {passive: true});
  new ResizeObserver(look).observe(box);
  look();
}

for (const form of document.querySelectorAll(".exercise")) {
  const input = form.querySelector("input"), verdict = form.querySelector(".verdict");
  const key = "exercise " + form.id;
  const exercise = form.querySelector("template").content.textContent;
  try {
    input.value = localStorage.getItem(key) ?? "";
  } catch { } // a browser may keep nothing for files
  input.addEventListener("focus", () => ready().catch(() => { }));
  for (const sign of form.querySelectorAll(".sign"))
    sign.addEventListener("click", () => {
      const text = sign.textContent + (sign.textContent.startsWith("Σ") ? " " : "");
      input.setRangeText(text, input.selectionStart, input.selectionEnd, "end");
      input.focus();
    });
  form.addEventListener("submit", async event => {
    event.preventDefault();
    if (input.value.trim() === "") {
      input.focus();
      return;
    }
    verdict.className = "verdict";
    verdict.textContent = "marking …";
    try {
      await ready();
      const said = JSON.parse(markExercise(exercise, input.value));
      form.querySelector(".typed").innerHTML = said.MathML ? `You wrote <math>${said.MathML}</math>` : "";
      verdict.textContent = said.Message + (said.Hint ? " " + said.Hint : "");
      verdict.classList.add(said.Right ? "right" : "wrong");
      localStorage.setItem(key, input.value);
    } catch (err) {
      verdict.textContent = err.message;
      verdict.classList.add("wrong");
    }
  });
}
