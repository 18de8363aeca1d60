// The bar on top: which model answers, its limit, presets, link, shortcuts and the theme.
(() => {
  "use strict";
  const { h, replace, on, emit, call, shown, storage, tokens } = window.clef;
  const THEMES = { auto: "Auto", light: "Light", dark: "Dark" };
  const SHORTCUTS = [
    ["Ctrl or ⌘ + Enter", "run"],
    ["Escape", "stop a run, close a dialog"],
    ["Alt + P", "presets"],
    ["Alt + L", "copy a link to this set-up"],
    ["Alt + Z", "undo the last larger change (preset, paste, link, removal)"],
    ["Alt + 1, 2, 3 …", "the tabs on the right: answers, prompt and so on"],
    ["Alt + ← or →", "on a picture: move it"],
    ["Delete", "on a picture or clip: remove it"],
    ["?", "this list, outside of a text field"],
  ];
  const dark = matchMedia("(prefers-color-scheme: dark)");

  function storedTheme() {
    const stored = storage.read(storage.THEME);
    if (stored in THEMES) return stored;
    return new URLSearchParams(location.search).get("__theme") in THEMES ? new URLSearchParams(location.search).get("__theme") : "auto";
  }

  function applyTheme(theme) {
    document.body.classList.toggle("dark", theme === "dark" || (theme === "auto" && dark.matches));
    document.documentElement.style.colorScheme = document.body.classList.contains("dark") ? "dark" : "light";
    emit("theme", document.body.classList.contains("dark") ? "dark" : "light");
  }

  function themeSwitch() {
    let theme = storedTheme();
    const buttons = Object.entries(THEMES).map(([key, label]) =>
      h("button", { type: "button", "data-theme": key, onclick: () => choose(key) }, label));
    const mark = () => buttons.forEach((button) => button.setAttribute("aria-pressed", String(button.dataset.theme === theme)));
    function choose(next) {
      theme = next;
      storage.write(storage.THEME, next);
      mark();
      applyTheme(next);
    }
    dark.addEventListener("change", () => applyTheme(theme));
    mark();
    applyTheme(theme);
    return h("span.seg", { role: "group", "aria-label": "Theme" }, buttons);
  }

  function shortcuts() {
    window.clef.dialog("Keyboard shortcuts", (body) => {
      body.append(h("table.clef-keys", {}, h("tbody", {}, SHORTCUTS.map(([keys, what]) =>
        h("tr", {}, h("th", { scope: "row" }, keys), h("td", {}, what))))));
    });
  }

  function drawStatus(chip, status) {
    const { loading } = status;
    const failed = Boolean(loading.problem);
    replace(chip, h(failed ? "span.dot.bad" : loading.done ? "span.dot" : "span.dot.busy", { "aria-hidden": "true" }),
      status.name ? h("b", {}, shown(status.name)) : null,
      failed ? "could not be loaded" : loading.done ? shown(status.line) : `loading… ${Math.round(100 * loading.share)} %, ${loading.stage}`);
    chip.title = failed ? loading.problem : status.detail;
    chip.classList.toggle("bad", failed);
  }

  // Keeps asking until the model is loaded or has failed; every other script hears of it through "status".
  async function follow(panel, chip, problem) {
    for (;;) {
      let status;
      try {
        status = await call(panel.server, "status", "");
      } catch {
        await new Promise((resolve) => setTimeout(resolve, 2000));
        continue;
      }
      drawStatus(chip, status);
      replace(problem, status.loading.problem ? `The model could not be loaded. ${status.loading.problem} ${status.name ? "Counting and planning go on working." : "Without its tokenizer nothing can be counted either."}` : "");
      problem.hidden = !status.loading.problem;
      emit("status", status);
      if (status.loading.done) return;
      await new Promise((resolve) => setTimeout(resolve, 400));
    }
  }

  window.clef.panels.header = (root, panel) => {
    const chip = h("span.chip.model", { role: "status", "aria-label": "Model" }, h("span.dot.busy"), "loading…");
    const limit = h("span.chip.limit", {}, "limit ", h("b.num", {}, "…"));
    const problem = h("div.note.bad", { role: "alert", hidden: true });
    const copyLink = h("button.btn.small", { type: "button", onclick: () => emit("copy-link") }, "Copy link");
    root.append(
      h("header.clef-top", {}, h("h1", {}, "Clef workbench"), chip, limit, window.clef.placeChooser(panel), h("span.grow"),
        themeSwitch(),
        h("button.btn.small", { type: "button", onclick: () => emit("open-presets") }, "Presets"), copyLink,
        h("button.btn.small.ghost", { type: "button", "aria-label": "Keyboard shortcuts", onclick: shortcuts }, "?")),
      problem);
    on("draft", ({ draft }) => {
      const value = Number(draft.limits.maxLength);
      replace(limit.querySelector("b"), Number.isFinite(value) ? tokens(value) : shown(draft.limits.maxLength));
    });
    document.addEventListener("keydown", (event) => {
      const typing = event.target.closest?.("input, textarea, select, [contenteditable]");
      if (event.key === "?" && !typing && !event.ctrlKey && !event.metaKey && !document.querySelector("dialog[open]")) {
        event.preventDefault();
        shortcuts();
      }
      if (!event.altKey || event.ctrlKey || event.metaKey) return;
      const action = { KeyP: "open-presets", KeyL: "copy-link", KeyZ: "undo" }[event.code];
      const place = /^Digit([1-9])$/.exec(event.code);
      const tab = place && Number(place[1]);
      if (!action && !tab) return;
      event.preventDefault();
      if (action) emit(action);
      else emit("open-tab", tab);
    });
    follow(panel, chip, problem);
  };
})();
