// The Export panel: the request in other spellings, what other servers make of it, and case files out and in.
window.clef.panels.export = (root, panel) => {
  "use strict";
  const { h, replace, shown, call, tokens } = window.clef;
  const STATUS = { accepted: "accepts it", different: "answers differently", refused: "refuses it" };
  const KINDS = { refused: "refused", input: "the model reads", output: "the answer says" };
  const state = { asked: null, sequence: 0, visible: false, open: "request", filed: null };

  root.classList.add("clef-export");
  const body = h("div.export-body");
  const cases = h("section.cases");
  replace(root, h("h2.clef-visually-hidden", {}, "Export"), body, cases);
  replace(body, h("p.muted.waiting", {}, "The request appears here as soon as there is a state and a valid question."));
  drawCases();

  const asked = () => ({ draft: window.clef.draft, origin: location.origin });

  function draw(view) {
    if (view.problems) {
      return replace(body, h("div.note.bad", {}, h("b", {}, "The request can be exported once this is mended:"), h("ul", {}, view.problems.map((p) => h("li.problem", {}, p.where && [h("b", {}, shown(p.where)), ": "], shown(p.message))))));
    }
    const place = h("div");
    const buttons = view.snippets.map((snippet) => h("button", { type: "button", onclick: () => { state.open = snippet.name; show(); } }, snippet.title));
    function show() {
      const snippet = view.snippets.find((each) => each.name === state.open) || view.snippets[0];
      buttons.forEach((button, index) => button.setAttribute("aria-pressed", String(view.snippets[index] === snippet)));
      replace(place, snippetBox(snippet), snippet.name === "hosted" && hosted(view.hosted));
    }
    show();
    replace(body, h("div.section-head", {}, h("h3", {}, "The request"), h("span.seg.wrap", { role: "group", "aria-label": "Spelling of the request" }, buttons)), place);
  }

  function snippetBox(snippet) {
    const status = h("span.muted", { role: "status" });
    // Embedded files are shortened on the page; what is copied or saved is fetched whole.
    const whole = async () => snippet.whole ? snippet.text : (await call(panel.server, "whole", { ...asked(), name: snippet.name })).text;
    const run = (action) => async () => {
      try { action(await whole()); } catch (error) { status.textContent = error.message; }
    };
    const suffix = { json: "json", bash: "sh", python: "py" }[snippet.language];
    return h("div.snippet", {},
      h("div.raw-tools", {}, h("button.btn.small", { type: "button", onclick: run((text) => window.clef.copy(text, status)) }, "Copy"),
        h("button.btn.small", { type: "button", onclick: run((text) => save(`clef-${snippet.name}.${suffix}`, text)) }, "Save"), status,
        !snippet.whole && h("span.muted", {}, "Embedded files are shortened here; Copy and Save give the whole.")),
      window.clef.exactly(h("pre", { tabIndex: 0, "aria-label": snippet.title }), snippet.text));
  }

  // Beside the snippet for the hosted service: what it would refuse or read differently. All servers are under Budget.
  function hosted(verdict) {
    return h("details.server", { class: "server " + verdict.status, open: verdict.status !== "accepted" },
      h("summary", {}, h("b", {}, verdict.title), " ", h("span.verdict", {}, STATUS[verdict.status])),
      h("p.muted.small-note", {}, verdict.note, " Source: ", verdict.source, ", ", verdict.date, "."),
      h("ul", {}, verdict.findings.map((finding) => h("li", {}, h("b", {}, KINDS[finding.kind]), finding.where && [" · ", h("code", {}, shown(finding.where))], ": ", shown(finding.message), finding.theirs && h("span.muted", {}, " It says: ", h("code", {}, shown(finding.theirs)))))));
  }

  function save(name, text) {
    const url = URL.createObjectURL(new Blob([text], { type: "text/plain;charset=utf-8" }));
    const link = h("a", { href: url, download: name });
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(url), 10_000);
  }

  function drawCases(result) {
    const { answersView: view } = window.clef;
    const fresh = Boolean(view) && !window.clef.isStale();
    const file = h("input.clef-visually-hidden", { type: "file", accept: ".json,application/json", "aria-label": "Open a case file", onchange: () => { if (file.files[0]) open(file.files[0]); } });
    replace(cases, h("div.section-head", {}, h("h3", {}, "Case file")),
      h("p.muted.small-note", {}, "Request, limits, SHA-256 of the media, model and tokenizer, the token ledger and every probability in full. Opened elsewhere it fills the page, and the next run is checked against it."),
      h("div.raw-tools", {},
        h("button.btn.small", { type: "button", disabled: !view, onclick: saveCase }, "Save case"),
        h("button.btn.small", { type: "button", onclick: () => file.click() }, "Open case…"), file,
        !view ? h("span.muted", {}, "A case can be saved after a run.") : !fresh && h("span.muted", {}, "The case is of the last run; what you changed since is not in it.")),
      h("div.case-result", { role: "status" }, result || null));
  }

  async function saveCase() {
    const { answersView: view } = window.clef;
    try {
      const { text } = await call(panel.server, "case", { sent: view.sent, model: view.model, answers: view.answers });
      save("clef-case.json", text);
      drawCases(h("p", {}, `Saved, ${tokens(text.length)} characters.`));
    } catch (error) {
      drawCases(h("p.problem", {}, error.message));
    }
  }

  async function open(file) {
    try {
      const text = await file.text();
      const opened = await call(panel.server, "open_case", text);
      state.filed = text;
      window.clef.emit("load-draft", { draft: opened.draft, reason: `Opened the case ${file.name}` });
      drawCases(h("div", {}, h("p", {}, h("b", {}, "Opened. "), "Run it to check the answers against the file."),
        opened.missing.length > 0 && h("p.problem", {}, "These pictures or clips are not on this server, so they are left out; add them before the run: ", opened.missing.join(", ")),
        differences(opened.differences, opened.missing.length ? null : "The prompt made here is the one in the file, token by token.")));
    } catch (error) {
      drawCases(h("p.problem", {}, error.message));
    }
  }

  function differences(list, same) {
    if (!list.length) return same && h("p.ok", {}, same);
    return h("table", {}, h("caption", {}, list.length === 1 ? "1 difference" : `${list.length} differences`),
      h("thead", {}, h("tr", {}, ["what", "in the file", "here"].map((title) => h("th", { scope: "col" }, title)))),
      h("tbody", {}, list.map((each) => h("tr", {}, h("th", { scope: "row" }, shown(each.what)), h("td.mono", {}, shown(each.filed)), h("td.mono", {}, shown(each.here))))));
  }

  async function check(view) {
    if (!state.filed) return drawCases();
    try {
      const checked = await call(panel.server, "check_case", { case: state.filed, sent: view.sent, answers: view.answers });
      const largest = checked.largest === 0 ? "every probability is the same to the last digit" : `the largest change of a probability is ${checked.largest.toPrecision(2)}`;
      drawCases(h("div", {}, h("p", {}, h("b", {}, "Checked against the case: "), largest, "."), differences(checked.differences, "No differences.")));
    } catch (error) {
      drawCases(h("p.problem", {}, error.message));
    }
  }

  const fetchExport = window.clef.debounce(250, async () => {
    const { draft } = window.clef;
    const print = draft && window.clef.fingerprint(draft);
    if (!draft || !state.visible || print === state.asked) return;
    state.asked = print;
    const sequence = ++state.sequence;
    try {
      const view = await call(panel.server, "export", asked());
      if (sequence === state.sequence) draw(view);
    } catch (error) {
      state.asked = null;
      if (sequence === state.sequence) replace(body, h("div.note.bad", { role: "alert" }, error.message));
    }
  });
  new IntersectionObserver((entries) => {
    state.visible = entries.at(-1).isIntersecting;
    if (state.visible) fetchExport();
  }).observe(root);
  window.clef.on("draft", fetchExport);
  window.clef.on("answers", check);
};
