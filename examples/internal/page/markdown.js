// Markdown as models write it, as elements: headings, lists, quotes, code, tables, rules, and within a line code, bold,
// italics, links. Nothing becomes HTML of the text, so that an answer cannot add elements of its own.

// inline returns the nodes of a line.
function inline(text) {
  const nodes = [];
  const rule = new RegExp([
    "(`{1,3})([^`]|[^`][^]{0,2000}?[^`])\\1(?!`)", "\\*\\*(?=\\S)([^]{0,2000}?\\S)\\*\\*",
    "(?<![\\w*])[*_](?=[^\\s*_])([^*_]{0,2000}?[^\\s*_])[*_](?![\\w*])",
    "\\[([^\\[\\]]{1,2000})\\]\\((https?://[^\\s()]{1,2000})\\)",
  ].join("|"), "g");
  let end = 0;
  for (const m of text.matchAll(rule)) {
    nodes.push(text.slice(end, m.index));
    end = m.index + m[0].length;
    if (m[1]) nodes.push(make("code", {textContent: m[2].trim() || m[2]}));
    else if (m[3]) nodes.push(make("strong", {}, ...inline(m[3])));
    else if (m[4]) nodes.push(make("em", {}, ...inline(m[4])));
    else nodes.push(make("a", {href: m[6], rel: "noopener noreferrer", target: "_blank"}, ...inline(m[5])));
  }
  nodes.push(text.slice(end));
  return nodes.filter(n => n !== "");
}

// item matches the beginning of an item of a list: its indentation, its mark and its text.
const item = /^(\s*)([-*+]|\d{1,9}[.)])\s+(.*)$/;

// cells returns the cells of a line of a table.
const cells = line => line.trim().replace(/^\||\|$/g, "").split("|").map(cell => cell.trim());

// deepest is the largest number of lists and quotes inside each other.
const deepest = 8;

// list takes the items of a list from lines and returns its element.
function list(lines, depth) {
  const [, indent, mark] = lines[0].match(item), ordered = /\d/.test(mark);
  const element = make(ordered ? "ol" : "ul", ordered ? {start: parseInt(mark)} : {});
  while (lines.length) {
    const m = lines[0].match(item);
    if (!m || m[1].length < indent.length || /\d/.test(m[2]) !== ordered && m[1].length <= indent.length) break;
    if (m[1].length > indent.length + 1 && element.lastChild && depth < deepest) {
      element.lastChild.append(list(lines, depth + 1));
      continue;
    }
    lines.shift();
    let text = m[3];
    while (lines.length && lines[0].trim() && !item.test(lines[0]) && /^\s/.test(lines[0])) text += "\n" + lines.shift().trim();
    element.append(make("li", {}, ...inline(text)));
    if (lines.length > 1 && !lines[0].trim() && item.test(lines[1])) lines.shift(); // an empty line between items
  }
  return element;
}

// table takes the lines of a table and returns its element, in a box that scrolls.
function table(lines) {
  const row = (line, tag) => make("tr", {}, ...cells(line).map(cell => make(tag, {}, ...inline(cell))));
  const head = row(lines.shift(), "th");
  lines.shift();
  const body = make("tbody", {});
  while (lines.length && lines[0].includes("|")) body.append(row(lines.shift(), "td"));
  return make("div", {className: "scroll"}, make("table", {}, make("thead", {}, head), body));
}

// markdown returns the elements of a text, inside so many lists and quotes.
function markdown(text, depth = 0) {
  if (depth > deepest) return [text];
  const lines = text.split("\n"), blocks = [];
  const special = /^\s*(```|~~~)|^#{1,6}\s|^\s*>|^\s*([-*_])(\s*\2){2,}\s*$/;
  const tabled = () => lines.length > 1 && lines[0].includes("|") && /^[\s|:-]*-[\s|:-]*$/.test(lines[1]) && lines[1].includes("|");
  while (lines.length) {
    const line = lines[0];
    const fence = line.match(/^\s*(`{3,}|~{3,})\s*([\w+#.-]*)/), heading = line.match(/^(#{1,6})\s+(.*)$/);
    if (!line.trim()) {
      lines.shift();
    } else if (fence) {
      lines.shift();
      const code = [];
      while (lines.length && !lines[0].trim().startsWith(fence[1])) code.push(lines.shift());
      lines.shift();
      blocks.push(make("pre", {tabIndex: 0, ariaLabel: "code " + fence[2]}, make("code", {textContent: code.join("\n")})));
    } else if (heading) {
      lines.shift();
      blocks.push(make("h" + Math.min(6, heading[1].length + 2), {}, ...inline(heading[2])));
    } else if (/^\s*([-*_])(\s*\1){2,}\s*$/.test(line)) {
      lines.shift();
      blocks.push(make("hr", {}));
    } else if (/^\s*>/.test(line)) {
      const quote = [];
      while (lines.length && /^\s*>/.test(lines[0])) quote.push(lines.shift().replace(/^\s*> ?/, ""));
      blocks.push(make("blockquote", {}, ...markdown(quote.join("\n"), depth + 1)));
    } else if (item.test(line)) {
      blocks.push(list(lines, depth));
    } else if (tabled()) {
      blocks.push(table(lines));
    } else {
      const paragraph = [lines.shift()];
      while (lines.length && lines[0].trim() && !special.test(lines[0]) && !item.test(lines[0]) && !tabled()) paragraph.push(lines.shift());
      blocks.push(make("p", {}, ...inline(paragraph.join("\n"))));
    }
  }
  return blocks;
}
