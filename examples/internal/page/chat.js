// The conversation: its messages, and the request that is being answered.
let messages = [], request = null;

// The server reuses what it has computed for a conversation, but not for conversations of other pages.
const salt = [...crypto.getRandomValues(new Uint32Array(4))].join("-");

// turn adds a message to the page, with what can be done with it, and returns the element of its text. Answers are
// Markdown; what the reader writes is shown as it is.
function turn(role, text) {
  const said = make("div", {className: "said", textContent: text});
  const article = make("article", {className: role}, make("h2", {textContent: role}), said);
  const act = (name, does) => make("button", {type: "button", textContent: name, onclick: () => does(article)});
  const acts = make("div", {className: "acts"}, act("Copy", copy));
  acts.append(role === "user" ? act("Edit", edit) : act("Again", again));
  article.append(acts);
  at("talk").append(article);
  follow(true);
  return said;
}

// place returns the number of an article among the messages.
const place = article => [...at("talk").children].indexOf(article);

// back takes the conversation back to before the n-th message.
function back(n) {
  request?.abort();
  request = null;
  messages.length = Math.min(n, messages.length);
  while (at("talk").children.length > n) at("talk").lastChild.remove();
  busy(false);
}

// copy puts the text of a message on the clipboard. Pages that are not from this machine have no clipboard of their own.
async function copy(article) {
  const text = article.source ?? article.querySelector(".said").textContent;
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const box = make("textarea", {value: text});
    document.body.append(box);
    box.select();
    document.execCommand("copy");
    box.remove();
  }
  at("state").textContent = "copied";
}

// edit takes back a message of the reader, and what followed it, to write it anew.
function edit(article) {
  const n = place(article), {content} = messages[n];
  back(n);
  at("message").value = content;
  at("message").focus();
}

// again asks for another answer in place of one, without what followed it.
function again(article) {
  const n = place(article);
  back(n);
  if (messages.at(-1)?.role === "user") answer();
}

// show writes the text of an answer, at most once a frame.
function show(said, text) {
  if (said.next === undefined) requestAnimationFrame(() => draw(said));
  said.next = text;
  said.closest("article").source = text;
}

// draw writes the text that waits for a frame, if there is one.
function draw(said) {
  if (said.next === undefined) return;
  said.replaceChildren(...markdown(said.next));
  said.querySelectorAll(".scroll").forEach(edges);
  said.next = undefined;
  follow(false);
}

// follow keeps the end of the conversation in view, unless the reader has scrolled up.
function follow(always) {
  const box = at("talk");
  if (always || box.scrollHeight - box.scrollTop - box.clientHeight < 80) box.scrollTop = box.scrollHeight;
}

// settings are the keys of a request that the reader has filled in.
function settings() {
  const given = {};
  for (const key of ["temperature", "top_p", "max_tokens", "seed"]) {
    if (at(key).value !== "") given[key] = Number(at(key).value);
  }
  return given;
}

// events yields the objects of a stream of server-sent events.
async function* events(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const {value, done} = await reader.read();
    if (done) return;
    const lines = (rest + value).split("\n\n");
    rest = lines.pop();
    for (const line of lines) {
      const data = line.replace(/^data: /, "");
      if (data !== "[DONE]") yield JSON.parse(data);
    }
  }
}

// answer asks the server for the next message and writes it as it comes.
async function answer() {
  const system = at("system").value.trim();
  const all = system ? [{role: "system", content: system}, ...messages] : messages;
  const headers = {"Content-Type": "application/json"};
  if (at("key")?.value) headers.Authorization = "Bearer " + at("key").value;
  const asking = request = new AbortController();
  busy(true);
  let text = "", said = null, state = "", tokens = 0;
  const began = performance.now();
  try {
    const got = await fetch("/v1/chat/completions", {
      method: "POST", headers, signal: asking.signal,
      body: JSON.stringify({
        messages: all, stream: true, stream_options: {include_usage: true}, cache_salt: salt, ...settings(),
      }),
    });
    if (!got.ok) throw new Error((await got.json()).error.message);
    said = turn("assistant", "");
    for await (const event of events(got.body)) {
      if (event.error) throw new Error(event.error.message);
      const choice = event.choices[0];
      if (choice?.delta.content) {
        text += choice.delta.content;
        show(said, text);
      }
      if (choice?.finish_reason === "length") state = "; cut off at the largest number of tokens";
      if (event.usage) tokens = event.usage.completion_tokens;
    }
    const seconds = (performance.now() - began) / 1000;
    state = `${tokens} tokens, ${(tokens / seconds).toFixed(1)} a second${state}`;
  } catch (error) {
    state = error.name === "AbortError" ? "stopped" : error.message;
  }
  if (request !== asking) return; // another conversation has begun
  if (said) {
    draw(said); // all of the answer stands there when the status tells of it
    messages.push({role: "assistant", content: text});
  } else { // the message can be corrected and sent again
    at("message").value = messages.pop().content;
    at("talk").lastChild.remove();
  }
  request = null;
  busy(false);
  at("state").textContent = state;
}

// busy sets what can be pressed while an answer is being written.
function busy(now) {
  at("send").disabled = now;
  at("stop").disabled = !now;
  at("talk").ariaBusy = String(now);
  at("state").textContent = now ? "answering" : "";
  if (!now) at("message").focus();
}

at("ask").onsubmit = e => {
  e.preventDefault();
  const text = at("message").value;
  if (request || text.trim() === "") return;
  at("message").value = "";
  messages.push({role: "user", content: text});
  turn("user", text);
  answer();
};
at("message").onkeydown = e => {
  if (e.key === "Enter" && !e.shiftKey && !e.isComposing) {
    e.preventDefault();
    at("ask").requestSubmit();
  }
};
at("stop").onclick = () => request?.abort();
document.addEventListener("keydown", e => { if (e.key === "Escape") request?.abort(); });
at("reset").onclick = () => {
  request?.abort();
  request = null;
  messages = [];
  at("talk").replaceChildren();
  busy(false);
};
