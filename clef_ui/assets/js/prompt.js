// The Prompt panel: what the model is really given, from the draft as it stands, without running anything.
window.clef.panels.prompt = (root, panel) => {
  "use strict";
  const { h, replace, shown, tokens, setText } = window.clef;
  const KEPT = "clef.prompt";
  const settings = Object.assign({ granularity: "segments", whitespace: false, ids: false }, kept());
  const search = window.clef.promptSearch.create();
  const state = { asked: null, sequence: 0, model: null, box: null, ids: null, pending: window.clef.selected || null, visible: false, showsAll: false };

  root.classList.add("clef-prompt");
  const notes = h("div.notes", { role: "status" });
  const tools = h("div.tools");
  const tip = h("div.tip", { role: "status", "aria-live": "polite" });
  const body = h("div.prompt-body");
  const idsBody = h("div.ids-body");
  replace(root, h("h2.clef-visually-hidden", {}, "Prompt"), notes, legend(), tools, tip, body, idsBody);
  drawTools();
  drawTip(null);
  replace(body, h("p.muted.waiting", {}, "The rendered prompt appears here as soon as there is a state and a valid question; no run is needed."));

  function kept() {
    try { return JSON.parse(localStorage.getItem(KEPT)) || {}; } catch { return {}; }
  }

  function set(name, value) {
    settings[name] = value;
    try { localStorage.setItem(KEPT, JSON.stringify(settings)); } catch { /* private browsing: forgotten on reload */ }
    drawTools();
    if (state.model) drawBox();
  }

  function legend() {
    const entries = [["prefix", "prefix, suffix"], ["media", "media"], ["state", "state"], ["cut", "cut from the state"], ["scaffold", "schema scaffold"], ["question", "question span"], ["option", "option span"]];
    return h("ul.legend", { "aria-label": "Colours and underlines" }, entries.map(([name, text]) => h("li", {}, h("span.swatch.g-" + name, { "aria-hidden": "true" }, "abc"), text)));
  }

  function drawTools() {
    const choice = (value, text) => h("button", { type: "button", "aria-pressed": String(settings.granularity === value), onclick: () => set("granularity", value) }, text);
    const toggle = (name, text, label) => h("button.btn.small", { type: "button", "aria-pressed": String(settings[name]), "aria-label": label, title: label, onclick: () => set(name, !settings[name]) }, text);
    const copied = h("span.muted", { role: "status" });
    const focused = root.contains(document.activeElement) ? document.activeElement.textContent : null;
    replace(tools,
      h("span.seg", { role: "group", "aria-label": "Granularity" }, choice("segments", "Segments"), choice("tokens", "Tokens")),
      toggle("whitespace", "␣ ⏎", "Show spaces, tabs and line ends"), toggle("ids", "Ids", "Show token ids"),
      search.element,
      h("button.btn.small", { type: "button", onclick: () => state.model && window.clef.copy(state.model.text, copied) }, "Copy prompt"), copied);
    if (focused) [...tools.querySelectorAll("button")].find((button) => button.textContent === focused)?.focus();
  }

  function drawTip(unit) {
    if (!unit) return replace(tip, h("span.muted", {}, "Point at a span or a token, or move through the text with the arrow keys."));
    const { model } = state;
    const { segment } = unit;
    const visible = (text) => shown(text.replaceAll("\n", "⏎").replaceAll("\t", "→"));
    const excerpt = model.text.slice(segment.start, segment.start + 60) + (segment.end - segment.start > 60 ? "…" : "");
    const ids = model.ids(unit);
    const piece = model.text.slice(unit.start, unit.end);
    const index = model.tokenIndex(unit);
    const special = model.special(unit), typed = special && model.typed(unit);
    const byToken = settings.granularity === "tokens" || special;
    replace(tip,
      h("span.owner", {}, h("b", {}, shown(model.owner(segment))), " ", h("code", {}, `[${segment.token}:${segment.token + segment.tokens})`), " ",
        h("span.num.muted", {}, `${tokens(segment.tokens)} ${segment.tokens === 1 ? "token" : "tokens"} `), h("code.excerpt", {}, visible(excerpt)),
        ["instruction", "option"].includes(segment.kind) && h("span.muted", {}, " pooled by the head")),
      ids.length > 0 && byToken && h("span.token", {},
        ids.length > 1 ? `tokens ${index} to ${index + ids.length - 1}` : `token ${index}`, " · id ", h("code", {}, ids.join(" + ")), " ",
        piece ? h("code.excerpt", {}, visible(piece.replaceAll(" ", "·"))) : null,
        ids.length > 1 && piece && h("span.muted", {}, " · together one character"),
        !piece && h("span.bad", {}, " · a part of the character that was cut"),
        special && !typed && h("span.muted", {}, " · control token of the prompt"),
        typed && h("span.bad", {}, ` · typed control token: ${typed.meaning}; the model sees no letters here`)));
  }

  function drawBox() {
    const { model } = state;
    const scroll = state.box ? state.box.element.scrollTop : 0;
    state.box?.close();
    state.ids?.close();
    state.box = window.clef.promptText.create(model, settings, {
      point: (unit) => { drawTip(unit); state.ids?.show(unit, true); },
      pick: (unit) => pick(unit),
      cut: () => cutPart(model),
    });
    replace(body, state.box.element);
    state.box.element.scrollTop = scroll;
    state.ids = settings.ids ? window.clef.promptIds.create(model, {
      point: (unit) => { state.box.point(unit, "ids"); drawTip(unit); },
      pick: (unit) => { state.box.reveal(unit.start); state.box.point(unit, "ids"); },
    }) : null;
    replace(idsBody, state.ids && [h("h3", {}, "Token ids"), model.view.lengths ? state.ids.element : h("p.muted", {}, "This tokenizer does not tell where its tokens stand.")]);
    search.attach(model, state.box);
    if (state.pending) showSelected();
  }

  function cutPart(model) {
    const { cut } = model.view;
    const paths = cut.paths.length ? `, lost: ${cut.paths.join(", ")}` : "";
    const lost = h("del.cut-text");
    window.clef.promptText.put(lost, cut.text, settings.whitespace);
    const part = h("div.cut-part", { class: state.showsAll ? "cut-part open" : "cut-part" },
      h("div.cutline", {}, `cut here by ${cut.cause}: ${tokens(cut.tokens)} tokens, ${tokens(cut.characters)} characters are not in the prompt`, shown(paths),
        cut.cutPath && ["; ", shown(cut.cutPath.replace(/^state\.?/, "") || "the whole"), " is cut in two"], cut.splitsCharacter && "; the last character is cut in two"),
      lost);
    const drawn = [...cut.text].length;
    const more = h("button.btn.small", { type: "button", "aria-expanded": String(state.showsAll), hidden: drawn < 200, onclick: () => {
      state.showsAll = part.classList.toggle("open");
      more.setAttribute("aria-expanded", String(state.showsAll));
      setText(more, state.showsAll ? "Show less" : "Show the lost text");
    } }, state.showsAll ? "Show less" : "Show the lost text");
    window.clef.append(part, [more, cut.characters > drawn && h("span.muted", {}, ` first ${tokens(drawn)} of ${tokens(cut.characters)} characters; the whole is in Budget`)]);
    return part;
  }

  function pick(unit) {
    const { question, option, kind } = unit.segment;
    state.box.light(unit.segment);
    if (question >= 0 && (kind === "option" || kind === "instruction")) window.clef.emit("select", { question, option: option < 0 ? null : option, source: "prompt" });
  }

  function showSelected() {
    const { model, pending } = state;
    if (!model || !state.visible) return;
    state.pending = null;
    const segment = pending.segment !== undefined ? model.segments[pending.segment] : model.find(pending.question, pending.option);
    if (!segment) return;
    state.box.light(segment);
    state.box.reveal(segment.start + (pending.offset || 0));
    const unit = model.units.find((each) => each.segment === segment && each.end > segment.start + (pending.offset || 0)) || model.units.find((each) => each.segment === segment);
    if (unit) state.box.point(unit, "select");
  }

  function drawNotes(view) {
    const { typed } = view;
    replace(notes,
      view.over && h("div.note.bad", { role: "alert" }, h("b", {}, "This prompt cannot be sent. "), shown(view.over.message)),
      typed.length > 0 && h("div.note.bad", {}, h("b", {}, typed.length === 1 ? "A control token stands in your text. " : `${typed.length} control tokens stand in your text. `),
        "The tokenizer reads each as one symbol that the model may obey, not as letters. ",
        typed.slice(0, 8).map((entry) => h("button.link.bad", { type: "button", onclick: () => jump(entry) }, `${entry.token} (${entry.meaning})`)).flatMap((link) => [link, " "])),
      !view.exact && h("div.note", {}, "This tokenizer is an approximation outside plain English: counts and boundaries may differ from the release's."));
  }

  function jump(entry) {
    const unit = state.model.unitOfToken(entry.index);
    state.box.reveal(unit.start);
    state.box.point(unit, "select");
  }

  function draw(view) {
    if (view.problems) {
      state.model = state.box = state.ids = null;
      replace(notes, h("div.note.bad", {}, h("b", {}, "The prompt can be shown once this is mended:"), h("ul", {}, view.problems.map((p) => h("li.problem", {}, p.where && [h("b", {}, shown(p.where)), ": "], shown(p.message))))));
      replace(body, h("p.muted.waiting", {}, "No prompt."));
      return replace(idsBody);
    }
    state.model = window.clef.promptModel.build(view);
    root.dataset.total = String(view.total);
    drawNotes(view);
    drawBox();
  }

  const fetchPrompt = window.clef.debounce(200, async () => {
    const { draft } = window.clef;
    const print = draft && window.clef.fingerprint(draft);
    if (!draft || !state.visible || print === state.asked) return;
    state.asked = print;
    const sequence = ++state.sequence;
    try {
      const view = await window.clef.call(panel.server, "prompt", draft);
      if (sequence === state.sequence) draw(view);
    } catch (error) {
      state.asked = null;
      if (sequence === state.sequence) replace(notes, h("div.note.bad", { role: "alert" }, error.message));
    }
  });

  new IntersectionObserver((entries) => {
    state.visible = entries.at(-1).isIntersecting;
    if (!state.visible) return;
    fetchPrompt();
    if (state.pending) showSelected();
  }).observe(root);
  window.clef.on("draft", fetchPrompt);
  window.clef.on("select", (detail) => {
    if (detail.source === "prompt") return;
    state.pending = detail;
    showSelected();
  });
};

// The last selection, for a panel that is mounted later.
window.clef.on("select", (detail) => { window.clef.selected = detail; });
