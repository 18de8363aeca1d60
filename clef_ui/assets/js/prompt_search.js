// Search in the prompt: a text, "@512" for the token at an index, "#248046" for a token id.
window.clef.promptSearch = (() => {
  "use strict";
  const { h, setText, tokens } = window.clef;
  const MOST = 2000;
  const paints = typeof Highlight === "function" && CSS.highlights;

  function matchesOf(model, wanted) {
    const byIndex = /^@(\d+)$/.exec(wanted), byId = /^#(\d+)$/.exec(wanted);
    const range = (unit) => ({ start: unit.start, end: unit.end });
    if (byIndex) {
      const unit = Number(byIndex[1]) < model.view.total ? model.unitOfToken(Number(byIndex[1])) : null;
      return unit ? [range(unit)] : [];
    }
    if (byId) return model.units.filter((unit) => model.ids(unit).includes(Number(byId[1]))).slice(0, MOST).map(range);
    const found = [];
    const pattern = new RegExp(wanted.replace(/[.*+?^${}()|[\]\\/-]/g, "\\$&"), "gi");
    for (const match of model.text.matchAll(pattern)) {
      found.push({ start: match.index, end: match.index + match[0].length });
      if (found.length === MOST) break;
    }
    return found;
  }

  function create() {
    let model = null, box = null, found = [], current = -1;
    const input = h("input.find", { type: "search", placeholder: "find, @index, #id", "aria-label": "Find in the prompt: text, @ and a token's index, or # and a token id" });
    const count = h("span.muted.num", { role: "status" });
    const element = h("span.search", { role: "search" }, input, count,
      h("button.btn.small", { type: "button", "aria-label": "Previous match", onclick: () => go(current - 1) }, "↑"),
      h("button.btn.small", { type: "button", "aria-label": "Next match", onclick: () => go(current + 1) }, "↓"));

    function search() {
      found = model && input.value ? matchesOf(model, input.value) : [];
      current = -1;
      if (found.length) go(0);
      else paint();
      setText(count, input.value && !found.length ? "none" : count.textContent);
    }

    function go(place) {
      if (!found.length) return;
      current = (place + found.length) % found.length;
      box.reveal(found[current].start);
      paint();
    }

    function paint() {
      setText(count, found.length ? `${tokens(current + 1)} of ${tokens(found.length)}${found.length === MOST ? "+" : ""}` : "");
      for (const row of box ? box.rowElements : []) row.classList.remove("found");
      if (!found.length) {
        if (paints) { CSS.highlights.delete("clef-find"); CSS.highlights.delete("clef-find-now"); }
        return;
      }
      if (!paints) return box.rowElements[model.row(found[current].start).place].classList.add("found");
      CSS.highlights.set("clef-find", new Highlight(...found.flatMap((match, place) => place === current ? [] : rangesOf(match))));
      CSS.highlights.set("clef-find-now", new Highlight(...rangesOf(found[current])));
    }

    // A match may run over several rows; each row gives its own part.
    function rangesOf(match) {
      const ranges = [];
      for (let row = model.row(match.start); row && row.start < Math.max(match.end, match.start + 1); row = model.rows[row.place + 1]) {
        const line = box.rowElements[row.place];
        const from = place(line, Math.max(match.start, row.start) - row.start), to = place(line, Math.min(match.end, row.end) - row.start);
        if (!from || !to) continue;
        const range = document.createRange();
        range.setStart(...from);
        range.setEnd(...to);
        ranges.push(range);
      }
      return ranges;
    }

    function place(line, offset) {
      const walker = document.createTreeWalker(line, NodeFilter.SHOW_TEXT);
      let left = offset;
      for (let node = walker.nextNode(); node; node = walker.nextNode()) {
        if (left <= node.length) return [node, left];
        left -= node.length;
      }
      return null;
    }

    input.addEventListener("input", window.clef.debounce(120, search));
    input.addEventListener("keydown", (event) => {
      if (event.key !== "Enter") return;
      event.preventDefault();
      go(event.shiftKey ? current - 1 : current + 1);
    });

    return {
      element,
      attach(nextModel, nextBox) {
        model = nextModel;
        box = nextBox;
        box.onDraw(window.clef.debounce(60, () => { if (found.length) paint(); }));
        found = input.value ? matchesOf(model, input.value) : [];
        current = found.length ? Math.max(0, Math.min(current, found.length - 1)) : -1;
        paint();
      },
    };
  }

  return { create };
})();
