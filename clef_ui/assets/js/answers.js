// The Answers panel: what came back, or what will appear here; stale marks, the raw response, errors and progress.
window.clef.panels.answers = (root, panel) => {
  "use strict";
  const { h, replace, shown, tokens } = window.clef;
  const KEPT = "clef.answers"; // the reader's choice of order and of confidence, nothing of the request
  const settings = Object.assign({ order: "probability", confidence: "max_probability" }, kept());
  let view = null;

  const top = h("div.clef-answers-top", { role: "status" });
  const body = h("div.clef-answers-body");
  root.classList.add("clef-answers");
  replace(root, h("h2.clef-visually-hidden", {}, "Answers"), top, body);

  function kept() {
    try { return JSON.parse(localStorage.getItem(KEPT)) || {}; } catch { return {}; }
  }

  function set(name, value) {
    settings[name] = value;
    try { localStorage.setItem(KEPT, JSON.stringify(settings)); } catch { /* private browsing: forgotten on reload */ }
    drawAnswers();
  }

  function draw() {
    if (!panel.props.value) return drawEmpty();
    view = JSON.parse(panel.props.value);
    drawAnswers();
    window.clef.answersView = view; // what Export turns into a case file
    window.clef.markDecided(view.sent);
    window.clef.emit("answers", view);
  }

  function drawEmpty() {
    replace(body, h("div.clef-empty", {},
      h("p", {}, h("b", {}, "One card a question appears here"), ", with a probability for every allowed option."),
      h("p.muted", {}, "Fill in a state and at least one question on the left, then press ", h("b", {}, "Run"), " or ",
        h("kbd", {}, "Ctrl"), " ", h("kbd", {}, "Enter"), " (", h("kbd", {}, "⌘"), " ", h("kbd", {}, "Enter"), " on a Mac)."),
      h("p.muted", {}, "The prompt and the token budget need no run: they follow what you type.")));
  }

  function drawTop() {
    const stale = Boolean(view) && window.clef.isStale();
    root.classList.toggle("stale", stale);
    replace(top, stale && h("div.note.stale-note", {},
      h("span", {}, h("b", {}, "Out of date. "), "These answers belong to an earlier state, media, schema or limit. Run again to answer what is asked now."),
      h("span.actions", {},
        h("button.btn.small", { type: "button", onclick: () => window.clef.emit("run") }, "Run again"),
        view.sent && h("button.btn.small", { type: "button", onclick: () => window.clef.emit("load-draft", { draft: view.sent, reason: "Went back to what the answers were computed on" }) }, "Go back to it"))));
  }

  function drawAnswers() {
    const cards = document.createDocumentFragment();
    for (const answer of view.answers) cards.append(window.clef.answerCards.card(answer, view, settings));
    replace(body, meta(), notices(), media(), controls(), cards, raw());
  }

  function meta() {
    const { model, meta } = view;
    const questions = meta.questions === 1 ? "1 question" : meta.questions + " questions, one pass";
    return h("div.meta", {},
      h("span.model", {}, h("b", {}, shown(model.name)), model.demonstration && " small demonstration model"),
      h("span", {}, [model.device, model.dtype].filter(Boolean).join(" · ")),
      model.revision && h("span.mono", { title: "revision " + model.revision }, model.revision.slice(0, 7)),
      h("span", {}, questions), h("span.num", {}, "forward " + meta.forward), h("span.num", {}, "encode " + meta.encode),
      h("span.num", {}, "total " + meta.total),
      h("span.num", {}, `${meta.exact ? "" : "about "}${tokens(meta.tokens)} of ${tokens(meta.limit)} tokens`),
      meta.known > 0 && h("span.num", { title: "The start of this prompt had been read before; only the rest was read now." }, `${tokens(meta.known)} known from before`),
      view.cut ? h("button.link.bad", { type: "button", onclick: () => window.clef.emit("open-tab", "budget") }, `state cut: ${tokens(view.cut.lost)} tokens lost`)
        : h("span", {}, "state read in full"),
      model.note && h("span", {}, shown(model.note)));
  }

  function notices() {
    if (!view.notices.length) return null;
    const items = view.notices.map((n) => h("li", {}, n.where && [h("b", {}, shown(n.where)), ": "], shown(n.message)));
    if (items.length <= 2) return h("ul.notices.advice", {}, items);
    return h("details.notices.advice", {}, h("summary", {}, items.length + " notices about this request"), h("ul", {}, items));
  }

  function media() {
    if (!view.media.length) return null;
    return h("div.sent-media", { role: "group", "aria-label": "Media that were sent" }, view.media.map((item) => h("figure", {},
      h("img", { src: item.preview, alt: `${item.kind} ${item.name}, as it was sent` }),
      h("figcaption", {}, shown(item.name), h("br"), h("span.num", {}, [item.size, item.frames > 1 && `${item.frames} frames`, `${tokens(item.tokens)} tokens`].filter(Boolean).join(", "))))));
  }

  function controls() {
    const kinds = new Set(view.answers.map((answer) => answer.kind));
    const pressed = (value) => ({ type: "button", "aria-pressed": String(settings.order === value), onclick: () => set("order", value) });
    const definitions = [["max_probability", "top probability (the release)"], ["rescaled", "rescaled (SGLang, llama.cpp)"], ["entropy", "1 − entropy (Ollama)"]];
    return h("div.controls", {},
      kinds.has("choice") && h("span.seg", { role: "group", "aria-label": "Order of a choice's options" },
        h("button", pressed("probability"), "by probability"), h("button", pressed("request"), "request's order")),
      (kinds.has("choice") || kinds.has("score")) && h("label.definition", {}, "confidence: ",
        h("select", { onchange: (event) => set("confidence", event.target.value) },
          definitions.map(([value, text]) => h("option", { value, selected: settings.confidence === value }, text)))));
  }

  function raw() {
    const copied = h("span.muted", { role: "status" });
    const copy = h("button.btn.small", { type: "button", onclick: () => window.clef.copy(view.response, copied) }, "Copy");
    const details = h("details.raw", {}, h("summary", {}, "System One response"));
    details.addEventListener("toggle", () => {
      if (!details.open || details.querySelector("pre")) return;
      details.append(h("div.raw-tools", {}, copy, copied), window.clef.exactly(h("pre", { tabIndex: 0, "aria-label": "System One response" }), view.response));
    });
    return details;
  }

  window.clef.on("draft", () => { if (root.classList.contains("stale") !== (Boolean(view) && window.clef.isStale())) drawTop(); });
  window.clef.on("decided", drawTop);
  window.clef.on("run-started", () => { root.classList.add("running"); body.setAttribute("aria-busy", "true"); });
  window.clef.on("run-ended", () => { root.classList.remove("running"); body.removeAttribute("aria-busy"); });
  window.clef.on("select", (detail) => {
    for (const card of body.querySelectorAll(".clef-answer")) card.classList.toggle("lit", Number(card.dataset.question) === detail.question);
  });
  panel.watch("value", draw);
  draw();
};

// Copies text exactly; without the clipboard's permission the old way through a selection.
window.clef.copy = async (text, status) => {
  "use strict";
  let done = true;
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = window.clef.h("textarea", { value: text, style: { position: "fixed", opacity: "0" } });
    area.value = text;
    document.body.append(area);
    area.select();
    done = document.execCommand("copy");
    area.remove();
  }
  if (status) {
    status.textContent = done ? "Copied." : "The browser did not allow copying.";
    setTimeout(() => { status.textContent = ""; }, 2500);
  }
};
