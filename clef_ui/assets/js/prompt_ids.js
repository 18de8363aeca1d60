// The token ids beside the text; pointing at an id lights its text and the other way round.
window.clef.promptIds = (() => {
  "use strict";
  const { h, tokens } = window.clef;
  const BLOCK = 240; // units drawn together

  function create(model, actions) {
    const box = h("div.ids-box", { tabIndex: 0, role: "region", "aria-label": "Token ids in order. Arrow keys move, Enter shows the text." });
    const blocks = [];
    let cursor = null;

    const text = (unit) => unit.segment.runs
      ? unit.segment.runs.map(([id, count]) => count > 1 ? `${id} ×${tokens(count)}` : String(id)).join(" ")
      : model.ids(unit).join("+");

    for (let start = 0; start < model.units.length; start += BLOCK) {
      const units = model.units.slice(start, start + BLOCK);
      const element = h("div.ids", { "data-block": String(blocks.length) }, units.map(text).join(" ") + " ");
      blocks.push({ units, element, drawn: false });
      box.append(element);
    }
    const watcher = new IntersectionObserver((entries) => {
      for (const entry of entries) if (entry.isIntersecting) draw(blocks[Number(entry.target.dataset.block)]);
    }, { root: box, rootMargin: "300px 0px" });
    for (const block of blocks) watcher.observe(block.element);

    function draw(block) {
      if (block.drawn) return;
      block.drawn = true;
      window.clef.replace(block.element, block.units.map((unit) => [h("span.id.g-" + unit.segment.group, { "data-unit": String(unit.place) }, text(unit)), " "]));
    }

    // Points at a unit's id without asking anybody; `scroll` brings it into the box.
    function show(unit, scroll) {
      for (const element of box.querySelectorAll(".cursor")) element.classList.remove("cursor");
      cursor = unit;
      if (!unit) return;
      const block = blocks[Math.floor(unit.place / BLOCK)];
      draw(block);
      const element = block.element.querySelector(`[data-unit="${unit.place}"]`);
      element.classList.add("cursor");
      if (scroll) box.scrollTop += element.getBoundingClientRect().top - box.getBoundingClientRect().top - box.clientHeight / 3;
    }

    const unitOf = (target) => { const id = target.closest?.("[data-unit]"); return id ? model.units[Number(id.dataset.unit)] : null; };
    box.addEventListener("mouseover", (event) => { const unit = unitOf(event.target); if (unit) { show(unit, false); actions.point(unit); } });
    box.addEventListener("click", (event) => { const unit = unitOf(event.target); if (unit) actions.pick(unit); });
    box.addEventListener("keydown", (event) => {
      const by = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: 12, ArrowUp: -12 }[event.key];
      if (event.key === "Enter" && cursor) return actions.pick(cursor);
      if (!by) return;
      event.preventDefault();
      const unit = model.units[Math.max(0, Math.min(model.units.length - 1, (cursor ? cursor.place : 0) + by))];
      show(unit, true);
      actions.point(unit);
    });
    return { element: box, show, close: () => watcher.disconnect() };
  }

  return { create };
})();
