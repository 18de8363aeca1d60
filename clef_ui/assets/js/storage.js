// What outlives the page: the draft and the theme in this browser, and a set-up packed into a link.
window.clef.storage = (() => {
  "use strict";
  const DRAFT = "clef-workbench:draft:v1";
  const THEME = "clef-workbench:theme:v1";
  const MAX_STORED = 2_000_000; // characters; browsers give a page about 5 million
  const MAX_LINK = 32_000; // characters of a whole link; chats and mail programs cut longer ones
  const MAX_UNPACKED = 4_000_000; // bytes; a small link could otherwise unfold into gigabytes
  const MARK = "#c1="; // the version of the packing

  function read(key) {
    try { return localStorage.getItem(key); } catch { return null; }
  }

  function write(key, text) {
    try {
      if (text === null) localStorage.removeItem(key);
      else localStorage.setItem(key, text);
      return true;
    } catch { return false; }
  }

  const text = (value, otherwise = "") => (typeof value === "string" ? value : otherwise);
  const oneOf = (value, allowed) => (allowed.includes(value) ? value : allowed[0]);
  const list = (value) => (Array.isArray(value) ? value : []);
  const number = (value) => (Number.isFinite(value) ? value : null);

  function written(value) {
    if (value && value.default === true) return { default: true };
    return value && typeof value === "object" ? { text: text(value.text), raw: value.raw === true } : null;
  }

  function question(value, index) {
    return {
      ...value,
      uid: Number.isInteger(value.uid) ? value.uid : index + 1,
      kind: oneOf(value.kind, ["noul", "choice", "score"]),
      id: text(value.id),
      instructions: written(value.instructions),
      options: list(value.options).filter(Boolean).map((option) => ({
        ...option, key: text(option.key), description: written(option.description),
      })),
    };
  }

  // Two cards with one number would be drawn as one.
  function numbered(questions) {
    const distinct = new Set(questions.map((each) => each.uid)).size === questions.length;
    return distinct ? questions : questions.map((each, index) => ({ ...each, uid: index + 1 }));
  }

  // A draft of the shape that all scripts rely on, whatever a link or an older version held; null if it is none.
  function normal(value) {
    if (!value || typeof value !== "object" || typeof value.stateText !== "string") return null;
    const limits = value.limits || {};
    return {
      stateMode: oneOf(value.stateMode, ["text", "json"]),
      stateText: value.stateText,
      questionsMode: oneOf(value.questionsMode, ["form", "json"]),
      questionsText: text(value.questionsText),
      questions: numbered(list(value.questions).filter((item) => item && typeof item === "object").map(question)),
      media: list(value.media).filter((item) => item && typeof item.id === "string").map((item) => ({
        id: item.id, kind: oneOf(item.kind, ["image", "video"]), name: text(item.name),
        frames: number(item.frames), fps: number(item.fps),
      })),
      limits: {
        maxLength: String(limits.maxLength ?? "16384"), maxStateTokens: String(limits.maxStateTokens ?? ""),
        truncate: limits.truncate !== false,
      },
      view: value.view && typeof value.view === "object" ? value.view : {},
    };
  }

  // Returns a sentence when the draft could not be kept, "" otherwise.
  function saveDraft(draft, origin) {
    const stored = JSON.stringify({ draft, origin });
    if (stored.length > MAX_STORED) {
      return `This draft has ${window.clef.tokens(stored.length)} characters; up to ${window.clef.tokens(MAX_STORED)} are kept across a reload.`;
    }
    return write(DRAFT, stored) ? "" : "This browser keeps no data for the page, so a reload loses the draft.";
  }

  // The stored draft and where it came from: "preset" as long as nothing was changed.
  function loadDraft() {
    try {
      const stored = JSON.parse(read(DRAFT) || "null");
      const draft = stored && normal(stored.draft);
      return draft ? { draft, origin: text(stored.origin) } : null;
    } catch { return null; }
  }

  async function through(stream, bytes, limit = Infinity) {
    const reader = new Blob([bytes]).stream().pipeThrough(stream).getReader();
    const chunks = [];
    let size = 0;
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      size += value.length;
      if (size > limit) throw new Error("too large");
      chunks.push(value);
    }
    return new Uint8Array(await new Blob(chunks).arrayBuffer());
  }

  // The link to a set-up: all but media and view state, in the part of the address that is never sent to a server.
  async function link(draft) {
    const { view, media, ...asked } = draft;
    const bytes = new TextEncoder().encode(JSON.stringify(asked));
    const packed = await through(new CompressionStream("deflate-raw"), bytes);
    let binary = "";
    for (let start = 0; start < packed.length; start += 8192) binary += String.fromCharCode(...packed.subarray(start, start + 8192));
    const code = btoa(binary).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
    const address = location.origin + location.pathname + location.search + MARK + code;
    if (address.length > MAX_LINK) {
      throw new Error(`The link would have ${window.clef.tokens(address.length)} characters and ${window.clef.tokens(MAX_LINK)} are allowed, since longer ones are cut on their way. Shorten the state, or export the request as a file.`);
    }
    return address;
  }

  // The draft in the address bar, null when there is none. Throws an Error with a sentence when it is damaged.
  async function fromAddress() {
    if (!location.hash.startsWith("#c")) return null;
    if (!location.hash.startsWith(MARK)) throw new Error("The link was made by another version of the workbench and cannot be read.");
    try {
      const binary = atob(location.hash.slice(MARK.length).replace(/-/g, "+").replace(/_/g, "/"));
      const packed = Uint8Array.from(binary, (character) => character.charCodeAt(0));
      const bytes = await through(new DecompressionStream("deflate-raw"), packed, MAX_UNPACKED);
      const draft = normal(JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes)));
      if (draft) return { ...draft, media: [], view: {} };
    } catch { /* said below */ }
    throw new Error("The set-up in the link is damaged or incomplete. Ask for the link again; your draft is untouched.");
  }

  return { DRAFT, THEME, read, write, normal, saveDraft, loadDraft, link, fromAddress };
})();
