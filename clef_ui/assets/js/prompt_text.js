// The prompt's text in a box of its own: plain rows at once, spans and tokens only where the reader looks.
window.clef.promptText = (() => {
  "use strict";
  const { h } = window.clef;
  const HIDDEN = "[\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u180e\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u2069\\ufeff\\ufff9-\\ufffb]";
  const MARKED = new RegExp(HIDDEN, "gu");
  const MARKED_OR_SPACE = new RegExp(HIDDEN + "|[ \\t\\n\\u00a0\\u1680\\u2000-\\u200a\\u202f\\u205f\\u3000]", "gu");
  const GLYPHS = { " ": "·", "\t": "→", "\n": "⏎" };

  // Appends text so that the element's textContent stays exactly the text; glyphs and codes are drawn by CSS.
  function put(parent, text, whitespace) {
    const marked = whitespace ? MARKED_OR_SPACE : MARKED;
    let last = 0;
    for (const match of text.matchAll(marked)) {
      if (match.index > last) parent.append(text.slice(last, match.index));
      const character = match[0];
      const isSpace = whitespace && /\s/u.test(character) && !/[\u2028\u2029\u000b\u000c\r]/.test(character);
      const code = "U+" + character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0");
      parent.append(isSpace ? h(character === "\n" ? "span.ws.nl" : "span.ws", { "data-glyph": GLYPHS[character] || "␣" }, character)
        : h("span.hid", { "data-code": code }, h("bdi", {}, character)));
      last = match.index + character.length;
    }
    if (last < text.length) parent.append(text.slice(last));
  }

  function label(row, model) {
    const first = row.units.find((unit) => unit.start === unit.segment.start && unit.segment.group !== "scaffold");
    if (!first) return null;
    const { segment } = first;
    if (segment.kind === "option") return model.view.questions[segment.question].options[segment.option];
    return segment.kind === "instruction" ? model.view.questions[segment.question].id : segment.kind === "media" ? model.view.media[segment.media].kind : segment.kind;
  }

  function create(model, settings, actions) {
    const box = h("div.prompt-box", { tabIndex: 0, role: "region", "aria-label": "Prompt text. Arrow keys move by " + settings.granularity + ", Enter selects." });
    const rowElements = [];
    const drawn = new Set();
    const drawListeners = [];
    let lit = null, cursor = null;

    for (const block of model.blocks) {
      const element = h("div.block", { "data-block": String(block.place) });
      for (const row of block.rows) {
        const line = h("div.row", { "data-row": String(row.place), "data-index": String(model.tokenIndex(row.units[0])), "data-label": label(row, model) });
        line.append(model.text.slice(row.start, row.end));
        rowElements.push(line);
        element.append(line);
        if (model.cutAfter && row.units.at(-1).segment === model.cutAfter && row.end === model.cutAfter.end) element.append(actions.cut());
      }
      box.append(element);
    }
    // A state of which nothing is left has no row of its own: the cut is shown where it would stand.
    if (model.cutAfter && model.cutAfter.start === model.cutAfter.end && !box.querySelector(".cut-part")) {
      const after = rowElements[model.row(Math.max(0, model.cutAfter.start - 1)).place];
      after.after(actions.cut());
    }

    const watcher = new IntersectionObserver((entries) => {
      for (const entry of entries) if (entry.isIntersecting) draw(model.blocks[Number(entry.target.dataset.block)]);
    }, { root: box, rootMargin: "600px 0px" });
    for (const element of box.querySelectorAll(".block")) watcher.observe(element);

    function draw(block) {
      if (drawn.has(block)) return;
      drawn.add(block);
      for (const row of block.rows) drawRow(row);
      for (const listener of drawListeners) listener(block);
    }

    function drawRow(row) {
      const line = rowElements[row.place];
      line.textContent = "";
      let span = null, segment = null;
      for (const unit of row.units) {
        if (unit.segment !== segment) {
          segment = unit.segment;
          span = h("span.piece.g-" + segment.group, { "data-seg": String(segment.place) });
          if (segment.kind === "media") span.dataset.chip = `${model.owner(segment)} · ${window.clef.tokens(segment.tokens)} tokens`;
          if (segment === lit) span.classList.add("lit");
          line.append(span);
        }
        drawUnit(span, unit);
      }
    }

    function drawUnit(span, unit) {
      const text = model.text.slice(unit.start, unit.end);
      const special = model.special(unit);
      if (settings.granularity !== "tokens" && !special) return put(span, text, settings.whitespace);
      const typed = special && model.typed(unit);
      const classes = ["tok", special && "sp", typed && "bad", unit.count > 1 && "joined", unit.start === unit.end && "part"].filter(Boolean);
      const token = h("span", { class: classes.join(" "), "data-unit": String(unit.place), title: typed ? `typed control token: ${typed.meaning}` : null });
      put(token, text, settings.whitespace);
      span.append(token);
    }

    const find = (attribute, place) => box.querySelectorAll(`[data-${attribute}="${place}"]`);

    function light(segment) {
      for (const element of box.querySelectorAll(".piece.lit")) element.classList.remove("lit");
      lit = segment;
      if (segment) for (const element of find("seg", segment.place)) element.classList.add("lit");
    }

    // Draws the rows around an offset and brings them into the box; twice, since drawing may change heights above.
    function reveal(offset) {
      const row = model.row(offset);
      if (!row) return;
      draw(row.block);
      const scroll = () => {
        const line = rowElements[row.place].getBoundingClientRect();
        const within = line.height > box.clientHeight / 2 ? line.height * (offset - row.start) / Math.max(1, row.end - row.start) : 0;
        box.scrollTop += line.top + within - box.getBoundingClientRect().top - box.clientHeight / 3;
      };
      scroll();
      requestAnimationFrame(scroll);
    }

    function point(unit, reason) {
      for (const element of box.querySelectorAll(".cursor")) element.classList.remove("cursor");
      cursor = unit;
      if (!unit) return;
      draw(model.row(unit.start).block);
      const element = settings.granularity === "tokens" ? find("unit", unit.place)[0] : find("seg", unit.segment.place)[0];
      if (element) element.classList.add("cursor");
      if (reason === "key" && element) {
        const inner = element.getBoundingClientRect(), outer = box.getBoundingClientRect();
        if (inner.top < outer.top + 30 || inner.bottom > outer.bottom - 30) reveal(unit.start);
      }
      actions.point(unit, reason);
    }

    function unitOf(target) {
      const token = target.closest?.("[data-unit]");
      if (token) return model.units[Number(token.dataset.unit)];
      const span = target.closest?.("[data-seg]");
      return span ? model.units.find((unit) => unit.segment.place === Number(span.dataset.seg)) : null;
    }

    function step(key) {
      const now = cursor || model.units[0];
      const bySegment = settings.granularity !== "tokens";
      if (key === "Home") return model.units[0];
      if (key === "End") return model.units.at(-1);
      if (key === "ArrowRight") return bySegment ? model.units.find((u) => u.start >= now.segment.end && u.end > u.start) : model.units[now.place + 1];
      if (key === "ArrowLeft") return bySegment ? model.units.findLast((u) => u.end <= now.segment.start && u.start === u.segment.start && u.end > u.start) : model.units[now.place - 1];
      const row = model.row(now.start);
      const by = { ArrowDown: 1, ArrowUp: -1, PageDown: 15, PageUp: -15 }[key];
      return by && model.rows[Math.max(0, Math.min(model.rows.length - 1, row.place + by))].units[0];
    }

    box.addEventListener("mouseover", (event) => { const unit = unitOf(event.target); if (unit) point(unit, "hover"); });
    box.addEventListener("click", (event) => { const unit = unitOf(event.target); if (unit && String(getSelection()) === "") { point(unit, "hover"); actions.pick(unit); } });
    box.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key === "Enter" && cursor) return actions.pick(cursor);
      const unit = step(event.key);
      if (unit) { event.preventDefault(); point(unit, "key"); }
    });

    // Copies the very characters of the prompt: rows, glyphs and chips of the page never enter the clipboard.
    box.addEventListener("copy", (event) => {
      const selection = getSelection();
      const range = selection.rangeCount ? selection.getRangeAt(0) : null;
      if (!range || range.collapsed || range.commonAncestorContainer.parentElement?.closest(".cut-part")) return;
      const start = offsetOf(range.startContainer, range.startOffset, 0);
      const end = offsetOf(range.endContainer, range.endOffset, model.text.length);
      event.clipboardData.setData("text/plain", model.text.slice(start, end));
      event.preventDefault();
    });

    function offsetOf(node, offset, fallback) {
      const element = node.nodeType === 1 ? node : node.parentElement;
      const line = element.closest("[data-row]");
      if (!line) {
        const rows = element.nodeType === 1 && element.childNodes[offset] ? element.childNodes[offset] : null;
        const next = rows && rows.nodeType === 1 ? (rows.matches("[data-row]") ? rows : rows.querySelector("[data-row]")) : null;
        return next ? model.rows[Number(next.dataset.row)].start : element.closest(".cut-part") ? model.cutAfter.end : fallback;
      }
      const before = document.createRange();
      before.setStart(line, 0);
      before.setEnd(node, offset);
      return model.rows[Number(line.dataset.row)].start + before.toString().length;
    }

    return { element: box, rowElements, light, reveal, point, draw, onDraw: (listener) => drawListeners.push(listener), close: () => watcher.disconnect() };
  }

  return { create, put };
})();

// A text in an element, its invisible characters shown by their codes; textContent stays the text to the character.
window.clef.exactly = (element, text) => {
  "use strict";
  window.clef.promptText.put(element, text, false);
  return element;
};
