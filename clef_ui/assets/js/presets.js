// The gallery of presets: search, choose by mouse or keyboard, and what to notice about each.
(() => {
  "use strict";
  const { h, replace, shown } = window.clef;

  // Resolves with the slug that was chosen, or null.
  window.clef.presetGallery = (presets) => window.clef.dialog("Presets", (body, close) => {
    const search = h("input.field", { type: "search", "aria-label": "Search presets", placeholder: "search, for example “mail” or “score”", oninput: draw, autofocus: true });
    const list = h("ul.clef-gallery", { "aria-label": "Presets" });
    const none = h("p.muted", { role: "status" });
    body.append(search, none, list);
    search.addEventListener("keydown", (event) => {
      if (event.key === "ArrowDown") { event.preventDefault(); list.querySelector("button")?.focus(); }
      if (event.key !== "Enter") return;
      event.preventDefault(); // closing gives the focus back to the Presets button, which the same key would press again
      list.querySelector("button")?.click();
    });
    list.addEventListener("keydown", (event) => {
      const step = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      event.preventDefault();
      const buttons = [...list.querySelectorAll("button")];
      const next = buttons.indexOf(document.activeElement) + step;
      (next < 0 ? search : buttons[Math.min(next, buttons.length - 1)]).focus();
    });

    function draw() {
      const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
      const found = presets.filter((preset) => {
        const text = [preset.title, preset.note, preset.slug, ...preset.kinds, ...preset.media].join(" ").toLowerCase();
        return words.every((word) => text.includes(word));
      });
      none.textContent = found.length ? "" : "No preset has these words.";
      replace(list, found.map((preset) => h("li", {}, h("button.card", { type: "button", onclick: () => close(preset.slug) },
        h("span.title", {}, shown(preset.title)),
        h("span.tags", {}, [...preset.kinds, ...preset.media].map((tag) => h("span.type", {}, tag))),
        h("span.muted", {}, shown(preset.note))))));
    }
    draw();
  }, { wide: true });
})();
