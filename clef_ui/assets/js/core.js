// Shared by all panels: DOM building with text only, the draft everyone reads, events, and number formats.
window.clef = (() => {
  "use strict";
  const panels = {}; // name -> function(root, panel); panel = {props, trigger, watch, server}
  const listeners = {};
  let draft = null;
  let decided = null; // fingerprint of the draft that the shown answers were computed on

  // h("button.btn", {type: "button", onclick: f}, "text", child): strings become text nodes, never markup.
  function h(spec, attributes, ...children) {
    const [tag, ...classes] = spec.split(".");
    const element = document.createElement(tag || "div");
    if (classes.length) element.className = classes.join(" ");
    for (const [name, value] of Object.entries(attributes || {})) {
      if (value === undefined || value === null || value === false) continue;
      if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
      else if (name === "style") Object.assign(element.style, value);
      else if (name in element && name !== "list" && typeof value !== "string") element[name] = value;
      else element.setAttribute(name, value === true ? "" : String(value));
    }
    append(element, children);
    return element;
  }

  function append(element, children) {
    for (const child of children.flat(Infinity)) {
      if (child === undefined || child === null || child === false) continue;
      element.append(child instanceof Node ? child : document.createTextNode(String(child)));
    }
    return element;
  }

  function replace(element, ...children) {
    element.textContent = "";
    return append(element, children);
  }

  function on(event, listener) {
    (listeners[event] ||= []).push(listener);
  }

  function emit(event, detail) {
    for (const listener of listeners[event] || []) listener(detail);
  }

  // Everything that changes what is asked; view state such as collapsed cards does not.
  function fingerprint(value) {
    const { view, ...asked } = value || {};
    return JSON.stringify(asked);
  }

  function setDraft(next, source) {
    draft = next;
    emit("draft", { draft, source, stale: isStale() });
  }

  function markDecided(sent) {
    decided = sent === null ? null : fingerprint(sent);
    emit("decided", { draft, stale: isStale() });
  }

  function isStale() {
    return decided !== null && draft !== null && fingerprint(draft) !== decided;
  }

  // For a change of how the draft is written and not of what it asks: answers that were current stay so.
  function rewritten(change) {
    const current = decided !== null && !isStale();
    change();
    if (current) markDecided(draft);
  }

  // Invisible and direction-changing characters, shown by their code so that nothing can hide or reorder the page.
  const HIDDEN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]/gu;

  // The hidden characters of a text by their codes, each once with how often it occurs.
  function hiddenCodes(text) {
    const counts = new Map();
    for (const [character] of String(text).matchAll(HIDDEN)) counts.set(character, (counts.get(character) || 0) + 1);
    return [...counts].map(([character, times]) => codeOf(character) + (times > 1 ? ` × ${tokens(times)}` : ""));
  }

  const codeOf = (character) => "U+" + character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0");

  function shown(text) {
    const fragment = document.createDocumentFragment();
    let last = 0;
    for (const match of String(text).matchAll(HIDDEN)) {
      fragment.append(text.slice(last, match.index));
      const code = codeOf(match[0]);
      fragment.append(h("span.clef-hidden-char", { title: "invisible character" }, code));
      last = match.index + match[0].length;
    }
    fragment.append(String(text).slice(last));
    return h("bdi", {}, fragment);
  }

  // Calls a Python function of a panel with one text (other values go as JSON) and reads its JSON answer.
  // Throws an Error whose message is a sentence for the page.
  async function call(server, name, value) {
    let text;
    try {
      text = await server[name](typeof value === "string" ? value : JSON.stringify(value ?? null));
    } catch {
      throw new Error("The server does not answer. Is the program still running?");
    }
    const result = JSON.parse(text);
    if (result && typeof result.error === "string") throw new Error(result.error);
    return result;
  }

  function debounce(wait, run) {
    let timer = 0;
    const later = (...values) => {
      clearTimeout(timer);
      timer = setTimeout(() => run(...values), wait);
    };
    later.cancel = () => clearTimeout(timer);
    return later;
  }

  // Sets text only when it differs, so that a live region speaks and the page paints on a change alone.
  function setText(element, text) {
    if (element.textContent !== text) element.textContent = text;
  }

  // A modal dialog; `fill(body, close)` draws it. Resolves with what `close` was given, null after Escape.
  function dialog(title, fill, { wide = false } = {}) {
    return new Promise((resolve) => {
      let result = null;
      const close = (value = null) => { result = value; element.close(); };
      const body = h("div.dialog-body");
      const heading = h("h2", { id: "clef-dialog-title" }, title);
      const element = h(wide ? "dialog.clef-dialog.wide" : "dialog.clef-dialog", { "aria-labelledby": "clef-dialog-title" },
        h("div.dialog-head", {}, heading, h("button.btn.ghost.small", { type: "button", "aria-label": "Close", onclick: () => close() }, "×")),
        body);
      element.addEventListener("close", () => { element.remove(); resolve(result); });
      element.addEventListener("click", (event) => { if (event.target === element) close(); });
      document.querySelector("#clef-header .clef-root").append(element);
      fill(body, close);
      element.showModal();
    });
  }

  // Asks a question with named answers; the first is the default. Resolves with an answer's key, null after Escape.
  function ask(title, text, answers) {
    return dialog(title, (body, close) => {
      const buttons = Object.entries(answers).map(([key, label], index) =>
        h(index ? "button.btn" : "button.btn.primary", { type: "button", onclick: () => close(key), autofocus: !index }, label));
      append(body, [text.map((line) => h("p", {}, line)), h("div.dialog-actions", {}, buttons)]);
    });
  }

  const tokens = (count) => Number(count).toLocaleString("en-US");
  const percent = (p) => (100 * p).toFixed(1) + " %";

  function mount(name, element, props, trigger, watch, server) {
    const root = element.querySelector(".clef-root");
    panels[name](root, { props, trigger, watch, server, element });
  }

  return {
    panels, h, replace, append, on, emit, call, debounce, setText, dialog, ask, setDraft, markDecided, isStale, rewritten,
    fingerprint, shown, hiddenCodes, tokens, percent, mount,
    get draft() { return draft; },
  };
})();
