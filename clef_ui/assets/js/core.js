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

  // Invisible and direction-changing characters, shown by their code so that nothing can hide or reorder the page.
  const HIDDEN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]/gu;

  function shown(text) {
    const fragment = document.createDocumentFragment();
    let last = 0;
    for (const match of String(text).matchAll(HIDDEN)) {
      fragment.append(text.slice(last, match.index));
      const code = "U+" + match[0].codePointAt(0).toString(16).toUpperCase().padStart(4, "0");
      fragment.append(h("span.clef-hidden-char", { title: "invisible character" }, code));
      last = match.index + match[0].length;
    }
    fragment.append(String(text).slice(last));
    return h("bdi", {}, fragment);
  }

  const tokens = (count) => Number(count).toLocaleString("en-US");
  const percent = (p) => (100 * p).toFixed(1) + " %";

  function mount(name, element, props, trigger, watch, server) {
    const root = element.querySelector(".clef-root");
    panels[name](root, { props, trigger, watch, server, element });
  }

  return {
    panels, h, replace, append, on, emit, setDraft, markDecided, isStale, fingerprint, shown, tokens, percent, mount,
    get draft() { return draft; },
  };
})();
